"""How the tests of one process are run: one after the other, or in lanes ahead of pytest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance._private import parse_one_at_a_time
from conformance.harness.check import Check
from conformance.harness.exploration import Exploration
from conformance.judging.findings import Finding
from conformance.plugin import costs
from conformance.plugin.lanes import Lanes, shares
from conformance.plugin.worker import Worker

#: Workers that one process may have, so that no two of a run have one number.
MOST_WORKERS = 64

#: Modules of checks whose requests may bring a server down, and of the generated ones; they come last, so
#: that a server that dies has been judged in all else.
LAST = ("test_hostile", "test_hostile_values", "test_histories", "test_model", "test_fuzz")

#: What a part of the generated requests costs, in requests; nobody knows beforehand.
GENERATED = 300

Test = tuple[Check | Exploration, str]


@dataclass
class Executed:
    """What one test came to: its findings, what the controller is told, and the mistake of the suite that
    ended it, if one did."""

    findings: list[Finding]
    payload: dict[str, Any]
    worker: Worker
    error: BaseException | None = None


def rank(nodeid: str) -> int:
    """Where a test stands among those that come late: 0 for all others."""
    module = nodeid.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    return LAST.index(module) + 1 if module in LAST else 0


def weight(nodeid: str) -> float:
    """How early a test should begin: the longest first, but what may bring a server down behind all else."""
    cost = float(costs.of(nodeid) or GENERATED)
    return cost - 1e6 * (rank(nodeid) > 0)


def share(nodeids: Sequence[str], process: int, processes: int) -> list[int]:
    """The indexes of the tests that one of several processes runs, where lanes run ahead: the same in all."""
    if process >= processes:
        return []
    weights = [abs(costs.of(nodeid) or GENERATED) for nodeid in nodeids]
    return shares(weights, processes)[process]


class Executor:
    """Runs the tests of this process. `make` makes a worker by its number within the process; with more than
    one lane, `begin` starts with all tests ahead of time."""

    def __init__(self, make: Callable[[int], Worker], lanes: int = 1) -> None:
        self.lanes = lanes
        self._make = make
        self._ahead: Lanes[Worker, Executed] | None = None
        #: The worker of tests that no lane runs.
        self._own: Worker | None = None

    def begin(self, tests: Iterable[tuple[str, Test]]) -> None:
        """Starts the lanes with tests by their node ids, where there are any."""
        loading = _Loading()
        jobs = [(nodeid, weight(nodeid), _job(test, loading)) for nodeid, test in tests]
        if self.lanes > 1 and len(jobs) > 1:
            # What threads import at the same moment they may see half-made, or not at all.
            import conformance.replay  # noqa: F401

            parse_one_at_a_time()
            self._ahead = Lanes(self.lanes, self._make)
            self._ahead.start(jobs)

    def run(self, nodeid: str, test: Test) -> Executed:
        """What a test comes to, run now or ahead of time."""
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
        return [*ahead, *([self._own] if self._own is not None else [])]

    @property
    def runs_ahead(self) -> bool:
        """Whether lanes run tests before pytest asks for them."""
        return self._ahead is not None

    def stop(self) -> None:
        """Begins nothing more."""
        if self._ahead is not None:
            self._ahead.stop()

    def totals(self) -> list[dict[str, Any]]:
        """The last words of all workers."""
        return [worker.totals() for worker in self.workers]


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
