"""From what trips which probe to what a quick run runs: greedy, by what is newly caught for each request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.plugin.effort import Test
from tests.faults.catalogue import Fault
from tests.prove.kill_probes import SETUP

#: Rule and kind of a fault, whatever the operation.
Kind = tuple[str, str]

#: A probe of a test, by its name; SETUP is the test without any.
Unit = tuple[Test, str]

#: What a fault is worth whose kind is caught already, on another operation; a new kind is worth 1.
KNOWN_KIND = 0.005

#: Requests that a probe is taken to cost which sends none of its own: it may stand for another's.
LEAST = 0.25


@dataclass
class Tried:
    """Names of checks that a fault met on its operation, and the probes by which it tripped some of them."""

    tried: set[str] = field(default_factory=set)
    tripped: dict[str, set[str]] = field(default_factory=dict)

    def take(self, more: Tried) -> None:
        """Adds what another try has shown."""
        self.tried |= more.tried
        for name, probes in more.tripped.items():
            self.tripped.setdefault(name, set()).update(probes)


#: What is known of faults, by their ids.
Known = dict[str, Tried]


def inferred(
    faults: Mapping[str, Fault], known: Known, own: Callable[[Fault], Collection[str]]
) -> dict[str, dict[str, set[str]]]:
    """What each fault trips: what was tried, and of the checks of its `own` that were not, those that the
    same kind trips on another operation. Kinds of which nothing is known are left out."""
    examples: dict[Kind, Tried] = defaultdict(Tried)
    for identifier, record in known.items():
        examples[faults[identifier].rule, faults[identifier].kind].take(record)
    found: dict[str, dict[str, set[str]]] = {}
    for identifier, fault in faults.items():
        if (example := examples.get((fault.rule, fault.kind))) is not None:
            there = known.get(identifier, Tried())
            untried = (example.tripped.keys() - there.tried) & set(own(fault))
            found[identifier] = there.tripped | {name: example.tripped[name] for name in untried}
    return found


@dataclass(frozen=True)
class Kills:
    """Which probes each fault trips, by its id: names of checks -> names of probes."""

    faults: Mapping[str, Fault]
    tripped: Mapping[str, Mapping[str, Collection[str]]]
    by_unit: dict[Unit, set[str]] = field(init=False)
    by_test: dict[Test, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        by_unit: dict[Unit, set[str]] = defaultdict(set)
        by_test: dict[Test, set[str]] = defaultdict(set)
        for identifier, names in self.tripped.items():
            for name, probes in names.items():
                test = (name, self.faults[identifier].operation)
                by_test[test].add(identifier)
                for probe in probes:
                    by_unit[test, probe].add(identifier)
        object.__setattr__(self, "by_unit", dict(by_unit))
        object.__setattr__(self, "by_test", dict(by_test))

    def kind(self, identifier: str) -> Kind:
        """The kind of a fault."""
        fault = self.faults[identifier]
        return fault.rule, fault.kind

    def kinds(self, identifiers: Iterable[str]) -> set[Kind]:
        """The kinds of some faults."""
        return {self.kind(identifier) for identifier in identifiers}

    def caught(self, units: Iterable[Unit]) -> set[str]:
        """The faults that some units see."""
        return set().union(*(self.by_unit.get(unit, set()) for unit in units))


#: Test -> its probes -> their requests; those of SETUP come with each of them.
Prices = Mapping[Test, Mapping[str, int]]


class _Choice:
    """What is chosen so far, and what else there is to choose."""

    def __init__(self, kills: Kills, prices: Prices) -> None:
        self.kills = kills
        self.units: list[Unit] = []
        self._prices = prices
        self._faults: set[str] = set()
        self._kinds: set[Kind] = set()
        self._units: dict[Test, list[str]] = defaultdict(list)
        for test, probe in kills.by_unit:
            if probe in prices.get(test, {}):
                self._units[test].append(probe)
        # What one newly catches only shrinks: a value of before is a bound of today's.
        self._bound: dict[Test | Unit, float] = dict.fromkeys(sorted(self._units), float("inf"))

    def go_on(self) -> bool:
        """Chooses what newly catches most for a request; whether there was anything."""
        best, most, units = None, 0.0, list[Unit]()
        for choice in sorted(self._bound, key=lambda choice: -self._bound[choice]):
            if self._bound[choice] <= most:
                break
            self._bound[choice], found = self._worth(choice)
            if self._bound[choice] > most:
                best, most, units = choice, self._bound[choice], found
        if best is None:
            return False
        self._take(best, units)
        return True

    def _take(self, best: Test | Unit, units: list[Unit]) -> None:
        del self._bound[best]
        self.units += units
        fresh = self.kills.caught(units)
        self._faults |= fresh
        self._kinds |= self.kills.kinds(fresh)
        if isinstance(best[0], str):
            # The set-up is paid: from now on each of the other probes is for itself.
            taken = {probe for _, probe in units}
            test = (best[0], str(best[1]))
            self._bound |= {
                (test, probe): float("inf") for probe in sorted(self._units[test]) if probe not in taken
            }

    def _worth(self, one: Test | Unit) -> tuple[float, list[Unit]]:
        """What is newly caught for a request by a probe of a chosen test, or by a test with those of its
        probes that make this most; and the units of that."""
        if not isinstance(one[0], str):
            unit = (one[0], one[1])
            return self._gain(self.kills.by_unit.get(unit, set())) / self._price(unit), [unit]
        test = (one[0], str(one[1]))
        units: list[Unit] = [(test, SETUP)]
        seen, price = set(self.kills.by_unit.get((test, SETUP), ())), self._price((test, SETUP))
        best = self._gain(seen) / price
        left = [(test, probe) for probe in sorted(self._units[test]) if probe != SETUP]
        while left:
            ratio, unit = max(
                (self._gain(seen | self.kills.by_unit[unit]) / (price + self._price(unit)), unit)
                for unit in left
            )
            if ratio <= best:
                break
            best, price = ratio, price + self._price(unit)
            seen |= self.kills.by_unit[unit]
            units.append(unit)
            left.remove(unit)
        return best, units

    def _price(self, unit: Unit) -> float:
        return max(self._prices[unit[0]].get(unit[1], 0), LEAST)

    def _gain(self, identifiers: set[str]) -> float:
        fresh = identifiers - self._faults
        return len(self.kills.kinds(fresh) - self._kinds) + KNOWN_KIND * len(fresh)


def ordered(kills: Kills, prices: Prices) -> list[Unit]:
    """All units that catch anything new, that first which newly catches most for each request: a test's
    set-up before its probes."""
    choice = _Choice(kills, prices)
    while choice.go_on():
        pass
    return choice.units


def in_order(kills: Kills, units: Sequence[Unit], prices: Prices) -> list[Test]:
    """All tests, in the order of the first of their units; those that catch nothing new last, the cheapest
    first."""
    found = list(dict.fromkeys(test for test, _ in units))
    rest = sorted(prices.keys() - set(found), key=lambda test: (sum(prices[test].values()), test))
    return found + rest


@dataclass(frozen=True)
class Selection:
    """The probes of a quick run by its tests, and what they catch."""

    units: tuple[Unit, ...]
    requests: int
    faults: frozenset[str]

    @property
    def tests(self) -> dict[Test, set[str]]:
        """The tests with their probes."""
        found: dict[Test, set[str]] = {}
        for test, probe in self.units:
            found.setdefault(test, set()).add(probe)
        return found


def chosen(
    kills: Kills,
    order: Sequence[Unit],
    most: int,
    prices: Prices,
    measure: Callable[[Sequence[Unit]], int],
) -> Selection:
    """As many of the first units as send at most so many requests, by measuring them together: tests share
    set-up, so that a run of some costs another sum than their part of a run of all."""
    low = number = requests = total = 0
    while number < len(order) and total <= 1.3 * most:
        total += prices[order[number][0]].get(order[number][1], 0)
        number += 1
    high = number
    while low < high:
        middle = (low + high + 1) // 2
        sent = measure(order[:middle])
        if sent <= most:
            low, requests = middle, sent
        else:
            high = middle - 1
    units = tuple(order[:low])
    return Selection(units, requests, frozenset(kills.caught(units)))


def without_needless(kills: Kills, units: Sequence[Unit]) -> Iterator[Unit]:
    """The units without those of which others catch every kind, the last first to go; a test's set-up goes
    with its last probe."""
    times: dict[Kind, int] = defaultdict(int)
    kinds = {unit: kills.kinds(kills.by_unit.get(unit, set())) for unit in units}
    for unit in units:
        for kind in kinds[unit]:
            times[kind] += 1
    probes: dict[Test, int] = defaultdict(int)
    for test, probe in units:
        probes[test] += probe != SETUP
    gone = set()
    place = {unit: number for number, unit in enumerate(units)}
    for unit in sorted(units, key=lambda unit: (unit[1] == SETUP, -place[unit])):
        test, probe = unit
        needed = any(times[kind] == 1 for kind in kinds[unit]) or (probe == SETUP and probes[test])
        if not needed:
            gone.add(unit)
            probes[test] -= probe != SETUP
            for kind in kinds[unit]:
                times[kind] -= 1
    yield from (unit for unit in units if unit not in gone)


def rows(kills: Kills, order: Sequence[Test]) -> list[list[Any]]:
    """What the package keeps of each test, in the order: faulty servers that trip it, kinds of them that trip
    nothing else, and kinds that it is the first to catch."""
    trips: dict[Kind, set[Test]] = defaultdict(set)
    for test, identifiers in kills.by_test.items():
        for kind in kills.kinds(identifiers):
            trips[kind].add(test)
    found, seen = [], set[Kind]()
    for test in order:
        identifiers = kills.by_test.get(test, set())
        kinds = kills.kinds(identifiers)
        alone = sum(len(trips[kind]) == 1 for kind in kinds)
        found.append([*test, len(identifiers), alone, len(kinds - seen)])
        seen |= kinds
    return found
