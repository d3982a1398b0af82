"""Checks that wait, beside everything else: one thread begins all of them, and goes on with each when it is
due, so that their waits pass at the same time and hold up nothing."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

R = TypeVar("R")
Made = TypeVar("Made", covariant=True)

#: Seconds that the thread gets to come to an end when the run does.
GRACE = 2.0


class Steps(Protocol[Made]):
    """Something that is done in steps with waits between them."""

    def go_on(self) -> float | None:
        """Does the next step; returns the seconds to wait before the one after it, or None at the end."""

    def result(self) -> Made:
        """What it came to, once it is at its end."""


@dataclass
class _Job(Generic[R]):
    begin: Callable[[], Steps[R]]
    steps: Steps[R] | None = None
    done: threading.Event = field(default_factory=threading.Event)
    outcome: R | None = None
    error: BaseException | None = None


class Deferred(Generic[R]):
    """Runs jobs with waits in a thread of its own.

    `clock` tells seconds, `wait` lets so many pass and says whether the run ended meanwhile; by default both
    are the real ones.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._stopped = threading.Event()
        self._clock = clock
        self._wait = wait or self._stopped.wait
        self._jobs: dict[str, _Job[R]] = {}
        self._thread = threading.Thread(target=self._run, name="conformance waits", daemon=True)

    def start(self, jobs: Sequence[tuple[str, Callable[[], Steps[R]]]]) -> None:
        """Begins with the jobs: key, and what makes its steps in the thread."""
        self._jobs = {key: _Job(begin) for key, begin in jobs}
        self._thread.start()

    def knows(self, key: str) -> bool:
        """Whether there is a job of this key."""
        return key in self._jobs

    def result(self, key: str) -> R:
        """What a job came to, once it is done; raises what it raised, and RuntimeError where the run ended
        before."""
        job = self._jobs[key]
        job.done.wait()
        if job.error is not None:
            raise job.error
        return job.outcome  # type: ignore[return-value]

    def stop(self) -> None:
        """Goes on with nothing more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(GRACE)

    def _run(self) -> None:
        numbers = itertools.count()
        queue = [(0.0, next(numbers), job) for job in self._jobs.values()]
        while queue:
            due, _, job = heapq.heappop(queue)
            if self._stopped.is_set() or ((left := due - self._clock()) > 0 and self._wait(left)):
                self._end(job)
                continue
            again = self._step(job)
            if again is None:
                job.done.set()
            else:
                heapq.heappush(queue, (again, next(numbers), job))

    def _step(self, job: _Job[R]) -> float | None:
        """Does the next step of a job; when the one after it is due, or None at its end."""
        try:
            if job.steps is None:
                job.steps = job.begin()
            seconds = job.steps.go_on()
            if seconds is None:
                job.outcome = job.steps.result()
                return None
            return self._clock() + seconds
        except BaseException as error:  # The one who asks for the result is told.
            job.error = error
            return None

    @staticmethod
    def _end(job: _Job[R]) -> None:
        job.error = RuntimeError("the run ended before the time had passed that this check waits for")
        job.done.set()
