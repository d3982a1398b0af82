"""Measures what tests send and catch, and chooses the probes of a quick run.

A fault of each kind meets the checks of its own rule, and those that a quick run has of its operation; the
probes that it trips go to --store, a line for each fault, so that the command goes on where it was stopped.
Then a greedy choice takes the probes that catch most new kinds for a request, until the requests of a quick
run are spent. --write makes conformance/plugin/plan.json of that, in an hour.

--add takes seconds: it measures only tests that the table lacks, places them behind the others of their
module, and drops rows without a test. No quick run has what it adds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.checks import plan as every_test
from conformance.fuzz import load_tests
from conformance.fuzz.exploration import EXPLORATIONS, FuzzSettings
from conformance.plugin import known
from conformance.plugin.plan import QUICK_REQUESTS, SPARE
from conformance.world.run_context import RunContext
from tests.prove import pool, selection
from tests.prove.probes import SETUP, Watched
from tests.prove.trips import Kind, Test, Trips, Unit, catches, caught_by, kinds, tripped
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Requests that a probe is taken to cost which sends none of its own: it may stand for another's.
LEAST = 0.25

#: File of the probes that faults trip.
STORE = Path("reports/plan.jsonl")

#: Rounds of looking for a better choice.
ROUNDS = 2


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument(
        "--store", type=Path, default=STORE, metavar="FILE", help=f"what faults trip ({STORE})"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--write", action="store_true", help="write conformance/plugin/plan.json")
    form.add_argument("--add", action="store_true", help="add only tests that it lacks, in seconds")
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Measures and chooses; true."""
    if options.add:
        add()
        return True
    options.store.parent.mkdir(parents=True, exist_ok=True)
    made = choice(tripped(options.store, options.processes))
    if options.write:
        write(made)
    return True


# ---------------------------------------------------------------------- what tests send


@dataclass
class Sent:
    """Requests, creations and payouts of a test, and requests by probe; `left_out` says that it was
    run without some of its probes."""

    numbers: list[int]
    probes: Mapping[str, int]
    left_out: bool = False


def measure(tests: Mapping[Test, Collection[str] | None] | None = None) -> dict[Test, Sent]:
    """Counts the requests of tests with some of their probes, None for all, on one reference server; None
    for all tests, deep ones too."""
    run, found = run_on(), dict[Test, Sent]()
    run.pause = lambda seconds: None
    with hurried():
        for check, operation in every_test(deep=True):
            test = (check.name, operation)
            if tests is None or test in tests:
                before = _made(run)
                watched = Watched(check, operation, run, None if tests is None else tests[test])
                watched.go()
                found[test] = Sent(_since(before, run), {SETUP: 0, **watched.sent}, watched.left_out)
    return found


def generated(without: Collection[Test] = ()) -> dict[Test, list[int]]:
    """Counts requests, creations and payouts of each part of the generated requests, but for some."""
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
    """The order of all tests with their requests, and the tests of a quick run with their probes."""

    order: list[Test]
    sent: Mapping[Test, Sent]
    quick: Mapping[Test, Sent]


def choice(trips: Mapping[str, Trips]) -> Choice:
    """The best order and the best quick run, as far as greed tells.

    Tests share set-up, which the first of them pays: in a quick run another one than in a whole run. Each
    round takes for the price of a probe what it sent in the round before.
    """
    caught, sent = caught_by(trips), measure()
    prices = {test: dict(one.probes) for test, one in sent.items()}
    order = list(greedy(caught, prices))
    best: Sequence[Unit] = ()
    for _ in range(ROUNDS):
        units = list(greedy(caught, prices))
        kept = needed(caught, _fitting(units))
        chosen = _fitting([*kept, *(unit for unit in units if unit not in set(kept))])
        best = max(best, chosen, key=lambda units: len(_union(caught, units)))
        for test, one in measure(_tests(chosen)).items():
            prices[test] |= one.probes
    quick = measure(_tests(best))
    hits, requests = _union(caught, best), sum(one.numbers[0] for one in quick.values())
    units_of_it = set(best)
    places = {fault.id for unit, fault in catches(trips) if unit in units_of_it}
    print(
        f"{len(quick)} tests, {requests} requests: {len(hits) / len(kinds()):.1%} of kinds on one of their "
        f"operations, {len(places) / len(selection.by_id()):.1%} of faults on their own"
    )
    return Choice(_ordered(order, caught, sent), sent, quick)


