"""What a worker makes of checks: confirmed failures, requests out of time, operations that do not exist."""

from __future__ import annotations

import gc

import httpx
import pytest

from conformance.checks import load_checks, plan, presence
from conformance.checks.running import finished
from conformance.contract.needs import UNBUILT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import Level
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Verdict
from conformance.plugin.selection import Job
from conformance.plugin.worker import NO_ANSWER, Worker
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing
from conformance.report.causes import causes
from conformance.wire.messages import Call
from conformance.world.lane import Lane
from conformance.world.purposes import AUTHENTICATION
from tests.support.in_process import InProcessTransport
from tests.support.mistakes import NoNonces
from tests.support.report_samples import exchange
from tests.support.report_samples import judged as judged_cell
from tests.support.runs import run_on
from tests.support.stages import Stage
from tests.variants.hurry import hurried


def test_a_failed_check_runs_again_in_accounts_of_its_own() -> None:
    lane = run_on(NoNonces())
    worker = Worker(lane.target, index=0, settings=FuzzSettings(1))
    worker.lane = lane
    shared = lane.account(AUTHENTICATION).beneficiary_id
    check = load_checks()["test_nonces.test_nonces_are_used_once"]
    cells, exchanges = worker.run_check(check, "getBeneficiary")
    [failed] = [cell for cell in cells if cell.rule == "auth.nonce-replay"]
    assert failed.violations[0].confirmed == "confirmed"
    last = max(exchange.number for exchange in exchanges)
    first, again = (
        [each for each in lane.recent if (each.number > last) is later] for later in (False, True)
    )
    assert any(shared in exchange.call.path for exchange in first)
    assert again and not any(shared in exchange.call.path for exchange in again)
    assert lane.sent == len(lane.recent)


class CountsOne(Behaviour):
    """Lists count no more than one element."""

    def count(self, ctx: Context, listing: Listing) -> int:
        return min(1, super().count(ctx, listing))


def test_only_exchanges_to_which_something_refers_stay() -> None:
    """Those that cells name are in the ledger of their check, or in an earlier one."""
    load_tests()
    lane = run_on(CountsOne())
    worker = Worker(lane.target, index=0, settings=FuzzSettings(1, examples=20))
    worker.lane, lane.lag.within = lane, 0.01
    jobs = [Job(check, name) for check, name in plan(operations={"listVirtualAccounts"})]
    jobs = [job for job in jobs if job.judged.waits or job.judged.name.startswith("test_lists")]
    jobs.append(Job(EXPLORATIONS["test_fuzz.test_schema_fuzzing"], "createWallet"))
    waiting = [(job, worker.steps(job)) for job in jobs if job.judged.waits and not job.judged.deep]
    assert waiting and all(next(steps) > 0 for _, steps in waiting)
    ledgers = [worker.judge(job).ledger for job in jobs if not job.judged.waits]
    ledgers += [finished(steps, lambda seconds: None).ledger for _, steps in waiting]
    known: set[int] = set()
    for ledger in [*ledgers, worker.ledger(last=True)]:
        known |= ledger.exchanges.keys()
        assert {number for cell in ledger.cells for number in cell.exchanges} <= known
    violations = [each for ledger in ledgers for cell in ledger.cells for each in cell.violations]
    assert any("long after" in each.expected for each in violations)
    gc.collect()
    left = {*lane.common.exchanges} - {exchange.number for exchange in lane.accepted}
    assert len(left) < lane.sent / 10


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


def starved(late: int, workers: int) -> Worker:
    lane = run_on(transport=lambda server: Starved(server, late))
    worker = Worker(lane.target, index=0, settings=FuzzSettings(1, workers=workers))
    lane.invariants.overdue = worker.lane.invariants.overdue
    worker.lane = lane
    return worker


def cells_of(name: str, late: int, workers: int) -> list[Cell]:
    """The cells on answers to reads of balances, after one check and at the end."""
    worker = starved(late, workers)
    cells, _ = worker.run_check(load_checks()[name], "getAccountBalances")
    ledgers = [worker.ledger(cells), worker.totals()]
    key = (NO_ANSWER, "getAccountBalances")
    return [cell for ledger in ledgers for cell in ledger.cells if cell.key == key]


