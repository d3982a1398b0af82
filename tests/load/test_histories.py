"""The search for a legal order of a history of concurrent requests."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable
from typing import Any

import pytest

from conformance.load.linearizability import OK, REFUSED, UNKNOWN, Event, linearizable, smallest


def register(state: int, event: Event[int]) -> Iterable[int]:
    """A register that is written and read."""
    if event.name == "read":
        return [state] if event.value == state else []
    if event.outcome == REFUSED:
        return [state]
    return [event.value] if event.outcome == OK else [state, event.value]


def history(*events: tuple[str, Any, float, float] | tuple[str, Any, float, float, str]) -> list[Event[int]]:
    return [
        Event(event[0], event[4] if len(event) == 5 else OK, event[2], event[3], event[1]) for event in events
    ]


@pytest.mark.parametrize(
    ("events", "legal"),
    [
        (history(("write", 1, 0, 1), ("read", 1, 2, 3)), True),
        (history(("write", 1, 0, 1), ("read", 0, 2, 3)), False),
        (history(("write", 1, 0, 3), ("read", 0, 1, 2)), True),
        (history(("write", 1, 0, 3), ("read", 1, 1, 2)), True),
        (history(("write", 1, 0, 5), ("read", 1, 1, 2), ("read", 0, 3, 4)), False),
        (history(("write", 1, 0, 5), ("read", 0, 1, 2), ("read", 1, 3, 4)), True),
        (history(("write", 1, 0, 2), ("write", 2, 0, 2), ("read", 1, 3, 4), ("read", 2, 5, 6)), False),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 0, 2, 3), ("read", 1, 4, 5)), True),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 0, 2, 3)), True),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 1, 2, 3), ("read", 0, 4, 5)), False),
        (history(("write", 1, 0, 1, REFUSED), ("read", 1, 2, 3)), False),
        ([], True),
    ],
)
def test_linearizable(events: list[Event[int]], legal: bool) -> None:
    assert linearizable(events, 0, register) is legal


def test_search_agrees_with_trying_every_order() -> None:
    rng = random.Random(1)

    def brute(events: list[Event[int]]) -> bool:
        for order in itertools.permutations(events):
            if any(
                later.answered < earlier.invoked
                for at, earlier in enumerate(order)
                for later in order[at + 1 :]
            ):
                continue
            state = 0
            for event in order:
                after = list(register(state, event))
                if not after:
                    break
                state = after[0]
            else:
                return True
        return False

    verdicts = []
    for _ in range(300):
        events: list[Event[Any]] = []
        for _ in range(rng.randint(1, 5)):
            invoked = rng.randint(0, 6)
            events.append(
                Event(
                    rng.choice(("read", "write")), OK, invoked, invoked + rng.randint(1, 4), rng.randint(0, 2)
                )
            )
        verdicts.append(linearizable(events, 0, register))
        assert verdicts[-1] == brute(events), events
    assert 50 < sum(verdicts) < 250


def test_smallest_history() -> None:
    events = history(("write", 1, 0, 1), ("read", 1, 2, 3), ("read", 1, 3, 4), ("read", 0, 5, 6))
    small = smallest(events, 0, register, lambda event: event.name == "read")
    assert [event.value for event in small] == [1, 0]


def test_search_remembers_states() -> None:
    events = history(*(("write", number % 2, 0, 10) for number in range(14)), ("read", 5, 11, 12))
    begin = time.process_time()
    assert not linearizable(events, 0, register)
    assert time.process_time() - begin < 5
