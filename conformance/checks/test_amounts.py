"""Amounts of payouts and payins: invalid ones are refused, none is rounded (sections 2.5, 4.4 and 4.7)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.defective_bodies import DefectiveBodies
from conformance.checks.engine import table
from conformance.checks.members import judge_members, send_with_texts
from conformance.checks.side_effects import UNTOUCHED, SideEffects
from conformance.contract.field_values import not_positive
from conformance.contract.new_resources import initial_state, sent
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import normalized, objects, show
from conformance.judge.effects import EXACT
from conformance.judge.effects import amounts as money
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.case import Case
from conformance.world.corpora import amounts, values
from conformance.world.creations import CreatedResource, creations
from conformance.world.lane import Fixture
from conformance.world.refused_samples import SAMPLE_REMEDIES
from conformance.world.samples import Body
from conformance.world.text_turns import Place, turns

#: The known funds divided by this are the greatest amount to send.
_SHARE = 10

#: Most currencies in which an amount is sent.
_MOST_CURRENCIES = 12

#: Amounts up to this are sent whatever the funds.
_SMALL = Decimal(2)


@table("fields.amount", "fields.payin-amount-positive", UNTOUCHED, engine=DefectiveBodies)
def test_amount_that_is_no_positive_decimal(engine: DefectiveBodies) -> Iterator[Case]:
    """A valid body whose amount is zero, negative, not a plain decimal or a JSON number is refused; that a
    payin's must be positive is implied."""
    for wrong in amounts.REFUSED:
        implied = TRAITS[engine.operation].creates == "payin" and not_positive(wrong.value)
        rule = "fields.payin-amount-positive" if implied else "fields.amount"
        yield engine.defective(rule, f"amount {amounts.named(wrong)}", engine.having("amount", wrong.value))


@table("fields.amount-odd", engine=DefectiveBodies)
def test_odd_amount(engine: DefectiveBodies) -> Iterator[Case]:
    """Records whether an amount with an exponent, a plus sign or very many digits is accepted."""
    engine.must_accept()
    for odd in amounts.OPEN:
        if odd.checked:
            name = f"an amount with {odd.reason}"
            yield engine.defective("fields.amount-odd", name, engine.having("amount", odd.value))


@check(
    "create.amount-exact",
    "create.initial-state",
    "create.echo",
    "payout.amount-in-usd",
    "idempotency.replay",
)
def test_amount_to_the_last_digit(at: Check) -> None:
    """Every accepted amount is returned with the same value, however many digits it has. A payout's
    amount_in_usd is above zero, and the same value where the currency is USD. The initial state is the same
    for all amounts, and what stands beside them is returned as sent. The last request, repeated with its key,
    gets the same answer. Amounts above a tenth of the known funds are sent only where a payout beyond these
    funds was accepted, or where only an integer overflow could make the server accept them."""
    fixture = at.account()
    for creation in creations(at.lane, at.operation.id):
        _judge_creation(at, creation)
    texts = turns(at.operation.id)
    first = _send_with_text(
        at, fixture, fixture.body(at.operation.id), next(texts, {}), "a valid amount", must=True
    )
    _judge_amount(at, fixture, first)
    currency = first.call.document["currency"]
    draws = at.operation.traits.draws_on_funds
    funds = _held(at, fixture, currency).get("available_balance") if draws else None
    odd: list[Exchange] = []
    for amount in (*values(amounts.EXACT), *values(amounts.WRAPPING)):
        if _is_safe(amount, funds):
            body = {**fixture.body(at.operation.id), "currency": currency, "amount": amount}
            answer = _send_with_text(at, fixture, body, next(texts, {}), f"the amount {amount}")
            if answer.succeeded:
                odd.append(answer)
                _judge_amount(at, fixture, answer)
    for code, amount in _of_currencies(at, fixture, currency):
        what = f"the amount {amount} in {code}"
        body = {**fixture.body(at.operation.id), "currency": code, "amount": amount}
        answer = at.send(fixture.call(at.operation.id, body), what)
        if answer.succeeded:
            _judge_sent(at, fixture, answer)
            # In others as much may be less than half a cent.
            if "payout.amount-in-usd" in at.rules and body["currency"] in amounts.CURRENCIES:
                _judge_above_zero(at, answer)
    if not odd:
        reason = "no amount but the sample's was accepted, so that none of unusual digits was seen"
        raise Inconclusive(Unclear(reason, remedy=SAMPLE_REMEDIES.get(at.operation.id, "")))
    what = f"the amount {odd[-1].call.document['amount']} again, with its key"
    at.same("idempotency.replay", odd[-1], at.send(odd[-1].call, what))


def _judge_creation(at: Check, creation: CreatedResource) -> None:
    """Judges the amounts of a resource that was created of a valid body."""
    rule, amount, answer = "payout.amount-in-usd", creation.body["amount"], creation.exchange
    at.member("create.amount-exact", answer, "amount", amount, what="of the value that was sent")
    if rule in at.rules:
        _judge_above_zero(at, answer)
        if creation.body["currency"] == "USD":
            at.member(rule, answer, "amount_in_usd", amount, what="a payout in US dollars")


def _is_safe(amount: str, funds: Decimal | None) -> bool:
    """True for an amount that leaves most of the funds, if any are known, or is so far beyond them that only
    an integer overflow could make the server accept it."""
    value = Decimal(amount)
    # Without any shown, a payout was accepted without funds: they are no limit.
    if funds is None or funds <= 0 or value <= _SMALL or value * _SHARE <= funds:
        return True
    return amount in values(amounts.WRAPPING) and value > funds * _SHARE