@pytest.mark.parametrize("check", CHECKS)
def test_a_starved_server_is_not_blamed_for_time_outs_of_several_lanes(check: str) -> None:
    cells = cells_of(check, late=2, workers=4)
    assert not any(cell.violations for cell in cells)
    unclear = [reason for cell in cells for reason in cell.unclear if "out of time" in reason.reason]
    assert unclear and all("--lanes" in reason.remedy for reason in unclear)
    assert Verdict.INCONCLUSIVE in {cell.verdict for cell in cells}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("late", "workers"), [(2, 1), (1000, 4)])
def test_a_server_that_does_not_answer_a_request_alone_is_blamed(check: str, late: int, workers: int) -> None:
    assert any(cell.violations for cell in cells_of(check, late, workers))


def test_requests_that_were_out_of_time_stay_as_evidence() -> None:
    worker, whole = starved(late=6, workers=4), Ledger()
    for name in (CHECKS[1], "test_balances.test_balances_are_of_the_account"):
        whole.merge(worker.ledger(worker.run_check(load_checks()[name], "getAccountBalances")[0]))
    gc.collect()
    whole.merge(worker.totals())
    [cell] = [each for each in whole.cells if each.key == (NO_ANSWER, "getAccountBalances")]
    assert len(cell.exchanges) > 1 and {*cell.exchanges} <= whole.exchanges.keys()


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


def judged_with(*built: str) -> Ledger:
    """Returns the ledger of a run on a server with these operations."""
    lane = run_on(transport=lambda server: InProcessTransport(Stage.of(server, *built)))
    worker = Worker(lane.target, index=0, settings=FuzzSettings(1))
    worker.lane, worker._confirming = lane, 0
    ledger = Ledger.of_catalogue(lane.target)
    for check, operation in plan():
        with hurried():
            found, _ = worker.run_check(check, operation)
        ledger.merge(worker.ledger(found))
    ledger.merge(worker.ledger(last=True))
    return ledger


def test_missing_operations_are_named_and_what_needs_them_is_their_consequence() -> None:
    judged = judged_with(*BUILT)
    violated = {cell.key for cell in judged.cells if cell.violations}
    assert violated >= {(UNBUILT, operation) for operation in REACHABLE}
    assert not [key for key in violated if key[0] != UNBUILT or key[1] in BUILT]

    only_consequences(judged)


def only_consequences(judged: Ledger) -> None:
    """Asserts that whatever was not judged follows from the one cause."""
    [cause] = causes(judged)
    unjudged = judged.with_verdict(Verdict.INCONCLUSIVE, Verdict.NOT_RUN, levels=[Level.REQUIRED])
    assert not [cell.key for cell in unjudged if cell.key not in cause.consequences]


@pytest.mark.slow
def test_what_was_refused_long_before_is_a_consequence_as_well() -> None:
    only_consequences(judged_with(*BUILT, "getAccountBalances", "createBeneficiary"))


def test_what_an_absent_operation_left_unjudged_is_known_by_its_answer() -> None:
    """Not by an operation that a reason names."""
    lane = run_on(transport=lambda server: InProcessTransport(Stage.of(server, *BUILT)))
    answer = lane.send(lane.client(), lane.account().call("createWallet"), "a wallet")
    for numbers, cause in (((answer.number,), UNBUILT), ((), "")):
        cell = Cell("list.walk", "listAccounts", unclear=[Unclear("no createWallet", exchanges=numbers)])
        explained = presence.explained(lane, cell.decide(), ())
        assert explained.unclear[0].cause == cause


def test_on_a_server_with_all_operations_none_is_missing(lane: Lane) -> None:
    assert [operation for operation in OPERATIONS if presence.missing(lane, operation)] == []


def test_an_operation_that_succeeded_once_is_not_missing() -> None:
    results, another = Ledger.of_catalogue(None), Ledger()
    for operation in ("getBeneficiary", "listWallets"):
        another.add(judged_cell(UNBUILT, operation, Verdict.FAILED))
    for status in (404, None, 200):
        results.measure(exchange(1, status=status, call=Call("getBeneficiary", "GET", "/")))
    results.merge(another)
    assert [cell.operation for cell in results.cells if cell.violations] == ["listWallets"]
