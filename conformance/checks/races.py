"""Rounds of simultaneous requests, repeated after rate limiting or where requests did not overlap, and the
money that they move."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from conformance.checks.check import Check
from conformance.checks.idempotent_requests import own_place
from conformance.checks.side_effects import UNDISTURBED
from conformance.judge.conservation import in_parts
from conformance.judge.effects import EXACT, amounts, below_cents, movement, sent_amount
from conformance.judge.outcomes import Got, Unclear
from conformance.wire.client import simultaneous
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import renewed
from conformance.world.lane import Fixture
from conformance.world.payments import moves_after, takes_parts
from conformance.world.refused_samples import refusal_of_valid

#: Maximum number of spoilt rounds that another one follows.
MOST_SPOILT = 8


class Rounds:
    """Rounds of a race, each a probe of its own that `race` sends.

    A round is spoilt, and another one follows, where a request was rate limited (429, or 503 with
    Retry-After; after the wait, as such a request may have used its nonce), where what it names was too new
    to be found, where no two requests overlapped, or where something of it could not be judged. Answers of a
    spoilt round may be judged all the same; what of it was unclear counts if no other takes its place.

        for number in rounds:
            answers = rounds.race(calls, "simultaneous ...")
    """

    def __init__(self, at: Check, count: int) -> None:
        self.at = at
        self.count = count
        #: True if the current round is spoilt.
        self.spoilt = False
        self._limited: Exchange | None = None
        #: When the last of the rounds beyond `count` began.
        self._last = 0.0

    def __iter__(self) -> Iterator[int]:
        whole = spoilt = 0
        while whole < self.count or self._go_on():
            self.spoilt, self._limited = False, None
            unclear = {rule: len(cell.unclear) for rule, cell in self.at.cells.items()}
            yield whole
            new = any(len(cell.unclear) > unclear[rule] for rule, cell in self.at.cells.items())
            if not self.spoilt and not new:
                whole += 1
                continue
            spoilt += 1
            if spoilt > MOST_SPOILT:
                return
            if self._limited is not None and not self.at.lane.retry.wait_out(self._limited, spoilt):
                return
            for rule, cell in self.at.cells.items():
                del cell.unclear[unclear[rule] :]

    def _go_on(self) -> bool:
        """True if one rule is run alone, which takes time until its race shows."""
        now = time.monotonic()
        self.at.lane.patience -= now - (self._last or now)
        self._last = now
        return self.at.patient

    def race(self, calls: list[Call], purpose: str, organizations: Sequence[str] = ()) -> list[Exchange]:
        """Sends the calls of this round simultaneously, as `Check.race` does; returns their exchanges in
        order."""
        answers, run = self.at.race(calls, purpose, organizations), self.at.lane
        self._limited = next((answer for answer in answers if answer.throttled), None)
        self.spoilt = self._limited is not None or simultaneous(answers) < 2
        if late := [answer for answer in answers if run.too_new(answer)]:
            # Until it is found, a request without effect shows how old what it names must be.
            body = None if late[0].method == "GET" else b"{}"
            call = renewed(late[0].call.but(body=body, auth=Auth()))
            run.find(run.client(), call, "an empty body, until what it names is found")
            self.spoilt = True
        return answers


# ---------------------------------------------------------------------- money


@contextlib.contextmanager
def undisturbed(at: Check, spoilt: int) -> Iterator[None]:
    """Where no other lane pays, once balances show what was paid before: as late as they have shown a
    payment, after the first spoilt round as late as any write must show; at once where payments leave the
    balances as they are."""
    # Others may pay meanwhile.
    late = moves_after(at.lane, at.operation.id)
    with at.lane.payers.alone():
        if late is not None:
            time.sleep(at.lane.lag.within if spoilt == 1 else 2 * late)
        yield


def countable(at: Check, fixture: Fixture, spoilt: int) -> Call:
    """A payment whose effects are counted: after a round that others spoilt with ten-thousandths in its
    amount, where the server takes these. To be called while others may pay."""
    payment = fixture.call(at.operation.id)
    return in_parts(payment) if spoilt and takes_parts(at.lane, at.operation.id) else payment


def balances(
    at: Check, fixture: Fixture, before: Exchange | None = None, payment: Call | None = None
) -> Exchange:
    """Reads the balances; after a payment, where such move them, until they show as much since `before`."""

    def look() -> Exchange:
        return at.send(fixture.call("getAccountBalances"), "the balances as they are")

    asked = sent_amount(payment) if payment is not None else None
    if before is None or asked is None or moves_after(at.lane, at.operation.id) is None:
        return look()
    first, amount = amounts(before.get("balances")) or {}, asked

    def shows(now: Exchange) -> bool:
        last = amounts(now.get("balances")) or {}
        return any(moved >= amount for moved in movement(at.operation.id, first, last).values())

    return at.eventually(look, shows, "getAccountBalances")


def counted(
    at: Check, fixture: Fixture, spoilt: int, most: int, act: Callable[[Call], Exchange | None]
) -> tuple[Got, list[Exchange]] | None:
    """Counts the payments that `act` makes of one request by what the next one of the same amount moves:
    what was got (see `_moved_by_more`), and the reads of the balances. `act` returns an exchange of the
    request that was accepted, perhaps one to another payee; None where it made no payment. Others may pay
    before; beside them, the balances would not show what the request takes."""
    request = countable(at, fixture, spoilt)
    with undisturbed(at, spoilt):
        looks = [balances(at, fixture)]
        if (paid := act(request)) is None:
            return None
        request = paid.call
        looks.append(balances(at, fixture, looks[-1], request))
        looks.append(balances(at, fixture, looks[-1], _one_more(at, fixture, request)))
    return _moved_by_more(at, looks, request, most), looks


def not_counted(at: Check, look: Exchange) -> Unclear:
    """Why balances do not show how often a payment was made."""
    if not look.succeeded:
        return Unclear(f"getAccountBalances was answered {look.described()}")
    if moves_after(at.lane, at.operation.id) is None:
        return Unclear("a payment leaves the balances as they are", choice=True)
    return Unclear("the balances move otherwise than by the payments", remedy=UNDISTURBED)


def _one_more(at: Check, fixture: Fixture, payment: Call) -> Call:
    """Makes a payment of the same amount: that body again or, where it is refused as a duplicate, one in
    another's place. Raises Inconclusive where both are refused."""

    def calls() -> Iterator[Call]:
        yield fixture.call(at.operation.id, payment.document)
        other = own_place(at)
        yield other.call(
            at.operation.id, {**other.body(at.operation.id), "amount": payment.document["amount"]}
        )

    answer = at.until_accepted(calls(), "a payment of the same amount")[-1]
    if not answer.succeeded:
        raise refusal_of_valid(answer)
    return answer.call


