"""A probe whose look was spoilt does not pass beside another one that looked: it is repeated, or inconclusive
in the end. What the server's choice leaves without anything to judge is said beside the pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import httpx
import pytest

from conformance.checks import load_checks, plan
from conformance.checks.running import run_check
from conformance.checks.side_effects import UNDISTURBED
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.faults.catalogue import load
from tests.support.balances import change_balances
from tests.support.in_process import InProcessTransport
from tests.support.runs import judged as judged_by_all
from tests.support.runs import run_on
from tests.variants.choice import compose, memory, times
from tests.variants.hurry import hurried
from tests.variants.jobs import OthersPay, balances_settle
from tests.variants.payments import FeesTaken, LimitedDecimals, reserved_on_approval
from tests.variants.replicas import BalancesUneven, elements_behind


def faulty(sentence: str, operation: str, *choices: type[Behaviour]) -> Behaviour:
    """A faulty server that has these choices as well."""
    fault = next(each for each in load() if each.name.startswith(sentence) and each.operation == operation)
    made = fault.make()
    made.__class__ = type("Both", (*choices, type(made)), {})
    return made


def judged(behaviour: Behaviour, check: str, operation: str, rule: str) -> Cell:
    with hurried():
        cells, _ = run_check(load_checks()[check], operation, run_on(behaviour))
    return next(cell for cell in cells if cell.rule == rule)


REPLAY = ("test_idempotency.test_replay", "createPayout", "idempotency.replay")
WALLETS = ("test_races.test_one_wallet", "createWallet", "wallet.race")


def test_a_look_at_money_that_others_spoil_is_inconclusive_though_another_probe_held() -> None:
    again = "A repeated request is answered with the original response, and performed again"
    cell = judged(faulty(again, "createPayout", InCents), *REPLAY)
    assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, UNDISTURBED)
    assert cell.looks, "else nothing was judged beside it"
    assert judged(faulty(again, "createPayout", OthersPay), *REPLAY).verdict is Verdict.FAILED


def test_wallets_are_looked_for_until_they_show() -> None:
    two = "Of several simultaneous creates of one pair all but one are refused, but all are listed"
    cell = judged(faulty(two, "createWallet", elements_behind), *WALLETS)
    assert cell.verdict is Verdict.FAILED
    assert judged(compose(elements_behind), *WALLETS).verdict is Verdict.PASSED


@pytest.mark.parametrize("operation", ["createAccount", "createPayoutDestination", "createWallet"])
def test_what_is_created_is_looked_for_in_lists_until_it_shows(operation: str) -> None:
    check = "test_ownership.test_server_owned_fields_on_create"
    cell = judged(compose(elements_behind), check, operation, "create.server-owned")
    assert (cell.verdict, cell.summary) == (Verdict.PASSED, "")


def test_what_the_target_chooses_is_said_beside_the_pass() -> None:
    cell = judged(Behaviour(), "test_tenancy.test_foreign_parent", "createPayout", "refusal.changes-nothing")
    assert cell.verdict is Verdict.PASSED
    assert cell.summary.startswith("1 probe could not be judged: getAccountBalances")


# ---------------------------------------------------------------------- money counted once

#: Check -> its rule.
COUNTED = {
    "test_hang_ups.test_caller_hangs_up": "idempotency.hang-up",
    "test_hang_ups.test_caller_hangs_up_during_the_work": "idempotency.hang-up",
    "test_races.test_one_key": "idempotency.race",
}


class OthersPayMore(OthersPay):
    """Other clients pay at each read of balances, each time another amount."""

    amounts = tuple(Decimal(cents) / 100 for cents in range(3, 3_000))


class OthersPayAtFirst(OthersPayMore):
    """Other clients pay at the first reads of balances only."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        if times(self, "reads") > 5:
            return Behaviour.balances(self, ctx, record)
        return super().balances(ctx, record)


class BalancesBehind(BalancesUneven):
    """Reads balances with a lag of half a second."""

    lags = (500_000,)


class InCents(LimitedDecimals, OthersPayMore):
    """Amounts have two decimals at most."""


@pytest.mark.parametrize("check", COUNTED)
def test_money_that_others_move_at_each_look_is_not_counted(check: str) -> None:
    cell = judged(InCents(), check, "createPayout", COUNTED[check])
    assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, UNDISTURBED)


#: Check -> a mistake by which money moves twice.
TWICE = {
    "test_hang_ups.test_caller_hangs_up": "Work is done again where its caller has hung up",
    "test_hang_ups.test_caller_hangs_up_during_the_work": "A caller hangs up between the work and the record",
    "test_races.test_one_key": "Requests with one key are all performed",
}


