"""Requests that are out of time while other lanes send: alone they are repeated, and judged by that."""

from __future__ import annotations

import httpx
import pytest

from conformance.checks import load_checks
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.plugin.worker import NO_ANSWER, Worker
from conformance.reference.app import Server
from conformance.reference.serving.in_process import InProcessTransport
from tests.support.runs import run_on


class Starved(httpx.BaseTransport):
    """Answers reads of balances in time after a number of them."""

    def __init__(self, server: Server, late: int) -> None:
        self._inner, self._left = InProcessTransport(server), late

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/balances") and self._left:
            self._left -= 1
            raise httpx.ReadTimeout("late")
        return self._inner.handle_request(request)


#: A check that judges whether requests are answered, and one of other rules: every answer is judged.
CHECKS = ["test_hostile.test_hostile_headers", "test_resources.test_answers_have_the_documented_form"]


def judged(name: str, late: int, workers: int) -> list[Cell]:
    """The cells on answers to reads of balances, after one check and at the end."""
    run = run_on(transport=lambda server: Starved(server, late))
    worker = Worker(run.target, index=0, settings=FuzzSettings(1, workers=workers))
    run.invariants.overdue = worker.run.invariants.overdue
    worker.run = run
    cells, _ = worker.run_check(load_checks()[name], "getAccountBalances")
    ledgers = [worker.ledger(cells), worker.totals()]
    key = (NO_ANSWER, "getAccountBalances")
    return [cell for ledger in ledgers for cell in ledger.cells if cell.key == key]


@pytest.mark.parametrize("check", CHECKS)
def test_a_starved_server_is_not_blamed_for_time_outs_of_several_lanes(check: str) -> None:
    cells = judged(check, late=2, workers=4)
    assert not any(cell.violations for cell in cells)
    unclear = [reason for cell in cells for reason in cell.unclear if "out of time" in reason.reason]
    assert unclear and all("--lanes" in reason.remedy for reason in unclear)
    assert Verdict.INCONCLUSIVE in {cell.verdict for cell in cells}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("late", "workers"), [(2, 1), (1000, 4)])
def test_a_server_that_does_not_answer_a_request_alone_is_blamed(check: str, late: int, workers: int) -> None:
    assert any(cell.violations for cell in judged(check, late, workers))
