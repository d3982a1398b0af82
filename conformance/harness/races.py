"""Simultaneous requests, run again where the server's rate limit broke into them."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.harness.context import CheckContext
from conformance.wire.messages import Call, Exchange

#: Rounds of a race that a rate limit breaks into, at most, before another one counts all the same.
MOST_PAUSES = 8


class Rounds:
    """The rounds of a race, each a probe of its own that `race` sends.

    Where a round was answered 429, or 503 with Retry-After, another one follows after the wait: what was
    refused so says nothing, and has perhaps used up a nonce. The answers of the round that was broken into
    may be judged as far as they go.

        for number in rounds:
            answers = rounds.race(calls, "simultaneous ...")
    """

    def __init__(self, ctx: CheckContext, count: int) -> None:
        self.ctx = ctx
        self.count = count
        self._limited: Exchange | None = None

    def __iter__(self) -> Iterator[int]:
        whole = pauses = 0
        while whole < self.count:
            self._limited = None
            yield whole
            if self._limited is None:
                whole += 1
                continue
            pauses += 1
            if pauses > MOST_PAUSES or not self.ctx.run.pace.wait_out(self._limited, pauses):
                return

    def race(self, calls: list[Call], purpose: str) -> list[Exchange]:
        """Sends the calls of this round at once; their exchanges, in order."""
        answers = self.ctx.race(calls, purpose)
        self._limited = next((answer for answer in answers if answer.throttled), None)
        return answers
