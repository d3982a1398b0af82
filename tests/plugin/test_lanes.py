"""Lanes run jobs ahead of pytest; what was not asked for is not lost, and nothing holds up the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.plugin import lanes
from conformance.plugin.lanes import Lanes
from conformance.plugin.preparation import FEWEST, MOST, suggested
from conformance.plugin.selection import Job
from conformance.plugin.worker import JobOutcome


class Worked:
    """A worker whose jobs call functions, which may use its `run.pause`."""

    def __init__(self, number: int, functions: dict[str, Callable[[Any], object]]) -> None:
        self.number, self.functions = number, functions
        self.run: Any = self
        self.budget: Any = self
        self.left = None
        self.busy = False
        self.interrupted = threading.Event()

    def judge(self, job: Job) -> JobOutcome:
        self.busy = True
        self.functions[job.parameter](self)
        self.busy = False
        return JobOutcome(
            Ledger(sent=1, lost=f"{self.number}", cells=[Cell("auth.signature", job.parameter)])
        )

    def interrupt(self) -> None:
        self.interrupted.set()

    def totals(self) -> Ledger:
        return Ledger(sent=100)


class Judged:
    """A check, or one that looks for crashes, or a `generated` test; `waits` or not, `early` or not."""

    def __init__(self, name: str, waits: bool, early: bool, generated: bool) -> None:
        self.name, self.waits, self.early, self.generated = name, waits, early, generated


def lanes_of(count: int, **functions: Callable[[Any], object]) -> Lanes:
    return Lanes(lambda number: Worked(number, functions), count)  # type: ignore[arg-type, return-value]


def jobs(*names: str, waits: bool = False, early: bool = False, generated: bool = False) -> dict[str, Any]:
    return {name: Job(Judged(name, waits, early, generated), name) for name in names}  # type: ignore[arg-type]


def test_jobs_run_at_once_each_on_a_worker_of_its_own() -> None:
    barrier = threading.Barrier(3)
    meet = dict.fromkeys("abc", lambda worker: barrier.wait(10))
    ahead, three = lanes_of(3, **meet), jobs(*"abc")
    ahead.begin(three)
    outcomes = [ahead.outcome(name, job) for name, job in three.items()]
    assert {outcome.ledger.lost for outcome in outcomes} == {"0", "1", "2"}


def test_a_job_that_was_not_begun_runs_when_it_is_asked_for_and_again() -> None:
    ran: list[int] = []
    ahead = lanes_of(1, a=lambda worker: ran.append(1))
    for _ in range(2):
        assert ahead.outcome("a", jobs("a")["a"]).ledger.sent == 1
    assert ran == [1, 1]


def test_an_exception_of_a_worker_is_raised_where_its_outcome_is_asked_for() -> None:
    def fails(worker: Any) -> None:
        raise ValueError("no")

    ahead, two = lanes_of(1, bad=fails, good=lambda worker: None), jobs("bad", "good")
    ahead.begin(two)
    with pytest.raises(ValueError, match="no"):
        ahead.outcome("bad", two["bad"])
    assert ahead.outcome("good", two["good"]).ledger.sent == 1


def test_checks_that_wait_begin_first_and_their_waits_pass_together() -> None:
    """While one waits, its lane runs other jobs, first what fills the lists that others read."""
    order: list[str] = []

    def waits(worker: Any) -> None:
        order.append("waits")
        worker.run.pause(0.05)
        order.append("has waited")

    ahead = lanes_of(1, first=waits, second=waits, other=lambda worker: order.append("other"))
    three = jobs("other") | jobs("first", "second", waits=True)
    ahead.begin(three)
    assert [ahead.outcome(name, job).ledger.sent for name, job in three.items()] == [1, 1, 1]
    assert order == ["waits", "waits", "other", "has waited", "has waited"]


def test_several_lanes_begin_with_what_others_wait_for_and_end_with_what_may_crash_a_server() -> None:
    five = jobs("test_hostile", "other") | jobs("generated", generated=True)
    five |= jobs("early", early=True) | jobs("waits", waits=True)
    order = sorted(five.values(), key=lambda job: job.turn)
    assert [job.parameter for job in order] == ["waits", "early", "other", "generated", "test_hostile"]


def test_a_job_that_is_asked_for_runs_while_another_waits_whose_wait_ends_with_the_run() -> None:
    """As in a process of pytest-xdist, where only checks that wait begin ahead."""
    asked, waiting = threading.Event(), threading.Event()

    def waits(worker: Any) -> None:
        waiting.set()
        worker.run.pause(60)

    ahead = lanes_of(1, first=waits, other=lambda worker: asked.set())
    ahead.begin(jobs("first", waits=True))
    waiting.wait(10)
    assert ahead.outcome("other", jobs("other")["other"]).ledger.sent == 1 and asked.is_set()
    begin = time.monotonic()
    assert ahead.stop().sent == 101 and time.monotonic() - begin < 10


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_stop_interrupts_what_runs_and_counts_what_nobody_asked_for(interrupted: bool) -> None:
    """Nothing begins after it; an interrupted run keeps the cells of jobs that have ended."""
    running = threading.Event()
    begun: list[object] = []

    def hold(worker: Any) -> None:
        running.set()
        assert worker.interrupted.wait(10)

    ahead = lanes_of(1, ended=lambda worker: None, held=hold, later=begun.append)
    ahead.begin(jobs("ended", "held", "later"))
    running.wait(10)
    ledger = ahead.stop(interrupted)
    # Of two jobs, and the totals of one worker.
    assert ledger.sent == 102 and begun == []
    assert [cell.operation for cell in ledger.cells] == ["ended"] * interrupted


def test_a_job_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "GRACE", 0.01)
    gate, running = threading.Event(), threading.Event()

    def hang(worker: Any) -> None:
        running.set()
        gate.wait(60)

    ahead = lanes_of(1, hanging=hang)
    ahead.begin(jobs("hanging"))
    running.wait(10)
    begin = time.monotonic()
    # The worker still changes, so its totals are left out.
    assert ahead.stop().sent == 0 and time.monotonic() - begin < 5
    gate.set()


@pytest.mark.parametrize(("latency", "count"), [(0.0005, FEWEST), (0.03, 10), (0.15, MOST)])
def test_lanes_by_latency(latency: float, count: int) -> None:
    assert suggested(latency) == count
