"""A server under construction: each missing operation is reported once, and no other rule is blamed for
it."""

from __future__ import annotations

import pytest

from conformance.checks import plan, presence
from conformance.contract.operations import OPERATIONS
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.plugin.worker import Worker
from conformance.reference.serving.in_process import InProcessTransport
from conformance.wire.messages import Call
from conformance.world.run import Run
from tests.support.report_samples import exchange
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


def test_missing_operations_are_named(judged: Ledger) -> None:
    assert set(judged.missing) >= REACHABLE
    assert not set(judged.missing) & set(BUILT)


def test_no_other_rule_fails_for_a_missing_operation(judged: Ledger) -> None:
    assert not [cell.summary for cell in judged.cells if cell.verdict.is_violation]


def test_on_a_server_with_all_operations_none_is_missing(run: Run) -> None:
    assert [operation for operation in OPERATIONS if presence.missing(run, operation)] == []


def test_an_operation_that_succeeded_once_is_not_missing() -> None:
    results = Ledger.of_catalogue(None)
    results.lack({"getBeneficiary": "404", "listWallets": "404"})
    for status in (404, None, 200):
        results.measure(exchange(1, status=status, call=Call("getBeneficiary", "GET", "/")))
    results.lack({"getBeneficiary": "404"})
    assert results.missing == {"listWallets": "404"}
