"""Payouts and payins (sections 2.5, 2.8, 4.4 and 4.7): amounts, payees and concurrent debits."""

from __future__ import annotations

import functools
import time
from contextlib import suppress
from decimal import Decimal

from conformance.checks.check import Check, check
from conformance.checks.list_judging import compared, judge_single_page, shows_all
from conformance.checks.members import judge_as_sent, judge_members, read_until
from conformance.checks.races import Rounds
from conformance.checks.side_effects import UNDISTURBED
from conformance.contract.traits import TRAITS
from conformance.judge import outcomes, paging
from conformance.judge.comparison import MOVING, document
from conformance.judge.conservation import (
    LOST,
    SINGLE,
    TOGETHER,
    conserved,
    in_other_currencies,
    made_twice,
    taken,
    unmoved,
)
from conformance.judge.effects import sent_amount
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.wire.pages import page_of
from conformance.world.calls import call, identifier
from conformance.world.creations import created_in
from conformance.world.lane import Fixture, Restyle
from conformance.world.parts import abroad
from conformance.world.payments import PayoutRounds
from conformance.world.purposes import PAYOUTS
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Body

ONE_CURRENCY, REPLAY = "payout.one-currency", "idempotency.replay"

#: Amounts that number formats write with an exponent or without trailing zeros.
TELLING_AMOUNTS = ("0.0000001", "10000000", "0.10")


@check("format.money", operations=tuple(name for name, traits in TRAITS.items() if traits.moves_money))
def test_amounts_have_no_exponent(at: Check) -> None:
    """Very small and large amounts, and one with a trailing zero, are shown as plain decimals if accepted."""
    operation = at.operation.id
    fixture = created_in(at.lane, operation)
    answers = [at.accept(fixture.call(operation), "the sample's amount")]
    for amount in TELLING_AMOUNTS:
        answers.append(
            at.send(fixture.call(operation).with_field("amount", amount), f"an amount of {amount}")
        )
    for answer in answers:
        if answer.succeeded:
            what = f"{answer.purpose}: shown as a plain decimal"
            at.expect("format.money", *outcomes.documented(what, "format.money", operation, [answer]))


@check("payout.disabled-beneficiary")
def test_payout_to_a_disabled_beneficiary(at: Check) -> None:
    """Records the answer to a payout to a disabled beneficiary, after one to an active beneficiary was
    accepted."""
    payer = at.lane.account(PAYOUTS)
    at.accept(payer.call("createPayout"), "a payout to an active beneficiary")
    fixture = Fixture(at.lane, account_id=payer.account_id)
    payout = fixture.call("createPayout")
    ids = {"account_id": payer.account_id, "beneficiary_id": identifier(fixture.beneficiary)}
    disabled = at.accept(call("disableBeneficiary", ids), "the beneficiary is disabled")
    answer = at.send(payout, "a payout to a disabled beneficiary")
    at.record("payout.disabled-beneficiary", answer, disabled)


@check(
    *("read.equals-create", "list.complete", "beneficiary.destinations"),
    operations=("getBeneficiary", "listPayoutDestinations"),
)
def test_payout_leaves_the_payee(at: Check) -> None:
    """After two payouts to a destination other than the default, a read of the payee and the list of its
    destinations show what their creates answered, each destination once; the list's total is the number of
    its elements. The beneficiary is of another country than its destinations, where the server accepts
    that."""
    payer = at.lane.account(PAYOUTS)
    try:
        try:
            payee, person, paid, default = _paid(at, payer, _abroad)
        except Inconclusive:
            payee, person, paid, default = _paid(at, payer)
    except Inconclusive as stop:
        for rule in at.rules:
            at.not_exercised(rule, stop.why.reason, stop.why.remedy)
        return
    what, looking = "after payouts to it", payee.call(at.operation.id)
    # What is joined with payouts has a destination twice that has two.
    at.send(payee.call("createPayout"), "another payout to the same destination")
    destinations = {identifier(each): each for each in (paid, default)}
    if at.operation.is_list:
        listed = f"the destinations of a beneficiary, {what}"
        answer = at.eventually(lambda: at.find(looking, listed), functools.partial(shows_all, destinations))
        shows = paging.listed(listed, list(destinations), [answer], once=True)
        if at.expect("list.complete", *shows) and (page := page_of(answer)):
            judge_single_page(at, page, listed)
        compared(at, destinations, [answer])
        return
    held = {"payout_destinations": [{"id": each} for each in destinations]}
    created, but = document(person), MOVING | held.keys()
    answer = read_until(at, looking, f"the beneficiary, {what}", {**created, **held}, but=MOVING)
    if at.accepted("read.equals-create", answer):
        judge_members(at, "read.equals-create", answer, created, f"read {what}", but=but, shown_by=[person])
        judge_members(at, "beneficiary.destinations", answer, held, f"read {what}", shown_by=[paid, default])


def _abroad(body: Body) -> Body:
    return {**body, "country_code": abroad(body)} if "country_code" in body else body


