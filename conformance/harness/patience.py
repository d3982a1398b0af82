"""How long a check waits for a write to show: reads and lists may lag behind it (the specification is
silent).

A check looks again, with growing pauses, for at least five seconds before it blames. Once waiting that long
was in vain, the server is known to break a rule, and later waits are shorter: what a conforming server is
late with shows within them as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from conformance.fixtures.cache import Key
from conformance.fixtures.run_context import RunContext

T = TypeVar("T")

#: Seconds before each further look: more than five in all.
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.2)

#: Seconds that looks go on after waiting was in vain once, unless writes were seen to take longer.
_SHORT = 0.3

_IN_VAIN = Key[bool]("a write did not show however long it was waited for")
_LONGEST = Key[float]("seconds that a write took to show at most")


def pauses(run: RunContext) -> Iterator[float]:
    """Seconds to wait before each look; the first look is at once. Ends when a write must have shown."""
    yield 0.0
    waited = 0.0
    for pause in PAUSES:
        if waited >= run.write_patience or (run.cache.find(_IN_VAIN) and waited >= _longest(run)):
            break
        waited += pause
        yield pause
    run.cache.put(_IN_VAIN, True)


def _longest(run: RunContext) -> float:
    return max(_SHORT, 2 * (run.cache.find(_LONGEST) or 0.0))


def look_until(run: RunContext, look: Callable[[], T], good: Callable[[T], bool]) -> tuple[T, float]:
    """Looks again until what is seen is good, or must have become so; what is seen last, and the seconds
    after which it was."""
    begun = time.monotonic()
    for pause in pauses(run):
        time.sleep(pause)
        seen = look()
        if good(seen):
            break
    waited = time.monotonic() - begun if pause else 0.0
    run.cache.put(_LONGEST, max(waited, run.cache.find(_LONGEST) or 0.0))
    return seen, waited
