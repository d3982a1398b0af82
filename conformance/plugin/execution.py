"""Runs the tests of one process: one after the other, or in lanes ahead of pytest."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance._private import serialize_parsing
from conformance.checks.check import Check
from conformance.fuzz.exploration import Exploration
from conformance.judge.findings import Finding, Verdict
from conformance.judge.ledger import Ledger, grouped
from conformance.plugin import known
from conformance.plugin.known import Numbers
from conformance.plugin.lanes import Lanes, shares
from conformance.plugin.options import Options
from conformance.plugin.plan import budget
from conformance.plugin.selection import scope
from conformance.plugin.worker import Worker, fuzz_settings
from conformance.target.file import Target
from conformance.world.samples import label_run

#: The interpreter's switch interval in seconds, short so that a lane with an answer soon gets its turn.
SWITCH = 0.0005

#: Maximum number of workers of a process, for unique indexes in a run.
MOST_WORKERS = 64

Test = tuple[Check | Exploration, str]


@dataclass
class Executed:
    """The result of a test: its findings, the ledger for the controller, and the internal error that ended
    it, if any."""

    findings: list[Finding]
    ledger: Ledger
    worker: Worker
    error: BaseException | None = None

    @property
    def shown(self) -> str:
        """The word for the test's outcome: the most severe verdict of the rules it exercised."""
        verdict = Verdict.most_severe(finding.verdict for finding in self.findings if finding.exercised)
        if verdict is None:
            return "no occasion" if self.findings else "passed"
        return str(verdict)

    @property
    def reason(self) -> str:
        """The summary of the first finding with this outcome."""
        shown = self.shown
        return next(
            finding.summary
            for finding in self.findings
            if shown == "no occasion" or (finding.verdict == shown and finding.exercised)
        )


def share(nodeids: Sequence[str], process: int, processes: int, generated: float | None = None) -> list[int]:
    """The indexes of the tests that one of several processes runs; deterministic, so the same in all of them.

    Tests with common set-up run in one process. Generated requests run in as few processes as have the time,
    since each must import and compile the generators; `generated` is the cost of one relative to a check's
    request, None to use all processes.
    """
    scopes = grouped((scope(nodeid), index) for index, nodeid in enumerate(nodeids))

    def cost(group: Sequence[int]) -> float:
        tests = [nodeids[index] for index in group]
        return sum(known.cost(test) * ((generated or 1) if known.generated(test) else 1) for test in tests)

    explorations = [group for group in scopes.values() if known.generated(nodeids[group[0]])]
    fewest = math.ceil(processes * sum(map(cost, explorations)) / max(cost(range(len(nodeids))), 1))
    parts = shares([*map(cost, explorations)], processes if generated is None else fewest)
    groups = [group for group in scopes.values() if group not in explorations]
    groups += [[index for number in part for index in explorations[number]] for part in parts]
    mine = shares([*map(cost, groups)], processes)[process] if process < processes else []
    return sorted(index for number in mine for index in groups[number])


def by_share(config: Any, log: Any, processes: int, generated: float | None = None) -> Any:
    """A scheduler for pytest-xdist that assigns each process its share at once, and the remaining tests of a
    dead process to the others.

    A worker starts its last test only when it has another or is told to shut down, so each is told as soon as
    nothing is left. `generated` as in `share`.
    """
    # pytest-xdist is optional.
    from xdist.scheduler import LoadScheduling

    # pytest-xdist is untyped.
    class ByShare(LoadScheduling):  # type: ignore[misc]
        def schedule(self) -> None:
            if getattr(self, "collection", None) is not None:
                for node in self.nodes:
                    self.check_schedule(node)
                for node in self.nodes:
                    if not self.pending and not node.shutting_down:
                        node.shutdown()
                return
            if not self._check_nodes_have_same_collection():
                return
            self.collection = collection = next(iter(self.node2collection.values()))
            # The base class assigns at most this many tests at a time to the replacement of a dead process.
            self.maxschedchunk = len(collection)
            for node in self.nodes:
                number = int(node.gateway.id.removeprefix("gw"))
                mine = share(collection, number, processes, generated)
                self.node2pending[node].extend(mine)
                if mine:
                    node.send_runtest_some(mine)
                node.shutdown()

    return ByShare(config, log)


