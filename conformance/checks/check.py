"""Defines the checks of the suite, and runs one of them.

A check is a function of a CheckContext, in a module of `conformance/checks/`, marked with the rules that it
judges:

    @check("auth.header-case")
    def test_header_names_in_any_case(ctx):
        ...

It runs once on each operation of its first rule (spec/rules.yaml). `ctx.run.pause(seconds)` waits at least so
long, while other checks run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conformance.checks.check_context import CheckContext
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Rule
from conformance.judge.verdicts import Finding, Inconclusive, NotApplicable
from conformance.target.applicability import absent, unmet
from conformance.world.run import Run

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


def run_check(check: Check, operation: str, run: Run) -> tuple[list[Finding], list[int]]:
    """Runs a check on an operation; returns its findings and the numbers of its exchanges.

    No answer of a server raises an exception, only a defect of the suite."""
    findings: list[Finding] = []
    rules: list[Rule] = []
    for rule in check.rules_on(operation):
        context = CheckContext(run, OPERATIONS[operation], [rule], check.name)
        if reason := absent(rule, operation, run.target):
            findings += context.findings(NotApplicable(reason))
        elif lacking := unmet(rule, run.target):
            findings += context.findings(Inconclusive(*lacking))
        else:
            rules.append(rule)
    context = CheckContext(run, OPERATIONS[operation], rules, check.name)
    stop: Inconclusive | NotApplicable | None = None
    if rules:
        try:
            check.function(context)
        except (Inconclusive, NotApplicable) as error:
            stop = error
    return [*findings, *context.findings(stop)], context.exchanges
