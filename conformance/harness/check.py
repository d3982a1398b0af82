"""The checks of the suite and how one of them is run.

A check is a function of one CheckContext, in a module under `conformance/checks/`, marked with the rules
it tests:

    @check("auth.header-case")
    def test_header_names_in_any_case(ctx):
        ...

It runs once on every operation its rules cover; which those are is said in spec/rules.yaml only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES, Rule
from conformance.fixtures.run_context import RunContext
from conformance.harness.context import CheckContext
from conformance.judging.findings import Finding, Inconclusive, NotApplicable
from conformance.target.applicability import absent, unmet

CheckFunction = Callable[[CheckContext], None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the rules it cites, and the operations it runs on, in document order.

    One that looks back at what a run sent first runs `last`, after all others.
    """

    name: str
    function: CheckFunction
    rules: tuple[str, ...]
    operations: tuple[str, ...]
    last: bool = False

    def rules_on(self, operation: str) -> list[Rule]:
        """The cited rules that cover an operation."""
        return [RULES[rule] for rule in self.rules if operation in RULES[rule].operations]


CHECKS: dict[str, Check] = {}


def check(
    *rules: str, operations: tuple[str, ...] | None = None, last: bool = False
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
        marked = Check(name, function, rules, chosen, last)
        CHECKS[name] = marked
        function.conformance_check = marked  # type: ignore[attr-defined]
        return function

    return mark


def run_check(check: Check, operation: str, run: RunContext) -> tuple[list[Finding], list[int]]:
    """Runs one check on one operation; returns its findings and the numbers of its exchanges.

    Whatever a server answers ends up in findings; only a mistake of the suite itself raises.
    """
    applicable, findings = [], []
    for rule in check.rules_on(operation):
        alone = CheckContext(run, OPERATIONS[operation], [rule], check.name)
        if reason := absent(rule, operation, run.target):
            findings += alone.findings(NotApplicable(reason))
        elif lacking := unmet(rule, run.target):
            findings += alone.findings(Inconclusive(*lacking))
        else:
            applicable.append(rule)
    if not applicable:
        return findings, []
    ctx = CheckContext(run, OPERATIONS[operation], applicable, check.name)
    stop = None
    try:
        check.function(ctx)
    except (Inconclusive, NotApplicable) as end:
        stop = end
    return findings + ctx.findings(stop), ctx.exchanges
