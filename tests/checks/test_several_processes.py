"""A server of several processes over one database conforms, but not if it keeps state in a single process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.checks import plan
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.target.file import build
from conformance.world.lane import Lane
from tests.prove.races import MISTAKES, measured, window_served
from tests.support.mistakes import KeyBeforeTransaction, NoncesOfEachProcess
from tests.support.runs import judged
from tests.support.windows import Window
from tests.variants.serving import several_processes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes share a socket by POSIX means")


class KeysOfEachProcess(Behaviour):
    """Keeps the idempotency keys in the process that received them."""

    def answer_scope(self, ctx: Context) -> str:
        return f"{super().answer_scope(ctx)} {os.getpid()}"


CASES = [
    (NoncesOfEachProcess, "auth.nonce-race", "createPayout"),
    (KeysOfEachProcess, "idempotency.race", "createPayout"),
    (KeysOfEachProcess, "idempotency.race", "createBeneficiary"),
    (KeyBeforeTransaction, "idempotency.race", "createPayout"),
]


def met_by(folder: Path, behaviour: Behaviour, *cases: tuple[str, str]) -> list[Cell]:
    with several_processes(folder, behaviour) as tables:
        lane = Lane(build(tables, "several processes"))
        return [judged(lane, plan({rule}, {operation})).cell(rule, operation) for rule, operation in cases]


@pytest.mark.parametrize(
    ("behaviour", "rule", "operation"), CASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_memory_of_one_process_is_found(
    behaviour: type[Behaviour], rule: str, operation: str, tmp_path: Path
) -> None:
    # The operating system decides which process accepts a connection: try three times.
    for attempt in "123":
        (tmp_path / attempt).mkdir()
        [cell] = met_by(tmp_path / attempt, behaviour(), (rule, operation))
        if cell.violations:
            return
    pytest.fail(f"none of three runs shows that {rule} is broken")


def test_several_processes_conform(tmp_path: Path) -> None:
    cases = {(rule, operation) for _, rule, operation in CASES} | {("wallet.race", "createWallet")}
    cells = met_by(tmp_path, Behaviour(), *sorted(cases))
    assert {cell.verdict for cell in cells} == {Verdict.PASSED}, cells


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "operation", "mistake"), MISTAKES)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_window_of_ten_milliseconds_is_found_beside_other_lanes(
    rule: str, operation: str, mistake: type[Window], processes: int
) -> None:
    with window_served(mistake(10), processes) as tables:
        hits, _ = measured(build(tables, "a server with a window"), rule, operation, lanes=4, runs=2)
    assert hits
