"""The command below each failure shows the same violation again, alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.checks import load_checks
from conformance.contract.rules import RULES, Level
from conformance.judge.cells import grouped
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job, Scope
from conformance.reference.behaviour import Behaviour
from conformance.report.commands import again, reproduction
from tests.faults.catalogue import Fault, load
from tests.faults.harness import judge
from tests.support.mistakes import AnySignature
from tests.support.report_samples import judged
from tests.support.running import run_against

#: Number of faults of each area that are tried.
PARTS = 2


def sample() -> Iterator[Fault]:
    """Yields faults of different kinds and operations from each area of rules, which break their own rule."""
    areas = ((fault.area, fault) for fault in load() if not fault.member)
    for number, faults in enumerate(grouped(areas).values()):
        kinds = {fault.kind: fault for fault in faults if RULES[fault.rule].level is not Level.OPEN}
        some = list(kinds.values())
        for part in range(min(PARTS, len(some))):
            yield some[(part * len(some)) // PARTS + number % max(1, len(some) // PARTS)]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("fault", list(sample()), ids=lambda fault: fault.id[:80])
def test_a_failure_comes_again(fault: Fault) -> None:
    """By the checks that a run of its rule and operation selects."""
    scope = Scope.parse([fault.rule], [fault.operation])
    checks = [
        (check, operation)
        for check in load_checks().values()
        for operation in check.operations
        if scope.wants(Job(check, operation))
    ]
    for _ in range(3 if fault.rule.endswith("race") else 1):
        # Scheduling on a busy machine decides if the requests of a race meet.
        broken = judge(fault.make(), checks).broken
        if (fault.rule, fault.operation) in broken:
            return
    pytest.fail(f"{fault.id}: {broken}")


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