def _paid(
    at: Check, payer: Fixture, restyle: Restyle | None = None
) -> tuple[Fixture, Exchange, Exchange, Exchange]:
    """Creates a beneficiary with two destinations, the second the default, and pays to the first; returns its
    fixture and the three creates. Raises Inconclusive where one of them or the payout is refused."""
    payee = Fixture(at.lane, account_id=payer.account_id, restyle=restyle)
    person, paid = payee.beneficiary, payee.destination
    default = payee.create(
        "createPayoutDestination", payee.body("createPayoutDestination") | {"is_default": True}
    )
    at.accept(payee.call("createPayout"), "a payout to another destination than the default")
    return payee, person, paid, default


@check("payout.race", "payout.insufficient-funds", "create.echo", ONE_CURRENCY, REPLAY, early=True)
def test_payouts_at_once(at: Check) -> None:
    """Concurrent payouts debit the balances by as much as sequential ones (no lost update); a deviation is
    confirmed in further rounds. Each answer shows its own amount and note. Balances in other currencies do
    not move by as much, whichever of those that are held a payout is in. One that was refused for a time, and
    accepted when it was sent again, is made once. Records which balances payouts change."""
    at.not_exercised("create.echo", "no payout was accepted")
    at.not_applicable(REPLAY, "no payout was refused for a time and sent again")
    at.not_applicable(
        ONE_CURRENCY, "no balances in two currencies, one of which a new payout moves, are shown"
    )
    rounds, twice = Rounds(at, 2 * LOST), list[Exchange]()
    with PayoutRounds(at.account(), at.lane.pause) as payouts:
        for number in rounds:
            turn = payouts.turn(at.send, rounds.race)
            if refused := next((one for one in turn if one.refused and not one.throttled), None):
                for rule in ("payout.race", ONE_CURRENCY):
                    at.unclear(rule, refusal_of_valid(refused).why, refused)
                return
            _judge_own(at, turn[SINGLE + 2 : -1])
            if at.cells[REPLAY].judged == 0:
                _judge_sent_again(at, turn, twice)
            if rounds.spoilt:
                continue
            if number == 0:
                _observe_moves(at, turn)
            _judge_currencies(at, turn[: SINGLE + 2])
            if payouts.take(turn):
                break
        if payouts.still:
            at.not_applicable("payout.race", "a new payout leaves the balances as they are")
        elif payouts.judged:
            what = f"{TOGETHER} payouts at once to take from the balance what they take one after the other"
            at.expect("payout.race", what, *conserved(payouts.judged))
        else:
            at.not_exercised("payout.race", payouts.unclear, UNDISTURBED)
        # Last, as a request without an answer ends the check.
        for part in payouts.in_others():
            _judge_currencies(at, part)


def _judge_currencies(at: Check, part: list[Exchange]) -> None:
    """Judges that payouts, between two reads, take from no balance what they take from that in their
    currency."""
    before, *payouts, after = part
    others = in_other_currencies(before, payouts, after)
    if others is not None:
        currency = payouts[0].call.document["currency"]
        what = f"payouts in {currency}: no balance in another currency moves by as much"
        at.expect(
            ONE_CURRENCY,
            what,
            f"a balance in {', '.join(others)} moves as well" if others else "",
            after,
            before,
            *payouts,
        )


def _judge_sent_again(at: Check, turn: list[Exchange], twice: list[Exchange]) -> None:
    """Judges that payouts which were refused for a time, and sent again with the same key and body, are made
    once: the first round that shows it, or the second one of those that show them made `twice`, if the
    balance stays so, as a server may hold money for a time."""
    before, *payouts, after = turn[: SINGLE + 2]
    doubled = made_twice(before, payouts, after)
    if doubled is None:
        return
    got, evidence = "", [after, before, *(payout for payout in payouts if payout.attempts > 1)]
    if doubled and not twice:
        # One round alone may show what others pay.
        twice += evidence
        return
    if doubled:
        time.sleep(at.lane.lag.within)
        later = at.send(before.call, "the balances some time after payouts")
        if not unmoved(turn[-1], later):
            return
        got, evidence = "a balance moves by their amounts twice, in two rounds", [*evidence, *twice]
    what = "payouts that were refused for a time, and sent again with the same key and body: each made once"
    at.expect(REPLAY, what, got, *evidence)


def _judge_own(at: Check, payouts: list[Exchange]) -> None:
    """Judges that each of several payouts at once is answered with what it asked for."""
    for payout in payouts:
        others = [other for other in payouts if other is not payout]
        for name in ("amount", "note"):
            if payout.succeeded and name in payout.call.document:
                judge_as_sent(at, "create.echo", payout, name, "one of several payouts at once", others)


def _observe_moves(at: Check, turn: list[Exchange]) -> None:
    for how, part in (("one after the other", turn[: SINGLE + 2]), ("at once", turn[SINGLE + 1 :])):
        before, *payouts, after = part
        total = sum((sent_amount(payout.call) or Decimal(0) for payout in payouts), Decimal(0))
        words = {Decimal(0): "moves by their amounts", -total: "unchanged"}
        with suppress(Inconclusive):
            moved = [
                f"{name} {words.get(more, 'moves otherwise')}" for name, more in taken(before, payouts, after)
            ]
            at.observe("payout.insufficient-funds", f"payouts {how}", ", ".join(moved) or "no balance", after)
