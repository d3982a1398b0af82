"""Threads that run tests ahead of pytest, so that some send while others wait for answers.

Each lane has its own worker. pytest asks for the results one by one in its own order, so it reports, stops
under -x and ends as with one lane.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

from conformance._threads import pin_to_processor

W = TypeVar("W")
R = TypeVar("R")

#: Processor time of a request in seconds; at a lower latency more lanes do not help.
OWN_TIME = 0.003

#: Processor time of a generated request, relative to that of a check's request.
GENERATED = 2.0

#: Minimum and maximum number of lanes on a user's server. Even with low latency several help under eventual
#: consistency, where a lane mostly waits for writes to show.
FEWEST, MOST = 4, 32

#: Seconds to wait for running jobs at the end of the run.
GRACE = 2.0


def generated_time(latency: float) -> float:
    """The time of a generated request relative to a check's, at a latency in seconds."""
    return (GENERATED * OWN_TIME + latency) / (OWN_TIME + latency)


def suggested(latency: float, processes: int = 1) -> int:
    """The number of lanes of each process, at a latency in seconds."""
    return max(1, min(MOST, max(FEWEST, round(latency / OWN_TIME))) // processes)


class Lanes(Generic[W]):
    """Threads that run jobs in the order of submission, all on one processor.

    `make` creates the worker of a lane by its number, in the lane's thread at its first job. After each job
    `leaves(worker, other)` says whether the lane ends, given the worker of another that goes on; the job then
    runs again in another lane.

    Not a ThreadPoolExecutor, whose threads the interpreter joins at exit, so that an unresponsive server
    would delay an interrupted run. These are daemons.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int], W],
        processor: int = 0,
        leaves: Callable[[W, W], bool] = lambda worker, other: False,
    ) -> None:
        self._make = make
        self._leaves = leaves
        self._leaving = threading.Lock()
        self._ended: set[int] = set()
        self._processor = processor
        self.workers: dict[int, W] = {}
        self._jobs: queue.SimpleQueue[Callable[[int], None]] = queue.SimpleQueue()
        self._futures: list[Future[object]] = []
        for lane in range(count):
            name = f"conformance lane {lane}"
            threading.Thread(target=self._run, args=(lane,), name=name, daemon=True).start()

    def submit(self, job: Callable[[W], R]) -> Future[R]:
        """Queues a job; the future has its result or exception."""
        future: Future[R] = Future()

        def begin(lane: int) -> None:
            if future.set_running_or_notify_cancel():
                run(lane)

        def run(lane: int) -> None:
            try:
                result = job(self._worker(lane))
                if self._ends(lane):
                    self._jobs.put(run)
                    return
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._futures.append(future)  # type: ignore[arg-type]
        self._jobs.put(begin)
        return future

    def stop(self) -> None:
        """Cancels jobs that have not begun, and waits GRACE seconds for the others."""
        wait([future for future in self._futures if not future.cancel()], GRACE)

    def _worker(self, lane: int) -> W:
        if lane not in self.workers:
            self.workers[lane] = self._make(lane)
        return self.workers[lane]

    def _ends(self, lane: int) -> bool:
        """True if a lane ends and leaves its job to others."""
        with self._leaving:
            others = (number for number in self.workers if number != lane and number not in self._ended)
            heir = next(others, None)
            if heir is None or not self._leaves(self.workers[lane], self.workers[heir]):
                return False
            self._ended.add(lane)
            return True

    def _run(self, lane: int) -> None:
        pin_to_processor(self._processor)
        while lane not in self._ended:
            self._jobs.get()(lane)


def shares(weights: Sequence[float], parts: int) -> list[list[int]]:
    """Distributes items over parts of similar weight, the heaviest first; returns the indexes of each part.

    Deterministic, so the same in every process.
    """
    totals, found = [0.0] * parts, [[] for _ in range(parts)]  # type: tuple[list[float], list[list[int]]]
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        part = min(range(parts), key=lambda part: (totals[part], part))
        totals[part] += weights[index]
        found[part].append(index)
    return [sorted(part) for part in found]
