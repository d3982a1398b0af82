"""Jobs run inside their tests, or in lanes ahead of pytest; what was not asked for is not lost, and nothing
holds up the end."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judge.cells import Cell
from conformance.judge.ledger import Ledger
from conformance.plugin import lanes
from conformance.plugin.lanes import Lanes, OneLane
from conformance.plugin.selection import Job
from conformance.plugin.worker import JobOutcome
from conformance.wire.pace import Pace


class Worked:
    """A worker whose jobs call functions, which may return the seconds until they are called again."""

    def __init__(self, number: int, functions: dict[str, Callable[[Any], Any]]) -> None:
        self.number, self.functions = number, functions
        self.lane: Any = self
        self.pauses: list[float] = []
        self.busy = False
        self.interrupted = threading.Event()

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def steps(self, job: Job) -> Generator[float, None, JobOutcome]:
        self.busy = True
        while (seconds := self.functions[job.parameter](self)) is not None:
            self.busy = False
            yield seconds
            self.busy = True
        self.busy = False
        cells = [Cell("auth.signature", job.parameter)]
        return JobOutcome(Ledger(sent=1, lost=f"{self.number}", cells=cells))

    def interrupt(self) -> None:
        self.interrupted.set()

    def totals(self) -> Ledger:
        return Ledger(sent=100)


class Judged:
    """A check, or one that looks for crashes, or a `generated` test; `waits` or not, `early` or not."""

    last = False

    def __init__(self, name: str, waits: bool, early: bool, generated: bool) -> None:
        self.name, self.waits, self.early, self.generated = name, waits, early, generated


def nothing(worker: Any) -> None:
    """The function of a job that does nothing."""


def noting(notes: list[str], name: str, *pauses: float) -> Callable[[Any], float | None]:
    """The function of a job that notes its calls, and waits between them."""
    left = iter(pauses)

    def call(worker: Any) -> float | None:
        notes.append(name)
        return next(left, None)

    return call


def lanes_of(count: int, **functions: Callable[[Any], Any]) -> Lanes:
    return Lanes(lambda number: Worked(number, functions), Pace(lanes=count))  # type: ignore[arg-type, return-value]


def one_lane(**functions: Callable[[Any], Any]) -> tuple[OneLane, Worked]:
    worker = Worked(0, functions)
    return OneLane(worker), worker  # type: ignore[arg-type]


def jobs(*names: str, waits: bool = False, early: bool = False, generated: bool = False) -> dict[str, Any]:
    return {name: Job(Judged(name, waits, early, generated), name) for name in names}  # type: ignore[arg-type]


def test_jobs_run_at_once_each_on_a_worker_of_its_own() -> None:
    barrier = threading.Barrier(3)

    def meet(worker: Any) -> None:
        barrier.wait(60)

    ahead, three = lanes_of(3, a=meet, b=meet, c=meet), jobs(*"abc")
    ahead.begin(three)
    outcomes = [ahead.outcome(name, job) for name, job in three.items()]
    assert {outcome.ledger.lost for outcome in outcomes} == {"0", "1", "2"}


def test_one_lane_runs_a_job_where_it_is_asked_for() -> None:
    """So it runs inside its test: in the thread of pytest, with its fixtures, under its debugger."""
    threads: list[object] = []
    lane, _ = one_lane(a=lambda worker: threads.append(threading.current_thread()))
    lane.begin(jobs("a"))
    assert not threads
    assert lane.outcome("a", jobs("a")["a"]).ledger.sent == 1
    assert threads == [threading.main_thread()]


def stopped(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stops the clock of lanes; returns its seconds."""
    clock = [0.0]
    monkeypatch.setattr(lanes, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_one_lane_begins_with_checks_that_wait_whose_waits_pass_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped(monkeypatch)
    order: list[str] = []
    lane, worker = one_lane(
        first=noting(order, "first", 60.0, 5.0), second=noting(order, "second", 0.0), other=noting(order, "o")
    )
    three = jobs("other") | jobs("first", "second", waits=True)
    lane.begin(three)
    assert [lane.outcome(name, job).ledger.sent for name, job in three.items()] == [1, 1, 1]
    # The second goes on before others, as its wait is over.
    assert order == ["first", "second", "second", "o", "first", "first"]
    assert worker.pauses[1:3] == [60, 5]


def slow_step(monkeypatch: pytest.MonkeyPatch, order: list[str]) -> dict[str, Callable[[Any], Any]]:
    """Functions of two jobs that take 100 s each, by a clock of their own; the first waits for 60 s."""
    clock, pauses = stopped(monkeypatch), iter((60.0,))

    def step(name: str, worker: Any) -> float | None:
        order.append(name)
        clock[0] += 100
        return next(pauses, None)

    return {name: functools.partial(step, name) for name in ("slow", "other")}


def test_a_wait_begins_where_the_step_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow server, or at a low rate, the requests of a step may take longer than the wait after it."""
    lane, worker = one_lane(**slow_step(monkeypatch, []))
    lane.begin(jobs("slow", waits=True))
    lane.outcome("slow", jobs("slow", waits=True)["slow"])
    assert worker.pauses == [60.0]
    order: list[str] = []
    ahead, two = lanes_of(1, **slow_step(monkeypatch, order)), jobs("slow", "other")
    ahead.begin(two)
    for name, job in two.items():
        ahead.outcome(name, job)
    assert order == ["slow", "other", "slow"]


def test_one_lane_tells_at_the_end_what_nobody_asked_for() -> None:
    for interrupted in (True, False):
        lane, _ = one_lane(ended=noting([], "ended"), waiting=noting([], "waiting", 60.0))
        lane.begin(jobs("ended", "waiting", waits=True))
        ledger = lane.stop(interrupted)
        # Of a job, and the totals of the worker.
        assert ledger.sent == 101
        assert [cell.operation for cell in ledger.cells] == ["ended"] * interrupted


def test_a_job_that_was_not_begun_runs_when_it_is_asked_for_and_again() -> None:
    ran: list[int] = []
    functions = {"a": lambda worker: ran.append(1)}
    for all_lanes in (lanes_of(2, **functions), one_lane(**functions)[0]):
        for _ in range(2):
            assert all_lanes.outcome("a", jobs("a")["a"]).ledger.sent == 1
    assert ran == [1] * 4


def test_an_exception_of_a_worker_is_raised_where_its_outcome_is_asked_for() -> None:
    def fails(worker: Any) -> None:
        raise ValueError("no")

    ahead, two = lanes_of(1, bad=fails, good=nothing), jobs("bad", "good")
    ahead.begin(two)
    with pytest.raises(ValueError, match="no"):
        ahead.outcome("bad", two["bad"])
    assert ahead.outcome("good", two["good"]).ledger.sent == 1


def test_checks_that_wait_begin_first_and_their_waits_pass_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While one waits, its lane runs other jobs."""
    order, clock = list[str](), stopped(monkeypatch)

    def other(worker: Any) -> None:
        order.append("other")
        clock[0] += 60

    ahead = lanes_of(1, first=noting(order, "a", 60.0), second=noting(order, "b", 60.0), other=other)
    three = jobs("other") | jobs("first", "second", waits=True)
    ahead.begin(three)
    assert [ahead.outcome(name, job).ledger.sent for name, job in three.items()] == [1, 1, 1]
    assert order == ["a", "b", "other", "a", "b"]


def test_several_lanes_begin_with_what_others_wait_for_and_end_with_what_may_crash_a_server() -> None:
    five = jobs("test_hostile", "other") | jobs("generated", generated=True)
    five |= jobs("early", early=True) | jobs("waits", waits=True)
    order = sorted(five.values(), key=lambda job: job.turn)
    assert [job.parameter for job in order] == ["waits", "early", "other", "generated", "test_hostile"]


def test_a_wait_ends_with_the_run() -> None:
    ahead = lanes_of(1, first=noting([], "first", 60.0), other=nothing)
    two = jobs("first", waits=True) | jobs("other")
    ahead.begin(two)
    assert ahead.outcome("other", two["other"]).ledger.sent == 1
    # The worker's totals have what the other sent.
    assert ahead.stop(False).sent == 100


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_stop_interrupts_what_runs_and_counts_what_nobody_asked_for(interrupted: bool) -> None:
    """Nothing begins after it; an interrupted run keeps the cells of jobs that have ended."""
    running = threading.Event()
    begun: list[object] = []

    def hold(worker: Any) -> None:
        running.set()
        assert worker.interrupted.wait(60)

    ahead = lanes_of(1, ended=nothing, held=hold, later=begun.append)
    ahead.begin(jobs("ended", "held", "later"))
    running.wait(60)
    ledger = ahead.stop(interrupted)
    # Of two jobs, and the totals of one worker.
    assert ledger.sent == 102 and begun == []
    assert [cell.operation for cell in ledger.cells] == ["ended"] * interrupted


def test_a_job_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "GRACE", 0.01)
    gate, running, ended = threading.Event(), threading.Event(), threading.Event()

    def hang(worker: Any) -> None:
        running.set()
        gate.wait(60)
        ended.set()

    ahead = lanes_of(1, hanging=hang)
    ahead.begin(jobs("hanging"))
    running.wait(60)
    # The worker still changes, so its totals are left out; it hangs until the end has come.
    assert ahead.stop(False).sent == 0 and not ended.is_set()
    gate.set()


def test_lanes_are_added_and_end_as_the_pace_says() -> None:
    pace = Pace(lanes=1)
    ran: list[int] = []

    def add(worker: Any) -> None:
        pace.lanes = 3

    def meet(worker: Any) -> None:
        barrier.wait(60)
        ran.append(worker.number)

    barrier = threading.Barrier(3)
    functions = {"add": add, "a": meet, "b": meet, "c": meet}
    ahead = Lanes(lambda number: Worked(number, functions), pace)  # type: ignore[arg-type, return-value]
    four = jobs("add", "a", "b", "c")
    ahead.begin(four)
    for name, job in four.items():
        ahead.outcome(name, job)
    assert sorted(ran) == [0, 1, 2]
    pace.lanes, barrier = 1, threading.Barrier(1)
    ahead.begin(jobs(*"abc"))
    for name, job in jobs(*"abc").items():
        ahead.outcome(name, job)
    # One worker, of those that there were.
    assert len(set(ran[3:])) == 1 and ran[3] in ran[:3]
