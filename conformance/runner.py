"""The checks of the suite and how one of them is run.

A check is a function of one Trial, in a module under `conformance/checks/`, marked with the rules
it tests:

    @check("auth.header-case")
    def test_header_names_in_any_case(trial):
        ...

It runs once on every operation its rules cover; which those are is said in spec/rules.yaml only.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.contract import OPERATIONS
from conformance.rules import RULES, Rule
from conformance.suite import Suite
from conformance.target import Target
from conformance.trial import Trial
from conformance.verdict import Finding, Inconclusive, NotApplicable

if TYPE_CHECKING:
    from conformance.fuzz.settings import FuzzSettings

CheckFunction = Callable[[Trial], None]


@dataclass(frozen=True)
class Check:
    """A check: its name, the rules it cites, and the operations it runs on, in document order."""

    name: str
    function: CheckFunction
    rules: tuple[str, ...]
    operations: tuple[str, ...]

    def rules_on(self, operation: str) -> list[Rule]:
        """The cited rules that cover an operation."""
        return [RULES[rule] for rule in self.rules if operation in RULES[rule].operations]


CHECKS: dict[str, Check] = {}


def check(*rules: str, operations: tuple[str, ...] | None = None) -> Callable[[CheckFunction], CheckFunction]:
    """Marks a function as the check of these rules, on their operations (or on those of them that are named).

    Raises KeyError for a rule that the catalogue does not have.
    """

    def mark(function: CheckFunction) -> CheckFunction:
        covered = {operation for rule in rules for operation in RULES[rule].operations}
        chosen = tuple(
            one for one in OPERATIONS if one in covered and (operations is None or one in operations)
        )
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = Check(name, function, rules, chosen)
        CHECKS[name] = marked
        function.conformance_check = marked  # type: ignore[attr-defined]
        return function

    return mark


#: Runs one part of an exploration: suite, the part's name, what the user asked for -> findings on any rules.
ExplorationFunction = Callable[[Suite, str, "FuzzSettings"], list[Finding]]


@dataclass(frozen=True)
class Exploration:
    """A property-based test: its name and the parts it runs in, which workers share out among themselves.

    Unlike a check it does not know beforehand which rules it will have something to say about.
    """

    name: str
    function: ExplorationFunction
    parts: tuple[str, ...]


EXPLORATIONS: dict[str, Exploration] = {}


def exploration(*parts: str) -> Callable[[ExplorationFunction], ExplorationFunction]:
    """Marks a function as a property-based test that runs once for each part."""

    def mark(function: ExplorationFunction) -> ExplorationFunction:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        marked = Exploration(name, function, parts)
        EXPLORATIONS[name] = marked
        function.conformance_exploration = marked  # type: ignore[attr-defined]
        return function

    return mark


def load_checks() -> dict[str, Check]:
    """All checks of the installed package, by name."""
    import conformance.checks

    for module in pkgutil.iter_modules(conformance.checks.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"conformance.checks.{module.name}")
    return CHECKS


def absent(rule: Rule, operation: str, target: Target) -> str:
    """Why a rule does not apply on an operation, by what the target file declares; empty if it applies."""
    if operation == "createPayin" and not target.features.payins:
        return "payins are under development; the target file does not turn them on ([features] payins)"
    if operation == "createPayout" and not target.features.payouts:
        return "the target file declares that no account may be drawn on ([features] payouts = false)"
    if "secondary" in rule.needs and target.features.secondary is False:
        return "the target file declares that there is no second organization ([features] secondary = false)"
    return ""


def unmet(rule: Rule, target: Target) -> Inconclusive | None:
    """What the target file lacks for a rule to be exercised."""
    if "secondary" in rule.needs and target.secondary is None:
        return Inconclusive(
            "the target file names no second organization",
            "Fill in [secondary], or declare [features] secondary = false.",
        )
    if "other_customer" in rule.needs and target.primary.other_customer_id is None:
        return Inconclusive(
            "the target file names no second customer of the organization",
            "Fill in [primary] other_customer_id.",
        )
    return None


def run_check(check: Check, operation: str, suite: Suite) -> tuple[list[Finding], list[int]]:
    """Runs one check on one operation; returns its findings and the numbers of its exchanges.

    Whatever a server answers ends up in findings; only a mistake of the suite itself raises.
    """
    applicable, findings = [], []
    for rule in check.rules_on(operation):
        one = Trial(suite, OPERATIONS[operation], [rule], check.name)
        if reason := absent(rule, operation, suite.target):
            findings += one.findings(NotApplicable(reason))
        elif stop := unmet(rule, suite.target):
            findings += one.findings(stop)
        else:
            applicable.append(rule)
    if not applicable:
        return findings, []
    trial = Trial(suite, OPERATIONS[operation], applicable, check.name)
    stop = None
    try:
        check.function(trial)
    except (Inconclusive, NotApplicable) as end:
        stop = end
    return findings + trial.findings(stop), trial.exchanges


def plan(rules: set[str] | None = None, operations: set[str] | None = None) -> Iterator[tuple[Check, str]]:
    """Every check on every operation it covers, narrowed to some rules and operations."""
    for one in load_checks().values():
        for operation in one.operations:
            if operations is not None and operation not in operations:
                continue
            if rules is None or rules & {rule.id for rule in one.rules_on(operation)}:
                yield one, operation
