"""The command below each failure shows the same violation again, alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checks import load_checks
from conformance.contract.rules import RULES
from conformance.judge.invariants import INVARIANTS
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job, Scope
from conformance.reference.behaviour import Behaviour
from conformance.report.commands import again, reproduction
from tests.faults.harness import checks_of
from tests.support.mistakes import AnySignature
from tests.support.report_samples import judged
from tests.support.running import run_against


@pytest.mark.parametrize("rule", RULES)
def test_the_command_selects_the_checks_by_which_each_fault_is_caught(rule: str) -> None:
    """tests/test_faults.py catches faults by these checks, of a rule of every response by any other, too."""
    for operation in RULES[rule].operations:
        scope = Scope.parse([rule], [operation])
        checks = checks_of(rule, operation)
        if rule in INVARIANTS:
            checks += [check for check in load_checks().values() if operation in check.operations]
        left_out = [check.name for check in checks if not scope.wants(Job(check, operation))]
        assert left_out == [], operation


def test_a_run_of_the_command_shows_the_failure(tmp_path: Path) -> None:
    cell = judged("auth.signature", "listAccounts", Verdict.FAILED)
    command = reproduction(cell, {}, 7)
    assert command == "pytest --pyargs conformance --rule auth.signature --operation listAccounts --seed 7"
    options = command.removeprefix("pytest --pyargs conformance ")
    for behaviour, status in ((AnySignature(), 1), (Behaviour(), 0)):
        folder = tmp_path / str(status)
        folder.mkdir()
        outcome = run_against(folder, options, behaviour)
        assert outcome.status == status, outcome.output
        cells = [cell for cell in outcome.results["cells"] if cell["verdict"] == "failed"]
        assert [cell["rule"] for cell in cells] == ["auth.signature"] * status
        # The causes are the last screen.
        assert "= conformance =" in outcome.output.rpartition("short test summary info")[2]


SERVER = {"target": "my server.toml", "base-url": "http://x"}


@pytest.mark.parametrize(
    ("options", "examples", "words"),
    [
        (SERVER, 0, "--seed 7 --target 'my server.toml' --base-url http://x"),
        ({"effort": "deep"}, 0, "--effort deep --seed 7"),
        ({"effort": "quick"}, 0, "--seed 7"),
        # A generated failure is drawn again.
        ({}, 99, "--fuzz-examples 99 --seed 7"),
        ({"fuzz-time": "20.0"}, 99, "--fuzz-examples 99 --fuzz-time 20.0 --seed 7"),
        ({"fuzz-time": "20.0"}, 0, "--seed 7"),
    ],
)
def test_the_command_of_a_failure_has_what_decides_about_it(
    options: dict[str, str], examples: int, words: str
) -> None:
    cell = judged("list.walk", "listWallets", Verdict.FAILED, examples=examples)
    alone = "pytest --pyargs conformance --rule list.walk --operation listWallets "
    assert reproduction(cell, options, 7) == alone + words


def test_the_command_of_a_warning_fails_as_well() -> None:
    cell = judged("payout.race", "createPayout", Verdict.WARNING)
    assert reproduction(cell, {}, 7).endswith("--operation createPayout --fail-on implied --seed 7")


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "pytest --pyargs conformance --seed 7"),
        (
            {**SERVER, "fail-on": "required", "lanes": "3"},
            "pytest --pyargs conformance --seed 7 --target 'my server.toml' --base-url http://x",
        ),
        (
            {"rule": "auth.* list.walk@listWallets", "-m": "not fuzz", "fail-on": "implied"},
            "pytest --pyargs conformance --rule 'auth.*' --rule list.walk@listWallets "
            "--fail-on implied -m 'not fuzz' --seed 7",
        ),
        (
            {"load": "--users 50 --headless", "target": "t.toml", "rate": "20.0"},
            "conformance load --rate 20.0 --seed 7 --users 50 --headless --target t.toml",
        ),
    ],
)
def test_a_run_can_be_repeated(options: dict[str, str], command: str) -> None:
    assert again(options, 7) == command
