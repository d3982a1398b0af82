"""The order in which tests run.

Tests that catch most faulty servers for a request come first, by whole modules, so that the output stays
readable: a run that is stopped early has seen what matters most. Tests that may bring a server down come
last, so that a server that dies has been judged in the rest. Lanes begin with the few long tests, so that
none of them is left for the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.plugin import known

#: Requests of a check of the user's own, of which nothing is known.
UNKNOWN = 100

#: A test is long for lanes if it takes more than this part of what a lane has to do: what comes later can
#: then lengthen the run by no more than this part.
LONG = 1 / 20


def cost(nodeid: str) -> int:
    """The requests of a test, about."""
    test = known.of(nodeid)
    return UNKNOWN if test is None else test.sends.requests


def place(nodeid: str) -> int:
    """The place of a test among those of its group; a user's own checks stand first, those of the suite that
    were not measured yet last."""
    test = known.of(nodeid)
    if test is not None:
        return test.place
    return -1 if known.is_foreign(known.module_of(nodeid)) else len(known.tests())


def for_lanes(nodeids: Sequence[str], lanes: int) -> list[str]:
    """Tests, given in the order of the run, in the order in which so many lanes begin them: first the long
    ones, the longest first, and last those that may bring a server down."""
    costs = {nodeid: cost(nodeid) for nodeid in nodeids}
    long = LONG * sum(costs[nodeid] for nodeid in nodeids if not known.late(nodeid)) / max(lanes, 1)

    def begin(nodeid: str) -> tuple[bool, int]:
        late = bool(known.late(nodeid))
        return late, -costs[nodeid] if late or costs[nodeid] > long else 0

    return sorted(nodeids, key=begin)
