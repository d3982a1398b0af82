"""What a run waited for, and when: the lanes of a run wait at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from conformance._records import Count, says

#: Seconds from which on an answer is waited for.
SLOW = 1.0

#: Seconds that a run of one rule on one operation spends on what shows by chance, and on what shows after a
#: time.
PATIENCE, AGE = 30.0, 90.0

#: What is waited for after a status, by the status.
LIMITS = {429: "a rate limit (429)", 503: "the server, which was out of service (503)"}

#: What is waited for so that no limit is exceeded.
PACE = "its turn, so that it kept to a limit of requests"


class Wait(msgspec.Struct):
    """Waits for one thing."""

    times: Annotated[Count, says("How often.")] = 0
    spans: Annotated[
        list[tuple[float, float]], says("When, from and to in Unix seconds, in order and apart.")
    ] = []

    def add(self, other: Wait) -> None:
        """Adds the waits of another lane, or of another part of the run."""
        self.times += other.times
        self.spans = joined([*self.spans, *other.spans])

    @property
    def seconds(self) -> float:
        """The time of the run that they took."""
        return sum(end - begin for begin, end in self.spans)


def joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans in order, those that overlap as one."""
    apart: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if apart and begin <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((begin, end))
    return apart
