"""The tests of one process: they run inside pytest's own, or in lanes ahead of it, and a runner packs what
they found into its reports.

Lanes are threads, so that some send while others wait. pytest asks for the outcomes one by one in its own
order, so it reports, stops under -x and ends as with one lane.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from conformance._text import mistake
from conformance.checks.check import Steps
from conformance.checks.running import finished
from conformance.fuzz.exploration import DEFAULT_EXAMPLES, TURN, FuzzSettings
from conformance.judge.ledger import Ledger
from conformance.plugin.options import Options
from conformance.plugin.preparation import share
from conformance.plugin.selection import Job, Test
from conformance.plugin.worker import JobOutcome, Worker
from conformance.report.document import KnownFailureRecord
from conformance.report.known_failures import KnownFailures
from conformance.report.transcript import failure_text
from conformance.target.file import Target
from conformance.target.redaction import Redactor
from conformance.wire.pace import FIRST, Pace
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


class Jobs(Protocol):
    """The jobs of this process."""

    def begin(self, jobs: Mapping[str, Job]) -> None:
        """Starts jobs, by node id in the order of the run, those first that wait."""

    def outcome(self, nodeid: str, job: Job) -> JobOutcome:
        """The outcome of a job that has begun, or begins now."""

    def stop(self, interrupted: bool) -> Ledger:
        """Ends all jobs; returns the ledger of what no outcome told: the totals of the rules of every
        response, and of jobs that pytest did not ask for what was sent, and what those that have ended
        judged if the run was interrupted."""


def _next_due(steps: Steps[JobOutcome]) -> float:
    """Runs a step of a job; returns when the wait after it is over (time.monotonic). Raises StopIteration."""
    seconds = next(steps)
    return time.monotonic() + seconds


class OneLane:
    """Runs each job where pytest asks for its outcome, so inside its test. Only checks that wait begin
    before, with the steps up to their first wait, and go on before another job once it is over: at the end of
    a long run, what they asked for in time would be too old."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        #: Node id -> when the job continues (time.monotonic), and its steps.
        self._waiting: dict[str, tuple[float, Steps[JobOutcome]]] = {}
        self._ended: dict[str, JobOutcome] = {}

    def begin(self, jobs: Mapping[str, Job]) -> None:
        for nodeid, job in jobs.items():
            if job.judged.waits:
                self._step(nodeid, self._worker.steps(job))

    def _step(self, nodeid: str, steps: Steps[JobOutcome]) -> None:
        """Runs a job up to its next wait, or its end."""
        try:
            self._waiting[nodeid] = _next_due(steps), steps
        except StopIteration as end:
            self._ended[nodeid] = end.value

    def outcome(self, nodeid: str, job: Job) -> JobOutcome:
        for other, (due, steps) in [*self._waiting.items()]:
            if due <= time.monotonic():
                del self._waiting[other]
                self._step(other, steps)
        if nodeid in self._ended:
            return self._ended.pop(nodeid)
        due, steps = self._waiting.pop(nodeid, (0.0, self._worker.steps(job)))
        self._worker.lane.pause(max(0.0, due - time.monotonic()))
        return finished(steps, self._worker.lane.pause)

    def stop(self, interrupted: bool) -> Ledger:
        ledger = Ledger()
        for outcome in self._ended.values():
            ledger.merge(outcome.ledger if interrupted else outcome.ledger.without_cells())
        ledger.merge(self._worker.totals())
        return ledger


