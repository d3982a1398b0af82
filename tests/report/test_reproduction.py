"""The command below each failure shows the same violation again, alone, and none on a conforming server."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.checks import load_checks
from conformance.checks.check import Check
from conformance.contract.rules import RULES, Level
from conformance.judge.cells import grouped
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job, Scope
from conformance.reference.behaviour import Behaviour
from conformance.report.commands import reproduction
from tests.faults.catalogue import Fault, load
from tests.faults.harness import catch, judge
from tests.support.mistakes import NoNonces
from tests.support.report_samples import judged
from tests.support.running import run_against

#: Number of faults of each area that are tried.
PARTS = 2


def sample() -> Iterator[Fault]:
    """Yields faults of different kinds and operations from each area of rules."""
    for number, faults in enumerate(grouped((fault.area, fault) for fault in load()).values()):
        kinds = {fault.kind: fault for fault in faults if RULES[fault.rule].level is not Level.OPEN}
        some = list(kinds.values())
        for part in range(min(PARTS, len(some))):
            yield some[(part * len(some)) // PARTS + number % max(1, len(some) // PARTS)]


def parsed(command: str) -> argparse.Namespace:
    """The options in a command."""
    words = shlex.split(command)
    assert words[:3] == ["pytest", "--pyargs", "conformance"]
    parser = argparse.ArgumentParser()
    for name in ("--rule", "--operation", "--effort", "--seed", "--target", "--base-url", "--fuzz-examples"):
        parser.add_argument(name)
    return parser.parse_args(words[3:])


def selected(command: str) -> list[tuple[Check, str]]:
    """The checks that a command runs, with their operations."""
    given = parsed(command)
    scope = Scope.parse([given.rule], [given.operation])
    return [
        (check, operation)
        for check in load_checks().values()
        for operation in check.operations
        if scope.wants(Job(check, operation)) and (given.effort == "deep" or not check.deep)
    ]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("fault", list(sample()), ids=lambda fault: fault.id[:80])
def test_a_failure_comes_again_on_the_faulty_server_only(fault: Fault) -> None:
    [cell] = [cell for cell in catch(fault).ledger.cells if cell.key == (fault.rule, fault.operation)]
    command = reproduction(cell, {"target": "target.toml", "effort": "deep"}, 7)
    checks = selected(command)
    for _ in range(3 if fault.rule.endswith("race") else 1):
        # Scheduling on a busy machine decides if the requests of a race meet.
        again = judge(fault.make(), checks).broken
        if cell.key in again:
            break
    assert cell.key in again, command
    assert judge(Behaviour(), checks).broken == {}


def test_a_run_of_the_command_shows_the_failure(tmp_path: Path) -> None:
    cell = judged("auth.nonce-replay", "listAccounts", Verdict.FAILED)
    command = reproduction(cell, {}, 7)
    assert command == "pytest --pyargs conformance --rule auth.nonce-replay --operation listAccounts --seed 7"
    options = command.removeprefix("pytest --pyargs conformance ")
    for behaviour, status in ((NoNonces(), 1), (Behaviour(), 0)):
        folder = tmp_path / str(status)
        folder.mkdir()
        outcome = run_against(folder, options, behaviour)
        assert outcome.status == status, outcome.output
        cells = [cell for cell in outcome.results["cells"] if cell["verdict"] == "failed"]
        assert [cell["rule"] for cell in cells] == ["auth.nonce-replay"] * status


def test_a_generated_failure_is_drawn_again() -> None:
    cell = judged("fields.amount", "createPayin", Verdict.FAILED, examples=99)
    assert "--fuzz-examples 99 --seed 7" in reproduction(cell, {}, 7)
    assert "--fuzz-time 20.0 --seed 7" in reproduction(cell, {"fuzz-time": "20.0"}, 7)
    response = judged("error.shape", "createPayin", Verdict.FAILED)
    assert "--fuzz-examples" not in reproduction(response, {}, 7)


def test_a_failure_of_a_deep_run_is_shown_by_a_deep_run() -> None:
    cell = judged("auth.nonce-replay", "listWallets", Verdict.FAILED)
    assert " --effort deep " in reproduction(cell, {"effort": "deep"}, 7)
    assert "--effort" not in reproduction(cell, {"effort": "quick"}, 7)


def test_the_target_is_named_as_it_was() -> None:
    cell = judged("list.walk", "listWallets", Verdict.FAILED)
    command = reproduction(cell, {"target": "my server.toml", "base-url": "http://x"}, None)
    assert command.endswith("--operation listWallets --target 'my server.toml' --base-url http://x")
