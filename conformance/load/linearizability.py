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


def legal_order(
    history: Sequence[Event[State]], initial: State, step: Step[State]
) -> list[Event[State]] | None:
    """A legal order of a history, or None."""
    events = sorted(history, key=lambda event: event.invoked)
    ends = [float("inf") if event.outcome == UNKNOWN else event.answered for event in events]
    everything = (1 << len(events)) - 1
    optional = sum(1 << at for at, event in enumerate(events) if event.outcome == UNKNOWN)
    # States by their repr: values from a server may not be hashable.
    seen: set[tuple[int, str]] = set()
    # Completed events as bits, the state, and the order so far.
    stack: list[tuple[int, State, tuple[Event[State], ...]]] = [(0, initial, ())]
    while stack:
        done, state, order = stack.pop()
        if (done | optional) == everything:
            return list(order)
        point = (done, repr(state))
        if point in seen:
            continue
        seen.add(point)
        first_end = min(end for at, end in enumerate(ends) if not done >> at & 1)
        for at, event in enumerate(events):
            if done >> at & 1 or event.invoked > first_end:
                continue
            for after in step(state, event):
                stack.append((done | 1 << at, after, (*order, event)))
    return None


def smallest(
    history: Sequence[Event[State]],
    initial: State,
    step: Step[State],
    removable: Callable[[Event[State]], bool],
) -> list[Event[State]]:
    """Removes operations from a history without a legal order, as long as it has none."""
    kept = list(history)
    for event in list(kept):
        fewer = [other for other in kept if other is not event]
        if removable(event) and fewer and legal_order(fewer, initial, step) is None:
            kept = fewer
    return kept
