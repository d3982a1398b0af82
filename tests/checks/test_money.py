"""Balance changes by other clients, told apart from effects of refused requests."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from decimal import Decimal
from typing import Any

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.checks.side_effects import UNDISTURBED
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import EXACT
from conformance.reference.store import Answer
from conformance.world.lag import LONGEST
from conformance.world.lane import Lane
from conformance.world.purposes import PAYOUTS
from conformance.world.samples import Samples
from tests.faults.refusals import asked
from tests.support.balances import change_balances
from tests.support.runs import run_on
from tests.variants.choice import compose, times
from tests.variants.demands import DailyLimit
from tests.variants.hurry import hurried
from tests.variants.jobs import OthersPay, balances_settle
from tests.variants.payments import LimitedDecimals, currency_of_the_destination, reserved_on_approval
from tests.variants.replicas import BalancesUneven
from tests.variants.resources import FundsDemanded

UNTOUCHED, RACE = "refusal.changes-nothing", "test_payouts.test_payouts_at_once"

#: Checks that look for effects of refused payouts.
CHECKS = sorted(
    name
    for name, check in load_checks().items()
    if UNTOUCHED in check.rules
    and "createPayout" in check.operations
    # Payouts are never refused here: the reference server pays from accounts without funds.
    and "payout.insufficient-funds" not in check.rules
)


class AlwaysTheSame(OthersPay):
    """Other clients pay the same amount each time."""

    amounts = (Decimal("1.23"),)


class PaysInvalidKeys(AlwaysTheSame):
    """Other clients pay the same amount each time; a payout refused for its idempotency key is executed
    anyway, with a fee."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_idempotency_key":
            change_balances(ctx, ctx.params["account_id"], available=-asked(ctx) - Decimal("0.40"))


class ChargesRefusals(AlwaysTheSame):
    """Other clients pay the same amount each time; each refused payout costs its account a fee, the same
    for any amount."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if ctx.operation == "createPayout":
            change_balances(ctx, ctx.params["account_id"], available=Decimal("-9.37"))


def judged(lane: Lane, name: str, operation: str = "createPayout", rule: str = UNTOUCHED) -> Cell:
    """Returns the cell of a rule by one check."""
    with hurried():
        cells, _ = run_check(load_checks()[name], operation, lane)
    return next(cell for cell in cells if cell.rule == rule)


@pytest.mark.parametrize("name", CHECKS)
def test_payouts_of_other_clients_are_no_effect(name: str) -> None:
    cell = judged(run_on(AlwaysTheSame()), name)
    assert cell.verdict is Verdict.PASSED, cell.summary


def test_refused_payouts_are_known_among_what_others_pay() -> None:
    cell = judged(run_on(PaysInvalidKeys()), "test_idempotency_keys.test_invalid_key")
    assert cell.verdict is Verdict.FAILED
    assert "no effect of" in cell.summary


@pytest.mark.parametrize("name", CHECKS)
def test_charges_are_found_for_whatever_payouts_are_refused(name: str) -> None:
    cell = judged(run_on(ChargesRefusals()), name)
    assert cell.verdict is Verdict.FAILED, cell.summary


@pytest.mark.parametrize("name", CHECKS)
def test_payouts_are_repeated_though_their_amounts_come_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = itertools.cycle(["1.23", "1.23", "1.23", "1.31"])
    monkeypatch.setattr(Samples, "amount", lambda self, operation: next(drawn))
    cell = judged(run_on(ChargesRefusals()), name)
    assert cell.verdict is Verdict.FAILED, cell.summary


class ChargesRefusalsWhileOthersPay(ChargesRefusals):
    """Each refused payout costs its account a fee; other clients pay at one read of balances only, the last
    of the second repetition."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        self.amounts = (Decimal("1.23" if times(self, "reads") == 8 else 0),)
        return super().balances(ctx, record)


def test_charges_are_found_though_others_spoil_a_look() -> None:
    cell = judged(run_on(ChargesRefusalsWhileOthersPay()), "test_fields.test_required_field_null")
    assert cell.verdict is Verdict.FAILED, cell.summary


# ---------------------------------------------------------------------- conservation of money


class Refunds(Behaviour):
    """Refunds one in three payouts immediately."""

    def reserve_funds(self, ctx: Context) -> None:
        if times(self, "paid") % 3:
            super().reserve_funds(ctx)


class Deposits(Behaviour):
    """Another client deposits an amount at every second read of balances."""

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        if times(self, "looks") % 2:
            change_balances(ctx, record["id"], available=Decimal("1.37"))
        return super().balances(ctx, record)


#: Servers on which others move the balance in cents.
MOVED: list[type[Behaviour]] = [OthersPay, balances_settle, Deposits]