def _moved_by_more(at: Check, looks: Sequence[Exchange], payment: Call, most: int) -> Got:
    """A balance that changes between the first two looks by a multiple of its change between the last two, by
    one payment, up to the most; empty where it changes by as much, unclear where it does otherwise. Balances
    in the payment's currency count, where one moves; of a payment with ten-thousandths these."""
    before, after, end = (amounts(look.get("balances")) or {} for look in looks)
    first, single = movement(at.operation.id, before, after), movement(at.operation.id, after, end)
    own = {key: moved for key, moved in single.items() if key[0] == payment.document.get("currency")}
    for member, amount in (own or single).items():
        if first.get(member) in [EXACT.multiply(amount, Decimal(times)) for times in range(2, most + 1)]:
            return f"{member[1]} {member[0]} changes by more"
    if any(first.get(member) == amount for member, amount in (own or single).items()):
        return ""
    part, currency = below_cents(sent_amount(payment) or Decimal(0)), payment.document.get("currency")
    for name, sign in at.operation.traits.moves_money.items() if part else ():
        values = [money.get((currency, name), Decimal(0)) for money in (before, after, end)]
        moved = [
            below_cents(EXACT.multiply(EXACT.subtract(later, now), Decimal(sign)))
            for now, later in pairwise(values)
        ]
        # Others move whole cents.
        if moved[1] == part and moved[0] in [below_cents(part * times) for times in range(1, most + 1)]:
            return f"{currency} {name} changes by more" if moved[0] != part else ""
    return not_counted(at, looks[-1])
