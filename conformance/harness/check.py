"""The checks of the suite and how one of them is run.

A check is a function of one CheckContext, in a module under `conformance/checks/`, marked with the rules
it tests:

    @check("auth.header-case")
    def test_header_names_in_any_case(ctx):
        ...

It runs once on every operation its rules cover; which those are is said in spec/rules.yaml only.

A check that only time can bring to its point is a generator: it yields how many seconds are to pass, and goes
on when they have. A run does other things meanwhile, so it may be later.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Rule
from conformance.harness.context import CheckContext
from conformance.judge.findings import Finding, Inconclusive, NotApplicable, Verdict
from conformance.target.applicability import absent, unmet
from conformance.world.quotas import moved
from conformance.world.run_context import RunContext

#: A check as it is written; one that waits yields seconds.
Waits = Generator[float, None, None]
CheckFunction = Callable[[CheckContext], Waits | None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the rules it cites, and the operations it runs on, in document order.

    One that looks back at what a run sent first runs `last`, after all others. A `deep` one costs so much
    that only runs of that effort have it; one that `waits` yields while time has to pass.
    """

    name: str
    function: CheckFunction
    rules: tuple[str, ...]
    operations: tuple[str, ...]
    last: bool = False
    deep: bool = False

    @property
    def waits(self) -> bool:
        """Whether it needs time to pass."""
        return inspect.isgeneratorfunction(self.function)

    def rules_on(self, operation: str) -> list[Rule]:
        """The cited rules that cover an operation."""
        return [RULES[rule] for rule in self.rules if operation in RULES[rule].operations]


CHECKS: dict[str, Check] = {}


def check(
    *rules: str, operations: tuple[str, ...] | None = None, last: bool = False, deep: bool = False
) -> Callable[[CheckFunction], CheckFunction]:
    """Marks a function as the check of these rules, on their operations (or on those of them that are named).

    Raises KeyError for a rule that the catalogue does not have.
    """

    def mark(function: CheckFunction) -> CheckFunction:
        covered = {operation for rule in rules for operation in RULES[rule].operations}
        chosen = tuple(
            operation
            for operation in OPERATIONS
            if operation in covered and (operations is None or operation in operations)
        )
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = Check(name, function, rules, chosen, last, deep)
        CHECKS[name] = marked
        collected = _plain(function) if marked.waits else function
        collected.conformance_check = marked  # type: ignore[attr-defined]
        return collected

    return mark


def _plain(function: CheckFunction) -> CheckFunction:
    """The same as no generator: pytest collects none."""

    @functools.wraps(function)
    def waiting(ctx: CheckContext) -> None:
        for seconds in function(ctx) or ():
            time.sleep(seconds)

    del waiting.__wrapped__
    return waiting


class RunningCheck:
    """A check at work on one operation, which may stop to wait.

    Whatever a server answers ends up in findings; only a mistake of the suite itself raises.
    """

    def __init__(self, check: Check, operation: str, run: RunContext) -> None:
        applicable = []
        self._without: list[Finding] = []
        for rule in check.rules_on(operation):
            context = CheckContext(run, OPERATIONS[operation], [rule], check.name)
            if reason := absent(rule, operation, run.target):
                self._without += context.findings(NotApplicable(reason))
            elif lacking := unmet(rule, run.target):
                self._without += context.findings(Inconclusive(*lacking))
            else:
                applicable.append(rule)
        self._context = CheckContext(run, OPERATIONS[operation], applicable, check.name)
        self._before: list[int] = []
        self._steps = self._written(check, applicable) if applicable else iter(())
        self._stop: Inconclusive | NotApplicable | None = None

    def _written(self, check: Check, rules: Sequence[Rule]) -> Iterator[float]:
        run, operation = self._context.run, self._context.operation
        begun = next(reversed(run.record), 0)
        yield from self._attempted(check)
        since = itertools.takewhile(lambda number: number > begun, reversed(run.record))
        if self._lacks_judgement and moved(run, [run.record[number] for number in since]):
            self._before, self._stop = self._context.exchanges, None
            self._context = CheckContext(run, operation, rules, check.name)
            yield from self._attempted(check)

    @property
    def _lacks_judgement(self) -> bool:
        """Whether an answer kept it from a judgement: not that of a probe that the run did not want."""
        kept = isinstance(self._stop, Inconclusive) or self._context.set_aside
        findings = self._context.findings(self._stop) if kept and not self.violations else []
        return any(found.verdict is Verdict.INCONCLUSIVE for found in findings)

    def _attempted(self, check: Check) -> Iterator[float]:
        try:
            yield from check.function(self._context) or ()
        except (Inconclusive, NotApplicable) as end:
            self._stop = end

    def go_on(self) -> float | None:
        """Runs until time has to pass; returns how many seconds, or None at the end."""
        return next(self._steps, None)

    @property
    def findings(self) -> list[Finding]:
        """What it has come to."""
        return self._without + self._context.findings(self._stop)

    @property
    def violations(self) -> list[tuple[int, ...]]:
        """The numbers of the exchanges of each judgement that did not hold."""
        return self._context.violations

    @property
    def exchanges(self) -> list[int]:
        """The numbers of its exchanges."""
        return [*self._before, *self._context.exchanges]


def run_check(check: Check, operation: str, run: RunContext) -> tuple[list[Finding], list[int]]:
    """Runs one check on one operation, waits included; returns its findings and the numbers of its
    exchanges."""
    running = RunningCheck(check, operation, run)
    while (seconds := running.go_on()) is not None:
        time.sleep(seconds)
    return running.findings, running.exchanges
