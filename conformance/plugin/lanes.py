"""The lanes of a process: threads that run tests ahead of pytest, so that some send while others wait.

pytest asks for the outcomes one by one in its own order, so it reports, stops under -x and ends as with one
lane. In a process of pytest-xdist there is one lane, which runs what pytest asks for, and checks that wait
ahead of that, as they may be asked for here.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

from conformance.judge.ledger import Ledger
from conformance.plugin.worker import Job, JobOutcome, Worker

#: Processor time of a request in seconds; at a lower latency more lanes do not help.
OWN_TIME = 0.003

#: Minimum and maximum number of lanes on a user's server. Even with low latency several help under eventual
#: consistency, where a lane mostly waits for writes to show.
FEWEST, MOST = 4, 32

#: Seconds to wait for running tests at the end of the run, after their connections were closed.
GRACE = 2.0


def suggested(latency: float) -> int:
    """The number of lanes at a latency in seconds."""
    return max(FEWEST, min(MOST, round(latency / OWN_TIME)))


class Lanes:
    """Runs the jobs of this process, each on the worker of its lane. `make` creates a worker by its number.

    Checks that wait begin first; while one waits, its lane runs other jobs.
    """

    def __init__(self, make: Callable[[int], Worker], count: int) -> None:
        self._make = make
        self._numbers = itertools.count()
        self._workers: list[Worker] = []
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(count, "conformance lane")
        self._queue: deque[tuple[Job, Future[JobOutcome]]] = deque()
        #: Notified when the queue grows, and when the run is over.
        self._changed = threading.Condition()
        self._over = False
        self._futures: dict[str, Future[JobOutcome]] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run."""
        for nodeid, job in sorted(jobs.items(), key=lambda each: not each[1].waits):
            self._futures[nodeid] = self._queued(job)
        # Not before: a check that waits looks for others.
        for _ in jobs:
            self._pool.submit(self._next)

    def outcome(self, nodeid: str, job: Job) -> JobOutcome:
        """The outcome of a job that has begun, or begins now."""
        future = self._futures.pop(nodeid, None)
        if future is None:
            future = self._queued(job)
            self._pool.submit(self._next)
        return future.result()

    def stop(self) -> Ledger:
        """Ends all jobs; returns the ledger of what no outcome told: the totals of the rules of every
        response, and what was sent for jobs that pytest did not ask for."""
        with self._changed:
            self._over = True
            self._queue.clear()
            self._changed.notify_all()
        self._pool.shutdown(wait=False, cancel_futures=True)
        running = [future for future in self._futures.values() if future.running()]
        if running:
            for worker in self._workers:
                worker.interrupt()
            wait(running, GRACE)
        ledger = Ledger()
        for future in self._futures.values():
            if future.done():
                ledger.merge(future.result().ledger.without_cells())
        # A worker that still runs a job would change while it is read.
        for worker in self._workers:
            if not worker.busy:
                ledger.merge(worker.totals())
        return ledger

    def _queued(self, job: Job) -> Future[JobOutcome]:
        future: Future[JobOutcome] = Future()
        with self._changed:
            self._queue.append((job, future))
            self._changed.notify()
        return future

    def _next(self, seconds: float = 0.0) -> None:
        """Runs the next job on the worker of this thread, if there is one within some seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._queue or self._over, seconds) or self._over:
                return
            job, future = self._queue.popleft()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(self._worker().judge(job))
        except BaseException as error:
            future.set_exception(error)

    def _worker(self) -> Worker:
        """The worker of this thread."""
        if not hasattr(self._own, "worker"):
            worker = self._own.worker = self._make(next(self._numbers))
            worker.run.pause = self._pause
            self._workers.append(worker)
        own: Worker = self._own.worker
        return own

    def _pause(self, seconds: float) -> None:
        """Runs other jobs for at least some seconds, or until the run ends, which sends no more."""
        left = self._own.worker.run.budget.left
        end = time.monotonic() + (seconds if left is None else min(seconds, left))
        while not self._over and (left := end - time.monotonic()) > 0:
            self._next(left)
