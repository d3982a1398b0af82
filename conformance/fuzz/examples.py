"""Runs tests by Hypothesis and records their judgements by rule and operation.

Hypothesis draws, shrinks and stores examples. It shrinks failures of each exception type apart, so that each
rule on each operation has a type of its own.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
from hypothesis import Phase
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from conformance.checks.check import Check
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.fuzz.exploration import TURN, FuzzSettings
from conformance.judge.cells import Cell
from conformance.judge.invariants import Invariants
from conformance.judge.outcomes import Demand, Got, Unclear
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.wire.messages import Exchange
from conformance.world.lane import Lane

T = TypeVar("T")

#: A rule on an operation.
Key = tuple[str, str]


class Broken(AssertionError):
    """A rule was broken in the running example."""


@functools.cache
def broken(rule: str, operation: str) -> type[Broken]:
    """The exception type of a rule on an operation."""
    return type(f"Broken {rule} on {operation}", (Broken,), {})


class Stop(BaseException):
    """Ends a run of Hypothesis at once, for its cause if it has one: Hypothesis would shrink an Exception."""


class Examples(Check):
    """The judgements of the examples of one part, on an operation unless they name another; it ends `seconds`
    after the start (None: no limit). `exchanges` are those of the running example.

    Of several violations of a rule, the last one counts: Hypothesis runs the smallest example last."""

    def __init__(self, lane: Lane, operation: str, check: str, seconds: float | None = None) -> None:
        super().__init__(lane, OPERATIONS[operation], (), check)
        self.rules = dict(RULES)
        self.judged: dict[Key, Cell] = {}
        #: Answers to generated requests by operation and status.
        self.statuses: Counter[tuple[str, int | None]] = Counter()
        self._end = None if seconds is None else time.monotonic() + seconds
        #: Rule and operation -> exchanges of the last example that broke it.
        self._failed: dict[Key, list[Exchange]] = {}

    # ------------------------------------------------------------------ examples

    def draw(
        self, settings: FuzzSettings, part: str, cases: SearchStrategy[T], perform: Callable[[T], Any]
    ) -> None:
        """Performs examples of a part; within `recording`."""

        @settings_of(settings, part)
        @hypothesis.seed(seed_of(settings, part))
        @hypothesis.given(cases)
        def answers_are_right(case: T) -> None:
            self.begin()
            with self.performing():
                perform(case)

        answers_are_right()

    @property
    def failing(self) -> bool:
        """True if an example broke a rule, which Hypothesis shrinks."""
        return bool(self._failed)

    def begin(self) -> None:
        """Starts an example. Raises Stop when time is up."""
        if self._end is not None and time.monotonic() > self._end and self.statuses:
            raise Stop
        self.exchanges = []
        self.lane.release()

    @contextlib.contextmanager
    def performing(self) -> Iterator[None]:
        """Performs the example, or a step of it, while other threads draw theirs. Raises Broken for a
        violation, Stop for any other exception."""
        TURN.release()
        try:
            yield
        except Broken:
            raise
        except Exception as error:
            raise Stop from error
        finally:
            TURN.acquire()

    def count(self, exchange: Exchange) -> None:
        """Counts the answer to a generated request."""
        self.statuses[exchange.operation or "", exchange.status] += 1

    # ------------------------------------------------------------------ judging

    def expect(
        self,
        rule: str,
        expected: str,
        got: Got,
        *exchanges: Exchange,
        demand: Demand | None = None,
        member: str = "",
        operation: str = "",
    ) -> bool:
        """Judges exchanges by a rule on the operation, or on the one given; what is unclear shows nothing.
        Raises Broken for a violation."""
        operation = operation or self.operation.id
        if isinstance(got, Unclear) or operation not in RULES[rule].operations:
            return False
        cell = self.judged.setdefault((rule, operation), Cell(rule, operation))
        if got:
            cell.violations.clear()
            self._failed[rule, operation] = self.exchanges
        if not cell.expect(expected, got, *exchanges, demand=demand, member=member):
            raise broken(rule, operation)(cell.violations[0].sentence)
        return True

    def unclear(self, *what: Any, **more: Any) -> None:
        """Nothing: other examples judge the rule."""

    not_exercised = unclear

    def inspect(self, exchange: Exchange) -> None:
        """Judges an exchange by the rules of every response. Raises Broken for a violation."""
        # Of its own: the run's has judged the exchange already, among all others.
        judged = Invariants(self.lane.target)
        judged.inspect(exchange)
        for rule, operation in sorted(judged.broken):
            violation = judged.tallies[rule, operation].violations[0]
            expected = f"{exchange.purpose}: {violation.expected}"
            self.expect(rule, expected, violation.got, exchange, operation=operation)

    def concluded(self, stop: Inconclusive | NotApplicable | None = None) -> list[Cell]:
        """The conclusion on each rule and operation that was judged."""
        return [self._concluded(cell) for cell in self.judged.values()]

    def _concluded(self, cell: Cell) -> Cell:
        if cell.violations:
            (violation,), example = cell.violations, self._failed[cell.key]
            self.lane.evidence += example
            paths = [exchange.call.path for exchange in example if exchange.number in violation.exchanges]
            related = [exchange.number for exchange in example if _is_related(exchange, paths)]
            # What was read again later confirms it.
            related = [number for number in related if number < max(violation.exchanges, default=math.inf)]
            evidence = tuple(dict.fromkeys([*violation.exchanges, *related]))
            once = "; it was seen once and did not come again" if cell.broken == 1 else ""
            violation = replace(violation, exchanges=evidence, got=violation.got + once)
            cell = replace(cell, violations=[violation])
        return cell.concluded(self.check, aside=True, by_the_way=True)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Runs Hypothesis within it, in turn with other threads; suppresses what it raises for violations.

        Raises Inconclusive, with the cells so far, and errors of the suite.
        """
        try:
            with TURN:
                yield
        except Stop as stop:
            if isinstance(stop.__cause__, Inconclusive):
                stop.__cause__.cells += self.concluded()
            if stop.__cause__ is not None:
                raise stop.__cause__ from None
        except Exception as error:
            if not (self._failed and _of_violations(error)):
                raise


def _is_related(exchange: Exchange, paths: list[str]) -> bool:
    """True if an exchange created what is in one of the paths, or is about the same resource."""
    own, created = exchange.call.path, str(exchange.get("id"))
    return any(created in path or own.startswith(path) or path.startswith(own) for path in paths)


def _of_violations(error: BaseException) -> bool:
    """True for violations: bare, in groups, or as Flaky if they were not reproduced."""
    if isinstance(error, BaseExceptionGroup) and not isinstance(error, Flaky):
        return all(map(_of_violations, error.exceptions))
    return isinstance(error, (Broken, Flaky))


def seed_of(settings: FuzzSettings, part: str) -> str:
    """Hypothesis's seed for a part."""
    return f"{settings.seed} {part}"


def settings_of(
    settings: FuzzSettings, part: str, *, shrink: bool = True, **more: Any
) -> hypothesis.settings:
    """Hypothesis's settings for a part, independent of profiles."""
    folder = settings.database
    return hypothesis.settings(
        max_examples=settings.cases,
        deadline=None,
        database=None if folder is None else DirectoryBasedExampleDatabase(Path(folder) / part),
        phases=[Phase.reuse, Phase.generate, *[Phase.shrink] * shrink],
        derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        report_multiple_bugs=True,
        verbosity=hypothesis.Verbosity.quiet,
        **more,
    )
