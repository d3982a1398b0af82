"""Runs Hypothesis within the budget of a part and keeps it going after a failure, to find the next one."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance._private import keep_examples_apart
from conformance.fuzz.engine.database import open_database, until_closed
from conformance.fuzz.engine.recorder import Recorder
from conformance.fuzz.engine.seeds import derive
from conformance.fuzz.exploration import FuzzSettings

if TYPE_CHECKING:
    import hypothesis

#: Examples run to make one failure smaller, seconds spent on it, and seconds for all failures of a part.
SHRINK_EXAMPLES = 200
SHRINK_SECONDS = 3.0
SHRINK_TOTAL = 6.0

#: Different failures looked for in one part.
ROUNDS = 5


class Enough(BaseException):
    """Ends Hypothesis at once; what it found is in the recorder. Not an Exception, because Hypothesis would
    shrink it."""


@dataclass
class PartBudget:
    """Budget of a part: examples, and the moment (monotonic clock) at which it ends."""

    examples: int
    end: float | None
    used: int = 0
    #: True if Hypothesis has been told to stop: a failure of its running example is none.
    closed: bool = False
    _shrinking: float | None = field(default=None, repr=False)
    _shrunk: int = 0
    _seconds: float = 0.0

    def start_round(self) -> None:
        """Nothing has failed yet in this round."""
        if self._shrinking is not None:
            self._seconds += time.monotonic() - self._shrinking
        self._shrinking, self._shrunk, self.closed = None, 0, False

    def spend(self) -> None:
        """Takes one example from the budget; raises Enough when it is used up. From a round's first failure
        on, making it smaller has a budget of its own."""
        if self._shrinking is None:
            if self.over:
                self.closed = True
                raise Enough
            self.used += 1
        else:
            self._shrunk += 1
            spent = time.monotonic() - self._shrinking
            if (
                self._shrunk > SHRINK_EXAMPLES
                or spent > SHRINK_SECONDS
                or self._seconds + spent > SHRINK_TOTAL
            ):
                self.closed = True
                raise Enough

    def note_failure(self) -> None:
        """The example at hand has failed."""
        if self._shrinking is None:
            self._shrinking = time.monotonic()

    @property
    def late(self) -> bool:
        """True if the time is up."""
        return self.end is not None and time.monotonic() > self.end

    @property
    def over(self) -> bool:
        """True if nothing is left."""
        return self.used >= self.examples or self.late


def budget(settings: FuzzSettings, weight: float = 1.0) -> PartBudget:
    """The budget of one part; `weight` makes its examples count for more or less than one case each."""
    share = settings.share()
    return PartBudget(
        max(1, int(settings.cases * weight)), None if share is None else time.monotonic() + share
    )


def hypothesis_settings(settings: FuzzSettings, allowed: PartBudget, **more: Any) -> hypothesis.settings:
    """Hypothesis's settings for a round; a profile of the user's or of CI has no say in them."""
    import hypothesis

    database = until_closed(open_database(settings.database), lambda: allowed.closed)
    phases = [hypothesis.Phase.generate, hypothesis.Phase.shrink]
    if database is not None:
        phases.insert(0, hypothesis.Phase.reuse)
    return hypothesis.settings(
        max_examples=allowed.examples,
        deadline=None,
        database=database,
        phases=phases,
        derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        **more,
    )


def rounds(recorder: Recorder, budget: PartBudget, seed: int) -> Iterator[int]:
    """Seeds for runs of Hypothesis until the budget is used up. A rule that broke in a round is settled then:
    it is still judged, but no longer ends an example, so that the next round can find something else."""
    for number in range(ROUNDS):
        recorder.focus = None
        budget.start_round()
        yield derive(seed, number)
        if recorder.focus is None or budget.over:
            return
        recorder.settled.add(recorder.focus)


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Whatever ends a run of Hypothesis ends here if the recorder holds the reason; mistakes of the suite go
    on.

    Violations come back bare, in groups, or as one of Hypothesis's errors about failures that did not come
    again."""
    from hypothesis.errors import Flaky, HypothesisException, Unsatisfiable

    from conformance.fuzz.engine.recorder import Falsified

    def fine(error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup) and not isinstance(error, Flaky):
            return all(map(fine, error.exceptions))
        return isinstance(error, (Falsified, Flaky, Unsatisfiable)) or (
            isinstance(error, HypothesisException) and "Flaky" in type(error).__name__
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except Enough:
            pass
        except Exception as error:
            if not fine(error):
                raise


def single(
    run: Callable[[Any], None],
    case: Any,
    recorder: Recorder,
    shrink: Callable[[Any, Callable[[Any], bool]], Any] | None = None,
) -> None:
    """Runs one case that nothing was drawn for; what it breaks is in the recorder. A rule that is broken for
    the first time is looked at again in smaller cases, if `shrink` makes some."""

    def fails(tried: Any) -> bool:
        recorder.begin()
        try:
            run(tried)
        except AssertionError:
            return True
        return False

    recorder.focus, recorder.on_violation = None, None
    known = set(recorder.failures)
    if fails(case) and shrink is not None and recorder.focus is not None and recorder.focus not in known:
        shrink(case, fails)


def explore(
    run: Callable[[Any], None],
    strategy: Any,
    recorder: Recorder,
    settings: FuzzSettings,
    allowed: PartBudget,
    seed: int,
    name: str,
) -> None:
    """Runs `run` on values of a strategy, in rounds, until the budget is used up.

    `run` raises Falsified when the recorder says so. `name` tells the part's examples from others in the
    database."""
    import hypothesis

    recorder.on_violation = allowed.note_failure
    for round_seed in rounds(recorder, allowed, seed):

        def example(case: Any) -> None:
            allowed.spend()
            recorder.begin()
            run(case)

        keep_examples_apart(example, name)
        test = hypothesis.given(strategy)(example)  # type: ignore[no-untyped-call]
        # In this order: a seed takes away the database of settings that are there already.
        test = hypothesis_settings(settings, allowed)(hypothesis.seed(round_seed)(test))
        with contained():
            test()
