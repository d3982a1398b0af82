"""What a run will send, before it does: requests, what they create, and the payouts among that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass

from conformance._text import count
from conformance.harness.exploration import DEFAULT_EXAMPLES
from conformance.plugin import costs, effort

#: Requests that a check of the user's own may send, of which nothing is known.
UNKNOWN = 300

#: A run sends at most so many times what it announces: a server that fails is asked again, and what fails is
#: made smaller; one that accepts everything creates several times as much. So many more go with a small run.
FACTORS, MARGINS = (4, 8, 4), (1500, 500, 100)


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

    def at_most(self) -> Numbers:
        """The most that a run sends which announces these numbers."""
        return Numbers(
            *(
                factor * number + margin
                for factor, number, margin in zip(FACTORS, astuple(self), MARGINS, strict=True)
            )
        )


@dataclass(frozen=True)
class Plan:
    """What tests send to a conforming server, by test; `endless` says that the generated requests have a time
    and no number, `unknown` of how many tests nothing is known."""

    tests: Mapping[str, Numbers]
    endless: bool = False
    unknown: int = 0

    @property
    def total(self) -> Numbers:
        """All tests together."""
        return sum(self.tests.values(), Numbers())

    @property
    def most(self) -> Numbers | None:
        """What the run does not go beyond; None where only its time bounds it."""
        room = Numbers(*[UNKNOWN * self.unknown] * 3)
        return None if self.endless else self.total.at_most() + room


def plan(
    nodeids: Iterable[str], examples: int | None = None, seconds: float | None = None, quick: bool = False
) -> Plan:
    """The plan of tests by their node ids, with so many generated cases a part, or seconds in all; of a
    `quick` run, what it sends of them."""
    share = (examples or DEFAULT_EXAMPLES) / DEFAULT_EXAMPLES
    tests = {nodeid: _of(nodeid, share, quick) for nodeid in nodeids}
    drawn = any(costs.generated(*costs.named(nodeid))[0] for nodeid in tests)
    unknown = sum(not costs.known(*costs.named(nodeid)) for nodeid in tests)
    return Plan(tests, endless=drawn and seconds is not None, unknown=unknown)


def _of(nodeid: str, share: float, quick: bool) -> Numbers:
    name, parameter = costs.named(nodeid)
    if quick and (part := effort.kills().quick.get((name, parameter))):
        return Numbers(part.requests, part.creations, part.payouts)
    if sent := costs.requests(name, parameter):
        return Numbers(sent, *costs.creations(name, parameter))
    return Numbers(*(round(number * share) for number in costs.generated(name, parameter)))


def told(numbers: Numbers) -> str:
    """Numbers in words."""
    return (
        f"{count(numbers.requests, 'request')}, {count(numbers.creations, 'resource')} created, "
        f"{count(numbers.payouts, 'payout')} among them"
    )


def bounded(plan: Plan, seconds: float | None, limit: int | None, read_only: bool = False) -> str:
    """In words what a run takes that conforms, and the most that it sends whatever the server does: with so
    many seconds of generated requests, or a limit of requests."""
    if read_only:
        fewer = min(plan.total.requests, limit or plan.total.requests)
        return f"less than {count(fewer, 'request')}, which read or must be refused; nothing is created"
    text = f"about {told(plan.total)}, on a conforming server"
    if plan.most is None:
        return f"{text}, and what {seconds:g} s of generated requests take"
    most = plan.most
    requests = most.requests if limit is None else min(limit, most.requests)
    return f"{text}; never more than {requests:,}, {most.creations:,} and {most.payouts:,}"


def by_case(plan: Plan) -> Iterator[tuple[str, str, Numbers]]:
    """Rule, operation and numbers of every check of a plan, for each of its rules; a part of the generated
    requests comes under its own name."""
    from conformance.contract.operations import OPERATIONS
    from conformance.harness.check import CHECKS

    for nodeid, numbers in plan.tests.items():
        name, parameter = costs.named(nodeid)
        check = CHECKS.get(name)
        if check is None or parameter not in OPERATIONS:
            yield f"generated: {name.rpartition('.')[2].removeprefix('test_')}", parameter, numbers
            continue
        for rule in check.rules_on(parameter):
            yield rule.id, parameter, numbers
