"""From what trips which check to what a quick run runs: greedy, by what is newly caught for each request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.plugin.effort import Test
from tests.faults.catalogue import Fault

#: Rule and kind of a fault, whatever the operation.
Kind = tuple[str, str]

#: What a fault is worth whose kind is caught already, on another operation; a new kind is worth 1.
KNOWN_KIND = 0.005


@dataclass
class Tried:
    """Names of checks that a fault met on its operation, and those of them that it tripped."""

    tried: set[str]
    tripped: set[str]


#: What is known of faults, by their ids.
Known = dict[str, Tried]


def inferred(
    faults: Mapping[str, Fault], known: Known, own: Callable[[Fault], Collection[str]]
) -> dict[str, set[str]]:
    """What each fault trips: what was tried, and of the checks of its `own` that were not, those that the
    same kind trips on another operation. Kinds of which nothing is known are left out."""
    examples: dict[Kind, set[str]] = {}
    for identifier, record in known.items():
        fault = faults[identifier]
        examples.setdefault((fault.rule, fault.kind), set()).update(record.tripped)
    found: dict[str, set[str]] = {}
    for identifier, fault in faults.items():
        names = examples.get((fault.rule, fault.kind))
        if names is not None:
            there = known.get(identifier, Tried(set(), set()))
            found[identifier] = there.tripped | ((names - there.tried) & set(own(fault)))
    return found


@dataclass(frozen=True)
class Kills:
    """Which tests each fault trips, by its id."""

    faults: Mapping[str, Fault]
    tripped: Mapping[str, Collection[str]]
    by_test: dict[Test, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        by_test: dict[Test, set[str]] = defaultdict(set)
        for identifier, names in self.tripped.items():
            for name in names:
                by_test[name, self.faults[identifier].operation].add(identifier)
        object.__setattr__(self, "by_test", dict(by_test))

    def kind(self, identifier: str) -> Kind:
        """The kind of a fault."""
        fault = self.faults[identifier]
        return fault.rule, fault.kind

    def kinds(self, identifiers: Iterable[str]) -> set[Kind]:
        """The kinds of some faults."""
        return {self.kind(identifier) for identifier in identifiers}


def ordered(kills: Kills, costs: Mapping[Test, int]) -> list[Test]:
    """All tests, that first which newly catches most for each request; those that catch nothing new last, the
    cheapest first."""
    left = dict(sorted(costs.items()))
    kinds: set[Kind] = set()
    faults: set[str] = set()
    order: list[Test] = []
    # What a test newly catches only shrinks: a value of before is a bound of today's.
    bound = {test: float("inf") for test in left}
    while left:
        best, most = None, 0.0
        for test in sorted(left, key=lambda test: -bound[test]):
            if bound[test] <= most:
                break
            bound[test] = _gain(kills, kills.by_test.get(test, set()) - faults, kinds) / max(left[test], 1)
            if bound[test] > most:
                best, most = test, bound[test]
        if best is None:
            break
        order.append(best)
        caught = kills.by_test[best]
        faults |= caught
        kinds |= kills.kinds(caught)
        del left[best]
    return order + sorted(left, key=lambda test: (left[test], test))


def _gain(kills: Kills, fresh: set[str], known: set[Kind]) -> float:
    return len(kills.kinds(fresh) - known) + KNOWN_KIND * len(fresh)


@dataclass(frozen=True)
class Selection:
    """The tests of a quick run, and what they catch."""

    tests: tuple[Test, ...]
    requests: int
    faults: frozenset[str]


def chosen(
    kills: Kills,
    order: Sequence[Test],
    most: int,
    costs: Mapping[Test, int],
    measure: Callable[[Sequence[Test]], int],
) -> Selection:
    """As many of the first tests as send at most so many requests, by measuring them together."""
    order = [test for test in order if test in kills.by_test]
    number = total = 0
    while number < len(order) and total + costs[order[number]] <= 1.3 * most:
        total += costs[order[number]]
        number += 1
    # Tests share set-up, so that a run of some costs another sum than their part of a run of all.
    low, high, requests = 0, number, 0
    while low < high:
        middle = (low + high + 1) // 2
        sent = measure(order[:middle])
        if sent <= most:
            low, requests = middle, sent
        else:
            high = middle - 1
    tests = tuple(order[:low])
    return Selection(tests, requests, frozenset(_caught(kills, tests)))


def _caught(kills: Kills, tests: Iterable[Test]) -> set[str]:
    return set().union(*(kills.by_test.get(test, set()) for test in tests))


def table(kills: Kills, order: Sequence[Test], quick: int) -> dict[str, Any]:
    """What the package keeps: a row for each test, in the order; the first `quick` of them are a quick
    run."""
    trips: dict[Kind, set[Test]] = defaultdict(set)
    for test, identifiers in kills.by_test.items():
        for kind in kills.kinds(identifiers):
            trips[kind].add(test)
    rows, seen = [], set[Kind]()
    for test in order:
        identifiers = kills.by_test.get(test, set())
        kinds = kills.kinds(identifiers)
        alone = sum(len(trips[kind]) == 1 for kind in kinds)
        rows.append([*test, len(identifiers), alone, len(kinds - seen)])
        seen |= kinds
    return {"kinds": len(kills.kinds(kills.faults)), "quick": quick, "tests": rows}
