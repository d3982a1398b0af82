"""The tests of one process: lanes run them ahead of pytest, and a runner packs what they found into its
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
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
import pytest

from conformance._private import serialize_parsing
from conformance._text import mistake
from conformance.fuzz.exploration import DEFAULT_EXAMPLES, FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.plugin.options import Options
from conformance.plugin.preparation import share
from conformance.plugin.selection import Job, job_of
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
_OUTCOMES = (pytest.fail.Exception, pytest.skip.Exception, pytest.xfail.Exception)


class Lanes:
    """Runs the jobs of this process, each on the worker of its lane. `make` creates a worker by its number.

    Checks that wait begin first; while one waits, its lane runs other jobs.
    """

    def __init__(self, make: Callable[[int], Worker], count: int) -> None:
        self._make, self._count = make, count
        self._numbers = itertools.count()
        self._workers: list[Worker] = []
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(count, "conformance lane")
        #: None wakes a lane that waits for a job.
        self._queue: SimpleQueue[tuple[Job, Future[JobOutcome]] | None] = SimpleQueue()
        self._over = False
        self._futures: dict[str, Future[JobOutcome]] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run."""

        def turn(each: tuple[str, Job]) -> int:
            # One lane keeps the order in which pytest asks.
            return each[1].turn if self._count > 1 else not each[1].judged.waits

        for nodeid, job in sorted(jobs.items(), key=turn):
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
        self._over = True
        for _ in self._workers:
            self._queue.put(None)
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
        self._queue.put((job, future))
        return future

    def _next(self, seconds: float = 0.0) -> None:
        """Runs the next job on the worker of this thread, if there is one within some seconds."""
        try:
            queued = self._queue.get(timeout=seconds)
        except Empty:
            return
        if queued is None or self._over:
            return
        job, future = queued
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


class Runner:
    """A plugin of a process that runs tests: lanes run them, by the data of the session that controls the run
    (see `Session.process_data`)."""

    def __init__(self, options: Options, data: Mapping[str, Any]) -> None:
        self._options = options
        self._garbage = gc.get_threshold()
        gc.set_threshold(*_GARBAGE)
        target = Target.from_plain(data["target"])
        self._redactor = Redactor(target)
        self._known = KnownFailures(msgspec.convert(data["known"], list[KnownFailureRecord]))
        label_run(data["label"])
        common = Common(target, share(target, data["started"], data["processes"]))
        settings = FuzzSettings(
            seed=options.seed,
            examples=options.examples or DEFAULT_EXAMPLES,
            seconds=options.fuzz_time,
            database=str(Path(data["folder"], "examples")),
            workers=data["processes"] * data["lanes"],
        )
        more = {"scope": options.scope, "common": common, "ahead": data["ahead"]}
        first = data["process"] * WORKERS
        if data["lanes"] > 1:
            serialize_parsing()
        self._lanes = Lanes(
            lambda number: Worker(target, index=first + number, settings=settings, **more), data["lanes"]
        )
        #: Node id -> outcome of its last run.
        self._outcomes: dict[str, JobOutcome] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Starts the tests. Where pytest-xdist hands them out one by one, these are checks that wait; those
        of them that look back on the run find at its end what is old enough."""
        jobs = {item.nodeid: job for item in session.items if (job := job_of(item)) is not None}
        if self._options.worker:
            jobs = {nodeid: job for nodeid, job in jobs.items() if job.judged.waits}
        if not session.testsfailed:
            self._lanes.begin(jobs)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Runs a test, or takes its outcome. Raises pytest's fail, skip and xfail, or the suite's error."""
        if (job := job_of(pyfuncitem)) is None:
            return None
        outcome = self._outcomes[pyfuncitem.nodeid] = self._lanes.outcome(pyfuncitem.nodeid, job)
        if outcome.error is not None:
            raise outcome.error
        properties = [each for each in pyfuncitem.user_properties if each[0] != "verdict"]
        pyfuncitem.user_properties[:] = [*properties, ("verdict", outcome.verdict)]
        failures = [cell for cell in outcome.ledger.cells if cell.verdict in self._options.failing]
        reasons = [self._known.reason(*cell.key) for cell in failures]
        if failures and all(reasons):
            # Does nothing under --runxfail.
            pytest.xfail(f"known failure: {reasons[0]}")
        if failures:
            verbose = self._options.verbosity > 0
            pytest.fail(failure_text(failures, outcome.ledger.exchanges, verbose), pytrace=False)
        if outcome.gap:
            pytest.skip(outcome.gap)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Completes the report of a test: its ledger, and its time instead of that of its turn."""
        report = yield
        if call.when != "call" or job_of(item) is None:
            return report
        outcome = self._outcomes.pop(item.nodeid, JobOutcome(Ledger()))
        error = call.excinfo.value if call.excinfo else None
        report.duration = outcome.seconds or report.duration
        if error is not None and not isinstance(error, _OUTCOMES) and not outcome.ledger.errors:
            outcome.ledger.errors.append(self._described(item, error))
        try:
            packed = outcome.ledger.to_json()
        except Exception as problem:
            report.outcome = "failed"
            report.longrepr = text = self._described(item, problem)
            packed = Ledger(errors=[text]).to_json()
        report.user_properties.append((LEDGER, packed))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Sends the last ledger of a process of pytest-xdist to the session that controls the run."""
        if self._options.worker:
            session.config.workeroutput[LEDGER] = self.stop().to_json()  # type: ignore[attr-defined]

    def stop(self, interrupted: bool = False) -> Ledger:
        """Ends all tests; returns the ledger of what no report told."""
        gc.set_threshold(*self._garbage)
        try:
            return self._lanes.stop(interrupted)
        except Exception as error:
            return Ledger(errors=[mistake("the end of the run", error)])

    def _described(self, item: pytest.Item, error: BaseException) -> str:
        return mistake(item.nodeid.rpartition("/")[2], error, self._redactor.clean)
