"""Polls until a write shows in a later read or list: the specification allows eventual consistency."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from conformance.world.cache import Key, RunCache

T = TypeVar("T")

#: Seconds waited before each further look; more than five together.
PAUSES = (0.05, 0.1, 0.25, 0.5, 1.0, 1.6, 2.0)

#: Seconds within which a write shows, where the target file says nothing longer ([limits] shows_within).
LONGEST = sum(PAUSES)

#: Longest pause between two looks, in seconds.
LONGEST_PAUSE = 10.0

#: Waits in vain for one operation after which it is not waited for again.
MOST_IN_VAIN = 2

_WITHIN = Key[float]("seconds within which a write shows")
_IN_VAIN = Key[int]("how often a change never showed")
_LONGEST = Key[float]("seconds after which a change showed at the latest")
_WAITED = Key[float]("seconds that changes which showed were waited for")


def expect_within(cache: RunCache, seconds: float) -> None:
    """Takes the seconds within which a write shows in later reads and lists, by the target file."""
    cache.put(_WITHIN, max(seconds, LONGEST))


def within(cache: RunCache) -> float:
    """Seconds within which a write shows in later reads and lists, where it shows at all."""
    return cache.find(_WITHIN) or LONGEST


def _pauses(seconds: float) -> Iterator[float]:
    """Ever longer pauses, `seconds` together."""
    yield from PAUSES
    passed = LONGEST
    while passed < seconds:
        pause = min(max(PAUSES[-1], passed / 4), LONGEST_PAUSE, seconds - passed)
        passed += pause
        yield pause


def look_until(
    cache: RunCache,
    operation: str,
    look: Callable[[], T],
    good: Callable[[T], bool],
    *,
    in_vain: int = MOST_IN_VAIN,
    until: float | None = None,
) -> T:
    """Looks until the result is good, with ever longer pauses; returns the last result.

    Where an operation has been waited for in vain so many times, it is not waited for again. Nor is it after
    `until`, in Unix seconds of the local clock: what it is about is old enough to show.
    """
    seen = look()
    before = cache.get(_IN_VAIN.of(operation), lambda: 0)
    if good(seen) or before >= in_vain:
        return seen
    begun = time.monotonic()
    for pause in _pauses(within(cache)):
        if until is not None and time.time() > until:
            break
        time.sleep(pause)
        seen = look()
        if good(seen):
            late = time.monotonic() - begun
            cache.put(_WAITED, waited(cache) + late)
            cache.put(_LONGEST.of(operation), max(late, delay(cache, operation)))
            return seen
    cache.put(_IN_VAIN.of(operation), before + 1)
    return seen


def delay(cache: RunCache, operation: str) -> float:
    """Longest delay in seconds until a change showed in an operation's answers."""
    return cache.find(_LONGEST.of(operation)) or 0.0


def waited(cache: RunCache) -> float:
    """Seconds that a run has waited in all for changes that showed in the end."""
    return cache.find(_WAITED) or 0.0


def told(cache: RunCache, operation: str) -> str:
    """Describes the delay of changes in an operation's answers, alike in every run of a server."""
    seconds = delay(cache, operation)
    if not seconds:
        return "at once"
    longest = within(cache)
    known = "five" if longest == LONGEST else f"{longest:g}"
    return "within a second" if seconds < 1 else f"within {known} seconds"
