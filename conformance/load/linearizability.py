"""Checks concurrent histories for linearizability: Wing and Gong's search with Lowe's memoization.

An operation takes effect at one moment between its invocation and its answer. A history is legal if an order
of the operations respects those intervals and explains every answer. The search is exact, and exponential in
the number of overlapping operations: histories are short."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

State = TypeVar("State", bound=Hashable)

#: Outcomes of an operation as its client knows them.
OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"


@dataclass(frozen=True)
class Event(Generic[State]):
    """One operation of a history; `invoked` and `answered` are times in seconds.

    An operation with the outcome UNKNOWN takes effect at any time after its invocation, or never.
    """

    name: str
    outcome: str
    invoked: float
    answered: float
    value: Any = None


#: State and event -> possible next states; none if the answer is wrong.
Step = Callable[[State, Event[State]], Iterable[State]]


def linearizable(history: Sequence[Event[State]], initial: State, step: Step[State]) -> bool:
    """True if a history has a legal order."""
    events = sorted(history, key=lambda event: event.invoked)
    ends = [float("inf") if event.outcome == UNKNOWN else event.answered for event in events]
    everything = (1 << len(events)) - 1
    optional = sum(1 << at for at, event in enumerate(events) if event.outcome == UNKNOWN)
    # States by their repr: values from a server may not be hashable.
    visited: set[tuple[int, str]] = set()
    # Completed events as bits, and the state.
    stack = [(0, initial)]
    while stack:
        done, state = stack.pop()
        if (done | optional) == everything:
            return True
        point = (done, repr(state))
        if point in visited:
            continue
        visited.add(point)
        first_end = min(end for at, end in enumerate(ends) if not done >> at & 1)
        for at, event in enumerate(events):
            if not done >> at & 1 and event.invoked <= first_end:
                stack += [(done | 1 << at, after) for after in step(state, event)]
    return False


def smallest(
    history: Sequence[Event[State]],
    initial: State,
    step: Step[State],
    removable: Callable[[Event[State]], bool],
) -> list[Event[State]]:
    """Removes operations from a history without a legal order, as long as it has none."""
    remaining = list(history)
    for event in history:
        fewer = [other for other in remaining if other is not event]
        if removable(event) and fewer and not linearizable(fewer, initial, step):
            remaining = fewer
    return remaining
