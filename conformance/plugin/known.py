"""Measured facts on each test, from plan.json, and the order of a run that follows from them.

plan.json has what a test sends to a conforming server, its place in the order, and its part in a quick run;
`python -m tests.prove plan --write` measures them. Modules that detect most faults per request run first,
whole, so that the output stays readable; tests that may crash a server run last. Lanes start with the few
long tests, so that none is left for the end.

Tests of users' own checks are unknown. Every pytest run of an environment imports this module.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from conformance._files import test_module

PATH = Path(__file__).with_name("plan.json")

#: The module of checks that judge what other checks created, and create it if those do not run.
AFTERWARDS = "test_texts"

#: Modules that run last: checks of what others created, which send less the later they run; checks that may
#: crash a server; generated requests; and checks of old resources, which wait less the later they run.
LAST = (
    AFTERWARDS,
    "test_hostile",
    "test_hostile_values",
    "test_fuzz",
    "test_timestamps",
    "test_late",
)

#: Assumed requests of an unmeasured check.
UNKNOWN = 100

#: A test is long if it takes more than this share of a lane's work: shorter ones, started later, lengthen the
#: run by at most this share.
LONG = 1 / 20

#: Suffix of node ids that lanes do not reorder: a customer may allow few accounts, and these tests use up the
#: quota.
IN_PLACE = "[listAccounts]"


@dataclass(frozen=True)
class Numbers:
    """Numbers of requests, of the resources they create, and of the payouts among these."""

    requests: int = 0
    creations: int = 0
    payouts: int = 0

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers(
            self.requests + other.requests,
            self.creations + other.creations,
            self.payouts + other.payouts,
        )

    def times(self, factor: float) -> Numbers:
        """The numbers multiplied by a factor, rounded."""
        return Numbers(*(round(factor * number) for number in astuple(self)))


@dataclass(frozen=True)
class KnownTest:
    """A measured test: its check or exploration, its operation or part, and its place in the order.

    `sends` is measured on the reference server: of a check, after all before it in one process (of
    AFTERWARDS: alone); of a part of the generated requests, with the default number of examples. `quick` is
    the same in a quick run, None if that omits it."""

    name: str
    parameter: str
    generated: bool
    place: int
    sends: Numbers
    quick: Numbers | None = None


def key(nodeid: str) -> str:
    """The part of a node id that is independent of the working directory."""
    return nodeid.rpartition("/")[2]


def key_of(name: str, parameter: str) -> str:
    """The key of a check or exploration with its operation or part."""
    module, _, function = name.partition(".")
    return f"{module}.py::{function}[{parameter}]"


@functools.cache
def tests() -> Mapping[str, KnownTest]:
    """All measured tests by key."""
    found = {}
    for kind, checks in json.loads(PATH.read_text("utf-8")).items():
        for name, rows in checks.items():
            for parameter, row in rows.items():
                found[key_of(name, parameter)] = KnownTest(
                    name,
                    parameter,
                    kind == "generated",
                    row.get("place", 0),
                    Numbers(*row["sends"]),
                    Numbers(*row["quick"]) if "quick" in row else None,
                )
    return found


def of(nodeid: str) -> KnownTest | None:
    """The measured test with a node id; None if it was not measured."""
    return tests().get(key(nodeid))


def in_quick(name: str, parameter: str) -> bool:
    """True if a quick run includes a test; it includes users' own checks."""
    test = tests().get(key_of(name, parameter))
    return test_module(name.partition(".")[0]) is None if test is None else test.quick is not None


def late(nodeid: str) -> int:
    """The position of a test's module in LAST, from 1; 0 for all others."""
    module = module_of(nodeid)
    return LAST.index(module) + 1 if module in LAST else 0


def module_of(nodeid: str) -> str:
    """The name of a test's module, without its package."""
    return key(nodeid).partition(".py::")[0]


def generated(nodeid: str) -> bool:
    """True for a test of generated requests."""
    test = of(nodeid)
    return test is not None and test.generated


def cost(nodeid: str) -> int:
    """The approximate requests of a test."""
    test = of(nodeid)
    return UNKNOWN if test is None else test.sends.requests


def place(nodeid: str) -> int:
    """The place of a test within its group; users' own checks come first, unmeasured ones of the suite
    last."""
    test = of(nodeid)
    if test is not None:
        return test.place
    return -1 if test_module(module_of(nodeid)) is None else len(tests())


def for_lanes(nodeids: Sequence[str], lanes: int) -> list[str]:
    """Orders tests for lanes: long ones first, longest first; those that may crash a server last; others in
    the order of the run."""
    costs = {nodeid: cost(nodeid) for nodeid in nodeids}
    long = LONG * sum(costs[nodeid] for nodeid in nodeids if not late(nodeid)) / max(lanes, 1)

    def begin(nodeid: str) -> tuple[bool, int]:
        last = bool(late(nodeid))
        early = costs[nodeid] > long and not nodeid.endswith(IN_PLACE)
        return last, -costs[nodeid] if last or early else 0

    return sorted(nodeids, key=begin)
