"""Rate of lost requests, told from many of them only, as connections do go stale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from conformance.judge.expectations import CannotTell, Outcome, predicate
from conformance.judge.expectations.expectation import outcome
from conformance.wire.messages import Exchange

#: So many requests of an operation tell how often one is lost.
ENOUGH = 100

#: More are not sent to see it again.
MOST = 300


def too_many_lost(lost: int, requests: int) -> bool:
    """True if so many lost requests are more than one in a hundred beyond chance: by three standard
    deviations."""
    allowed = requests / 100
    return requests >= ENOUGH and lost > allowed + 3 * math.sqrt(allowed)


def telling(lost: int, requests: int) -> int:
    """Number of requests that shows it again, where so many of these were lost: none of them is with a
    probability of e**-5."""
    return min(MOST, max(ENOUGH, math.ceil(5 * requests / max(1, lost))))


def was_lost(exchange: Exchange) -> bool:
    """True if a request had to be sent again, or was not answered the second time either."""
    return exchange.lost or (exchange.attempts == 1 and 0 < exchange.begun < exchange.started)


@predicate(name="seldom-lost", times="requests")
def SeldomLost(exchanges: Sequence[Exchange], requests: int = ENOUGH) -> str | Outcome:
    """Of so many requests like one that was lost, one in a hundred at most has to be sent again.

    A few lost ones tell nothing."""
    lost = [at for at, exchange in enumerate(exchanges) if was_lost(exchange)]
    told = f"{len(lost)} of {len(exchanges)} had to be sent again"
    if too_many_lost(len(lost), len(exchanges)):
        return outcome(told, *lost[:3])
    if lost or len(exchanges) < requests:
        raise CannotTell(f"{told}: too few to tell how often requests are lost")
    return ""
