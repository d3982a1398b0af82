"""In which order tests run.

What catches most faulty servers for a request comes first, by whole modules, so that the output stays
readable: a run that is stopped early has seen what mattered most. What may bring a server down comes behind
all else, so that a server that dies has been judged in the rest. Lanes begin with the few long tests, so
that none of them is left for the end, and then keep to the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from conformance.plugin import costs, effort

#: Modules of checks whose requests may bring a server down, and of the generated ones; they come last.
LAST = ("test_hostile", "test_hostile_values", "test_histories", "test_model", "test_fuzz")

#: Requests of a check of the user's own, of which nothing is known.
UNKNOWN = 100

#: A test is long for lanes if it takes more than this part of what a lane has to do: what comes later can
#: then lengthen the run by no more than this part.
LONG = 1 / 20


def rank(nodeid: str) -> int:
    """Where a test stands among those that come late: 0 for all others."""
    module = _module(nodeid)
    return LAST.index(module) + 1 if module in LAST else 0


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0].rpartition("/")[2].removesuffix(".py")


def cost(nodeid: str) -> int:
    """The requests of a test, about."""
    name, parameter = costs.named(nodeid)
    if costs.known(name, parameter):
        return costs.of(nodeid) or costs.generated(name, parameter)[0]
    return UNKNOWN


def place(nodeid: str) -> tuple[float, str, int]:
    """Where a test stands among those of its rank: by what its module catches for a request, then by what it
    catches itself. What nothing is known of, such as a user's own check, stands first."""
    name, operation = costs.named(nodeid)
    worth = effort.kills().worth.get((name, operation))
    module = _module(nodeid)
    return -_modules().get(module, float("inf")), module, worth.place if worth else -1


@functools.cache
def _modules() -> dict[str, float]:
    """Module -> kinds of faulty servers that it is the first to catch, for each request."""
    kinds: dict[str, int] = {}
    requests: dict[str, int] = {}
    for (name, operation), worth in effort.kills().worth.items():
        module = name.partition(".")[0]
        kinds[module] = kinds.get(module, 0) + worth.first
        requests[module] = requests.get(module, 0) + costs.requests(name, operation)
    return {module: kinds[module] / max(requests[module], 1) for module in kinds}


def for_lanes(nodeids: Sequence[str], lanes: int) -> list[str]:
    """Tests, given in the order of the run, in the order in which so many lanes begin them: first the long
    ones, the longest first, and last those that may bring a server down."""
    costs = {nodeid: cost(nodeid) for nodeid in nodeids}
    long = LONG * sum(costs[nodeid] for nodeid in nodeids if not rank(nodeid)) / max(lanes, 1)

    def key(nodeid: str) -> tuple[bool, int]:
        late = bool(rank(nodeid))
        return late, -costs[nodeid] if late or costs[nodeid] > long else 0

    return sorted(nodeids, key=key)