def _of_currencies(at: Check, fixture: Fixture, usual: str) -> Iterator[tuple[str, str]]:
    """Yields an amount that any rounding changes in each other currency that is held, or else usual, and
    those of other coins."""
    balances = at.send(fixture.call("getAccountBalances"), "the balances, for their currencies").get(
        "balances"
    )
    codes = [element.get("currency") for element in objects(balances)]
    held = [code for code in codes if isinstance(code, str) and len(code) == 3]
    for code in list(dict.fromkeys([*held, *amounts.CURRENCIES]))[:_MOST_CURRENCIES]:
        if code != usual and code not in dict(amounts.OF_OTHER_COINS):
            yield code, amounts.TELLING
    yield from amounts.OF_OTHER_COINS


def _send_with_text(
    at: Check,
    fixture: Fixture,
    body: Body,
    texts: Mapping[Place, str | None],
    what: str,
    *,
    must: bool = False,
) -> Exchange:
    """Sends a body with such texts, without them where they are refused, and judges that the answer shows
    them. With `must`, raises Inconclusive where both are refused."""
    if (answer := send_with_texts(at, fixture, body, texts, what)) is not None:
        return answer
    plain = fixture.call(at.operation.id, body)
    return at.accept(plain, what) if must else at.send(plain, what)


def _judge_sent(at: Check, fixture: Fixture, answer: Exchange) -> None:
    """Judges the answer to an amount in an account: its value, what else was sent, and the initial state."""
    body, operation = answer.call.document, at.operation.id
    at.member("create.amount-exact", answer, "amount", body["amount"], what="of the value that was sent")
    what = f"newly created of {body['amount']}"
    judge_members(at, "create.initial-state", answer, initial_state(operation, body), what)
    expected = {**sent(operation, body), "account_id": fixture.account_id}
    judge_members(at, "create.echo", answer, expected, what, otherwise=normalized(body))


def _judge_above_zero(at: Check, answer: Exchange) -> None:
    """Judges that a payout of some cents at least is more than nothing in US dollars."""
    value = _decimal(answer.get("amount_in_usd"))
    got = show(answer.get("amount_in_usd")) if value is not None and value <= 0 else ""
    what = f"amount_in_usd of a payout in {answer.call.document['currency']} above zero"
    at.expect("payout.amount-in-usd", what, got, answer)


def _judge_amount(at: Check, fixture: Fixture, answer: Exchange) -> None:
    """Judges the answer to an amount in the usual currency, in US dollars as well."""
    _judge_sent(at, fixture, answer)
    body = answer.call.document
    if "payout.amount-in-usd" in at.rules:
        if body["currency"] == "USD":
            what = "a payout in US dollars"
            at.member("payout.amount-in-usd", answer, "amount_in_usd", body["amount"], what=what)
        elif any(
            "currency" in at.lane.samples.over(kind) for kind in ("payout", "payout_destination.bank_account")
        ):
            reason = f"by the target file payouts are in {body['currency']}, not in USD ([samples])"
            at.not_applicable("payout.amount-in-usd", reason)
        else:
            reason = f"payouts to this target are in {body['currency']}, not in USD"
            at.unclear(
                "payout.amount-in-usd",
                reason,
                answer,
                remedy="Name the currency in [samples.payout_destination.bank_account]: "
                "USD if it can be had.",
                choice=True,
            )


def _decimal(value: Any) -> Decimal | None:
    """Returns the number in a JSON string; None without one."""
    try:
        return Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        return None


def _held(at: Check, fixture: Fixture, currency: str) -> dict[str, Decimal]:
    """Reads the amounts of an account's balance in a currency, by member; none where they do not show."""
    answer = at.send(fixture.call("getAccountBalances"), "the balances, for the funds")
    balances = money(answer.get("balances")) if answer.succeeded else None
    return {member: amount for (code, member), amount in (balances or {}).items() if code == currency}


@check("payout.insufficient-funds", UNTOUCHED)
def test_payout_beyond_the_funds(at: Check) -> None:
    """Records whether a new account, which has no funds, may pay out. Where it may not, a payout beyond the
    funded account's balance is refused as well, and leaves the balances as they are."""
    new = at.lane.account(fresh=True, operation=at.operation.id)
    answer = at.send(new.call(at.operation.id), "a payout from a new account")
    at.record("payout.insufficient-funds", answer)
    funded = at.target.primary.funded_account_id
    if not answer.refused or funded is None:
        at.not_exercised(UNTOUCHED, "no payout was refused for lack of funds")
        return
    fixture = at.account()
    currency = fixture.body("createPayout")["currency"]
    held = _held(at, fixture, currency)
    if "available_balance" not in held:
        at.not_exercised(UNTOUCHED, f"the funded account shows no funds in {currency}")
        return

    def beyond() -> Exchange:
        body = fixture.body("createPayout")
        # Beyond what comes back of payouts that fail, too. Earlier refused payouts may have left negative
        # funds: their absolute value is beyond those of a conforming server as well.
        amount = format(functools.reduce(EXACT.add, map(abs, held.values()), Decimal(body["amount"])), "f")
        return at.send(fixture.call("createPayout", {**body, "amount": amount}), "a payout beyond the funds")

    effects = SideEffects(at, fixture).start()
    refused = [beyond()]
    effects.judge_refused("payouts beyond the funds", refused, beyond)
