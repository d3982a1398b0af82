"""Balances are those of the requested account, and of no other (sections 2.2 and 4.1)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance.checks.check import Check, check
from conformance.judge.comparison import objects, sent_document, show
from conformance.judge.effects import amounts, movement, sent_amount
from conformance.judge.outcomes import Got, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.lane import Fixture
from conformance.world.purposes import PAYOUTS
from conformance.world.refused_samples import refusal_of_valid

#: Reads of two accounts whose balances others may change in between.
LOOKS = 2

#: The amount by which accounts are told apart, and those that a sentence names.
_OWN = "available_balance"
_NAMED = (_OWN, "pending_payout")

#: Payouts, each of another amount, that show in an account which did not pay, before that is a violation.
ROUNDS = 2


@check("balances.of-account")
def test_balances_are_of_the_account(at: Check) -> None:
    """The balances of a new account, of one without funds, of the funded one and of another organization's
    carry the account's id, and each currency once; a payout from the funded one shows in no other, one from
    the account without funds not in the funded one."""
    fixtures = [
        ("a new account", Fixture(at.lane, beside_wallets=True, anywhere=True)),
        ("an account without funds", at.account(fresh=True)),
    ]
    pays = at.target.primary.funded_account_id is not None and at.target.features.payouts is not False
    if pays:
        fixtures.append(("the funded account", at.lane.account(PAYOUTS)))
    if at.target.secondary is not None:
        try:
            fixture = at.lane.account(owner="secondary")
            fixture.ids("getAccountBalances")
            fixtures.append(("an account of another organization", fixture))
        except Inconclusive as stop:
            at.unclear("balances.of-account", stop.why)
    # What other lanes may be making, for which they open accounts, is made before they wait for this one.
    for _, fixture in fixtures[1:]:
        fixture.ids("getAccountBalances")
    for _, fixture in fixtures[1:3] if pays else ():
        with contextlib.suppress(Inconclusive):
            fixture.call("createPayout")
    # No other lane opens an account from here on.
    with at.lane.adders.alone():
        _judge_accounts(at, fixtures, pays)


def _judge_accounts(at: Check, fixtures: Sequence[tuple[str, Fixture]], pays: bool) -> None:
    # Before the first read, the new one last: a server may show the balances of whichever is the newest, or
    # only there those of another one. It is opened now, unless the server refuses to.
    for _, fixture in reversed(fixtures):
        fixture.ids("getAccountBalances")
    answers: dict[str, Exchange] = {}
    for name, fixture in [*fixtures, fixtures[0]]:
        organization = fixture.client.organization.name
        what = f"balances of {name}"
        answer = answers[name] = at.accept(fixture.call("getAccountBalances"), what, organization)
        at.member("balances.of-account", answer, "id", fixture.account_id)
        _judge_currencies(at, answer, f"{what}: one element for each currency")
    if pays:
        _judge_new(at, answers["a new account"], answers["the funded account"])
        neighbours = [
            *fixtures[:2],
            *(each for each in fixtures if each[1].client is not fixtures[0][1].client),
        ]
        funded = at.lane.account(PAYOUTS)
        _judge_neighbours(at, ("the funded account", funded), neighbours)
        # A server that looks a balance up by its currency alone takes that of the funded account.
        _judge_neighbours(at, fixtures[1], [("the funded account", funded)], without_funds=True)


def _judge_new(at: Check, new: Exchange, funded: Exchange) -> None:
    """Judges that the balances of a new account, which are empty (section 2.1), are not those of another one,
    unlike those that it may be opened with."""
    here, there = (amounts(look.get("balances")) or {} for look in (new, funded))
    alike = [key for key, amount in here.items() if amount and there.get(key) == amount and key[1] == _OWN]
    got = "; ".join(f"{key[1]} {here[key]} in {key[0]}, as in the funded account" for key in alike[:2])
    expected = "the balances of a new account: none, or amounts of its own"
    at.expect("balances.of-account", expected, got, new, funded)


def _judge_neighbours(
    at: Check,
    payer: tuple[str, Fixture],
    neighbours: Sequence[tuple[str, Fixture]],
    *,
    without_funds: bool = False,
) -> None:
    """Judges that a payout from one account, which may be refused where it is `without_funds`, does not show
    in the balances of others; what shows is confirmed by another payout, as other clients may have paid the
    same amount."""
    # The payee is created before anybody waits.
    payer[1].call("createPayout")
    with at.lane.payers.alone():
        for number in range(1, ROUNDS + 1):
            for got, later, *beside in _payout(at, payer, neighbours, without_funds):
                if not got or number == ROUNDS:
                    expected = f"{later.purpose}: as before, {_in_words(beside[2], beside[3])}"
                    at.expect("balances.of-account", expected, got, later, *beside)
                if got:
                    break
            else:
                return


def _payout(
    at: Check, payer: tuple[str, Fixture], neighbours: Sequence[tuple[str, Fixture]], without_funds: bool
) -> Iterator[tuple[Got, Exchange, Exchange, Exchange, Exchange, Exchange]]:
    """Pays from an account; yields for each look at its neighbours' balances what it shows of that, the look,
    the payer's balances after and before, the earlier look, and the payout."""
    payer_name, paying = payer

    def look(name: str, fixture: Fixture, when: str = "after") -> Exchange:
        purpose = f"balances of {name} {when} a payout from {payer_name}"
        return at.send(fixture.call("getAccountBalances"), purpose, fixture.client.organization.name)

    reading = paying.call("getAccountBalances")
    untouched = [look(*neighbour, "before") for neighbour in neighbours]
    before = at.send(reading, f"balances of {payer_name}, before a payout")
    paid = at.send(paying.call("createPayout"), f"a payout from {payer_name}")
    if not paid.succeeded:
        choice = without_funds and paid.refused and not paid.throttled
        at.unclear("balances.of-account", refusal_of_valid(paid).why, paid, choice=choice)
    for _ in range(LOOKS if paid.succeeded else 0):
        after = at.send(reading, f"balances of {payer_name}, after a payout")
        _judge_currencies(at, after, "balances of an account that pays: one element for each currency")
        for neighbour, earlier in zip(neighbours, untouched, strict=True):
            later = look(*neighbour)
            yield _of_the_payer(later, earlier, after, before, paid), later, after, before, earlier, paid


