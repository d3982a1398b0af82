"""Several checks at once within one process: a server far away answers one while others wait for it.

Each lane is a thread with a worker of its own, as each process of pytest-xdist has. Lanes run ahead of
pytest: it asks for the outcome of one test after the other, in its own order, and so reports, stops under -x
and ends as it would with one lane.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

W = TypeVar("W")
R = TypeVar("R")

#: Seconds that one more request costs this process itself: below it a lane more gains nothing.
OWN_TIME = 0.003

#: Most lanes of a run that does not say how many.
MOST = 16

#: Seconds that running jobs get to come to an end when the run does.
GRACE = 2.0


def suggested(latency: float, processes: int = 1) -> int:
    """How many lanes a process needs while one answer takes `latency` seconds: one for a server nearby."""
    return max(1, min(MOST, round(latency / OWN_TIME)) // max(1, processes)) if latency > OWN_TIME else 1


@dataclass
class _Job(Generic[W, R]):
    run: Callable[[W], R]
    weight: float
    started: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    result: R | None = None
    error: BaseException | None = None


class Lanes(Generic[W, R]):
    """Threads that run jobs ahead of whoever asks for their results.

    `make` makes the worker of a lane, by its number, in the thread of that lane when it has its first job.
    """

    def __init__(self, count: int, make: Callable[[int], W]) -> None:
        self.count = count
        self._make = make
        self.workers: dict[int, W] = {}
        self._jobs: dict[str, _Job[W, R]] = {}
        self._waiting: list[_Job[W, R]] = []
        self._changed = threading.Condition()
        self._stopped = False
        self._threads: list[threading.Thread] = []

    def start(self, jobs: Sequence[tuple[str, float, Callable[[W], R]]]) -> None:
        """Begins with the jobs: key, weight (the heaviest first; equal ones in their order), and what to
        do."""
        for key, weight, run in jobs:
            self._jobs[key] = _Job(run, weight)
        self._waiting = sorted(self._jobs.values(), key=lambda job: -job.weight)
        for lane in range(min(self.count, len(self._waiting))):
            thread = threading.Thread(
                target=self._run, args=(lane,), name=f"conformance lane {lane}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def knows(self, key: str) -> bool:
        """Whether there is a job of this key."""
        return key in self._jobs

    def result(self, key: str) -> R:
        """What a job came to, once it is done; raises what it raised. One that waits still is the next.

        Raises RuntimeError when the lanes were stopped before it began.
        """
        job = self._jobs[key]
        with self._changed:
            if not job.started and job in self._waiting:
                self._waiting.remove(job)
                self._waiting.insert(0, job)
            if self._stopped and not job.started:
                raise RuntimeError("the lanes were stopped")
        job.done.wait()
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def stop(self) -> None:
        """Begins nothing more, and gives what is running a moment to end."""
        with self._changed:
            self._stopped = True
            waiting, self._waiting = self._waiting, []
        for job in waiting:
            job.error = RuntimeError("the lanes were stopped")
            job.done.set()
        end = time.monotonic() + GRACE
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _next(self) -> _Job[W, R] | None:
        with self._changed:
            if self._stopped or not self._waiting:
                return None
            job = self._waiting.pop(0)
            job.started = True
            return job

    def _run(self, lane: int) -> None:
        while (job := self._next()) is not None:
            try:
                if lane not in self.workers:
                    self.workers[lane] = self._make(lane)
                job.result = job.run(self.workers[lane])
            except BaseException as error:  # The one who asks for the result is told.
                job.error = error
            finally:
                job.done.set()


def shares(weights: Sequence[float], parts: int) -> list[list[int]]:
    """Shares items out into parts of about the same weight, the heaviest first: the indexes of each part.

    The same on every process that knows the same items.
    """
    totals, found = [0.0] * parts, [[] for _ in range(parts)]  # type: tuple[list[float], list[list[int]]]
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        part = min(range(parts), key=lambda part: (totals[part], part))
        totals[part] += weights[index]
        found[part].append(index)
    return [sorted(part) for part in found]
