"""How the tests of one process are run: one after the other, or in lanes ahead of pytest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance._private import parse_one_at_a_time
from conformance.harness.check import Check
from conformance.harness.exploration import Exploration
from conformance.judge.findings import Finding
from conformance.plugin import ordering
from conformance.plugin.lanes import Lanes, shares
from conformance.plugin.worker import Worker
from conformance.world.lateness import waited

#: Workers that one process may have, so that no two of a run have one number.
MOST_WORKERS = 64

#: Seconds of waiting for changes to show after which a run goes on in lanes, and in how many: while one
#: waits, others work.
LATE, LANES_WHERE_LATE = 3.0, 8

Test = tuple[Check | Exploration, str]


@dataclass
class Executed:
    """What one test came to: its findings, what the controller is told, and the mistake of the suite that
    ended it, if one did."""

    findings: list[Finding]
    payload: dict[str, Any]
    worker: Worker
    error: BaseException | None = None


def share(nodeids: Sequence[str], process: int, processes: int) -> list[int]:
    """The indexes of the tests that one of several processes runs, where it has to know them
    from the beginning: the same in all."""
    if process >= processes:
        return []
    return shares([ordering.cost(nodeid) for nodeid in nodeids], processes)[process]


class Executor:
    """Runs the tests of this process. `make` makes a worker by its number within the process; `begin` starts
    ahead of time with the checks that wait, and with more than one lane with all other tests. One that
    `widens` begins with one lane, and goes on in several where the server's reads and lists follow late."""

    def __init__(self, make: Callable[[int], Worker], lanes: int = 1, *, widens: bool = False) -> None:
        self.lanes = lanes
        self.widens = widens and lanes == 1
        self._make = make
        self._ahead: Lanes[Worker, Executed] | None = None
        self._waiting: WaitingChecks | None = None
        #: The worker of tests that no lane runs.
        self._own: Worker | None = None
        #: What is still to be run by one lane that may become several.
        self._left: dict[str, Test] = {}

    def begin(self, tests: Sequence[tuple[str, Test]]) -> None:
        """Starts with tests by their node ids, in the order of the run."""
        waiting = [(nodeid, test) for nodeid, test in tests if _waits(test)]
        if waiting:
            self._waiting = WaitingChecks(self._make(MOST_WORKERS - 1), waiting)
        others = [(nodeid, test) for nodeid, test in tests if not _waits(test)]
        if self.widens:
            self._left = dict(others)
        elif self.lanes > 1 and len(others) > 1:
            self._run_ahead(others)

    def _run_ahead(self, tests: Sequence[tuple[str, Test]]) -> None:
        weights = ordering.for_lanes([nodeid for nodeid, _ in tests], self.lanes)
        # What threads import at the same moment they may see half-made, or not at all.
        import conformance.replay  # noqa: F401

        parse_one_at_a_time()
        loading = _Loading()
        self._ahead = Lanes(self.lanes, self._make_for_lane)
        self._ahead.start(
            [
                (nodeid, weight, _job(test, loading))
                for (nodeid, test), weight in zip(tests, weights, strict=True)
            ]
        )

    def _make_for_lane(self, lane: int) -> Worker:
        # What one lane has begun its first goes on with: it knows what is there.
        return self._own if lane == 0 and self._own is not None else self._make(lane)

    def _widen(self) -> None:
        """Goes on in several lanes with what is left, once the server has made this one wait for long."""
        if self._own is not None and waited(self._own.run.cache) >= LATE:
            left, self._left = list(self._left.items()), {}
            self.lanes = LANES_WHERE_LATE
            self._run_ahead(left)

    def run(self, nodeid: str, test: Test) -> Executed:
        """What a test comes to, run now or ahead of time."""
        if self._waiting is not None and self._waiting.threads.knows(nodeid):
            return self._waiting.threads.result(nodeid)
        if self._left:
            self._widen()
            self._left.pop(nodeid, None)
        if self._ahead is not None and self._ahead.knows(nodeid):
            return self._ahead.result(nodeid)
        return _job(test)(self.own)

    @property
    def own(self) -> Worker:
        """The worker of this thread, made when it is first asked for."""
        if self._own is None:
            self._own = self._make(0 if self._ahead is None else self.lanes)
        return self._own

    @property
    def workers(self) -> list[Worker]:
        """The workers that there are."""
        ahead = self._ahead.workers.values() if self._ahead is not None else ()
        known = (*ahead, self._own, self._waiting.worker if self._waiting is not None else None)
        return list(dict.fromkeys(worker for worker in known if worker is not None))

    @property
    def runs_ahead(self) -> bool:
        """Whether lanes run tests before pytest asks for them."""
        return self._ahead is not None

    def stop(self) -> None:
        """Begins nothing more."""
        if self._waiting is not None:
            self._waiting.stop()
        if self._ahead is not None:
            self._ahead.stop()

    def totals(self) -> list[dict[str, Any]]:
        """The last words of all workers."""
        return [worker.totals() for worker in self.workers]


def _waits(test: Test) -> bool:
    return isinstance(test[0], Check) and test[0].waits


def wait(over: threading.Event, seconds: float) -> bool:
    """Lets seconds pass; True if the run ended meanwhile."""
    return over.wait(seconds)


class WaitingChecks:
    """Runs the checks that wait, each in a thread, so that their waits pass together. They take turns on one
    worker."""

    def __init__(self, worker: Worker, tests: Sequence[tuple[str, Test]]) -> None:
        self.worker = worker
        self._turn = threading.Lock()
        self._over = threading.Event()
        worker.run.pause = self._pause
        self.threads: Lanes[Worker, Executed] = Lanes(len(tests), lambda lane: worker)
        self.threads.start([(nodeid, 0.0, self._in_turn(_job(test))) for nodeid, test in tests])

    def _in_turn(self, job: Callable[[Worker], Executed]) -> Callable[[Worker], Executed]:
        def run(worker: Worker) -> Executed:
            with self._turn:
                return job(worker)

        return run

    def _pause(self, seconds: float) -> None:
        self._turn.release()
        try:
            if wait(self._over, seconds):
                raise RuntimeError("the run ended before the time had passed that this check waits for")
        finally:
            self._turn.acquire()

    def stop(self) -> None:
        """Ends all waits."""
        self._over.set()
        self.threads.stop()


class _Loading:
    """Imports what explorations need, in the first thread that needs it, while all others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = False

    def __call__(self) -> None:
        with self._lock:
            if not self._done:
                from conformance.fuzz.loading import load

                load()
                self._done = True


def _job(test: Test, prepare: Callable[[], None] = lambda: None) -> Callable[[Worker], Executed]:
    judged, parameter = test

    def run(worker: Worker) -> Executed:
        findings: list[Finding] = []
        error: BaseException | None = None
        try:
            if isinstance(judged, Check):
                findings, _ = worker.run_check(judged, parameter)
            else:
                prepare()
                findings = worker.explore(judged, parameter)
        except Exception as mistake:
            # What was sent counts, whatever became of the check; the mistake is told when the test is
            # reported.
            error = mistake
        return Executed(findings, worker.payload(judged.name, findings), worker, error)

    return run