@pytest.mark.parametrize("others", [OthersPayMore, balances_settle])
@pytest.mark.parametrize("check", COUNTED)
def test_money_is_counted_by_digits_that_nobody_else_moves(check: str, others: type[Behaviour]) -> None:
    cell = judged(compose(others), check, "createPayout", COUNTED[check])
    assert (cell.verdict, cell.summary) == (Verdict.PASSED, "")
    twice = judged(faulty(TWICE[check], "createPayout", others), check, "createPayout", COUNTED[check])
    assert twice.verdict is Verdict.FAILED, twice.summary


@pytest.mark.parametrize("check", COUNTED)
def test_money_that_others_move_for_a_while_is_counted_in_another_round(check: str) -> None:
    cell = judged(OthersPayAtFirst(), check, "createPayout", COUNTED[check])
    assert (cell.verdict, cell.summary) == (Verdict.PASSED, "")


@pytest.mark.parametrize("check", COUNTED)
def test_balances_that_stay_as_the_server_chooses_are_said_beside_the_pass(check: str) -> None:
    cell = judged(compose(reserved_on_approval), check, "createPayout", COUNTED[check])
    assert cell.verdict is Verdict.PASSED
    assert cell.summary.endswith("a payment leaves the balances as they are")


@pytest.mark.parametrize("check", COUNTED)
def test_money_is_counted_where_balances_show_it_late(check: str) -> None:
    cell = judged(compose(BalancesBehind), check, "createPayout", COUNTED[check])
    assert (cell.verdict, cell.summary) == (Verdict.PASSED, "")


class ShareTaken(FeesTaken):
    """Charges one percent of a payout, rounded to cents, and shows it in both balances."""

    def reserve_funds(self, ctx: Context) -> None:
        self.fee = (Decimal(str(ctx.values["amount"])) / 100).quantize(Decimal("0.01"))
        super().reserve_funds(ctx)
        own = ctx.values.get("currency")
        change_balances(ctx, self.parent(ctx)["id"], lambda code: code == own, pending_payout=self.fee)


@pytest.mark.parametrize("check", COUNTED)
def test_money_is_counted_where_fees_are_a_share_of_it(check: str) -> None:
    cell = judged(ShareTaken(), check, "createPayout", COUNTED[check])
    assert (cell.verdict, cell.summary) == (Verdict.PASSED, "")


def test_money_that_moves_twice_shows_beside_fees_that_are_a_share_of_it() -> None:
    lost = "A caller hangs up between the work and the record of its key, which is lost"
    check = "test_hang_ups.test_caller_hangs_up_during_the_work"
    cell = judged(faulty(lost, "createPayout", ShareTaken), check, "createPayout", COUNTED[check])
    assert cell.verdict is Verdict.FAILED


# ---------------------------------------------------------------------- looks that are not answered


class Breaks(InProcessTransport):
    """Answers some requests with 500, or as wrongly signed."""

    #: Path, query and headers of a request, with how often its path came -> the status of a broken answer.
    status: ClassVar[Callable[[httpx.Request, int], int | None]]

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._times = Counter[str]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._times[request.url.path] += 1
        if status := type(self).status(request, self._times[request.url.path]):
            error = {"type": "authentication_error", "code": "invalid_signature", "message": "No."}
            return httpx.Response(status, json={"error": error})
        return super().handle_request(request)


def _plain_read(request: httpx.Request) -> bool:
    return request.method == "GET" and "Accept-Language" not in request.headers


UNANSWERED: dict[tuple[str, str, str], Callable[[httpx.Request, int], int | None]] = {
    ("test_balances.test_balances_are_of_the_account", "getAccountBalances", "balances.of-account"): (
        lambda request, number: 500 if request.url.path.endswith("/balances") and number > 4 else None
    ),
    ("test_isolation.test_odd_queries_stay_within_the_path", "listWallets", "tenancy.isolation"): (
        lambda request, _: 500 if b"expand=" in request.extensions["target"] else None
    ),
    ("test_stored_answers.test_headers_of_the_owner", "getVirtualAccount", "tenancy.isolation"): (
        lambda request, number: 500 if "X-Request-Id" in request.headers and number == 1 else None
    ),
    (
        "test_negotiation.test_answers_are_json_with_the_same_values",
        "getVirtualAccount",
        "http.negotiation",
    ): (lambda request, _: 400 if _plain_read(request) else None),
    ("test_nonces.test_nonces_of_refused_requests", "createVirtualAccount", "auth.nonce-replay"): (
        lambda request, _: 401 if request.read() == b'{"' else None
    ),
}


