"""Finds which faulty servers trip which check, and what a quick run runs.

Every fault of the catalogue, one of each kind first, meets each check of its own rule alone; for a rule of
every response these are the checks that together see every kind of answer. What each check trips on goes to
--store, a line for each fault: the command goes on where it was stopped (--seconds, Ctrl-C), and begins anew
only what is not there yet. --write makes conformance/plugin/kills.json of it, from which `--effort quick`
and the order of a run come. `python -m tests.prove quick` says how many kinds of faults that catches.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.checks import load_checks, plan
from conformance.harness.check import Check
from conformance.judge.invariants import INVARIANTS
from conformance.plugin import costs, effort
from conformance.plugin.effort import Test
from conformance.world.run_context import RunContext
from tests.faults.catalogue import Fault
from tests.faults.harness import checks_of, run_on_fault
from tests.prove import pool, selection
from tests.prove.kill_probes import SETUP, Watched
from tests.prove.kill_selection import (
    Kills,
    Known,
    Selection,
    Tried,
    Unit,
    chosen,
    in_order,
    inferred,
    ordered,
    without_needless,
)
from tests.prove.kill_table import describe, write
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Requests that a quick run should keep below the most that it may send: servers differ a little.
SPARE = 30

#: Rounds of looking for a better selection.
ROUNDS = 2

STORE = Path("reports/kill-matrix.jsonl")


# ---------------------------------------------------------------------- which checks a fault trips


#: A fault's id and the names of the checks that it should meet; without any, those of its own rule.
Work = tuple[str, tuple[str, ...]]


def candidates(fault: Fault) -> list[Check]:
    """The checks that a fault meets first. Those of deep runs come last: they take hundreds of requests."""
    own = checks_of(fault.rule, fault.operation)
    if fault.rule in INVARIANTS:
        checks = load_checks()
        names = sorted(costs.telling(fault.rule, fault.operation) & checks.keys())
        own += [checks[name] for name in names if checks[name] not in own]
    return sorted(own, key=lambda check: check.deep)


def own(fault: Fault) -> set[str]:
    """The names of these checks, but for those of deep runs."""
    return {check.name for check in candidates(fault) if not check.deep}


def others(fault: Fault, met: set[str]) -> list[Check]:
    """All other checks of a fault's operation, the cheapest first."""
    found = [check for check, _ in plan(operations={fault.operation}) if check.name not in met]
    return sorted(found, key=lambda check: costs.requests(check.name, fault.operation))


@hurried()
def meet(work: Work) -> tuple[str, Tried]:
    """What a fault trips. Where no check of its own sees a broken rule of every response, others are tried
    until one does."""
    identifier, names = work
    fault, checks = selection.by_id()[identifier], load_checks()
    run, found = run_on_fault(fault.make()), Tried()
    for check in [checks[name] for name in names] or candidates(fault):
        if not check.deep or not found.tripped:
            _meet(check, fault, run, found)
    if not names and not found.tripped and fault.rule in INVARIANTS:
        for check in others(fault, found.tried):
            _meet(check, fault, run, found)
            if found.tripped:
                break
    return identifier, found


def _meet(check: Check, fault: Fault, run: RunContext, found: Tried) -> None:
    watched = Watched(check, fault.operation, run)
    watched.go()
    found.tried.add(check.name)
    if watched.tripped:
        found.tripped[check.name] = watched.tripped


# ---------------------------------------------------------------------- the store


def stored(path: Path) -> Known:
    """What the store knows of faults that there are. A line cut short is left out."""
    found: Known = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError, AttributeError):
            identifier, tried, tripped = json.loads(line)
            record = Tried(set(tried), {name: set(probes) for name, probes in tripped.items()})
            if identifier in selection.by_id():
                found.setdefault(identifier, Tried()).take(record)
    return found


def _met(identifier: str, known: Known) -> bool:
    """Whether a fault has met the checks of its own rule."""
    return identifier in known and own(selection.by_id()[identifier]) <= known[identifier].tried


def in_turn(seed: int) -> list[str]:
    """All faults, one of each kind first, then another one of each on a second operation, and so on: whoever
    stops it knows something of all kinds."""
    rng = random.Random(seed)
    rounds = []
    for identifiers in kinds().values():
        rng.shuffle(identifiers)
        rounds += [(turn, rng.random(), identifier) for turn, identifier in enumerate(identifiers)]
    return [identifier for _, _, identifier in sorted(rounds)]


def kinds() -> dict[tuple[str, str], list[str]]:
    """The ids of all faults by their kinds."""
    found: dict[tuple[str, str], list[str]] = {}
    for fault in selection.by_id().values():
        found.setdefault((fault.rule, fault.kind), []).append(fault.id)
    return found


def extend(path: Path, known: Known, work: Sequence[Work], options: argparse.Namespace) -> None:
    """Does work until there is none or the time is over, and keeps what it comes to."""
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as store, contextlib.suppress(KeyboardInterrupt):
        for _, (identifier, found) in pool.mapped(meet, work, options.processes, "faults", chunk=4):
            known.setdefault(identifier, Tried()).take(found)
            tripped = {name: sorted(probes) for name, probes in sorted(found.tripped.items())}
            store.write(json.dumps([identifier, sorted(found.tried), tripped]) + "\n")
            store.flush()
            if time.monotonic() > end:
                break