class Executor:
    """Runs the tests of this process. `make` creates a worker by its number in the process; `begin` starts
    checks that wait, and with several lanes all other tests, ahead of pytest."""

    def __init__(self, make: Callable[[int], Worker], lanes: int = 1, processor: int = 0) -> None:
        self._make = make
        self.lanes = lanes
        self._processor = processor
        self._ahead: Lanes[Worker] | None = None
        self._waiting: WaitingChecks | None = None
        self._futures: dict[str, Future[Executed]] = {}
        #: The worker of tests outside lanes.
        self._own: Worker | None = None

    @classmethod
    def of(cls, options: Options, data: Mapping[str, Any], most: Numbers | None) -> Executor:
        """The executor of this process, from the controller's data (see `Controller.data_for`); all processes
        together send at most `most`."""
        target, (process, processes, _) = Target.from_plain(data["target"]), data["place"]
        folder, lanes = Path(data["folder"]), data["lanes"]
        label_run(data["label"])
        allowed = budget(target.limits, data["started"], most, processes=processes, spent=data["spent"])

        def make(number: int) -> Worker:
            index, workers = process * MOST_WORKERS + number, processes * lanes
            return Worker(
                target,
                index=index,
                workers=workers,
                settings=fuzz_settings(options, folder, index, workers),
                scope=options.scope,
                budget=allowed,
                ahead=data["ahead"],
            )

        # Consecutive processes use consecutive processors; the first differs between runs.
        return cls(make, lanes, int(data["started"] * 1000) + process)

    def begin(self, tests: Mapping[str, Test]) -> None:
        """Starts tests, given by node id in the order of the run."""
        waiting = {nodeid: test for nodeid, test in tests.items() if getattr(test[0], "waits", False)}
        if waiting:
            self._waiting = WaitingChecks(self._make(MOST_WORKERS - 1), len(waiting), self._processor)
            for nodeid, test in waiting.items():
                self._futures[nodeid] = self._waiting.submit(_job(test))
        others = [nodeid for nodeid in tests if nodeid not in waiting]
        if self.lanes > 1 and len(others) > 1:
            serialize_parsing()
            sys.setswitchinterval(SWITCH)
            self._ahead = Lanes(
                min(self.lanes, len(others)),
                self._make,
                self._processor,
            )
            for nodeid in known.for_lanes(others, self.lanes):
                self._futures[nodeid] = self._ahead.submit(_job(tests[nodeid]))

    def run(self, nodeid: str, test: Test) -> Executed:
        """The result of a test, run now or ahead of time."""
        future = self._futures.get(nodeid)
        return future.result() if future is not None else _job(test)(self.own)

    @property
    def own(self) -> Worker:
        """The worker of this thread, created on first use."""
        if self._own is None:
            self._own = self._make(0 if self._ahead is None else self.lanes)
        return self._own

    def stop(self) -> None:
        """Starts no further test."""
        for ahead in (self._waiting, self._ahead):
            if ahead is not None:
                ahead.stop()

    def totals(self) -> list[Ledger]:
        """The final ledgers of all workers; then releases their records, since reports need the memory."""
        groups = [ahead.workers.values() for ahead in (self._waiting, self._ahead) if ahead is not None]
        workers = {worker.index: worker for group in groups for worker in group}
        if self._own is not None:
            workers[self._own.index] = self._own
        ledgers = [worker.ledger(last=True) for worker in workers.values()]
        for worker in workers.values():
            worker.run.record.clear()
            worker.run.accepted.clear()
        return ledgers


class WaitingChecks(Lanes[Worker]):
    """Runs checks that wait, each in its own thread, so that their waits overlap; they take turns on one
    worker."""

    def __init__(self, worker: Worker, count: int, processor: int = 0) -> None:
        self._turn = threading.Lock()
        self._over = threading.Event()
        worker.run.pause = self._pause
        super().__init__(count, lambda lane: worker, processor)

    def submit(self, job: Callable[[Worker], Any]) -> Future[Any]:

        def in_turn(worker: Worker) -> Any:
            with self._turn:
                return job(worker)

        return super().submit(in_turn)

    def _pause(self, seconds: float) -> None:
        self._turn.release()
        try:
            if wait(self._over, seconds):
                raise RuntimeError("the run ended before the time had passed that this check waits for")
        finally:
            self._turn.acquire()

    def stop(self) -> None:
        """Interrupts all waits."""
        self._over.set()
        super().stop()


def wait(over: threading.Event, seconds: float) -> bool:
    """Waits for seconds; True if the run ended meanwhile."""
    return over.wait(seconds)


def _job(test: Test) -> Callable[[Worker], Executed]:
    judged, parameter = test

    def run(worker: Worker) -> Executed:
        findings: list[Finding] = []
        error: BaseException | None = None
        try:
            if isinstance(judged, Check):
                findings, _ = worker.run_check(judged, parameter)
            else:
                findings = worker.explore(judged, parameter)
        except Exception as mistake:
            # The ledger counts what was sent; pytest reports the error with the test.
            error = mistake
        return Executed(findings, worker.ledger(findings), worker, error)

    return run