def raced(behaviour: Behaviour) -> Cell:
    """Returns the cell of payout.race."""
    return judged(run_on(behaviour), RACE, rule="payout.race")


class InCents(LimitedDecimals, OthersPay):
    """Others pay, and amounts have two decimals at most."""


class InTenThousandths(OthersPay):
    """Others pay amounts with four decimals."""

    amounts = tuple(Decimal(amount) / 10_000 for amount in range(1_301, 9_000, 7))


@pytest.mark.parametrize("behaviour", [Refunds, InCents, InTenThousandths])
def test_a_balance_moved_by_others_is_inconclusive(behaviour: type[Behaviour]) -> None:
    cell = raced(behaviour())
    assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, UNDISTURBED)


@pytest.mark.parametrize("behaviour", MOVED)
def test_payouts_at_once_are_told_from_what_others_move_by_their_last_digits(
    behaviour: type[Behaviour],
) -> None:
    cell = raced(behaviour())
    assert cell.verdict is Verdict.PASSED, cell.summary
    assert raced(compose(behaviour, LastWriteStays)).verdict.is_violation


def test_balances_that_stay_offer_no_occasion_and_one_wait_in_which_others_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []

    def pause(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(seconds)

    lane = run_on(reserved_on_approval())
    lane.pause = pause
    monkeypatch.setattr(lane.payers, "alone", None)
    assert judged(lane, RACE, rule="payout.race").verdict is Verdict.NOT_APPLICABLE
    assert sum(slept) == pytest.approx(LONGEST, abs=0.1)


class LastWriteStays(Behaviour):
    """Simultaneous payouts overwrite what one another took."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if ctx.operation == "createPayout" else super().transaction(ctx)

    def reserve_funds(self, ctx: Context) -> None:
        account = self.parent(ctx)["id"]
        before = ctx.store.balances(account)
        threading.Event().wait(0.01)
        for balance in before:
            ctx.store.set_balance(account, balance)
        super().reserve_funds(ctx)


class BalancesBehind(BalancesUneven):
    """Reads balances with a lag of a second."""

    lags = (1_000_000,)


@pytest.mark.parametrize("lag", [(), (BalancesUneven,), (BalancesBehind,)])
def test_lost_updates_are_found_however_late_reads_are(lag: tuple[type[Behaviour], ...]) -> None:
    assert raced(compose(*lag, LastWriteStays)).verdict.is_violation
    assert raced(compose(*lag)).verdict is Verdict.PASSED


class OthersPayAtFirst(OthersPay):
    """Another client pays at each read within two seconds of the first."""

    until = 0

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        self.until = self.until or ctx.now + 2_000_000
        if ctx.now < self.until:
            return super().balances(ctx, record)
        return super(OthersPay, self).balances(ctx, record)


def test_a_disturbed_round_is_repeated_after_a_wait() -> None:
    assert raced(OthersPayAtFirst()).verdict is Verdict.PASSED


# ---------------------------------------------------------------------- effects among what others pay


class PaysAgain(Behaviour):
    """A repeated key pays again, and is answered by the original response."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        if ctx.operation == "createPayout":
            change_balances(ctx, ctx.params["account_id"], available=-asked(ctx))
        return super().replayed(ctx, answer)


class TakesWhatItRefuses(Behaviour):
    """A payout that is refused for its key takes its amount."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_idempotency_key" and ctx.operation == "createPayout":
            change_balances(ctx, ctx.params["account_id"], available=-asked(ctx))


#: Check and rule, and a server that breaks it.
AMONG_OTHERS = [
    ("test_idempotency.test_replay", "idempotency.replay", PaysAgain),
    ("test_idempotency.test_replay_after_change", "idempotency.replay-after-change", PaysAgain),
    ("test_idempotency_keys.test_invalid_key", UNTOUCHED, TakesWhatItRefuses),
]


@pytest.mark.parametrize(("name", "rule", "mistake"), AMONG_OTHERS)
def test_effects_are_told_from_what_others_pay_by_their_last_digits(
    name: str, rule: str, mistake: type[Behaviour]
) -> None:
    right, wrong = (
        judged(run_on(each), name, rule=rule) for each in (OthersPay(), compose(mistake, OthersPay))
    )
    assert right.verdict is Verdict.PASSED, right.summary
    assert wrong.verdict is Verdict.FAILED, wrong.summary


def test_whole_cents_that_others_may_have_paid_are_inconclusive() -> None:
    cell = judged(run_on(OthersPay()), "test_fields.test_required_field_of_another_type")
    assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, UNDISTURBED)


@pytest.mark.parametrize("behaviour", [InCents, InTenThousandths])
@pytest.mark.parametrize(("name", "rule", "mistake"), AMONG_OTHERS)
def test_what_no_digit_tells_from_what_others_pay_is_inconclusive(
    name: str, rule: str, mistake: type[Behaviour], behaviour: type[Behaviour]
) -> None:
    for each in (behaviour(), compose(mistake, behaviour)):
        cell = judged(run_on(each), name, rule=rule)
        assert (cell.verdict, cell.decisive.remedy) == (Verdict.INCONCLUSIVE, UNDISTURBED)


@pytest.mark.parametrize(("name", "rule", "mistake"), AMONG_OTHERS)
def test_what_a_payer_without_balances_does_not_show_is_not_passed(
    name: str, rule: str, mistake: type[Behaviour]
) -> None:
    run = run_on(compose(mistake, DailyLimit))
    run.samples.amount = lambda operation: "2.50"  # type: ignore[method-assign]
    while run.send(run.client(), run.account(PAYOUTS).call("createPayout"), "one more").succeeded:
        pass
    assert judged(run, name, rule=rule).verdict is not Verdict.PASSED


class FailingPayouts(FundsDemanded):
    """Earlier payouts have failed, and their money is back, whenever another payout comes."""

    def check_funds(self, ctx: Context) -> None:
        for balance in ctx.store.balances(ctx.params["account_id"]):
            back = EXACT.add(Decimal(balance.available), Decimal(balance.pending_payout))
            moved = balance._replace(available=format(back, "f"), pending_payout="0.00")
            ctx.store.set_balance(ctx.params["account_id"], moved)
        super().check_funds(ctx)


def test_a_payout_is_beyond_the_money_that_comes_back_of_others_too() -> None:
    lane = run_on(FailingPayouts())
    payer = lane.account(PAYOUTS)
    lane.accept(payer.client, payer.call("createPayout").with_field("amount", "500"), "a payout that fails")
    cell = judged(lane, "test_amounts.test_payout_beyond_the_funds")
    assert cell.verdict is Verdict.PASSED, cell.summary


# ---------------------------------------------------------------------- balances of an account


class PaysTheSame(Behaviour):
    """The funded account pays what an account without balances pays, at the same time, as often as asked."""

    left = 0

    def reserve_funds(self, ctx: Context) -> None:
        super().reserve_funds(ctx)
        if self.parent(ctx)["name"] == "Funded account":
            self._funded = self.parent(ctx)["id"]
        elif self.left:
            self.left -= 1
            change_balances(ctx, self._funded, pending_payout=asked(ctx))


@pytest.mark.parametrize(("payments", "verdict"), [(1, Verdict.PASSED), (2, Verdict.FAILED)])
def test_another_client_may_pay_the_same_amount_meanwhile(payments: int, verdict: Verdict) -> None:
    behaviour = PaysTheSame()
    behaviour.left = payments
    name = "test_balances.test_balances_are_of_the_account"
    cell = judged(run_on(behaviour), name, "getAccountBalances", "balances.of-account")
    assert cell.verdict is verdict, cell.summary


# ---------------------------------------------------------------------- currencies


class FeesInEuros(Behaviour):
    """Takes a fee of the same digits each time from the balance in euros, for payouts in any currency."""

    def reserve_funds(self, ctx: Context) -> None:
        super().reserve_funds(ctx)
        change_balances(ctx, self.parent(ctx)["id"], lambda code: code == "EUR", available=Decimal("-0.35"))


class FromDollarsToo(Behaviour):
    """Takes payouts in other currencies from the balance in dollars as well."""

    def reserve_funds(self, ctx: Context) -> None:
        super().reserve_funds(ctx)
        if ctx.values["currency"] != "USD":
            ctx.values = {**ctx.values, "currency": "USD"}
            super().reserve_funds(ctx)


@pytest.mark.parametrize("payee", [(), (currency_of_the_destination,)])
def test_a_payout_in_another_currency_takes_no_dollars(payee: tuple[type[Behaviour], ...]) -> None:
    lane = run_on(compose(*payee, FromDollarsToo))
    assert judged(lane, RACE, rule="payout.one-currency").verdict.is_violation


class PaidInPounds(Behaviour):
    """Takes payouts in any currency from the balance in pounds, at par."""

    def reserve_funds(self, ctx: Context) -> None:
        paid, ctx.values = ctx.values, {**ctx.values, "currency": "GBP"}
        super().reserve_funds(ctx)
        ctx.values = paid


@pytest.mark.parametrize(
    ("behaviour", "verdict"),
    [
        (FeesInEuros, Verdict.PASSED),
        (PaidInPounds, Verdict.NOT_APPLICABLE),
        (OthersPay, Verdict.PASSED),
        (reserved_on_approval, Verdict.NOT_APPLICABLE),
    ],
)
def test_what_moves_other_currencies_otherwise_is_no_violation(
    behaviour: type[Behaviour], verdict: Verdict
) -> None:
    assert judged(run_on(behaviour()), RACE, rule="payout.one-currency").verdict is verdict
