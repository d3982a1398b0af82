"""The tests of one process: lanes run them ahead of pytest, and a runner packs what they found into pytest's
reports.

Lanes are threads, so that some send while others wait. pytest asks for the outcomes one by one in its own
order, so it reports, stops under -x and ends as with one lane. In a process of pytest-xdist there is one
lane, which runs what pytest asks for, and checks that wait ahead of that, as they may be asked for here.
"""

from __future__ import annotations

import gc
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance._private import serialize_parsing
from conformance.fuzz.exploration import DEFAULT_EXAMPLES, FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.plugin.controller import share
from conformance.plugin.options import Options
from conformance.plugin.selection import Job
from conformance.plugin.worker import JobOutcome, Worker
from conformance.report.document import KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from conformance.report.transcript import failure_text
from conformance.target.file import Target
from conformance.target.redaction import Redactor
from conformance.world.common import Common
from conformance.world.samples import label_run

#: Seconds to wait for running tests at the end of the run, after their connections were closed.
GRACE = 2.0

#: Thresholds of the garbage collector while tests run. A run keeps most objects: with Python's own thresholds
#: it takes 8 % longer.
_GARBAGE = 10_000, 10, 10

#: Numbers of workers of a process, so that those of all processes differ.
WORKERS = 64

#: The property of a test's report that has its ledger, until the controller takes it.
LEDGER = "conformance ledger"

#: The exceptions by which a test tells its outcome; any other is an error of the suite.
_OUTCOMES = (pytest.skip.Exception, pytest.xfail.Exception)


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
        for nodeid, job in sorted(jobs.items(), key=lambda each: not each[1].waits or each[1].last):
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

    def stop(self, interrupted: bool = False) -> Ledger:
        """Ends all jobs; returns the ledger of what no outcome told: the totals of the rules of every
        response, and of jobs that pytest did not ask for what was sent, and what those that have ended
        judged if the run was interrupted."""
        ended = {future for future in self._futures.values() if future.done()}
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
                whole = future.result().ledger
                ledger.merge(whole if interrupted and future in ended else whole.without_cells())
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


class BrokenRule(AssertionError):
    """The server breaks a rule; the text is shown on the terminal. Derived from AssertionError so that other
    plugins report a failure, not an error."""


class Runner:
    """The tests of this process, run by lanes with the controller's data (see `Controller.process_data`)."""

    def __init__(self, options: Options, data: Mapping[str, Any]) -> None:
        self._options = options
        self._garbage = gc.get_threshold()
        gc.set_threshold(*_GARBAGE)
        target, folder = Target.from_plain(data["target"]), Path(data["folder"])
        self._redactor = Redactor(target)
        self._known = KnownFailures(msgspec.convert(data["known"], list[KnownFailureRecord]))
        label_run(data["label"])
        common = Common(target, share(target, data["started"], data["processes"]))
        workers = data["processes"] * data["lanes"]

        def make(number: int) -> Worker:
            index = data["process"] * WORKERS + number
            return Worker(
                target,
                index=index,
                settings=FuzzSettings(
                    seed=options.seed,
                    examples=options.examples or DEFAULT_EXAMPLES,
                    seconds=options.fuzz_time,
                    database=str(folder / "examples"),
                    workers=workers,
                ),
                scope=options.scope,
                common=common,
                ahead=data["ahead"],
            )

        if data["lanes"] > 1:
            serialize_parsing()
        self._lanes = Lanes(make, data["lanes"])
        #: Node id -> outcome of its last run.
        self._outcomes: dict[str, JobOutcome] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run."""
        self._lanes.begin(jobs)

    def run(self, item: pytest.Item, job: Job) -> None:
        """Runs a test, or takes its outcome. Raises BrokenRule, pytest's skip or xfail, or the suite's own
        error."""
        outcome = self._outcomes[item.nodeid] = self._lanes.outcome(item.nodeid, job)
        if outcome.error is not None:
            raise outcome.error
        item.user_properties[:] = [each for each in item.user_properties if each[0] != "verdict"]
        item.user_properties.append(("verdict", outcome.verdict))
        failures = outcome.failures(self._options.failing)
        reasons = [self._known.reason(*cell.key) for cell in failures]
        if failures and all(reasons):
            # Does nothing under --runxfail.
            pytest.xfail(f"known failure: {reasons[0]}")
        if failures:
            raise BrokenRule(failure_text(failures, outcome.ledger.exchanges, self._options.verbosity > 0))
        if outcome.gap:
            pytest.skip(outcome.gap)

    def complete(self, item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> None:
        """Completes the report of a test that ended with an exception or None: the ledger, the time of the
        test instead of that of its turn, and where it stands."""
        outcome = self._outcomes.pop(item.nodeid, JobOutcome(Ledger()))
        report.duration = outcome.seconds or report.duration
        if isinstance(error, BrokenRule):
            report.longrepr = str(error)
        elif isinstance(error, _OUTCOMES) and isinstance(report.longrepr, tuple):
            path, line, _ = item.location
            report.longrepr = str(path), (line or 0) + 1, report.longrepr[2]
        elif error is not None and not isinstance(error, _OUTCOMES) and not outcome.ledger.errors:
            outcome.ledger.errors.append(self._described(item, error))
        try:
            packed = outcome.ledger.to_json()
        except Exception as problem:
            report.outcome = "failed"
            report.longrepr = text = self._described(item, problem)
            packed = Ledger(errors=[text]).to_json()
        report.user_properties.append((LEDGER, packed))

    def stop(self, interrupted: bool = False) -> Ledger:
        """Ends all tests; returns the ledger of what no report told."""
        gc.set_threshold(*self._garbage)
        try:
            return self._lanes.stop(interrupted)
        except Exception as error:
            return Ledger(errors=[f"the end of the run: {type(error).__name__}: {error}"[:500]])

    def _described(self, item: pytest.Item, error: BaseException) -> str:
        return self._redactor.clean(f"{item.nodeid.rpartition('/')[2]}: {type(error).__name__}: {error}")[
            :500
        ]
