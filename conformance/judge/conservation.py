"""Conservation of money: simultaneous payouts change balances by as much as sequential ones.

When a payout changes a balance, and for which fee, is open (section 3), and other clients move money too. So
a server is compared with itself: a round has sequential and simultaneous payouts between reads of the
balances. Amounts missing only after the simultaneous ones, round after round, are lost updates.

Where others move the balance in whole cents meanwhile, its ten-thousandths are those of the payouts alone:
each of those at once has other ones, whose sums all differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from conformance.contract.traits import TRAITS
from conformance.judge.effects import EXACT, amounts, below_cents, movement, sent_amount
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive
from conformance.wire.client import NOT_SIMULTANEOUS, simultaneous
from conformance.wire.messages import Call, Exchange

#: Sequential and simultaneous payouts of a round.
SINGLE, TOGETHER = 8, 4

#: Exchanges of a round: a read, the sequential payouts, a read, the simultaneous ones, a read.
ROUND = SINGLE + TOGETHER + 3

#: The ten-thousandths of a round's payouts.
PARTS = (*(3,) * SINGLE, *(1, 2, 4, 8))

#: Rounds with lost amounts that make a violation: refunds, a third of which are of simultaneous payouts, look
#: like that in 1 of 243 runs.
LOST = 5


def taken(before: Exchange, payouts: Sequence[Exchange], after: Exchange) -> Iterator[tuple[str, Decimal]]:
    """Members of a balance that payouts move, each with its change beyond their amounts. Raises
    Inconclusive if a payout was not accepted."""
    sums = [sent_amount(payout.call) for payout in payouts if payout.succeeded]
    if len(sums) < len(payouts) or None in sums:
        raise Inconclusive(Unclear("a payout was not accepted"))
    currency = str(payouts[0].call.document.get("currency"))
    looks = [amounts(look.get("balances")) or {} for look in (before, after)]
    for member, sign in TRAITS["createPayout"].moves_money.items():
        values = [look.get((currency, member)) for look in looks]
        if values[0] is not None and values[1] is not None:
            moved = EXACT.multiply(EXACT.subtract(values[1], values[0]), Decimal(sign))
            yield member, EXACT.subtract(moved, sum(filter(None, sums), Decimal(0)))


def made_twice(before: Exchange, payouts: Sequence[Exchange], after: Exchange) -> bool | None:
    """True if a balance moves by the amounts of payouts, and once more by those of them that were refused for
    a time (429, 503) and accepted when they were sent again; False if it moves by their amounts; None where
    it moves otherwise, where none was sent again, and where one was not accepted."""
    again = [sent_amount(payout.call) or Decimal(0) for payout in payouts if payout.attempts > 1]
    if not any(again) or not all(payout.succeeded for payout in payouts):
        return None
    beyond = [more for _, more in taken(before, payouts, after)]
    return True if sum(again, Decimal(0)) in beyond else False if Decimal(0) in beyond else None


def in_other_currencies(before: Exchange, payouts: Sequence[Exchange], after: Exchange) -> list[str] | None:
    """Currencies whose balance moves by as much as that in the currency of payouts, which moves by their
    amounts at least; None where no such is held, or the balance in theirs does not move so."""
    currency = str(payouts[0].call.document.get("currency"))
    first, last = (amounts(look.get("balances")) or {} for look in (before, after))
    held = {code for code, _ in last} - {currency}
    moved = movement("createPayout", first, last)
    total = sum(filter(None, (sent_amount(payout.call) for payout in payouts)), Decimal(0))
    own = {member: by for (code, member), by in moved.items() if code == currency and by >= total}
    if not held or not own:
        return None
    return sorted({code for (code, member), by in moved.items() if code in held and own.get(member) == by})


def unmoved(before: Exchange, after: Exchange) -> bool:
    """True if two reads of an account show the same balances, or none."""
    return (amounts(before.get("balances")) or {}) == (amounts(after.get("balances")) or {})


def in_parts(payment: Call, number: int = 0) -> Call:
    """The payment with that number of a round, with ten-thousandths where its amount has whole cents."""
    amount = sent_amount(payment)
    if amount is None or below_cents(amount):
        return payment
    more = Decimal(PARTS[number]).scaleb(-4)
    return payment.with_field("amount", format(EXACT.add(amount, more), "f"))


def lost(turn: Sequence[Exchange]) -> tuple[str, Decimal, Decimal] | None:
    """Member of the balance that a round's payouts move, fee of each, and sum of the simultaneous amounts
    that are missing; None if the balance moves in another way. Raises Inconclusive if payouts were
    not accepted, or not simultaneous."""
    single, together = turn[1 : SINGLE + 1], turn[SINGLE + 2 : ROUND - 1]
    if simultaneous(together) < 2:
        raise Inconclusive(Unclear(NOT_SIMULTANEOUS))
    alone = dict(taken(turn[0], single, turn[SINGLE + 1]))
    after = dict(taken(turn[SINGLE + 1], together, turn[ROUND - 1]))
    for member in [name for name in alone if name in after]:
        fee = alone[member] / SINGLE
        missing = TOGETHER * fee - after[member]
        asked = [sent_amount(payout.call) or Decimal(0) for payout in together]
        # Of lost updates, the last write survives.
        some = [chosen for count in range(TOGETHER) for chosen in combinations(asked, count)]
        if fee >= 0 and missing in [sum(chosen) + fee * len(chosen) for chosen in some]:
            return member, fee, missing
        sums = {below_cents(sum(chosen, Decimal(0))): chosen for chosen in some}
        if not below_cents(alone[member]) and len(sums) == len(some) and _show_parts(single):
            chosen = sums.get(below_cents(-after[member]))
            return None if chosen is None else (member, Decimal(0), sum(chosen, Decimal(0)))
    return None


def _show_parts(payouts: Sequence[Exchange]) -> bool:
    """True if the amounts of payouts add up to no whole cents, which shows in a balance that they move."""
    return bool(below_cents(sum(filter(None, (sent_amount(each.call) for each in payouts)), Decimal(0))))


def shown_whole(before: Exchange, payouts: Sequence[Exchange], after: Exchange) -> bool:
    """True if a read shows all of the payouts, or if that cannot be told."""
    try:
        moved = list(taken(before, payouts, after))
    except Inconclusive:
        return True
    if _show_parts(payouts):
        return any(not below_cents(beyond) for _, beyond in moved)
    return any(beyond >= 0 for _, beyond in moved)


def conserved(exchanges: Sequence[Exchange]) -> tuple[str, *tuple[Exchange, ...]]:
    """In rounds of payouts no simultaneous ones are lost, or too few to exclude other causes: what was got,
    and as evidence the simultaneous payouts of the last round with the reads around them."""
    turn = exchanges[-ROUND:]
    evidence = [*turn[SINGLE + 2 : -1], turn[SINGLE + 1], turn[-1]]
    losses = [lost(exchanges[at : at + ROUND]) for at in range(0, len(exchanges), ROUND)]
    ways = {each and each[:2] for each in losses}
    rounds = sum(bool(each and each[2]) for each in losses)
    if rounds < LOST or len(ways) > 1:
        return "", *evidence
    return f"the amounts of some of them only, in {rounds} of {len(losses)} rounds", *evidence
