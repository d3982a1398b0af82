"""The plan of a run: its requests, what they create, and how many of that are payouts; the budget that
enforces it, and its listing in a dry run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from conformance._files import test_module
from conformance._text import count, printable
from conformance.checks import load_checks
from conformance.checks.check import CHECKS, Check
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.fuzz.exploration import DEFAULT_EXAMPLES
from conformance.judge.invariants import INVARIANTS
from conformance.plugin import known
from conformance.plugin.known import Numbers
from conformance.plugin.options import Options
from conformance.target.applicability import absent, lacking
from conformance.target.model import Limits, Target
from conformance.wire.budget import Budget, Quantity

#: Maximum requests of a quick run on the reference server.
QUICK_REQUESTS = 1000

#: Requests left unplanned in a quick run, since servers differ a little.
SPARE = 6

#: Maximum workers of a quick run in all processes and lanes, since each creates accounts.
QUICK_WORKERS = 4

#: Requests and creations of an additional worker's set-up for one operation.
SET_UP = Numbers(8, 6)

NOTHING = Numbers()

#: Budgeted requests of an unmeasured check.
UNKNOWN = 300

#: Bounds of a run relative to its announcement, and added to that: failures are confirmed and shrunk, and a
#: server that accepts everything creates several times as much.
FACTORS, MARGINS = (4, 8, 4), (1500, 500, 100)


@dataclass(frozen=True)
class Plan:
    """The numbers of each test, by node id, on a conforming server, and those of additional workers' set-up.
    `endless`: generated requests are limited by time, not number; `unknown`: number of unmeasured tests."""

    tests: Mapping[str, Numbers]
    set_up: Numbers = NOTHING
    endless: bool = False
    unknown: int = 0

    @property
    def total(self) -> Numbers:
        """The sum over all tests."""
        return sum(self.tests.values(), self.set_up)

    def on(self, target: Target) -> Plan:
        """The plan without operations that a target does not offer."""

        def there(nodeid: str) -> bool:
            test = known.of(nodeid)
            return test is None or test.parameter not in TRAITS or not lacking(test.parameter, target)

        return replace(self, tests={test: sends for test, sends in self.tests.items() if there(test)})

    @property
    def most(self) -> Numbers | None:
        """The upper bounds of the run; None if only time limits it."""
        if self.endless:
            return None
        values = zip(FACTORS, astuple(self.total), MARGINS, strict=True)
        return Numbers(*(factor * value + more + UNKNOWN * self.unknown for factor, value, more in values))


def budget(
    limits: Limits,
    started: float,
    announced: Numbers | None = None,
    *,
    processes: int = 1,
    spent: int = 0,
) -> Budget:
    """The budget of one process, which has an equal part of the numbers and the rate.

    The run began at `started` (Unix seconds), must not exceed `announced`, and sent `spent` requests before
    its processes started.
    """
    most = {}
    if announced is not None:
        for kind, number in zip(Quantity, astuple(announced), strict=True):
            reason = f"the run would have gone far beyond the {number:,} {kind} that it announced at most"
            most[kind] = number // processes, reason
    requests = limits.max_requests
    if requests is not None and (announced is None or requests < announced.requests):
        reason = f"the {requests:,} requests that the run may send were used up (--max-requests)"
        most[Quantity.REQUESTS] = max(requests - spent, 0) // processes, reason
    end = None if limits.run_timeout is None else started + limits.run_timeout
    over = f"the run's time was over ({limits.run_timeout:g} s, --run-timeout)" if end is not None else ""
    rate = limits.requests_per_second / processes
    return Budget(most=most, end=end, over=over, requests_per_second=rate)


def cases(examples: int | None) -> float:
    """The number of generated cases, relative to a default run."""
    return (examples or DEFAULT_EXAMPLES) / DEFAULT_EXAMPLES


def plan(
    nodeids: Iterable[str],
    examples: int | None = None,
    seconds: float | None = None,
    quick: bool = False,
    workers: int = 1,
) -> Plan:
    """The plan of tests by node id, with so many generated cases per part, or so many seconds in all; for a
    `quick` run, of what that sends."""
    share = cases(examples)
    rows = {nodeid: known.of(nodeid) for nodeid in nodeids}
    there = [row for row in rows.values() if row is not None]
    return Plan(
        {nodeid: _sends(row, share, quick) if row else Numbers() for nodeid, row in rows.items()},
        _set_up(rows, workers),
        endless=seconds is not None and any(row.generated for row in there),
        unknown=len(rows) - len(there),
    )


def _sends(row: known.KnownTest, share: float, quick: bool) -> Numbers:
    if quick and row.quick is not None:
        return row.quick
    return row.sends.times(share) if row.generated else row.sends


def _set_up(rows: Mapping[str, known.KnownTest | None], workers: int) -> Numbers:
    operations = {row.parameter for row in rows.values() if row is not None and not row.generated}
    return SET_UP.times((min(workers, max(len(rows), 1)) - 1) * len(operations))


def fitting(nodeids: Iterable[str], workers: int) -> set[str]:
    """The tests of a quick run that fit into QUICK_REQUESTS, set-up included, in the order of a run; and all
    unmeasured ones."""
    rows = {nodeid: known.of(nodeid) for nodeid in nodeids}
    left = QUICK_REQUESTS - SPARE - _set_up(rows, workers).requests
    chosen = {nodeid for nodeid, row in rows.items() if row is None}
    for nodeid, row in sorted(rows.items(), key=lambda item: item[1].place if item[1] else -1):
        requests = row.quick.requests if row and row.quick else 0
        if row is not None and requests <= left:
            left -= requests
            chosen.add(nodeid)
    return chosen


def told(numbers: Numbers) -> str:
    """The numbers in words."""
    return (
        f"{count(numbers.requests, 'request')}, {count(numbers.creations, 'resource')} created, "
        f"{count(numbers.payouts, 'payout')} among them"
    )


def bounded(plan: Plan, seconds: float | None, limit: int | None) -> str:
    """The announcement in words: what a run on a conforming server takes, and its upper bounds, given the
    seconds of generated requests and the limit of requests."""
    more = f" and those of {count(plan.unknown, 'unmeasured test')}" if plan.unknown else ""
    text = f"about {told(plan.total)}{more}, on a conforming server"
    if plan.most is None:
        return f"{text}, and what {seconds:g} s of generated requests take"
    most = plan.most
    requests = most.requests if limit is None else min(limit, most.requests)
    return f"{text}; never more than {requests:,}, {most.creations:,} and {most.payouts:,}"


def by_case(plan: Plan) -> Iterator[tuple[str, str, Numbers]]:
    """Yields rule, operation and numbers of each check for each of its rules, and of each part of the
    generated requests under its own name."""
    tests = by_key()
    for nodeid, numbers in plan.tests.items():
        test = known.of(nodeid)
        if test is not None and test.generated:
            yield f"generated: {test.name.rpartition('.')[2].removeprefix('test_')}", test.parameter, numbers
        elif known.key(nodeid) in tests:
            check, operation = tests[known.key(nodeid)]
            for rule in check.rules_on(operation):
                yield rule.id, operation, numbers


def by_key() -> dict[str, tuple[Check, str]]:
    """The loaded checks with each operation, by key of their node ids."""
    return {
        known.key_of(check.name, operation): (check, operation)
        for check in CHECKS.values()
        for operation in check.operations
    }


def judged_by(nodeid: str) -> tuple[Check | None, str] | None:
    """The check and operation of a test of the suite, with None for an exploration; None for other tests."""
    load_checks()
    path = Path(nodeid.partition("::")[0])
    module = test_module(path.stem)
    if module is None or module.parent.name != path.parent.name:
        return None
    return by_key().get(known.key(nodeid), (None, ""))


def in_part(nodeids: Iterable[str]) -> set[tuple[str, str]]:
    """The cases that a quick run of these tests judges by some of their checks only."""
    chosen = {known.key(nodeid) for nodeid in nodeids}
    some: set[tuple[str, str]] = set()
    left: set[tuple[str, str]] = set()
    load_checks()
    for key, (check, operation) in by_key().items():
        cases = {(rule.id, operation) for rule in check.rules_on(operation)}
        if key in chosen:
            some |= cases
        if not check.deep and key not in chosen:
            left |= cases
    return some & left


# ---------------------------------------------------------------------- dry runs

_ROW = "{:<40}{:>12}{:>10}{:>10}{:>10}"


def listing(plan: Plan, options: Options, target: Target | None) -> Iterator[str]:
    """The lines of a dry run: requests by rule and operation, on a target or, if None, on the embedded
    server."""
    where = target.base_url if target else "the embedded reference server"
    plan = plan.on(target) if target else plan
    rows: dict[str, dict[str, Numbers]] = {}
    for rule, operation, numbers in by_case(plan):
        if rule in RULES and (target and absent(RULES[rule], operation, target)):
            continue
        operations = rows.setdefault(rule, {})
        operations[operation] = operations.get(operation, Numbers()) + numbers
    yield printable(f"conformance: a run on {where} would send:")
    yield ""
    yield _ROW.format("rule", "operations", "requests", "created", "payouts").rstrip()
    for rule in sorted(rows, key=lambda rule: (rule not in RULES, rule)):
        yield from _rows(rule, rows[rule], options.verbosity > 0)
    yield ""
    judged = sum(rule not in rows for rule in INVARIANTS)
    yield f"A request serves several rules, so that rows add up to more than the run; {judged} rules of every"
    yield "response are judged on whatever is sent."
    limit = options.limits.get("max_requests", target.limits.max_requests if target else None)
    whole = bounded(plan, options.fuzz_time, None if limit is None else int(limit))
    yield f"In all {whole}. Nothing was sent."


def _rows(rule: str, operations: Mapping[str, Numbers], verbose: bool) -> Iterator[str]:
    numbers = sum(operations.values(), Numbers())
    yield _ROW.format(rule, len(operations), numbers.requests, numbers.creations, numbers.payouts)
    for operation, own in operations.items() if verbose else ():
        yield _ROW.format(f"    {operation}", "", own.requests, own.creations, own.payouts)
