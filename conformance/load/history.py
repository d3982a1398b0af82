"""Histories of concurrent requests: events with names, times and outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.contract.rules import RULES
from conformance.judge.cells import Cell
from conformance.judge.comparison import objects
from conformance.judge.outcomes import Got, Unclear
from conformance.load.linearizability import OK, REFUSED, UNKNOWN, Event, Step, linearizable, smallest
from conformance.wire.client import race, simultaneous
from conformance.wire.messages import Call, Exchange
from conformance.world.lag import eventually
from conformance.world.run import Run

#: The requests of one client with their names, in order.
Script = list[tuple[str, Call]]

#: Name of a request in a history, and its exchange.
Named = tuple[str, Exchange]


class Throttled(Exception):
    """A rate limiter answered a request of a race, which then shows nothing."""


class Recorder:
    """The judgements of a session by rule and operation."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], Cell] = {}

    def expect(self, rule: str, operation: str, expected: str, got: Got, *exchanges: Exchange) -> bool:
        """Judges exchanges; returns False for a violation."""
        if isinstance(got, Unclear) or operation not in RULES[rule].operations:
            return True
        return self.cell(rule, operation).expect(expected, got, *exchanges)

    def cell(self, rule: str, operation: str) -> Cell:
        """The judgements of a rule on an operation."""
        return self.cells.setdefault((rule, operation), Cell(rule, operation))


def concurrently(run: Run, scripts: Sequence[Script], purpose: str) -> list[Named]:
    """Sends scripts simultaneously; returns the named exchanges in the order of sending."""
    client = run.client()
    sent = race([[(client, request, f"{purpose}: {name}") for name, request in script] for script in scripts])
    done = [
        (name, exchange)
        for script, exchanges in zip(scripts, sent, strict=True)
        for (name, _), exchange in zip(script, exchanges, strict=True)
    ]
    run.sent_all(exchange for _, exchange in done)
    return sorted(done, key=lambda pair: pair[1].begun)


def event(name: str, exchange: Exchange, value: Any = None, *, refused: bool | None = None) -> Event[Any]:
    """The event of an exchange; its outcome is unknown for 5xx and missing answers."""
    if exchange.throttled:
        outcome = REFUSED
    elif exchange.status is None or exchange.status >= 500:
        outcome = UNKNOWN
    else:
        outcome = REFUSED if (refused if refused is not None else not exchange.succeeded) else OK
    # From the first attempt on: a request that was lost and repeated may have taken effect.
    return Event(name, outcome, exchange.begun, exchange.arrived, value)


def ids(exchange: Exchange) -> frozenset[str]:
    """The ids on a page of a list."""
    return frozenset(str(item.get("id")) for item in objects(exchange.get("items")))


#: Sends scripts as `concurrently` does.
Concurrently = Callable[[Run, Sequence[Script], str], list[Named]]


class HistoryRecorder:
    """Records histories into a recorder and judges them. `send` sends the scripts; a load run distributes
    them over processes."""

    def __init__(
        self, run: Run, recorder: Recorder, rng: random.Random, send: Concurrently = concurrently
    ) -> None:
        self.run, self.recorder, self.rng, self._send = run, recorder, rng, send
        #: True if two requests overlapped; otherwise only violations count.
        self.concurrent = False

    def perform(self, scripts: Sequence[Script], purpose: str, *, whole: bool = False) -> list[Named]:
        """Sends scripts simultaneously. With `whole`, raises Throttled for a throttled request."""
        done = self._send(self.run, scripts, purpose)
        exchanges = [exchange for _, exchange in done]
        self.concurrent = simultaneous(exchanges) > 1
        if whole and any(exchange.throttled for exchange in exchanges):
            raise Throttled
        return done

    def send(self, request: Call, purpose: str) -> Exchange:
        return self.run.send(self.run.client(), request, purpose)

    def look(self, request: Call, purpose: str, good: Callable[[Exchange], bool]) -> Exchange:
        """Reads the state after a history until it is good or time is up."""
        return eventually(self.run.cache, str(request.operation), lambda: self.send(request, purpose), good)

    def expect(self, rule: str, operation: str, expected: str, got: Got, *exchanges: Exchange) -> None:
        """Judges exchanges as `Recorder.expect` does; without overlapping requests only violations count."""
        if self.concurrent or (got and not isinstance(got, Unclear)):
            self.recorder.expect(rule, operation, expected, got, *exchanges)

    def judge(
        self,
        kind: Contention,
        rule: str,
        operation: str,
        named: Sequence[Named],
        what: str,
        initial: Any = None,
    ) -> None:
        """Judges a history; `initial` is its kind's initial state as JSON data."""
        expected, got = (
            f"{what}: an order in which every answer is right",
            in_some_order(kind, named, initial),
        )
        self.expect(rule, operation, expected, got, *(exchange for _, exchange in named))

    def clients(self, calls: list[tuple[str, Call]], at_once: int) -> list[Script]:
        """Distributes calls over clients at random."""
        self.rng.shuffle(calls)
        return [script for script in (calls[at::at_once] for at in range(at_once)) if script]


@dataclass(frozen=True)
class Contention:
    """A kind of history: `event` converts an exchange, given its name and the initial state as JSON data,
    `first` converts that state, `step` gives the states after an event."""

    event: Callable[[str, Exchange, Any], Event[Any]]
    first: Callable[[Any], Any]
    step: Step[Any]

    def events(self, named: Iterable[Named], initial: Any) -> list[Event[Any]]:
        return [self.event(name, exchange, initial) for name, exchange in named]


def in_some_order(kind: Contention, named: Sequence[Named], initial: Any) -> str:
    """The named exchanges have an order in which every answer is right; a failure describes a minimal part
    without one."""
    events, first = kind.events(named, initial), kind.first(initial)
    if linearizable(events, first, kind.step):
        return ""
    events = smallest(
        events, first, kind.step, lambda event: event.outcome != OK or event.name.startswith("read")
    )
    answers = "; ".join(
        f"{event.name}: {_OUTCOMES[event.outcome]}{_described(event.value)}" for event in events
    )
    return f"no such order, for these answers contradict one another: {answers[:400]}"


#: Outcome -> its words.
_OUTCOMES = {OK: "accepted", REFUSED: "refused", UNKNOWN: "no answer"}


def _described(value: Any) -> str:
    if isinstance(value, (frozenset, tuple)):
        return f" ({', '.join(sorted(map(str, value))) or 'nothing'})"
    return "" if value is None else f" ({value})"
