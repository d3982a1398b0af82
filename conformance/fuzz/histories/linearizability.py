"""Checks concurrent histories for linearizability: Wing and Gong's search with Lowe's memory of states seen.

An operation takes effect at one moment between its invocation and its answer. A history is legal if the
operations can be put into an order that keeps those intervals and in which every answer is right. The search
is exact; it is exponential in the number of operations that overlap, so histories are kept short."""

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

    An operation of which nothing is known may have taken effect at any time after its invocation, or never.
    """

    name: str
    outcome: str
    invoked: float
    answered: float
    value: Any = None


#: State and operation -> the states that may follow; none where the answer would be wrong.
Step = Callable[[State, Event[State]], Iterable[State]]


def legal_order(
    history: Sequence[Event[State]], initial: State, step: Step[State]
) -> list[Event[State]] | None:
    """An order in which every answer is right; None if there is none."""
    events = sorted(history, key=lambda event: event.invoked)
    ends = [float("inf") if event.outcome == UNKNOWN else event.answered for event in events]
    everything = (1 << len(events)) - 1
    optional = sum(1 << at for at, event in enumerate(events) if event.outcome == UNKNOWN)
    # By their text: a server may show anything, objects too, in the place of a text.
    seen: set[tuple[int, str]] = set()
    # What is done as bits, the state, and the order so far.
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
    """A history without a legal order, with every removable operation left out that it does not need for
    that."""
    kept = list(history)
    for event in list(kept):
        fewer = [other for other in kept if other is not event]
        if removable(event) and fewer and legal_order(fewer, initial, step) is None:
            kept = fewer
    return kept