class Lanes:
    """Runs jobs ahead of pytest, as many at once as the pace has lanes, each on the worker of its lane, a
    thread. `make` creates a worker by its number. While a job waits, its lane runs others."""

    def __init__(self, make: Callable[[int], Worker], pace: Pace) -> None:
        self._make, self._pace = make, pace
        self._numbers = itertools.count()
        self._workers: list[Worker] = []
        #: Workers whose lane has ended.
        self._free: list[Worker] = []
        self._jobs: deque[tuple[Job, Future[JobOutcome]]] = deque()
        self._futures: dict[str, Future[JobOutcome]] = {}
        #: Guards the jobs and the numbers of lanes; wakes lanes that wait.
        self._change = threading.Condition()
        self._running = 0
        self._over = False

    def begin(self, jobs: Mapping[str, Job]) -> None:
        for nodeid, job in sorted(jobs.items(), key=lambda each: each[1].turn):
            self._futures[nodeid] = self._queued(job)
        self._staff()

    def outcome(self, nodeid: str, job: Job) -> JobOutcome:
        future = self._futures.pop(nodeid, None)
        if future is None:
            future = self._queued(job)
            self._staff()
        return future.result()

    def stop(self, interrupted: bool) -> Ledger:
        ended = {future for future in self._futures.values() if future.done()}
        with self._change:
            self._over = True
            self._change.notify_all()
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
        with self._change:
            self._jobs.append((job, future))
            self._change.notify()
        return future

    def _staff(self) -> None:
        """Starts as many lanes as there may be and are jobs for."""
        with self._change:
            for _ in range(0 if self._over else min(self._pace.lanes - self._running, len(self._jobs))):
                self._running += 1
                threading.Thread(target=self._lane, name="conformance lane", daemon=True).start()

    def _lane(self) -> None:
        """Runs jobs to the last, or until there are too many lanes."""
        with self._change:
            if not self._free:
                self._free.append(self._make(next(self._numbers)))
                self._workers.append(self._free[-1])
            worker = self._free.pop()
        waiting: list[Started] = []
        while (job := self._next(worker, waiting)) is not None:
            try:
                waiting.append(replace(job, due=_next_due(job.steps)))
            except StopIteration as end:
                job.future.set_result(end.value)
            except BaseException as error:
                job.future.set_exception(error)
            self._staff()
        for job in waiting:
            # What it has sent is in the worker's totals.
            job.future.set_result(JobOutcome(Ledger()))

    def _next(self, worker: Worker, waiting: list[Started]) -> Started | None:
        """The next job of a lane: one that has waited, else a new one; None after the last."""
        with self._change:
            while not self._over:
                waiting.sort(key=lambda job: job.due)
                if waiting and waiting[0].due <= time.monotonic():
                    return waiting.pop(0)
                if self._jobs and (waiting or self._running <= self._pace.lanes):
                    job, future = self._jobs.popleft()
                    future.set_running_or_notify_cancel()
                    return Started(worker.steps(job), future)
                if not waiting:
                    break
                self._change.wait(waiting[0].due - time.monotonic())
            self._running -= 1
            self._free.append(worker)
            return None


@dataclass(frozen=True)
class Started:
    """A job that has begun, and when it continues (time.monotonic)."""

    steps: Steps[JobOutcome]
    future: Future[JobOutcome]
    due: float = 0.0


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
        common = Common(target, share(target, data["started"], data["processes"], data["lanes"]))
        settings = FuzzSettings(
            seed=options.seed,
            examples=options.examples or DEFAULT_EXAMPLES,
            seconds=options.fuzz_time,
            database=str(Path(data["folder"], "examples")),
            workers=data["processes"] * (data["lanes"] or FIRST),
        )
        more = {"scope": options.scope, "common": common, "ahead": data["ahead"]}
        first = data["process"] * WORKERS
        #: The pace of this process.
        self.pace = common.budget.pace

        def make(number: int) -> Worker:
            return Worker(target, index=first + number, settings=settings, **more)

        #: True while several threads parse.
        self._threads = data["lanes"] != 1
        self._jobs: Jobs = Lanes(make, self.pace) if self._threads else OneLane(make(0))
        #: Node id -> outcome of its last run.
        self._outcomes: dict[str, JobOutcome] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Starts the tests, or those that wait; for a debugger none, so that each runs whole in its turn."""
        tests = [item for item in session.items if isinstance(item, Test)]
        for test in tests:
            test.judge = self._judge
        jobs = {test.nodeid: test.job for test in tests}
        if not session.testsfailed and not self._options.debugging:
            self._jobs.begin(jobs)

    def _judge(self, test: Test) -> None:
        """Runs a test, or takes its outcome. Raises pytest's fail, skip and xfail, or the suite's error."""
        outcome = self._outcomes[test.nodeid] = self._jobs.outcome(test.nodeid, test.job)
        if outcome.error is not None:
            raise outcome.error
        properties = [each for each in test.user_properties if each[0] != "verdict"]
        test.user_properties[:] = [*properties, ("verdict", outcome.verdict)]
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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Completes the report of a test: its ledger, and its time instead of that of its turn."""
        # To show an error, pytest parses the source.
        with TURN if self._threads and call.excinfo else contextlib.nullcontext():
            report = yield
        if call.when != "call" or not isinstance(item, Test):
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
            return self._jobs.stop(interrupted)
        except Exception as error:
            return Ledger(errors=[mistake("the end of the run", error)])

    def _described(self, item: pytest.Item, error: BaseException) -> str:
        return mistake(item.nodeid.rpartition("/")[2], error, self._redactor.clean)
