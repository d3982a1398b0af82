"""Selects the tests of a run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance._files import InputError
from conformance._options import Effort
from conformance.checks import load_checks
from conformance.checks.check import CheckDefinition
from conformance.contract.needs import UNBUILT
from conformance.contract.operations import OPERATIONS, operations_named
from conformance.contract.rules import RULES, Rule, rules_named, rules_of_section
from conformance.contract.traits import TRAITS
from conformance.fuzz.exploration import Exploration
from conformance.judge.invariants import INVARIANTS

if TYPE_CHECKING:
    from conformance.plugin.options import Options

#: The rule whose violation is told of each operation that a run sends, selected or not.
CRASH = "http.no-server-error"

#: How the modules of checks that may crash a server begin.
HOSTILE = "test_hostile"


@dataclass(frozen=True)
class Job:
    """A test of the suite: a check with an operation, or an exploration with a part."""

    judged: CheckDefinition | Exploration
    parameter: str

    @property
    def title(self) -> str:
        """The name as in reports of errors."""
        return f"{self.judged.name}[{self.parameter}]"

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The rules that it judges, with the operation; of an exploration, what stands for them."""
        return self.judged.cells(self.parameter)

    @property
    def turn(self) -> int:
        """When several lanes begin it: first what waits, then what others wait for or takes longest; then
        what may crash a server, the longest first; at last what looks back on the run."""
        judged = self.judged
        if judged.waits or judged.early:
            return 0 if judged.waits else 1
        if judged.last:
            return 5
        return 3 if judged.generated else 4 if judged.name.startswith(HOSTILE) else 2

    @property
    def standing(self) -> tuple[bool, ...]:
        """Its place in the order of a run: checks come before those that may crash a server, generated
        requests, those that judge what the run has sent, and those that wait; of each, first the `early`."""
        judged = self.judged
        hostile = judged.name.startswith(HOSTILE)
        return judged.waits, judged.last, judged.generated, hostile, not judged.early

    @property
    def properties(self) -> list[tuple[str, object]]:
        """Those of a check in pytest's JUnit report: its operation, and for each of its rules id, level and
        section."""
        if self.judged.generated:
            return []
        named: list[tuple[str, object]] = [("operation", self.parameter)]
        for rule in (RULES[name] for name, _ in self.cells):
            named += [("rule", rule.id), ("level", str(rule.level)), ("section", ", ".join(rule.section))]
        return named

    def selected(self, options: Options) -> bool:
        """True if a run with these options includes it."""
        if self.judged.deep and options.effort is not Effort.DEEP:
            return False
        if options.effort is Effort.QUICK and (self.judged.name, self.parameter) not in quick():
            return False
        return options.scope.wants(self)


class Checks(pytest.Module):
    """A module of checks or explorations, each a test on each of its operations or parts."""

    def collect(self) -> Iterator[Test]:
        for name, function in vars(self.obj).items():
            judged: Any = getattr(function, "conformance_test", None)
            for part in judged.parts if judged and name.startswith("test_") else ():
                yield Test.from_parent(self, name=f"{name}[{part}]", job=Job(judged, part))


class Test(pytest.Item):
    """A test of the suite. It has no fixtures, whose set-up would be half of what pytest costs a run."""

    def __init__(self, *, job: Job, **options: Any) -> None:
        super().__init__(**options)
        self.job = job
        #: As tests that are functions have them, for hooks and plugins that read them.
        self.function = self.obj = inspect.unwrap(job.judged.function)
        self.originalname = self.function.__name__
        self.cls = None
        self.fixturenames: list[str] = []
        #: Judges it, as the plugin that runs tests has it.
        self.judge: Callable[[Test], None]
        if job.judged.generated:
            self.add_marker("fuzz")

    @property
    def module(self) -> Any:
        """The module of its function."""
        return inspect.getmodule(self.function)

    def runtest(self) -> None:
        if self.config.getoption("trace", False):
            pytest.set_trace()
        self.judge(self)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.function.__code__.co_firstlineno - 1, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """An error, whose traceback begins in the suite."""
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        return super().repr_failure(excinfo, style)