@pytest.mark.parametrize("cell", UNANSWERED, ids=lambda cell: cell[0])
def test_what_was_not_answered_passes_nothing(
    cell: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check, operation, rule = cell
    monkeypatch.setattr(Breaks, "status", staticmethod(UNANSWERED[cell]), raising=False)
    with hurried():
        cells, _ = run_check(load_checks()[check], operation, run_on(transport=Breaks))
    judged = next(each for each in cells if each.rule == rule)
    assert judged.verdict is Verdict.INCONCLUSIVE, judged.summary


class GatewayTooEarly(InProcessTransport):
    """Makes a destination whose create, and each repetition of it, a gateway answers with 504."""

    #: Which of all creates of destinations it is.
    number: ClassVar[int]

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._keys: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if request.method == "POST" and request.url.path.endswith("/payout-destinations"):
            self._keys.append(request.headers.get("Idempotency-Key", ""))
            if self._keys[-1] in self._keys[type(self).number :][:1]:
                return httpx.Response(504)
        return answer


@pytest.mark.parametrize("number", [2, 60])
@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Only so many of the destinations are embedded",
        "payout_destinations holds the destinations of all",
    ],
)
def test_what_a_create_without_an_answer_made_may_show(
    number: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GatewayTooEarly, "number", number, raising=False)
    check = load_checks()["test_embedded_destinations.test_destinations_of_a_beneficiary"]
    behaviour = faulty(sentence, "getBeneficiary") if sentence else None
    with hurried():
        cells, _ = run_check(check, "getBeneficiary", run_on(behaviour, GatewayTooEarly))
    expected = Verdict.FAILED if sentence else Verdict.PASSED
    assert {cell.verdict for cell in cells if cell.rule == "beneficiary.destinations"} == {expected}


def test_a_refusal_of_fields_without_a_body_is_said_beside_the_pass() -> None:
    class NoBody(Behaviour):
        def finish(self, ctx: Context, response: Response) -> Response:
            response = super().finish(ctx, response)
            return Response(422) if ctx.request.body == b"[]" else response

    check = "test_negotiation.test_answers_are_json_with_the_same_values"
    cell = judged(NoBody(), check, "createAccount", "http.negotiation")
    assert cell.verdict is Verdict.PASSED
    assert cell.summary.endswith("with no body, no Content-Type")


def test_a_further_member_makes_no_list_of_a_resource() -> None:
    class Items(Behaviour):
        def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Any:
            return {**super().shape(ctx, kind, document), "items": []}

    check = "test_negotiation.test_answers_are_json_with_the_same_values"
    assert judged(Items(), check, "getVirtualAccount", "http.negotiation").verdict is Verdict.PASSED


# ---------------------------------------------------------------------- payouts that are refused

BALANCES = ("test_balances.test_balances_are_of_the_account", "getAccountBalances", "balances.of-account")


class Unfunded(Behaviour):
    """Refuses payouts from accounts whose names begin so."""

    names = ""

    def reserve_funds(self, ctx: Context) -> None:
        if self.parent(ctx)["name"].startswith(self.names):
            raise Refusal("invalid_field", "No funds.", code="insufficient_funds")
        super().reserve_funds(ctx)


class UnfundedWhenNew(Unfunded):
    """Pays from the funded account only."""

    names = "Conformance"


class OneOrganization(Behaviour):
    """Refuses accounts of other organizations than the one that came first."""

    first = ""

    def check_together(self, ctx: Context) -> None:
        assert ctx.organization is not None
        self.first = self.first or ctx.organization.id
        if ctx.operation == "createAccount" and ctx.organization.id != self.first:
            raise Refusal("invalid_field", "Not today.", code="closed")
        super().check_together(ctx)


@pytest.mark.parametrize(
    ("behaviour", "remedy"), [(Unfunded, "funded_account_id"), (OneOrganization, "samples")]
)
def test_balances_beside_payouts_that_are_refused_are_inconclusive(
    behaviour: type[Behaviour], remedy: str
) -> None:
    cell = judged(behaviour(), *BALANCES)
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert remedy in cell.decisive.remedy


def test_a_refusal_of_payouts_from_new_accounts_is_said_beside_the_pass() -> None:
    cell = judged(UnfundedWhenNew(), *BALANCES)
    assert cell.verdict is Verdict.PASSED
    assert cell.summary.startswith("1 probe could not be judged: the valid createPayout")


class ChangedInMemory(Behaviour):
    """Changes, with the valid members of a refused PATCH, what each second or third read shows: that of one
    process among several."""

    processes = 2

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field" and ctx.operation == "updateBeneficiary":
            changed = memory(self, "changed").setdefault(ctx.params["beneficiary_id"], {})
            changed |= {name: value for name, value in ctx.values.items() if name != refusal.field}
        super().refused(ctx, refusal)

    def success_document(self, ctx: Context) -> dict[str, Any]:
        document: dict[str, Any] = super().success_document(ctx)
        changed = memory(self, "changed").get(document["id"])
        if changed and ctx.operation == "getBeneficiary" and times(self, "reads") % self.processes == 0:
            document |= changed
        return document


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_what_a_refused_request_has_changed_in_one_process_is_its_effect(processes: int) -> None:
    behaviour = ChangedInMemory()
    behaviour.processes = processes
    with hurried():
        cells = judged_by_all(run_on(behaviour), plan({"refusal.changes-nothing"}, {"updateBeneficiary"}))
    assert cells.cell("refusal.changes-nothing", "updateBeneficiary").verdict is Verdict.FAILED
