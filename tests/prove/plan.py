"""Measures what tests send and catch, and chooses the probes of a quick run.

A fault of each kind is met by the checks of its rule, and by those that a quick run has of its operation; the
probes that it trips are appended to --store, a line for each fault, so that an interrupted command continues.
Then HiGHS, an integer-programming solver, chooses the probes that catch the most kinds within the requests of
a quick run. --write makes conformance/plugin/plan.json of that, in six minutes on two idle cores.

--add takes seconds: it measures only tests without a row, puts them behind the others of their module, and
drops rows without a test. Quick runs do not include them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import highspy

from conformance.checks import plan as every_test
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.plugin import known
from conformance.plugin.plan import QUICK_REQUESTS, SPARE
from conformance.world.run_context import RunContext
from tests.prove import pool, selection
from tests.prove.probes import (
    SETUP,
    Fixture,
    Kind,
    Prices,
    Test,
    Trips,
    Unit,
    Watched,
    catches,
    caught_by,
    kinds,
    prices,
    tripped,
)
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: File with the probes that each fault trips.
STORE = Path("reports/plan.jsonl")

#: Number of solver rounds, and time limit of each in seconds.
ROUNDS, SECONDS = 8, 60.0

#: Weight of a fault caught on its own operation; a kind caught on any operation weighs 1.
OWN_OPERATION = 1e-5


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", type=Path, default=STORE, metavar="FILE", help=f"what faults trip ({STORE})"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--write", action="store_true", help="write conformance/plugin/plan.json")
    form.add_argument("--add", action="store_true", help="add only missing tests, in seconds")
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Measures and chooses; returns True."""
    if options.add:
        add()
        return True
    options.store.parent.mkdir(parents=True, exist_ok=True)
    made = choice(tripped(options.store, options.processes))
    if options.write:
        write(made)
    return True


# ---------------------------------------------------------------------- requests of tests


@dataclass
class Sent:
    """Requests, creations and payouts of a test, and its requests by probe. `left_out` is True if some of its
    probes were not run."""

    numbers: list[int]
    probes: Mapping[str, int]
    left_out: bool = False


def measure(tests: Mapping[Test, Collection[str] | None] | None = None) -> dict[Test, Sent]:
    """Counts the requests of tests on one reference server, each with these probes or, for None, all.
    `tests=None` takes all tests, deep ones included, and gives those of `known.AFTERWARDS` a server of their
    own."""
    shared, found = _hasty_run(), dict[Test, Sent]()
    with hurried():
        for check, operation in every_test(deep=True):
            test = (check.name, operation)
            if tests is None or test in tests:
                alone = tests is None and check.name.startswith(f"{known.AFTERWARDS}.")
                run = _hasty_run() if alone else shared
                before = _made(run)
                watched = Watched(check, operation, run, None if tests is None else tests[test])
                watched.go()
                found[test] = Sent(_since(before, run), {SETUP: 0, **watched.sent}, watched.left_out)
    return found


def _hasty_run() -> RunContext:
    run = run_on()
    run.pause = lambda seconds: None
    return run


def generated(without: Collection[Test] = ()) -> dict[Test, list[int]]:
    """Counts requests, creations and payouts of each part of the generated requests, except those in
    `without`."""
    load_tests()
    run, found = run_on(), dict[Test, list[int]]()
    for exploration in EXPLORATIONS.values():
        for part in exploration.parts:
            if (exploration.name, part) in without:
                continue
            before = _made(run)
            exploration.function(run, part, FuzzSettings(seed=0))
            found[exploration.name, part] = _since(before, run)
    return found


def _made(run: RunContext) -> list[int]:
    made = run.made.resources
    return [run.sent, len(made), sum(resource.operation == "createPayout" for resource in made)]


def _since(before: list[int], run: RunContext) -> list[int]:
    return [now - then for now, then in zip(_made(run), before, strict=True)]


# ---------------------------------------------------------------------- the choice


@dataclass
class Choice:
    """All tests in order with their requests, and the tests of a quick run with their probes."""

    order: list[Test]
    sent: Mapping[Test, Sent]
    quick: Mapping[Test, Sent]


def choice(trips: Mapping[str, Trips]) -> Choice:
    """Returns the order of all tests, and the best quick run found.

    A test sends more or fewer requests among others than its price says: each round corrects the budget by
    the error of the previous choice.
    """
    caught, sent, priced = caught_by(trips), measure(), prices()
    operations = Counter(unit for unit, _ in catches(trips))
    limit = allowed = QUICK_REQUESTS - SPARE
    units: Sequence[Unit] = ()
    quick: Mapping[Test, Sent] = {}
    for _ in range(ROUNDS):
        chosen = best(caught, priced, allowed, operations)
        measured = measure(_tests(chosen))
        requests = sum(one.numbers[0] for one in measured.values())
        print(f"{requests} requests: {len(_union(caught, chosen))} of {len(kinds())} kinds", flush=True)
        if requests <= limit and len(_union(caught, chosen)) > len(_union(caught, units)):
            units, quick = chosen, measured
        allowed += limit - requests
    hits, requests = _union(caught, units), sum(one.numbers[0] for one in quick.values())
    units_of_it = set(units)
    places = {fault.id for unit, fault in catches(trips) if unit in units_of_it}
    print(
        f"{len(quick)} tests, {requests} requests: {len(hits) / len(kinds()):.1%} of kinds on one of their "
        f"operations, {len(places) / len(selection.by_id()):.1%} of faults on their own"
    )
    return Choice(_ordered(caught, sent), sent, quick)


