"""The commands `conformance rules` and `explain`."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.cli.main import main
from conformance.contract.rules import ALL_RULES, CLIENT_RULES


def failing(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Returns the error message of a command that fails with usage status."""
    assert main(words) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.count("\n") == 1
    return captured.err


# ---------------------------------------------------------------------- rules


def rules(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The ids of the rules that the command lists."""
    assert main(["rules", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.split()[0] for line in lines if line.partition(" ")[0] in ALL_RULES]


def test_rules_lists_every_rule_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(capsys) == list(ALL_RULES)
    assert rules(capsys, "--side", "client") == list(CLIENT_RULES)


def test_rules_can_be_narrowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(capsys, "list", "auth.precedence") == [
        rule for rule in ALL_RULES if rule.startswith("list.") or rule == "auth.precedence"
    ]
    chosen = [ALL_RULES[rule] for rule in rules(capsys, "--section", "5.4", "--operation", "listAccounts")]
    for rule in chosen:
        assert any(section.startswith("5.4") for section in rule.section)
        assert "listAccounts" in rule.operations
    assert chosen


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["rules", "list.wlak"], ["list.walk"]),
        (["rules", "nonce"], ["auth.nonce-replay"]),
        (["rules", "--operation", "makeAccount"], ["createAccount"]),
        (["rules", "wallet", "--section", "5"], ["no rule matches all of these options"]),
        (["explain", "wallet"], ["area of 5 rules", "wallet.race"]),
        (["explain", "wallet.rase"], ["did you mean wallet.race?"]),
        (["explain", "nonsense"], ["'nonsense'; `conformance rules` lists them."]),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(
    capsys: pytest.CaptureFixture[str], words: list[str], names: list[str]
) -> None:
    error = failing(capsys, *words)
    assert all(name in error for name in names)


# ---------------------------------------------------------------------- explain


@pytest.mark.parametrize("rule", ["idempotency.replay", "error.shape", "client.nonce-form"])
def test_a_rule_is_explained_with_its_checks(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule]) == 0
    text = capsys.readouterr().out
    assert " ".join(ALL_RULES[rule].statement.split()) in " ".join(text.split())
    assert all(check.name in text for check in load_checks().values() if rule in check.rules)
    assert ("serve --judge" in text) == (rule in CLIENT_RULES)
