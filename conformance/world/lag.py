"""Eventual consistency: how soon a write shows in later requests, as the runs of a process learn it."""

from __future__ import annotations

import copy
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from conformance.wire.messages import Exchange

T = TypeVar("T")

#: Pauses between reads in seconds; 5.5 in total.
PAUSES = (0.05, 0.1, 0.25, 0.5, 1.0, 1.6, 2.0)

#: Seconds within which a write shows, unless [limits] shows_within of the target file is longer.
LONGEST = sum(PAUSES)

#: Longest pause between two reads, in seconds.
LONGEST_PAUSE = 10.0

#: Failed waits for one operation after which it is not waited for again.
MOST_IN_VAIN = 2


class Lag:
    """How late writes show. `within`: seconds within which a write shows in reads and lists."""

    def __init__(self, shows_within: float = 0) -> None:
        self.within = max(shows_within, LONGEST)
        #: Total seconds waited for writes that showed in the end.
        self.waited = 0.0
        #: Age in seconds at which a write first found what it names, the longest so far.
        self.of_writes = 0.0
        #: Operation, and whether it is to find something -> failed waits.
        self._in_vain: Counter[tuple[str, bool]] = Counter()
        #: Operation -> longest delay in seconds until a write showed in its answers.
        self._delays: dict[str, float] = {}

    def renewed(self) -> Lag:
        """Copies it without failed waits."""
        other = copy.copy(self)
        other._in_vain, other._delays = Counter(), dict(self._delays)
        return other

    def eventually(
        self,
        operation: str,
        look: Callable[[], T],
        good: Callable[[T], bool],
        *,
        first: T | None = None,
        in_vain: int = MOST_IN_VAIN,
        until: float | None = None,
    ) -> T:
        """Reads with back-off until the result is good or time is up; returns the last result. `first` is the
        result of a read that was made already.

        After `in_vain` failed waits for the operation, of any run of the process, reads for twice its longest
        delay only, once if it has shown none; once only as well after `until` in Unix seconds, local clock,
        when a write must show. Waits for a resource to exist are counted apart: an effect that never shows
        says nothing of them.
        """
        wait = operation, good is exists
        result = look() if first is None else first
        begun = time.monotonic()
        enough = 2 * self._delays.get(operation, 0.0) if self._in_vain[wait] >= in_vain else math.inf
        if good(result):
            return result
        for pause in self.pauses():
            if (until is not None and time.time() > until) or time.monotonic() - begun + pause > enough:
                return result
            time.sleep(pause)
            result = look()
            if good(result):
                late = time.monotonic() - begun
                self.waited += late
                self._delays[operation] = max(late, self._delays.get(operation, 0.0))
                return result
        self._in_vain[wait] += 1
        return result

    def pauses(self) -> Iterator[float]:
        """Pauses with back-off, in seconds; `within` in total."""
        yield from PAUSES
        passed = LONGEST
        while passed < self.within:
            pause = min(max(PAUSES[-1], passed / 4), LONGEST_PAUSE, self.within - passed)
            passed += pause
            yield pause

    def described(self, operation: str) -> str:
        """Describes the delay of writes in an operation's answers, too coarsely to vary between runs."""
        if not (seconds := self._delays.get(operation)):
            return "at once"
        longest = "five" if self.within == LONGEST else f"{self.within:g}"
        return "within a second" if seconds < 1 else f"within {longest} seconds"


def exists(exchange: Exchange) -> bool:
    """False for an answer 404: under eventual consistency a new resource may show later."""
    return exchange.status != 404