def _of_the_payer(now: Exchange, earlier: Exchange, after: Exchange, before: Exchange, paid: Exchange) -> Got:
    """Something of another account in the balances of one: those that a payout changed there (after and
    before), or a movement by its amount since they were read earlier; unclear where a look says nothing."""
    for look in (now, earlier, after, before):
        if unclear := unusable(look):
            return unclear
    beside, changed, usual = (_money(look) for look in (now, after, before))
    for currency, money in changed.items():
        if money != usual.get(currency) and beside.get(currency) == money:
            return f"{_said(currency, money)}, as in the account that paid"
    looks = (amounts(look.get("balances")) or {} for look in (earlier, now))
    for (currency, member), moved in movement("createPayout", *looks).items():
        if moved == sent_amount(paid.call):
            words = _in_words(now, paid)
            return f"{words}: {member} in {currency} moved by {moved}, which the other account paid"
    return ""


def _in_words(look: Exchange, paid: Exchange) -> str:
    """The balance of an account in the currency of a payout."""
    currency = sent_document(paid.call).get("currency")
    money = _money(look).get(str(currency))
    return _said(str(currency), money) if money else f"none in {currency}"


def _said(currency: str, money: Iterable[Any]) -> str:
    """Amounts of a balance in words."""
    named = " and ".join(f"{name} {show(each)}" for name, each in zip(_NAMED, money, strict=True))
    return f"{named} in {currency}"


def _money(exchange: Exchange) -> dict[str, tuple[Any, ...]]:
    """Returns currency -> amounts in an account's balances."""
    return {
        str(balance.get("currency")): tuple(balance.get(name) for name in _NAMED)
        for balance in objects(exchange.get("balances"))
    }


def _judge_currencies(at: Check, answer: Exchange, what: str) -> None:
    balances = answer.get("balances")
    if not isinstance(balances, list):
        reason = f"{answer.purpose}: balances is not an array"
        at.unclear("balances.of-account", reason, answer, cause="format.fields")
        return
    currencies = [str(balance.get("currency")) for balance in objects(balances)]
    twice = sorted({currency for currency in currencies if currencies.count(currency) > 1})
    got = f"{', '.join(twice)} more than once" if twice else ""
    at.expect("balances.of-account", what, got, answer)
