"""A server of several processes over one database conforms, but not if it keeps state in a single process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.target.file import build
from conformance.world.run import Run
from tests.faults.harness import Outcome, checks_of, run_one
from tests.support.mistakes import KeyBeforeTransaction, NoncesOfEachProcess
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


def judged(folder: Path, behaviour: Behaviour, *cases: tuple[str, str]) -> Outcome:
    with several_processes(folder, behaviour) as tables:
        context, outcome = Run(build(tables, "several processes")), Outcome()
        for rule, operation in cases:
            for check in checks_of(rule, operation):
                run_one(check, operation, context, outcome)
    return outcome


@pytest.mark.parametrize(
    ("behaviour", "rule", "operation"), CASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_memory_of_one_process_is_found(
    behaviour: type[Behaviour], rule: str, operation: str, tmp_path: Path
) -> None:
    # The operating system decides which process accepts a connection: try three times.
    for attempt in "123":
        (tmp_path / attempt).mkdir()
        if (rule, operation) in judged(tmp_path / attempt, behaviour(), (rule, operation)).broken:
            return
    pytest.fail(f"none of three runs shows that {rule} is broken")


def test_several_processes_conform(tmp_path: Path) -> None:
    cases = {(rule, operation) for _, rule, operation in CASES} | {("wallet.race", "createWallet")}
    outcome = judged(tmp_path, Behaviour(), *sorted(cases))
    assert (outcome.broken, outcome.inconclusive, outcome.errors) == ({}, {}, [])
