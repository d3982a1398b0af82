"""Requests of probes, by which a quick run is chosen.

Tests share set-up: resources that one makes and another uses, and values that the run keeps. The first test
that needs such a fixture sends its requests, so a fixture has a price of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from conformance.checks import plan as every_test
from conformance.wire.messages import Exchange
from conformance.world.cache import Key, RunCache
from conformance.world.run_context import RunContext
from tests.prove.probes import SETUP, Watched
from tests.prove.trips import Unit
from tests.support.runs import run_on
from tests.variants.hurry import hurried

T = TypeVar("T")

#: The key of a value that a run keeps, or the number of the exchange that made a resource.
Fixture = Key[Any] | int

_IDENTIFIER = re.compile(r"[\w-]{6,}")


@dataclass
class Prices:
    """Requests of a probe or fixture of its own, and the fixtures that each needs."""

    requests: Mapping[Unit | Fixture, int]
    needs: Mapping[Unit | Fixture, set[Fixture]]


class _WatchedCache(RunCache):
    """A run's cache that notes which probe asks for a value, and the exchanges that made it."""

    def __init__(self, run: RunContext) -> None:
        super().__init__()
        self.__dict__ |= vars(run.cache)
        self._run = run
        self.unit: Callable[[], Unit] = lambda: (("", ""), SETUP)
        self.asked: dict[Key[Any], set[Unit]] = {}
        #: Number of an exchange -> the value that it was sent for.
        self.made: dict[int, Key[Any]] = {}

    def get(self, key: Key[T], make: Callable[[], T]) -> T:
        self.asked.setdefault(key, set()).add(self.unit())

        def watched() -> T:
            before = len(self._run.record)
            try:
                return make()
            finally:
                for number in list(self._run.record)[before:]:
                    self.made.setdefault(number, key)

        return super().get(key, watched)


def prices(operations: set[str] | None = None) -> Prices:
    """Runs all tests, or those of some operations, on one reference server and prices their probes."""
    run = run_on()
    run.pause = lambda seconds: None
    run.cache = cache = _WatchedCache(run)
    senders: dict[int, Unit] = {}
    units: set[Unit] = set()
    with hurried():
        for check, operation in every_test(operations=operations, deep=True):
            test = (check.name, operation)
            watched = Watched(check, operation, run)
            cache.unit = lambda test=test, watched=watched: (test, watched.probe)  # type: ignore[misc]
            watched.go()
            units |= {(test, probe) for probe in (SETUP, *watched.sent)}
            senders |= {number: (test, probe) for number, probe in watched.probes.items()}

    kept = {key for key in cache.made.values() if len({test for test, _ in cache.asked[key]}) > 1}
    users = _users(run.record, senders)
    #: Number of an exchange -> what its price is part of.
    parts: dict[int, Unit | Fixture] = {}
    for number, sender in senders.items():
        tests = {senders[user][0] for user in (number, *users.get(number, ()))}
        key = cache.made.get(number)
        parts[number] = key if key in kept else number if len(tests) > 1 else sender
    needs: dict[Unit | Fixture, set[Fixture]] = {}
    for number, using in users.items():
        fixture = parts[number]
        if isinstance(fixture, Key | int):
            for part in {parts[user] for user in using} - {fixture}:
                needs.setdefault(part, set()).add(fixture)
    for key in kept:
        for unit in cache.asked[key]:
            needs.setdefault(unit, set()).add(key)
    return Prices({**dict.fromkeys(units, 0), **Counter(parts.values())}, needs)


def _users(record: Mapping[int, Exchange], senders: Mapping[int, Unit]) -> dict[int, set[int]]:
    """The exchanges that name a resource in path or body, by the number of the exchange that made it."""
    makers: dict[str, int] = {}
    users: dict[int, set[int]] = {}
    for number, exchange in record.items():
        if number not in senders:
            continue
        body = exchange.call.body or b""
        text = f"{unquote(exchange.call.target)} {body.decode('utf-8', 'replace')}"
        for maker in {makers[name] for name in _IDENTIFIER.findall(text) if name in makers}:
            users.setdefault(maker, set()).add(number)
        identifier = exchange.get("id")
        if exchange.method == "POST" and exchange.succeeded and isinstance(identifier, str):
            makers.setdefault(identifier, number)
    return users
