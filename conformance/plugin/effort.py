"""How much a run does: quick, full or deep.

What each test is worth comes from `kills.json` beside this module, which `python -m tests.prove kill_matrix
--write` makes: every test of a check, that which catches most new faulty servers for a request first, with
how many faulty servers trip it, how many kinds of them trip no other test, and how many kinds are first
caught by it. It also says what a quick run runs: some of the tests, and of those the probes that catch most.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

#: Most requests of a quick run on the reference server, in one process and one lane.
QUICK_REQUESTS = 1000

#: A check by its name, and the operation it runs on.
Test = tuple[str, str]


@dataclass(frozen=True)
class Worth:
    """What one test catches: faulty servers that trip it, kinds of them that trip nothing else, kinds that
    it is the first to catch, and its place in the order of what catches most for a request."""

    faults: int
    alone: int
    first: int
    place: int


@dataclass(frozen=True)
class Part:
    """What a quick run does of a test: what it sends, creates and pays out, and its probes; None for all."""

    requests: int
    creations: int
    payouts: int
    probes: frozenset[str] | None = None


@dataclass(frozen=True)
class Kills:
    """The table: kinds of faulty servers there are, what each test is worth, and the tests of a quick run."""

    kinds: int
    worth: Mapping[Test, Worth]
    quick: Mapping[Test, Part]

    @functools.cached_property
    def modules(self) -> frozenset[str]:
        """The modules of the suite's own checks."""
        return frozenset(check.partition(".")[0] for check, _ in self.worth)


@functools.cache
def kills() -> Kills:
    """The table of the installed package."""
    # Here, because the options are read in every run of pytest, also in those of other people's tests.
    import json
    from importlib import resources

    text = resources.files("conformance.plugin").joinpath("kills.json").read_text("utf-8")
    return _read(json.loads(text))


def _read(data: dict[str, Any]) -> Kills:
    rows = data["tests"]
    worth = {(row[0], row[1]): Worth(row[2], row[3], row[4], place) for place, row in enumerate(rows)}
    quick = {
        (check, operation): Part(sent, created, payouts, None if probes is None else frozenset(probes))
        for check, operations in data["quick"].items()
        for operation, (sent, created, payouts, probes) in operations.items()
    }
    return Kills(data["kinds"], MappingProxyType(worth), MappingProxyType(quick))


def in_quick(check: str, operation: str) -> bool:
    """Whether a quick run has a test: also each of a user's own checks, of which nothing is known."""
    table = kills()
    return (check, operation) in table.quick or check.partition(".")[0] not in table.modules


def wants(check: str, operation: str, what: str) -> bool:
    """Whether a quick run sends a probe of a test."""
    part = kills().quick.get((check, operation))
    return part is None or part.probes is None or what in part.probes


def in_part() -> set[tuple[str, str]]:
    """The cases, rule and operation, that a quick run judges by some of their checks only, or by some of the
    probes of these."""
    from conformance.checks import plan

    some: set[tuple[str, str]] = set()
    left: set[tuple[str, str]] = set()
    for check, operation in plan():
        cases = {(rule.id, operation) for rule in check.rules_on(operation)}
        part = kills().quick.get((check.name, operation))
        if part is not None or in_quick(check.name, operation):
            some |= cases
        if not in_quick(check.name, operation) or (part is not None and part.probes is not None):
            left |= cases
    return some & left
