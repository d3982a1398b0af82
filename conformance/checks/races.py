"""Rounds of simultaneous requests, repeated after rate limiting or where requests did not overlap, and the
money that they move."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal

from conformance.checks.check import Check
from conformance.judge.effects import EXACT, amounts, movement
from conformance.judge.outcomes import Got, Unclear
from conformance.wire.client import simultaneous
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import renewed
from conformance.world.run import Account

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
            if self._limited is not None and not self.at.run.retry.wait_out(self._limited, spoilt):
                return
            for rule, cell in self.at.cells.items():
                del cell.unclear[unclear[rule] :]

    def _go_on(self) -> bool:
        """True if one rule is run alone, which takes time until its race shows."""
        run, now = self.at.run, time.monotonic()
        run.patience -= now - (self._last or now)
        self._last = now
        return run.patience > 0 and not any(cell.violations for cell in self.at.cells.values())

    def race(self, calls: list[Call], purpose: str, organizations: Sequence[str] = ()) -> list[Exchange]:
        """Sends the calls of this round simultaneously, as `Check.race` does; returns their exchanges in
        order."""
        answers, run = self.at.race(calls, purpose, organizations), self.at.run
        self._limited = next((answer for answer in answers if answer.throttled), None)
        self.spoilt = self._limited is not None or simultaneous(answers) < 2
        if late := [answer for answer in answers if run.too_new(answer)]:
            # Until it is found, a request without effect shows how old what it names must be.
            run.shown(
                run.client(),
                renewed(late[0].call.but(body=b"{}", auth=Auth())),
                "an empty body, until what it names is found",
            )
            self.spoilt = True
        return answers


# ---------------------------------------------------------------------- money


def balances(at: Check, fixture: Account) -> Exchange:
    return at.send(fixture.call("getAccountBalances"), "the balances as they are")


def moved_by_more(looks: Sequence[Exchange], operation: str, most: int) -> Got:
    """A balance that changes between the first two looks by a multiple of its change between the last two, up
    to the most."""
    before, after, end = (amounts(look.get("balances")) or {} for look in looks)
    if not before or not after or not end:
        empty = all(look.succeeded and look.get("balances") == [] for look in looks)
        return Unclear("the balances are not shown", choice=empty)
    first, single = movement(operation, before, after), movement(operation, after, end)
    for member, amount in single.items():
        if first.get(member) in [EXACT.multiply(amount, Decimal(times)) for times in range(2, most + 1)]:
            return f"{member[1]} {member[0]} changes by more"
    return ""
