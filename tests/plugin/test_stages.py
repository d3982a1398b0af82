"""A server under construction: each missing operation is reported once, and no other rule is blamed for
it."""

from __future__ import annotations

import pytest

from conformance.checks import plan, presence
from conformance.contract.needs import UNBUILT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import Level
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.plugin.worker import Worker
from conformance.reference.serving.in_process import InProcessTransport
from conformance.report.causes import causes
from conformance.wire.messages import Call
from conformance.world.run import Run
from tests.support.report_samples import exchange
from tests.support.report_samples import judged as judged_cell
from tests.support.runs import run_on
from tests.support.stages import Stage
from tests.variants.hurry import hurried

BUILT = ("createAccount", "listAccounts")

#: Operations whose absence shows before any other operation is implemented.
REACHABLE = {
    "getAccountBalances",
    "createBeneficiary",
    "createVirtualAccount",
    "listVirtualAccounts",
    "createWallet",
    "listWallets",
}


@pytest.fixture(scope="module")
def judged() -> Ledger:
    """The ledger of a run on a server with two operations."""
    run = run_on(transport=lambda server: InProcessTransport(Stage.of(server, *BUILT)))
    worker = Worker(run.target, index=0, settings=FuzzSettings(1))
    worker.run, worker._confirming = run, 0
    ledger = Ledger.of_catalogue(run.target)
    for check, operation in plan():
        with hurried():
            found, _ = worker.run_check(check, operation)
        ledger.merge(worker.ledger(found))
    ledger.merge(worker.ledger(last=True))
    return ledger


def test_missing_operations_are_named_and_no_other_rule_fails(judged: Ledger) -> None:
    violated = {cell.key for cell in judged.cells if cell.violations}
    assert violated >= {(UNBUILT, operation) for operation in REACHABLE}
    assert not [key for key in violated if key[0] != UNBUILT or key[1] in BUILT]


def test_what_needs_a_missing_operation_is_its_consequence(judged: Ledger) -> None:
    [cause] = causes(judged)
    following = {cell.key for cell in cause.consequences}
    unjudged = judged.with_verdict(Verdict.INCONCLUSIVE, Verdict.NOT_RUN, levels=[Level.REQUIRED])
    assert not [cell.key for cell in unjudged if cell.operation in REACHABLE and cell.key not in following]


def test_on_a_server_with_all_operations_none_is_missing(run: Run) -> None:
    assert [operation for operation in OPERATIONS if presence.missing(run, operation)] == []


def test_an_operation_that_succeeded_once_is_not_missing() -> None:
    results, another = Ledger.of_catalogue(None), Ledger()
    for operation in ("getBeneficiary", "listWallets"):
        another.add(judged_cell(UNBUILT, operation, Verdict.FAILED))
    for status in (404, None, 200):
        results.measure(exchange(1, status=status, call=Call("getBeneficiary", "GET", "/")))
    results.merge(another)
    assert [cell.operation for cell in results.cells if cell.violations] == ["listWallets"]
