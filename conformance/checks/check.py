"""Defines the checks of the suite, and runs one of them.

A check is a function of a CheckContext, in a module of `conformance/checks/`, marked with the rules that it
judges:

    @check("auth.header-case")
    def test_header_names_in_any_case(ctx):
        ...

It runs once on each operation of its first rule (spec/rules.yaml). `ctx.run.pause(seconds)` waits at least so
long, while other checks run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.checks.check_context import CheckContext
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Rule
from conformance.judge.findings import Finding, Inconclusive, NotApplicable, Verdict
from conformance.target.applicability import absent, unmet
from conformance.world.habits import room
from conformance.world.run_context import RunContext

CheckFunction = Callable[[CheckContext], None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the rules it cites, and the operations it runs on, in document order.

    `last`: it judges what the run has sent, after all other checks. `deep`: only deep runs have it, as it
    takes long lists. `waits`: it runs beside the others where several run at once."""

    name: str
    function: CheckFunction
    rules: tuple[str, ...]
    operations: tuple[str, ...]
    last: bool = False
    deep: bool = False
    waits: bool = False

    def rules_on(self, operation: str) -> list[Rule]:
        """Returns the cited rules that cover an operation."""
        return [RULES[rule] for rule in self.rules if operation in RULES[rule].operations]


CHECKS: dict[str, Check] = {}


def check(
    *rules: str,
    operations: tuple[str, ...] | None = None,
    last: bool = False,
    deep: bool = False,
    waits: bool = False,
) -> Callable[[CheckFunction], CheckFunction]:
    """Marks a function as the check of these rules, on the operations of the first rule, or on the named ones
    that some rule covers. Raises KeyError for an unknown rule."""

    def mark(function: CheckFunction) -> CheckFunction:
        covered = set(RULES[rules[0]].operations)
        if operations is not None:
            covered = {operation for rule in rules for operation in RULES[rule].operations} & {*operations}
        chosen = tuple(operation for operation in OPERATIONS if operation in covered)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = Check(name, function, rules, chosen, last, deep, waits)
        CHECKS[name] = marked
        function.conformance_check = marked  # type: ignore[attr-defined]
        return function

    return mark


def run_check(check: Check, operation: str, run: RunContext) -> tuple[list[Finding], list[int]]:
    """Runs a check on an operation; returns its findings and the numbers of its exchanges.

    No answer of a server raises an exception, only a defect of the suite."""
    attempt = attempted(check, operation, run)
    return attempt.findings, attempt.exchanges


@dataclass
class Attempt:
    """One run of a check on an operation: its context, the exception that ended it, and findings on cited
    rules that do not apply. `before` are exchanges of a first attempt, which met a quota."""

    context: CheckContext
    inapplicable: Sequence[Finding] = ()
    stop: Inconclusive | NotApplicable | None = None
    before: Sequence[int] = ()

    @property
    def findings(self) -> list[Finding]:
        """One finding for each cited rule."""
        return [*self.inapplicable, *self.context.findings(self.stop)]

    @property
    def exchanges(self) -> list[int]:
        """Numbers of the exchanges, in the order sent."""
        return [*self.before, *self.context.exchanges]

    @property
    def lacks_judgement(self) -> bool:
        """True if an answer prevented a judgement; probes that the run leaves out do not count."""
        set_aside = any(entry.gaps for entry in self.context.entries.values())
        kept = isinstance(self.stop, Inconclusive) or set_aside
        findings = self.context.findings(self.stop) if kept and not self.context.violations else []
        return any(finding.verdict is Verdict.INCONCLUSIVE for finding in findings)


def attempted(check: Check, operation: str, run: RunContext) -> Attempt:
    """Runs a check as `run_check` does; returns the attempt."""
    rules: list[Rule] = []
    inapplicable: list[Finding] = []
    for rule in check.rules_on(operation):
        context = CheckContext(run, OPERATIONS[operation], [rule], check.name)
        if reason := absent(rule, operation, run.target):
            inapplicable += context.findings(NotApplicable(reason))
        elif lacking := unmet(rule, run.target):
            inapplicable += context.findings(Inconclusive(*lacking))
        else:
            rules.append(rule)
    if not rules:
        return Attempt(CheckContext(run, OPERATIONS[operation], [], check.name), inapplicable)
    attempt = _retry_when_full(lambda: _attempt(check, operation, rules, run), operation, run)
    attempt.inapplicable = inapplicable
    return attempt


def _attempt(check: Check, operation: str, rules: Sequence[Rule], run: RunContext) -> Attempt:
    attempt = Attempt(CheckContext(run, OPERATIONS[operation], rules, check.name))
    try:
        check.function(attempt.context)
    except (Inconclusive, NotApplicable) as stop:
        attempt.stop = stop
    return attempt


def _retry_when_full(attempt: Callable[[], Attempt], operation: str, run: RunContext) -> Attempt:
    """Repeats a check in a new account, or for another customer, where a quota prevented a judgement."""
    begun = next(reversed(run.record), 0)
    first = attempt()
    since = itertools.takewhile(lambda number: number > begun, reversed(run.record))
    exchanges = [run.record[number] for number in since]
    place = room(run, operation, exchanges) if first.lacks_judgement else None
    if place is None:
        return first
    with place:
        second = attempt()
    second.before = first.exchanges
    return second
