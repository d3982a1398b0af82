"""Eventual consistency: how soon a write shows in later requests, detected once in a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from conformance.wire.messages import Exchange
from conformance.world.cache import Key, RunCache

T = TypeVar("T")

#: Pauses between reads in seconds; 5.5 in total.
PAUSES = (0.05, 0.1, 0.25, 0.5, 1.0, 1.6, 2.0)

#: Seconds within which a write shows, unless [limits] shows_within of the target file is longer.
LONGEST = sum(PAUSES)

#: Longest pause between two reads, in seconds.
LONGEST_PAUSE = 10.0

#: Failed waits for one operation after which it is not waited for again.
MOST_IN_VAIN = 2

_WITHIN = Key[float]("seconds within which a write shows")
_IN_VAIN = Key[int]("how often a change never showed")
_LONGEST = Key[float]("seconds after which a change showed at the latest")
_WAITED = Key[float]("seconds that changes which showed were waited for")


def expect_within(cache: RunCache, seconds: float) -> None:
    """Sets the seconds within which a write shows in reads and lists."""
    cache.put(_WITHIN, max(seconds, LONGEST))


def within(cache: RunCache) -> float:
    """Seconds within which a write shows in reads and lists."""
    return cache.find(_WITHIN) or LONGEST


def _pauses(seconds: float) -> Iterator[float]:
    """Pauses with back-off, in seconds; `seconds` in total."""
    yield from PAUSES
    passed = LONGEST
    while passed < seconds:
        pause = min(max(PAUSES[-1], passed / 4), LONGEST_PAUSE, seconds - passed)
        passed += pause
        yield pause


def eventually(
    cache: RunCache,
    operation: str,
    look: Callable[[], T],
    good: Callable[[T], bool],
    *,
    in_vain: int = MOST_IN_VAIN,
    until: float | None = None,
) -> T:
    """Reads with back-off until the result is good or time is up; returns the last result.

    Reads once only after `in_vain` failed waits for the operation, or after `until` in Unix seconds, local
    clock, when a write must show. Waits for a resource to be found are counted apart: an effect that never
    shows says nothing of them.
    """
    seen = look()
    failed = _IN_VAIN.of(f"{operation}, to be found" if good is found else operation)
    before = cache.get(failed, lambda: 0)
    if good(seen) or before >= in_vain:
        return seen
    begun = time.monotonic()
    for pause in _pauses(within(cache)):
        if until is not None and time.time() > until:
            return seen
        time.sleep(pause)
        seen = look()
        if good(seen):
            late = time.monotonic() - begun
            cache.put(_WAITED, waited(cache) + late)
            cache.put(_LONGEST.of(operation), max(late, delay(cache, operation)))
            return seen
    cache.put(failed, before + 1)
    return seen


def found(exchange: Exchange) -> bool:
    """False for an answer 404: under eventual consistency a new resource may show later."""
    return exchange.status != 404


def delay(cache: RunCache, operation: str) -> float:
    """Longest delay in seconds until a write showed in an operation's answers."""
    return cache.find(_LONGEST.of(operation)) or 0.0


def waited(cache: RunCache) -> float:
    """Total seconds that a run has waited for writes that showed in the end."""
    return cache.find(_WAITED) or 0.0


def describe_delay(cache: RunCache, operation: str) -> str:
    """Describes the delay of writes in an operation's answers, too coarsely to vary between runs."""
    seconds, longest = delay(cache, operation), within(cache)
    if not seconds:
        return "at once"
    known = "five" if longest == LONGEST else f"{longest:g}"
    return "within a second" if seconds < 1 else f"within {known} seconds"