def cross(known: Known, selected: Selection, kills: Kills) -> list[Work]:
    """What a selection seems to miss, on all its operations, with the selected tests of those that were not
    tried on it: they may see it by chance."""
    caught, tests = kills.kinds(selected.faults), selected.tests
    work = []
    for identifier, fault in selection.by_id().items():
        tried = known[identifier].tried if identifier in known else set()
        names = {name for name, operation in tests if operation == fault.operation}
        if names - tried and kills.kind(identifier) not in caught:
            work.append((identifier, tuple(sorted(names - tried))))
    random.Random(1).shuffle(work)
    return work


def wide(known: Known, selected: Selection, kills: Kills, cost: int) -> list[Work]:
    """One fault of each kind, with the tests of its operation that cost at most so much and were not tried on
    it: a cheap one may see what a dear one was made for. What a selection misses comes first."""
    caught, work, seen = kills.kinds(selected.faults), [], set()
    for identifier in sorted(known, key=lambda name: (kills.kind(name) in caught, name)):
        fault, kind = selection.by_id()[identifier], kills.kind(identifier)
        cheap = {
            check.name
            for check, operation in plan(operations={fault.operation})
            if costs.requests(check.name, operation) <= cost
        }
        if kind not in seen and (new := cheap - known[identifier].tried):
            work.append((identifier, tuple(sorted(new))))
        seen.add(kind)
    return work


# ---------------------------------------------------------------------- the selection


def prices(units: Sequence[Unit] | None = None) -> dict[Test, dict[str, int]]:
    """How many requests each probe sends to the reference server, in one run of some of them, or of all."""
    run, sent = run_on(), dict[Test, dict[str, int]]()
    tests = Selection(tuple(units), 0, frozenset()).tests if units is not None else None
    with hurried():
        for check, operation in plan():
            test = (check.name, operation)
            if tests is None or test in tests:
                probes = None if tests is None else tests[test]
                watched = Watched(check, operation, run, probes)
                watched.go()
                sent[test] = {SETUP: 0, **watched.sent}
    return sent


def measured(units: Sequence[Unit]) -> int:
    """The requests of some probes in one run."""
    return sum(sum(sent.values()) for sent in prices(units).values())


def select(known: Known) -> tuple[Kills, list[Test], Selection]:
    """What is known, the order of all tests, and what a quick run runs: the best of some rounds.

    Set-up that tests share is paid by the first of them, which in a run of few is another one than in a run
    of all: each round takes for the price of a probe what it cost in the round before.
    """
    costs, faults = prices(), selection.by_id()
    kills = Kills(faults, inferred(faults, known, own))
    best: tuple[list[Test], Selection] | None = None
    for _ in range(ROUNDS):
        units = list(ordered(kills, costs))
        selected = chosen(kills, units, effort.QUICK_REQUESTS - SPARE, costs, measured)
        kept = list(without_needless(kills, selected.units))
        rest = [unit for unit in units if unit not in set(selected.units)]
        selected = chosen(kills, [*kept, *rest], effort.QUICK_REQUESTS - SPARE, costs, measured)
        if best is None or len(kills.kinds(selected.faults)) > len(kills.kinds(best[1].faults)):
            best = in_order(kills, units, costs), selected
        for test, sent in prices(selected.units).items():
            costs[test] |= sent
    assert best is not None
    return kills, *best


# ---------------------------------------------------------------------- the command


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument(
        "--store",
        type=Path,
        default=STORE,
        metavar="FILE",
        help=f"where what trips what is kept (default: {STORE})",
    )
    parser.add_argument(
        "--seconds", type=float, default=0, metavar="N", help="stop after so many, and go on next time"
    )
    parser.add_argument(
        "--cross", action="store_true", help="try what a quick run seems to miss on all its tests, too"
    )
    parser.add_argument(
        "--wide",
        type=int,
        default=0,
        metavar="N",
        help="try each kind on all tests of at most N requests, too",
    )
    parser.add_argument("--write", action="store_true", help="write conformance/plugin/kills.json")
    selection.seed(parser, 1)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Extends the store and makes a selection of it; whether anything is known."""
    known = stored(options.store)
    there, faults = in_turn(options.seed), selection.by_id()
    unknown: list[Work] = [(identifier, ()) for identifier in there if not _met(identifier, known)]
    # Kinds of which nothing is known come first.
    met = {(faults[identifier].rule, faults[identifier].kind) for identifier in known}
    unknown.sort(key=lambda work: (faults[work[0]].rule, faults[work[0]].kind) in met)
    extend(options.store, known, unknown, options)
    print(f"{len(known)} of {len(faults)} faulty servers are known in {options.store}")
    if not known:
        return False
    kills, order, selected = select(known)
    if options.cross:
        extend(options.store, known, cross(known, selected, kills), options)
        kills, order, selected = select(known)
    if options.wide:
        extend(options.store, known, wide(known, selected, kills, options.wide), options)
        kills, order, selected = select(known)
    for line in describe(kills, selected):
        print(line)
    if options.write:
        print(write(kills, order, selected))
    return True
