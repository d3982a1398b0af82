"""Latency by operation, as histograms that can be added."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from conformance._records import Count, Seconds, says
from conformance.wire.messages import Exchange

#: Upper edges of the histogram's classes, in seconds; one more class has the slower answers.
EDGES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Latency(msgspec.Struct):
    """The exchanges of one operation: statuses, a histogram over EDGES, and what follows from it.

    An exchange without an answer counts among the statuses ("none") and nowhere else.
    """

    operation: Annotated[str, says("An operationId, or empty.")]
    exchanges: Annotated[Count, says("How many requests were sent.")] = 0
    statuses: Annotated[dict[str, int], says('Status, or "none" -> number of answers.')] = {}
    p50: Annotated[
        Seconds | None, says("Half of the answers took at most so long: an edge of the histogram, or max.")
    ] = None
    p95: Annotated[Seconds | None, says("95 in 100 of the answers took at most so long: likewise.")] = None
    max: Annotated[Seconds | None, says("The slowest answer.")] = None
    histogram: Annotated[
        list[int],
        says(
            "Answers within 1, 2, 5, 10, 20, 50, 100, 200, 500 ms, 1, 2, 5, 10 s, and slower.",
            minItems=len(EDGES) + 1,
            maxItems=len(EDGES) + 1,
        ),
    ] = msgspec.field(default_factory=lambda: [0] * (len(EDGES) + 1))

    @property
    def succeeded(self) -> bool:
        """True if a request was answered 2xx."""
        return any(status.startswith("2") for status in self.statuses)

    def add(self, exchange: Exchange) -> None:
        """Counts an exchange."""
        one = Latency(self.operation, 1, {str(exchange.status or "none"): 1})
        if exchange.status is not None:
            one.max = round(exchange.elapsed, 6)
            one.histogram[next((at for at, edge in enumerate(EDGES) if one.max <= edge), len(EDGES))] = 1
        self.merge(one)

    def merge(self, other: Latency) -> None:
        """Adds the exchanges of another record."""
        self.exchanges += other.exchanges
        for status, number in other.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + number
        self.histogram = [sum(pair) for pair in zip(self.histogram, other.histogram, strict=True)]
        self.max = max((value for value in (self.max, other.max) if value is not None), default=None)
        self.p50, self.p95 = self._quantile(0.5), self._quantile(0.95)

    def _quantile(self, share: float) -> float | None:
        """Upper edge of the class that contains a quantile; None without answers."""
        if self.max is None:
            return None
        rank, answers = math.ceil(share * sum(self.histogram)), 0
        for number, edge in zip(self.histogram, (*EDGES, math.inf), strict=True):
            answers += number
            if answers >= rank:
                return min(edge, self.max)
        return self.max