def best(
    caught: Mapping[Unit, set[Kind]], prices: Prices, limit: int, operations: Mapping[Unit, int]
) -> list[Unit]:
    """Returns the probes that catch the most kinds for at most `limit` requests, set-up and fixtures
    included. Ties are broken by faults caught on their own operation, whose number for each probe is in
    `operations`."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.setOptionValue("time_limit", SECONDS)
    taken: dict[Unit | Fixture, Any] = {
        thing: solver.addBinary(
            obj=OWN_OPERATION * (operations.get(thing, 0) if isinstance(thing, tuple) else 0)
        )
        for thing in sorted(prices.requests, key=str)
    }
    by_kind: dict[Kind, list[Unit]] = {}
    for unit in (unit for unit in caught if unit in taken):
        solver.addConstr(taken[unit] <= taken[unit[0], SETUP])
        for kind in caught[unit]:
            by_kind.setdefault(kind, []).append(unit)
    for thing, fixtures in prices.needs.items():
        for fixture in fixtures:
            solver.addConstr(taken[thing] <= taken[fixture])
    for units in by_kind.values():
        solver.addConstr(solver.addBinary(obj=1.0) <= solver.qsum(taken[unit] for unit in units))
    solver.addConstr(solver.qsum(number * taken[thing] for thing, number in prices.requests.items()) <= limit)
    solver.maximize()
    chosen = {thing for thing, variable in taken.items() if solver.val(variable) > 0.5}
    return [unit for unit in caught if unit in chosen]


def _union(caught: Mapping[Unit, set[Kind]], units: Iterable[Unit]) -> set[Kind]:
    return set().union(*(caught.get(unit, set()) for unit in units))


def _tests(units: Sequence[Unit]) -> dict[Test, set[str]]:
    tests: dict[Test, set[str]] = {}
    for test, probe in units:
        tests.setdefault(test, set()).add(probe)
    return tests


def _ordered(caught: Mapping[Unit, set[Kind]], sent: Mapping[Test, Sent]) -> list[Test]:
    """Orders all tests for a run: modules, and the tests within a module, by new kinds caught per request.
    Modules that may bring a server down come last."""
    by_test: dict[Test, list[Unit]] = {}
    for unit in caught:
        by_test.setdefault(unit[0], []).append(unit)

    def worth(test: Test) -> float:
        return len(_union(caught, by_test.get(test, ()))) / max(sent[test].numbers[0], 1)

    tests = sorted(sent, key=lambda test: (-worth(test), test))
    seen: set[Kind] = set()
    new: dict[str, int] = {}
    cost: dict[str, int] = {}
    for test in tests:
        module = test[0].partition(".")[0]
        fresh = _union(caught, by_test.get(test, ())) - seen
        seen |= fresh
        new[module] = new.get(module, 0) + len(fresh)
        cost[module] = cost.get(module, 0) + sent[test].numbers[0]

    def place(test: Test) -> tuple[int, float, str]:
        module = test[0].partition(".")[0]
        late = known.LAST.index(module) + 1 if module in known.LAST else 0
        return late, -new[module] / max(cost[module], 1), module

    return sorted(tests, key=place)


def write(made: Choice) -> None:
    """Writes the table into the package, one test a line."""
    tables: dict[str, dict[str, dict[str, Any]]] = {"checks": {}, "generated": {}}
    for place, (name, operation) in enumerate(made.order):
        row: dict[str, Any] = {"place": place, "sends": made.sent[name, operation].numbers}
        if quick := made.quick.get((name, operation)):
            row["quick"] = quick.numbers
            if quick.left_out:
                row["probes"] = sorted(quick.probes.keys() - {SETUP})
        tables["checks"].setdefault(name, {})[operation] = row
    for (name, part), numbers in generated().items():
        tables["generated"].setdefault(name, {})[part] = {"sends": numbers}
    _write(tables)


def add() -> None:
    """Adds missing tests to the table, and drops rows without a test."""
    tables = json.loads(known.PATH.read_text("utf-8"))
    there = {(test.name, test.parameter) for test in known.tests().values()}
    load_tests()
    parts = {(one.name, part) for one in EXPLORATIONS.values() for part in one.parts}
    checks = {(check.name, operation) for check, operation in every_test(deep=True)}
    for kind, tests in (("checks", checks), ("generated", parts)):
        table = {
            name: {key: row for key, row in rows.items() if (name, key) in tests}
            for name, rows in tables[kind].items()
        }
        tables[kind] = {name: rows for name, rows in table.items() if rows}
    last: dict[str, int] = {}
    for name, rows in tables["checks"].items():
        module = name.partition(".")[0]
        last[module] = max([last.get(module, 0), *(row["place"] for row in rows.values())])
    for (name, operation), sent in measure(dict.fromkeys(checks - there)).items():
        place = last.setdefault(name.partition(".")[0], max(last.values()) + 1)
        tables["checks"].setdefault(name, {})[operation] = {"place": place, "sends": sent.numbers}
    for (name, part), numbers in generated(parts & there).items():
        tables["generated"].setdefault(name, {})[part] = {"sends": numbers}
    _write(tables)
    new, gone = (checks | parts) - there, there - checks - parts
    print(
        f"{len(new)} tests added, {len(gone)} dropped: commit plan.json. Quick runs have what is added "
        "from the next `plan --write` on."
    )


def _write(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    known.PATH.write_text(_object({kind: _table(table) for kind, table in tables.items()}) + "\n", "utf-8")


def _table(table: Mapping[str, Mapping[str, Any]]) -> str:
    return _object(
        {name: _object({key: json.dumps(row) for key, row in rows.items()}) for name, rows in table.items()}
    )


def _object(members: Mapping[str, str]) -> str:
    lines = (f"{json.dumps(name)}: {text}" for name, text in sorted(members.items()))
    return "{\n" + ",\n".join(lines) + "\n}"
