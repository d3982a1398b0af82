"""Runs Hypothesis within the budget of a part, again after each failure.

Each run draws one new example: in longer runs Hypothesis derives most examples from earlier ones, which finds
less with some 25 cases. Strategies must reject the simplest example, with which each run begins.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import hypothesis
from hypothesis.errors import Flaky, HypothesisException, Unsatisfiable

from conformance._private import (
    disable_collection_timing,
    preset_utf_8_intervals,
    set_database_key,
    without_source_constants,
)
from conformance.fuzz.engine.database import open_database, until_closed
from conformance.fuzz.engine.recorder import Falsified, Recorder
from conformance.fuzz.exploration import FuzzSettings
from conformance.judge.findings import Inconclusive

T = TypeVar("T")

preset_utf_8_intervals()
disable_collection_timing()
_without_words_of_source = without_source_constants()

#: Limits of shrinking: examples and seconds for one failure, seconds for all failures of a part.
SHRINK_EXAMPLES = 200
SHRINK_SECONDS = 3.0
SHRINK_TOTAL = 6.0

#: Maximum of different failures in one part.
FAILURES = 5


class Enough(BaseException):
    """Stops Hypothesis at once, for its cause if it has one. A BaseException, as Hypothesis would shrink an
    Exception."""


@dataclass
class PartBudget:
    """Budget of a part: cases, and the time at which it ends, in seconds of the monotonic clock."""

    cases: int
    end: float | None
    used: int = 0
    #: True if Hypothesis was stopped: the running example did not fail.
    closed: bool = False
    _shrinking: float | None = field(default=None, repr=False)
    _shrunk: int = 0
    _seconds: float = 0.0

    def start_run(self) -> None:
        """Starts a run of Hypothesis."""
        if self._shrinking is not None:
            self._seconds += time.monotonic() - self._shrinking
        self._shrinking, self._shrunk, self.closed = None, 0, False

    def spend(self, cases: int = 1) -> None:
        """Takes an example of so many cases from the budget; after a failure, from the budget of shrinking.
        Raises Enough when it is spent."""
        if self._shrinking is None:
            self.closed = self.over
        else:
            self._shrunk += 1
            seconds = time.monotonic() - self._shrinking
            late = seconds > SHRINK_SECONDS or self._seconds + seconds > SHRINK_TOTAL
            self.closed = late or self._shrunk > SHRINK_EXAMPLES
        if self.closed:
            raise Enough
        if self._shrinking is None:
            self.used += cases

    def note_failure(self) -> None:
        """Starts the budget of shrinking, at the first failure of a run."""
        if self._shrinking is None:
            self._shrinking = time.monotonic()

    @property
    def late(self) -> bool:
        """True if time is up."""
        return self.end is not None and time.monotonic() > self.end

    @property
    def over(self) -> bool:
        """True if cases or time are used up."""
        return self.used >= self.cases or self.late


def budget(settings: FuzzSettings, weight: float = 1.0) -> PartBudget:
    """The budget of one part; `weight` scales the number of cases."""
    share = settings.share()
    return PartBudget(
        max(1, math.ceil(settings.cases * weight)), None if share is None else time.monotonic() + share
    )


def runs(
    recorder: Recorder, allowed: PartBudget, settings: FuzzSettings, seed: str, **more: Any
) -> Iterator[tuple[str, hypothesis.settings]]:
    """Yields seed and settings of each run of Hypothesis, until the budget is spent. The first run begins
    with the examples of the database.

    A rule that broke in a run is settled: it no longer ends an example, so that the next run can find others.
    """
    recorder.on_violation = allowed.note_failure
    failures = number = 0
    reuses = settings.database is not None
    while failures < FAILURES and not allowed.over:
        recorder.focus = None
        allowed.start_run()
        used = allowed.used
        yield f"{seed} {number}", _settings(settings, allowed, reuses=reuses, **more)
        if recorder.focus is not None:
            recorder.settled.add(recorder.focus)
            failures += 1
        elif allowed.used == used:
            return  # Nothing can be drawn.
        number, reuses = number + 1, False


def _settings(
    settings: FuzzSettings, allowed: PartBudget, *, reuses: bool, **more: Any
) -> hypothesis.settings:
    """Hypothesis's settings for a run, independent of profiles."""
    return hypothesis.settings(
        max_examples=1,
        deadline=None,
        database=until_closed(open_database(settings.database), lambda: allowed.closed),
        phases=[*[hypothesis.Phase.reuse] * reuses, hypothesis.Phase.generate, hypothesis.Phase.shrink],
        derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        **more,
    )


@contextlib.contextmanager
def errors_at_once() -> Iterator[None]:
    """Raises Enough for an error of the suite: shrunk until the budget is spent, it would be lost."""
    try:
        yield
    except (AssertionError, Inconclusive):
        raise
    except Exception as error:
        raise Enough from error


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Suppresses the exceptions of a run whose reason the recorder holds; errors of the suite propagate.

    Hypothesis raises violations bare, in groups, or as Flaky where they are not reproduced."""

    def fine(error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup) and not isinstance(error, Flaky):
            return all(map(fine, error.exceptions))
        return isinstance(error, (Falsified, Flaky, Unsatisfiable)) or (
            isinstance(error, HypothesisException) and "Flaky" in type(error).__name__
        )

    with warnings.catch_warnings(), _without_words_of_source():
        warnings.simplefilter("ignore")
        try:
            yield
        except Enough as enough:
            if enough.__cause__ is not None:
                raise enough.__cause__ from None
        except Exception as error:
            if not fine(error):
                raise


def together(
    run: Callable[[Sequence[T]], None],
    cases: Sequence[T],
    recorder: Recorder,
    shrink: Callable[[T, Callable[[T], bool]], object],
) -> None:
    """Runs cases that Hypothesis did not draw as one example.

    If it fails, each case is run alone, and the first that breaks a rule is shrunk by `shrink`."""

    def fails(*tried: T) -> bool:
        recorder.begin()
        recorder.focus, recorder.on_violation = None, None
        try:
            run(tried)
        except AssertionError:
            return True
        return False

    known = set(recorder.failures)
    if fails(*cases):
        for case in cases:
            if fails(case) and recorder.focus is not None and recorder.focus not in known:
                known.add(recorder.focus)
                shrink(case, fails)


def explore(
    run: Callable[[Sequence[T]], None],
    strategy: Any,
    recorder: Recorder,
    settings: FuzzSettings,
    allowed: PartBudget,
    seed: str,
    name: str,
) -> None:
    """Calls `run` with examples of a strategy, which are sequences of cases, until the budget is spent.

    `run` raises Falsified as the recorder does. `name` identifies the part's examples in the database."""

    def example(cases: Sequence[T]) -> None:
        allowed.spend(len(cases))
        recorder.begin()
        with errors_at_once():
            run(cases)

    for run_seed, how in runs(recorder, allowed, settings, seed):
        test = hypothesis.given(strategy)(example)  # type: ignore[no-untyped-call]
        set_database_key(test, name)
        # In this order: a seed removes the database from existing settings.
        test = how(hypothesis.seed(run_seed)(test))
        with contained():
            test()
