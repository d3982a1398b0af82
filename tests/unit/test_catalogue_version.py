"""A version of the catalogue decides: what is newer only warns, and nothing else changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.contract import rules
from conformance.contract.rules import Level
from conformance.judge.findings import Verdict, broken_verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.serving.listener import served
from tests.support.running import cells, faulty, run, write_target

NEW, OLD, IMPLIED = "auth.signature", "auth.nonce-replay", "auth.unknown-key-status"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue of version 1.3 with a required and an implied rule of that version."""
    monkeypatch.setattr(rules, "VERSION", "1.3")
    for rule in (NEW, IMPLIED):
        monkeypatch.setitem(rules._stated, rule, replace(rules._stated[rule], since="1.3"))
    yield
    monkeypatch.undo()
    rules.hold_to()


def test_every_rule_came_with_a_version_that_there_is() -> None:
    assert not [
        rule.id
        for rule in rules._stated.values()
        if rules._numbers(rule.since) > rules._numbers(rules.VERSION)
    ]


def test_no_rule_of_the_first_version_is_new() -> None:
    rules.hold_to()
    assert dict(rules.RULES) == rules._stated
    assert rules.held_version() == "1.0"


def test_a_new_required_rule_warns_for_one_minor_version(newer: None) -> None:
    rules.hold_to()
    assert rules.held_version() == "1.2"
    assert broken_verdict(NEW) is Verdict.WARNING
    assert broken_verdict(OLD) is Verdict.FAILED
    assert rules.is_newer(rules.RULES[NEW]) and not rules.is_newer(rules.RULES[OLD])
    assert rules.RULES[IMPLIED].level is Level.IMPLIED


def test_a_version_is_held_on_to_or_opted_into(newer: None) -> None:
    rules.hold_to("1.3")
    assert broken_verdict(NEW) is Verdict.FAILED
    rules.hold_to("1.0")
    assert broken_verdict(NEW) is Verdict.WARNING
    rules.hold_to("1.3")
    assert broken_verdict(NEW) is Verdict.FAILED


@pytest.mark.parametrize("version", ["1.4", "2.0", "1", "one", "1.", ".1", "1.0.0", "-1.0", "\u0661.0"])
def test_a_version_that_there_is_not_is_told(version: str, newer: None) -> None:
    with pytest.raises(ValueError, match=r"is yet to come|is no version of the catalogue"):
        rules.hold_to(version)
    assert broken_verdict(OLD) is Verdict.FAILED


def test_rules_of_ones_own_have_no_version(newer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(rules.RULES[OLD], id="acme.rule", since="9.9")
    monkeypatch.setitem(rules._known, own.id, own)
    rules.hold_to("1.0")
    assert rules.RULES["acme.rule"].level is Level.REQUIRED and not rules.is_newer(own)


# ---------------------------------------------------------------------- whole runs

#: A plugin that makes the rule one of version 1.1.
PLUGIN = f"""
from dataclasses import replace
from conformance.contract import rules

rules.VERSION = "1.1"
rules._stated[{NEW!r}] = replace(rules._stated[{NEW!r}], since="1.1")
"""


class NoSignatureCheck(Behaviour):
    """Breaks auth.signature on getBeneficiary."""

    def signatures_equal(self, ctx: Context, expected: str, presented: str) -> bool:
        return ctx.operation == "getBeneficiary" or super().signatures_equal(ctx, expected, presented)


@pytest.mark.parametrize(
    ("options", "key", "status"),
    [
        ([], None, 0),
        (["-n", "2"], None, 0),
        (["--catalogue-version", "1.1"], None, 1),
        (["--catalogue-version", "1.1", "-n", "2"], None, 1),
        ([], "1.1", 1),
        (["--catalogue-version", "1.0"], "1.1", 0),
        (["--fail-on", "implied"], "1.0", 1),
        (["--catalogue-version", "1.7"], None, 4),
    ],
    ids=[
        "usual",
        "usual, -n 2",
        "option",
        "option, -n 2",
        "key",
        "option beats key",
        "warnings fail",
        "future",
    ],
)
def test_a_run_on_a_server_that_breaks_a_new_rule(
    options: list[str], key: str | None, status: int, tmp_path: Path
) -> None:
    (tmp_path / "newer.py").write_text(PLUGIN)
    server, tables = faulty(NoSignatureCheck())
    with served(server) as url:
        plain = {"catalogue_version": key, **tables(url)}
        target = write_target(tmp_path / "target.toml", plain)
        outcome = run(
            "-p", "newer", "--target", str(target), *options,
            "--rule", f"{NEW}@getBeneficiary", "--rule", "auth.header-case@getBeneficiary",
            folder=tmp_path / "reports",
            PYTHONPATH=os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")])),
        )  # fmt: skip
    assert outcome.status == status, outcome.output
    if status == 4:
        assert "--catalogue-version: 1.7 is yet to come" in outcome.output
        return
    held = outcome.results["suite"]["held_version"]
    warned = (NEW, "getBeneficiary") in cells(outcome, "warning")
    assert (held, warned) == (("1.0", True) if status == 0 or "--fail-on" in options else ("1.1", False))
    if warned:
        notes = " ".join(outcome.results["verdict"]["notes"])
        assert "newer than version 1.0 of the catalogue" in notes and "only implies" not in notes
