"""Conservation of money: payouts at once take from the balances what they take one after the other.

When a payout moves a balance, and for which fee, is open (section 3), and others move money as well. A server
is therefore compared with itself: a round has some payouts one after the other and some at once, between
reads of the balances. Amounts that only the latter leave out, round after round, are lost updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations

from conformance.contract.traits import TRAITS
from conformance.judge.effects import EXACT, amounts, sent_amount
from conformance.judge.expectations import CannotTell, predicate
from conformance.wire.client import NOT_SIMULTANEOUS, simultaneous
from conformance.wire.messages import Exchange

#: Payouts of a round one after the other, and at once.
SINGLE, TOGETHER = 8, 4

#: Exchanges of a round: a read, single payouts, a read, those at once, a read.
ROUND = SINGLE + TOGETHER + 3

#: Rounds with lost amounts that make a violation: so many refunds in a row are of payouts at once, a third of
#: all, in one of 243 runs.
LOST = 5

#: Rounds in which the balances move in another way before there are no more.
MOST_DISTURBED = 4


def taken(before: Exchange, payouts: Sequence[Exchange], after: Exchange) -> Iterator[tuple[str, Decimal]]:
    """Members of the balance that payouts move, each with the amount that it moved beyond theirs. Raises
    CannotTell where a payout was not accepted."""
    sums = [sent_amount(payout.call) for payout in payouts if payout.succeeded]
    if len(sums) < len(payouts) or None in sums:
        raise CannotTell("a payout was not accepted")
    currency = str(payouts[0].call.document.get("currency"))
    looks = [amounts(look.get("balances")) or {} for look in (before, after)]
    for member, sign in TRAITS["createPayout"].moves_money.items():
        shown = [look.get((currency, member)) for look in looks]
        if shown[0] is not None and shown[1] is not None:
            moved = EXACT.multiply(EXACT.subtract(shown[1], shown[0]), Decimal(sign))
            yield member, EXACT.subtract(moved, sum(filter(None, sums), Decimal(0)))


def lost(turn: Sequence[Exchange]) -> tuple[str, Decimal, Decimal] | None:
    """Member of the balance that payouts of a round move, the fee of each, and the sum of the amounts at once
    that it did not lose; None where it moves in another way, by others as well. Raises CannotTell where the
    payouts were not accepted, or not at once."""
    single, together = turn[1 : SINGLE + 1], turn[SINGLE + 2 : ROUND - 1]
    if simultaneous(together) < 2:
        raise CannotTell(NOT_SIMULTANEOUS)
    alone = dict(taken(turn[0], single, turn[SINGLE + 1]))
    after = dict(taken(turn[SINGLE + 1], together, turn[ROUND - 1]))
    for member in [name for name in alone if name in after]:
        fee = alone[member] / SINGLE
        missing = TOGETHER * fee - after[member]
        asked = [(sent_amount(payout.call) or 0) + fee for payout in together]
        # The last one to write took its amount.
        some = [sum(chosen) for count in range(TOGETHER) for chosen in combinations(asked, count)]
        if fee >= 0 and missing in some:
            return member, fee, missing
    return None


@predicate(effects=True)
def conserved(exchanges: Sequence[Exchange]) -> str:
    """In rounds of payouts none of those at once are lost, or too seldom to tell who moved the balance."""
    found = [lost(exchanges[at : at + ROUND]) for at in range(0, len(exchanges), ROUND)]
    ways = {each and each[:2] for each in found}
    rounds = sum(bool(each and each[2]) for each in found)
    if rounds < LOST or len(ways) > 1:
        return ""
    return f"the amounts of some of them only, in {rounds} of {len(found)} rounds"


@dataclass
class Suspicions:
    """Rounds that lost amounts, kept until there are LOST of them or others move the balance."""

    turns: list[list[Exchange]] = field(default_factory=list)
    #: Rounds in which the balance moved in another way.
    disturbed: int = 0

    def add(self, turn: list[Exchange]) -> list[Exchange]:
        """Takes in a round; the exchanges to judge. Raises CannotTell as `lost`, and where balances move in
        another way."""
        found = lost(turn)
        if found is None:
            self.disturbed, self.turns = self.disturbed + 1, []
            raise CannotTell("the balances do not show what payouts take")
        if found[2]:
            self.turns.append(turn)
        judged = [exchange for each in self.turns or [turn] for exchange in each]
        self.turns = self.turns if len(self.turns) < LOST else []
        return judged