@functools.cache
def quick() -> frozenset[tuple[str, str]]:
    """The checks of a quick run, all but those that wait, each with one of the operations on which most of
    its rules are judged, and of these most that no check before it judges: they take turns by the place of
    the check in the alphabet. If it is the turn of one under development, which a server may lack, the next
    has its turn as well."""
    chosen: set[tuple[str, str]] = set()
    judged: set[Rule] = set()
    for place, (name, check) in enumerate(sorted(load_checks().items())):
        if check.waits:
            continue
        left = list(check.operations)
        while left:
            numbers = {each: (len(rules := check.rules_on(each)), len({*rules} - judged)) for each in left}
            turns = [operation for operation in left if numbers[operation] == max(numbers.values())]
            turn = turns[place % len(turns)]
            chosen.add((name, turn))
            judged.update(check.rules_on(turn))
            left = [each for each in left if each != turn] if TRAITS[turn].under_development else []
    return frozenset(chosen)


@dataclass(frozen=True)
class Scope:
    """The cells selected for a run; None for all."""

    cells: frozenset[tuple[str, str]] | None = None
    #: True if rules or sections were named; generated requests are then left out unless asked for.
    by_rule: bool = False
    #: True if an option asks for generated requests.
    generated: bool = False

    @classmethod
    def parse(
        cls,
        rules: Sequence[str] | None = None,
        operations: Sequence[str] | None = None,
        sections: Sequence[str] | None = None,
        *,
        generated: bool = False,
    ) -> Scope:
        """The cells that match any value of each given option. Raises InputError."""
        if not (rules or operations or sections):
            return cls()
        cells = {(rule.id, operation) for rule in RULES.values() for operation in rule.operations}
        if rules:
            cells &= {cell for text in rules for cell in _of_rule(text)}
        if operations:
            names = {name for text in operations for name in operations_named(text)}
            cells = {cell for cell in cells if cell[1] in names}
        if sections:
            wanted = {rule for text in sections for rule in rules_of_section(text, RULES)}
            cells = {cell for cell in cells if cell[0] in wanted}
        if not cells:
            raise InputError(
                "--rule, --operation and --section: no rule meets all of them; `conformance rules` lists the "
                "rules with their sections and operations."
            )
        return cls(frozenset(cells), bool(rules or sections), generated)

    @property
    def patient(self) -> bool:
        """True if it is one cell, whose checks may take their time. A rule of every response is judged by all
        checks of the operation: what they repeat and wait for shows other rules."""
        return len(self.cells or ()) == 1 and all(rule not in INVARIANTS for rule, _ in self.cells or ())

    def covers(self, rule: str, operation: str) -> bool:
        """True if a cell is selected."""
        return self.cells is None or (rule, operation) in self.cells

    def reports(self, rule: str, operation: str, broken: bool) -> bool:
        """True if a rule of every response is reported: of what others need, too, if it is missing, or was
        answered 5xx."""
        if self.covers(rule, operation):
            return True
        crash = rule == CRASH and any(rule == CRASH for rule, _ in self.cells or ())
        return broken and (crash or rule == UNBUILT)

    def wants(self, job: Job) -> bool:
        """True if a test judges a selected cell: a check of its rule and operation; for a rule of every
        response, each check of the operation; generated requests to the operation, and, if they are asked
        for, those to several operations."""
        if self.cells is None:
            return True
        operations = {operation for _, operation in self.cells}
        if job.judged.generated:
            of_all = self.generated and job.parameter not in OPERATIONS
            return (self.generated or not self.by_rule) and (of_all or job.parameter in operations)
        if not self.cells.isdisjoint(job.cells):
            return True
        return any(rule in INVARIANTS and operation == job.parameter for rule, operation in self.cells)


def _of_rule(text: str) -> list[tuple[str, str]]:
    """The cells of `auth.signature`, `auth.*`, `auth`, `auth.signature@createPayout`. Raises InputError."""
    names, at, where = text.partition("@")
    chosen = rules_named(names, RULES, "--rule: ")
    covered = [(rule, operation) for rule in chosen for operation in RULES[rule].operations]
    operations = operations_named(where, "--rule: ") if at else ()
    cells = [cell for cell in covered if not at or cell[1] in operations]
    if not cells:
        known = ", ".join(dict.fromkeys(operation for _, operation in covered))
        raise InputError(f"--rule: {names} does not cover {where[:60]!r}; it covers {known}.")
    return cells
