"""The lanes of a process: threads that run tests ahead of pytest, so that some send while others wait.

pytest asks for the outcomes one by one in its own order, so it reports, stops under -x and ends as with one
lane. In a process of pytest-xdist there is one lane, which runs what pytest asks for.
"""

from __future__ import annotations

import itertools
import threading
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
    """Runs the tests of this process, each on the worker of its lane. `make` creates a worker by its number.

    Checks that wait begin first, each in a thread of its own, so that their waits overlap; they take turns on
    one worker.
    """

    def __init__(self, make: Callable[[int], Worker], count: int) -> None:
        self._make = make
        self._numbers = itertools.count()
        self._workers: list[Worker] = []
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(count, "conformance lane")
        self._waiting: ThreadPoolExecutor | None = None
        self._over = threading.Event()
        self._futures: dict[str, Future[JobOutcome]] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run."""
        waiting = [nodeid for nodeid, job in jobs.items() if job.waits]
        if waiting:
            self._waiting = ThreadPoolExecutor(len(waiting), "conformance wait")
            turn, worker = threading.Lock(), self._worker()
            worker.run.pause = lambda seconds: self._pause(turn, worker, seconds)
            for nodeid in waiting:
                self._futures[nodeid] = self._waiting.submit(_in_turn, turn, worker, jobs[nodeid])
        for nodeid, job in jobs.items():
            if not job.waits:
                self._futures[nodeid] = self._pool.submit(self._run, job)

    def outcome(self, nodeid: str, job: Job) -> JobOutcome:
        """The outcome of a test that has begun, or begins now."""
        return (self._futures.pop(nodeid, None) or self._pool.submit(self._run, job)).result()

    def stop(self) -> Ledger:
        """Ends all tests; returns the ledger of what no outcome told: the totals of the rules of every
        response, and what was sent for tests that pytest did not ask for."""
        for pool in filter(None, (self._pool, self._waiting)):
            pool.shutdown(wait=False, cancel_futures=True)
        running = [future for future in self._futures.values() if not future.done()]
        if running:
            for worker in self._workers:
                worker.interrupt()
            self._over.set()
            wait(running, GRACE)
        ledger = Ledger()
        for future in self._futures.values():
            if future.done() and not future.cancelled():
                ledger.merge(future.result().ledger.without_findings())
        # A worker that still runs a test would change while it is read.
        for worker in self._workers:
            if not worker.busy:
                ledger.merge(worker.totals())
        return ledger

    def _run(self, job: Job) -> JobOutcome:
        if not hasattr(self._own, "worker"):
            self._own.worker = self._worker()
        worker: Worker = self._own.worker
        return worker.judge(job)

    def _worker(self) -> Worker:
        worker = self._make(next(self._numbers))
        self._workers.append(worker)
        return worker

    def _pause(self, turn: threading.Lock, worker: Worker, seconds: float) -> None:
        """Lets other checks take their turn for some seconds, or until the run ends, which sends no more."""
        turn.release()
        try:
            left = worker.run.budget.left
            self._over.wait(seconds if left is None else min(seconds, left))
        finally:
            turn.acquire()


def _in_turn(turn: threading.Lock, worker: Worker, job: Job) -> JobOutcome:
    with turn:
        return worker.judge(job)
