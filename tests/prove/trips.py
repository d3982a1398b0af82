"""Probes that faults trip, one fault of each kind, kept in a file as they are found."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.checks import load_checks
from conformance.checks import plan as every_test
from conformance.judge.invariants import INVARIANTS
from conformance.plugin import known
from tests.faults.catalogue import Fault
from tests.faults.harness import checks_of, run_on_fault
from tests.prove import pool, selection
from tests.prove.probes import Watched
from tests.variants.hurry import hurried

#: A check by its name, and the operation it runs on.
Test = tuple[str, str]

#: A probe of a test; SETUP is the test without any.
Unit = tuple[Test, str]

#: Rule and kind of a fault, whatever the operation.
Kind = tuple[str, str]


def kinds() -> dict[Kind, list[Fault]]:
    """All faults by their kinds."""
    found: dict[Kind, list[Fault]] = {}
    for fault in selection.by_id().values():
        found.setdefault((fault.rule, fault.kind), []).append(fault)
    return found


@dataclass
class Trips:
    """The checks that a fault met on its operation, and the probes by which it tripped some of them."""

    tried: set[str] = field(default_factory=set)
    probes: dict[str, set[str]] = field(default_factory=dict)


def tripped(store: Path, processes: int) -> dict[str, Trips]:
    """Probes that faults trip, by ids of faults: one of each kind; runs those that the store lacks."""
    found: dict[str, Trips] = {}
    for line in store.read_text("utf-8").splitlines() if store.exists() else ():
        # The last line may have been cut short.
        with contextlib.suppress(ValueError):
            identifier, tried, probes = json.loads(line)
            found[identifier] = Trips(set(tried), {name: set(some) for name, some in probes.items()})
    found = {identifier: trips for identifier, trips in found.items() if identifier in selection.by_id()}
    faults = selection.each_kind(list(selection.by_id().values()))
    there = {(fault.rule, fault.kind) for name in found for fault in [selection.by_id()[name]]}
    work = [fault.id for fault in faults if (fault.rule, fault.kind) not in there]
    # A choice that is made before all are tried rests on kinds of every rule.
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
    """Runs a fault; returns the probes it trips. Where no own check sees an invariant broken, others run,
    the cheapest first, until one does."""
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
    """Probes and the faults they catch: as tried, and where a fault was not tried with a check, as another
    fault of its kind was on another operation."""
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
    """The kinds that each probe catches."""
    found: dict[Unit, set[Kind]] = {}
    for unit, fault in catches(trips):
        found.setdefault(unit, set()).add((fault.rule, fault.kind))
    return found