def _fitting(units: Sequence[Unit]) -> Sequence[Unit]:
    """As many of the first units as a quick run has requests for, measured together."""
    low, high = 0, len(units)
    while low < high:
        middle = (low + high + 1) // 2
        total = sum(one.numbers[0] for one in measure(_tests(units[:middle])).values())
        low, high = (middle, high) if total <= QUICK_REQUESTS - SPARE else (low, middle - 1)
    return units[:low]


def needed(caught: Mapping[Unit, set[Kind]], units: Sequence[Unit]) -> list[Unit]:
    """The units without those of which others catch every kind, the last first to go; a test's set-up goes
    with its last probe."""
    kept = list(units)
    for unit in sorted(units, key=lambda unit: (unit[1] == SETUP, -units.index(unit))):
        rest = [other for other in kept if other != unit]
        if unit[1] == SETUP and any(test == unit[0] for test, _ in rest):
            continue
        if caught.get(unit, set()) <= _union(caught, rest):
            kept = rest
    return kept


def _union(caught: Mapping[Unit, set[Kind]], units: Iterable[Unit]) -> set[Kind]:
    return set().union(*(caught.get(unit, set()) for unit in units))


def _tests(units: Sequence[Unit]) -> dict[Test, set[str]]:
    tests: dict[Test, set[str]] = {}
    for test, probe in units:
        tests.setdefault(test, set()).add(probe)
    return tests


def greedy(caught: Mapping[Unit, set[Kind]], prices: Mapping[Test, Mapping[str, int]]) -> Iterator[Unit]:
    """The units that catch most new kinds for a request, one after the other; the set-up of a test comes with
    the first of its probes."""
    left = {unit: caught[unit] for unit in sorted(caught) if unit[1] in prices.get(unit[0], {})}
    begun: set[Test] = set()

    def worth(unit: Unit) -> float:
        test, probe = unit
        price = prices[test][probe]
        gain = left[unit]
        if test not in begun and probe != SETUP:
            price += prices[test][SETUP]
            gain = gain | left.get((test, SETUP), set())
        return len(gain) / max(price, LEAST)

    while left:
        best = max(left, key=worth)
        chosen = [best] if best[0] in begun or best[1] == SETUP else [(best[0], SETUP), best]
        begun.add(best[0])
        fresh = _union(left, chosen)
        yield from chosen
        left = {unit: rest for unit, some in left.items() if (rest := some - fresh)}


def _ordered(
    units: Sequence[Unit], caught: Mapping[Unit, set[Kind]], sent: Mapping[Test, Sent]
) -> list[Test]:
    """All tests in the order of a run: by whole modules, those first that catch most new kinds for a request;
    within a module as chosen, then the cheapest. What may bring a server down comes last."""
    rest = sorted(sent, key=lambda test: (sent[test].numbers[0], test))
    tests = list(dict.fromkeys([*(test for test, _ in units), *rest]))
    by_test: dict[Test, list[Unit]] = {}
    for unit in caught:
        by_test.setdefault(unit[0], []).append(unit)
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
    """Writes the table into the package, a test a line."""
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
    """Adds to the table the tests that it lacks, and drops rows of tests that are gone."""
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
        place = last.get(name.partition(".")[0], max(last.values()))
        tables["checks"].setdefault(name, {})[operation] = {"place": place, "sends": sent.numbers}
    for (name, part), numbers in generated(parts & there).items():
        tables["generated"].setdefault(name, {})[part] = {"sends": numbers}
    _write(tables)


def _write(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    known.PATH.write_text(_object({kind: _table(table) for kind, table in tables.items()}) + "\n", "utf-8")


def _table(table: Mapping[str, Mapping[str, Any]]) -> str:
    return _object(
        {name: _object({key: json.dumps(row) for key, row in rows.items()}) for name, rows in table.items()}
    )


def _object(members: Mapping[str, str]) -> str:
    lines = (f"{json.dumps(name)}: {text}" for name, text in sorted(members.items()))
    return "{\n" + ",\n".join(lines) + "\n}"
