"""Requests and violations of single probes, from which a quick run is composed."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from conformance.checks import load_checks
from conformance.checks import plan as every_test
from conformance.checks.check import Check, attempted
from conformance.judge.invariants import INVARIANTS
from conformance.plugin import known
from conformance.wire.messages import Exchange
from conformance.world.cache import Key, RunCache
from conformance.world.run_context import RunContext
from tests.faults.catalogue import Fault
from tests.faults.harness import checks_of, run_on_fault
from tests.prove import pool, selection
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Name of the part of a check before its first probe; a check without probes has no other part.
SETUP = ""


class Watched:
    """Records one check on one operation while it runs: `sent` counts requests by probe, `probes` maps the
    number of each exchange to its probe, `tripped` has the probes that found a violation. `wanted` limits the
    probes that run; `probe` is the current one."""

    def __init__(
        self, check: Check, operation: str, run: RunContext, wanted: Collection[str] | None = None
    ) -> None:
        self.sent: Counter[str] = Counter()
        self.tripped: set[str] = set()
        #: True if the check has a probe that was not wanted.
        self.left_out = False
        self._only = wanted
        self._check, self._operation, self._run = check, operation, run
        self.probe, self.probes = SETUP, dict[int, str]()
        self._requests, self._exchanges, self._broken = run.sent, len(run.record), broken(run)

    def go(self) -> None:
        """Runs the check; an exception in the suite counts as no result."""
        try:
            attempt = attempted(self._check, self._operation, self._run)
        except Exception:
            return
        finally:
            self._turn(SETUP)
        for numbers in attempt.context.violations:
            probes = [self.probes[number] for number in sorted(numbers) if self.probes.get(number)]
            self.tripped.add(probes[-1] if probes else SETUP)

    def _wanted(self, check: str, operation: str, what: str) -> bool:
        if self._only is not None and what not in self._only:
            self.left_out = True
            return False
        self._turn(what)
        return True

    def _turn(self, what: str) -> None:
        """Assigns everything since the last turn to the current probe, then starts another."""
        run = self._run
        fresh = itertools.islice(reversed(run.record), len(run.record) - self._exchanges)
        self.probes |= dict.fromkeys(fresh, self.probe)
        self.sent[self.probe] += run.sent - self._requests
        if broken(run) > self._broken:
            self.tripped.add(self.probe)
        self._requests, self._exchanges, self._broken = run.sent, len(run.record), broken(run)
        self.probe = what


def broken(run: RunContext) -> int:
    """Counts the violations of rules of every response."""
    return sum(tally.broken for tally in run.invariants.tallies.values())


# ---------------------------------------------------------------------- prices


T = TypeVar("T")

#: Key of a value cached in the run, or number of the exchange that created a resource.
Fixture = Key[Any] | int

_IDENTIFIER = re.compile(r"[\w-]{6,}")


@dataclass
class Prices:
    """Requests of each probe and each shared fixture, and the fixtures that each needs."""

    requests: Mapping[Unit | Fixture, int]
    needs: Mapping[Unit | Fixture, set[Fixture]]


class _WatchedCache(RunCache):
    """Records which probes ask for a cached value, and the exchanges that made it."""

    def __init__(self, run: RunContext) -> None:
        super().__init__()
        self.__dict__ |= vars(run.cache)
        self._run = run
        self.unit: Callable[[], Unit] = lambda: (("", ""), SETUP)
        self.asked: dict[Key[Any], set[Unit]] = {}
        #: Number of an exchange -> key of the value that it was sent for.
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
    """Runs all tests, or those of some operations, on one reference server; returns the prices of their
    probes."""
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
    #: Number of an exchange -> probe or fixture that pays for it.
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
    """Maps the number of a creating exchange to those that name the resource in path or body."""
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


# ---------------------------------------------------------------------- trips


#: Name of a check, and operation.
Test = tuple[str, str]

#: A probe of a test; SETUP is the part before the first.
Unit = tuple[Test, str]

#: Rule and kind of a fault, on any operation.
Kind = tuple[str, str]


def kinds() -> dict[Kind, list[Fault]]:
    found: dict[Kind, list[Fault]] = {}
    for fault in selection.by_id().values():
        found.setdefault((fault.rule, fault.kind), []).append(fault)
    return found


@dataclass
class Trips:
    """The checks that a fault met on its operation, and the probes that it tripped."""

    tried: set[str] = field(default_factory=set)
    probes: dict[str, set[str]] = field(default_factory=dict)


def tripped(store: Path, processes: int) -> dict[str, Trips]:
    """Returns the probes that a fault of each kind trips, by fault id; runs the faults that the store
    lacks."""
    found: dict[str, Trips] = {}
    for line in store.read_text("utf-8").splitlines() if store.exists() else ():
        # The last line may be truncated.
        with contextlib.suppress(ValueError):
            identifier, tried, probes = json.loads(line)
            found[identifier] = Trips(set(tried), {name: set(some) for name, some in probes.items()})
    found = {identifier: trips for identifier, trips in found.items() if identifier in selection.by_id()}
    faults = selection.each_kind(list(selection.by_id().values()))
    there = {(fault.rule, fault.kind) for name in found for fault in [selection.by_id()[name]]}
    work = [fault.id for fault in faults if (fault.rule, fault.kind) not in there]
    # Shuffled, so that a choice made before all are tried covers every area of rules.
    random.Random(0).shuffle(work)
    with store.open("a", encoding="utf-8") as file:
        for identifier, trips in pool.mapped(meet, work, processes, "faults"):
            found[identifier] = trips
            probes = {name: sorted(some) for name, some in trips.probes.items()}
            file.write(json.dumps([identifier, sorted(trips.tried), probes]) + "\n")
            file.flush()
    return found


@hurried()
def meet(identifier: str) -> Trips:
    """Runs a fault; returns the probes that it trips. For a rule of every response that no own check finds
    violated, other checks run, cheapest first, until one does."""
    fault = selection.by_id()[identifier]
    own = checks_of(fault.rule, fault.operation)
    checks = [check for check, _ in every_test(operations={fault.operation})]
    checks.sort(key=lambda check: _sends(check.name, fault.operation))
    run, found = run_on_fault(fault.make()), Trips()
    quick = [check for check in checks if known.in_quick(check.name, fault.operation)]
    others = checks if fault.rule in INVARIANTS else ()
    for check in dict.fromkeys([*own, *quick, *others]):
        if check.deep or (check not in own and check not in quick and found.probes):
            continue
        watched = Watched(check, fault.operation, run)
        watched.go()
        found.tried.add(check.name)
        if watched.tripped:
            found.probes[check.name] = watched.tripped
    return found


def _sends(name: str, operation: str) -> int:
    test = known.tests().get(known.key_of(name, operation))
    return test.sends.requests if test else 0


def catches(trips: Mapping[str, Trips]) -> Iterator[tuple[Unit, Fault]]:
    """Yields probes with the faults that they catch: as measured, or, if a fault was not tried with a check,
    as measured for its kind on another operation."""
    checks = load_checks()
    for faults in kinds().values():
        there = [trips[fault.id] for fault in faults if fault.id in trips]
        like: dict[str, set[str]] = {}
        for name, probes in itertools.chain.from_iterable(one.probes.items() for one in there):
            like.setdefault(name, set()).update(probes)
        for fault in faults:
            own = trips.get(fault.id, Trips())
            for name in like.keys() & checks.keys():
                probes = own.probes.get(name, set()) if name in own.tried else like[name]
                for probe in probes if fault.operation in checks[name].operations else ():
                    yield ((name, fault.operation), probe), fault


def caught_by(trips: Mapping[str, Trips]) -> dict[Unit, set[Kind]]:
    """Returns the kinds that each probe catches."""
    found: dict[Unit, set[Kind]] = {}
    for unit, fault in catches(trips):
        found.setdefault(unit, set()).add((fault.rule, fault.kind))
    return found
