"""Threads that run tests ahead of pytest: while one test waits for an answer, others send.

Each lane has a worker of its own, as each process of pytest-xdist has. pytest asks for one result after the
other, in its own order, and so reports, stops under -x and ends as it would with one lane.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

from conformance._threads import keep_to_one_processor

W = TypeVar("W")
R = TypeVar("R")

#: Seconds of processor time per request; with a lower latency more threads do not help.
OWN_TIME = 0.003

#: Processor time of a generated request, with a check's request as the unit.
GENERATED = 2.5

#: Fewest and most lanes of a run on a server of the user's. Several near by, too: where reads are eventually
#: consistent, one lane spends most of the run waiting for writes to show.
FEWEST, MOST = 4, 32

#: Seconds that running jobs get to end when the run does.
GRACE = 2.0


def generated_time(latency: float) -> float:
    """The time of a generated request, in requests of checks; the server answers in `latency` seconds."""
    return (GENERATED * OWN_TIME + latency) / (OWN_TIME + latency)


def suggested(latency: float, processes: int = 1) -> int:
    """Lanes of each of some processes, for a server that answers in `latency` seconds."""
    return max(1, min(MOST, max(FEWEST, round(latency / OWN_TIME))) // processes)


class Lanes(Generic[W]):
    """Threads that run jobs in the order of submission. `make` makes the worker of a lane, by its number, in
    the thread of that lane when it has its first job. All keep to one processor, chosen by a number. After a
    job, a lane ends where `leaves` says so of its worker and that of another lane that goes on; the job runs
    again in another lane.

    Not a ThreadPoolExecutor: the interpreter waits for the threads of one before it exits, so that a server
    that does not answer would hold up a run that was interrupted. These are daemons.
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
        """Queues a job; the future has its result, or what it raised."""
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
        """Cancels what has not begun, and gives what is running GRACE seconds to end."""
        wait([future for future in self._futures if not future.cancel()], GRACE)

    def _worker(self, lane: int) -> W:
        if lane not in self.workers:
            self.workers[lane] = self._make(lane)
        return self.workers[lane]

    def _ends(self, lane: int) -> bool:
        """True if a lane leaves its job and all others to those that go on."""
        with self._leaving:
            others = (number for number in self.workers if number != lane and number not in self._ended)
            heir = next(others, None)
            if heir is None or not self._leaves(self.workers[lane], self.workers[heir]):
                return False
            self._ended.add(lane)
            return True

    def _run(self, lane: int) -> None:
        keep_to_one_processor(self._processor)
        while lane not in self._ended:
            self._jobs.get()(lane)


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
