"""Latency by operation, as histograms that can be added."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from conformance._records import Count, Seconds, says
from conformance.wire.messages import Exchange

#: Answers of one class of the histogram differ by less than 10 %: class n is up to 0.1 ms x RATIO ** n.
LEAST, RATIO = 0.0001, 1.1


class Latency(msgspec.Struct):
    """The exchanges of one operation: statuses, a histogram, and what follows from it.

    An exchange without an answer counts among the statuses ("none") and nowhere else.
    """

    operation: Annotated[str, says("An operationId, or empty.")]
    exchanges: Annotated[Count, says("How many requests were sent.")] = 0
    statuses: Annotated[dict[str, int], says('Status, or "none" -> number of answers.')] = {}
    p50: Annotated[Seconds | None, says("Half of the answers took at most so long, to 5 %.")] = None
    p95: Annotated[Seconds | None, says("95 in 100 of the answers took at most so long, to 5 %.")] = None
    max: Annotated[Seconds | None, says("The slowest answer.")] = None
    histogram: Annotated[
        dict[int, int],
        says("Class n -> answers of at most 0.1 ms x 1.1 ** n, and more than class n - 1."),
    ] = {}

    @property
    def succeeded(self) -> bool:
        """True if a request was answered 2xx."""
        return any(status.startswith("2") for status in self.statuses)

    def add(self, exchange: Exchange) -> None:
        """Counts an exchange."""
        self.exchanges += 1
        status = str(exchange.status or "none")
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if exchange.status is not None:
            seconds = round(exchange.elapsed, 6)
            place = max(0, math.ceil(math.log(max(seconds, LEAST) / LEAST, RATIO)))
            self.histogram[place] = self.histogram.get(place, 0) + 1
            self.max = max(self.max or 0.0, seconds)

    def merge(self, other: Latency) -> None:
        """Adds the exchanges of another record."""
        self.exchanges += other.exchanges
        for status, number in other.statuses.items():
            self.statuses[status] = self.statuses.get(status, 0) + number
        for place, number in other.histogram.items():
            self.histogram[place] = self.histogram.get(place, 0) + number
        if other.max is not None:
            self.max = max(self.max or 0.0, other.max)

    def decide(self) -> None:
        """Sets the quantiles."""
        self.p50, self.p95 = self._quantile(0.5), self._quantile(0.95)

    def _quantile(self, share: float) -> float | None:
        """The middle of the class that contains a quantile; None without answers."""
        left = math.ceil(share * sum(self.histogram.values()))
        for place in sorted(self.histogram):
            left -= self.histogram[place]
            if left <= 0:
                middle = LEAST * math.pow(RATIO, place - 0.5)
                return round(min(middle, self.max or middle), 6)
        return None
