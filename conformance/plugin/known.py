"""Facts known of each test before it runs, from plan.json, and the order of a run that follows from them.

plan.json has what a test sends to a conforming server, its place in the order, and its part in a quick run;
`python -m tests.prove plan --write` measures them. Tests that catch most faulty servers for a request come
first, by whole modules, so that the output stays readable. Tests that may bring a server down come last.
Lanes begin with the few long tests, so that none of them is left for the end.

Tests of other people's own checks are unknown. Every pytest run of an environment imports this module.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance._files import test_module

PATH = Path(__file__).with_name("plan.json")

#: Module of checks that judge what the other checks have made, and that make it where those do not run.
AFTERWARDS = "test_texts"

#: Modules that run last: of checks that judge what all others have made, and so send less the later they
#: begin, of checks whose requests may bring a server down, of the generated requests, and of checks that look
#: at what was made long before, and so wait less.
LAST = (
    AFTERWARDS,
    "test_hostile",
    "test_hostile_values",
    "test_histories",
    "test_model",
    "test_fuzz",
    "test_timestamps",
    "test_late",
)

#: Requests of a check of the user's own, of which nothing is known.
UNKNOWN = 100

#: A test is long for lanes if it takes more than this part of what a lane has to do: what comes later can
#: then lengthen the run by no more than this part.
LONG = 1 / 20

#: End of the ids of tests that lanes leave in their place: a customer may take few accounts, of which these
#: take all that others leave.
IN_PLACE = "[listAccounts]"


@dataclass(frozen=True)
class Numbers:
    """Requests, the resources that they create, and the payouts among them."""

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
        """A multiple, rounded."""
        return Numbers(*(round(factor * n) for n in (self.requests, self.creations, self.payouts)))


@dataclass(frozen=True)
class KnownTest:
    """One test: its check or exploration, its operation or part, and its place (lower is earlier).

    `sends` is for the reference server, of a check after all before it in one process (of AFTERWARDS: of a
    check alone), of a part of the generated requests with the default of examples. `quick` is the same in a
    quick run, None where that has not got it, and `probes` those that it sends, None for all.
    """

    name: str
    parameter: str
    generated: bool
    place: int
    sends: Numbers
    quick: Numbers | None = None
    probes: frozenset[str] | None = None


def key(nodeid: str) -> str:
    """The part of a node id that does not depend on the folder where pytest was started."""
    return nodeid.rpartition("/")[2]


def key_of(name: str, parameter: str) -> str:
    """The same of a check or exploration, and its operation or part."""
    module, _, function = name.partition(".")
    return f"{module}.py::{function}[{parameter}]"


@functools.cache
def tests() -> Mapping[str, KnownTest]:
    """All tests by their keys."""
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
                    frozenset(row["probes"]) if "probes" in row else None,
                )
    return found


def of(nodeid: str) -> KnownTest | None:
    """The facts of a test by its node id; None for tests that were not measured."""
    return tests().get(key(nodeid))


def in_quick(name: str, parameter: str) -> bool:
    """True if a quick run has a test: also each of a user's own checks, of which nothing is known."""
    test = tests().get(key_of(name, parameter))
    return test_module(name.partition(".")[0]) is None if test is None else test.quick is not None


def wants(name: str, parameter: str, probe: str) -> bool:
    """True if a quick run sends a probe of a test."""
    test = tests().get(key_of(name, parameter))
    return test is None or test.probes is None or probe in test.probes


def late(nodeid: str) -> int:
    """The group of a test among those that run last, from 1; 0 for all others."""
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
    """The requests of a test, about."""
    test = of(nodeid)
    return UNKNOWN if test is None else test.sends.requests


def place(nodeid: str) -> int:
    """The place of a test among those of its group; a user's own checks stand first, those of the suite that
    were not measured yet last."""
    test = of(nodeid)
    if test is not None:
        return test.place
    return -1 if test_module(module_of(nodeid)) is None else len(tests())


def for_lanes(nodeids: Sequence[str], lanes: int) -> list[str]:
    """Tests, given in the order of the run, in the order in which so many lanes begin them: first the long
    ones, the longest first, and last those that may bring a server down."""
    costs = {nodeid: cost(nodeid) for nodeid in nodeids}
    long = LONG * sum(costs[nodeid] for nodeid in nodeids if not late(nodeid)) / max(lanes, 1)

    def begin(nodeid: str) -> tuple[bool, int]:
        last = bool(late(nodeid))
        early = costs[nodeid] > long and not nodeid.endswith(IN_PLACE)
        return last, -costs[nodeid] if last or early else 0

    return sorted(nodeids, key=begin)
