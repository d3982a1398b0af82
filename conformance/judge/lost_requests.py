"""Rates of requests that had to be sent again, of all lanes of a process together."""

from __future__ import annotations

import math
from collections import Counter

#: Minimum number of requests of an operation to judge its rate of lost ones.
ENOUGH = 100


def too_many_lost(lost: int, requests: int) -> bool:
    """True if the rate of lost requests exceeds one in a hundred by three standard deviations."""
    allowed = requests / 100
    return requests >= ENOUGH and lost > allowed + 3 * math.sqrt(allowed)


class Rate:
    """The requests of a lane by operation, and the lost ones; `lanes` has those of each."""

    def __init__(self, lanes: list[Rate] | None = None) -> None:
        self.requests, self.lost = Counter[str](), Counter[str]()
        self._lanes = [] if lanes is None else lanes
        self._lanes.append(self)

    def of_all(self, operation: str) -> tuple[int, int]:
        """The numbers of requests and of lost ones of all lanes."""
        lanes = list(self._lanes)
        return sum(each.requests[operation] for each in lanes), sum(each.lost[operation] for each in lanes)
