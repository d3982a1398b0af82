"""Lanes execute jobs ahead of time; results and exceptions arrive as from a direct call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError

import pytest

from conformance.plugin import known, lanes
from conformance.plugin.execution import share
from conformance.plugin.known import LAST, for_lanes, late
from conformance.plugin.lanes import FEWEST, MOST, Lanes, generated_time, shares, suggested


def answer(text: str) -> Callable[[int], str]:
    return lambda lane: text


def test_each_job_has_its_result() -> None:
    made = Lanes[int](3, lambda lane: lane)
    futures = [made.submit(answer(f"result {number}")) for number in range(20)]
    assert [future.result() for future in futures] == [f"result {number}" for number in range(20)]
    made.stop()


def test_jobs_run_at_once_each_on_a_worker_of_its_own() -> None:
    barrier, seen = threading.Barrier(4), set()

    def meet(lane: int) -> str:
        barrier.wait(10)
        seen.add(lane)
        return "met"

    made = Lanes[int](4, lambda lane: lane)
    futures = [made.submit(meet) for _ in range(4)]
    assert [future.result() for future in futures] == ["met"] * 4
    assert seen == {0, 1, 2, 3} == set(made.workers)


def test_jobs_begin_in_their_order() -> None:
    order: list[str] = []
    made = Lanes[int](1, lambda lane: lane)
    futures = [made.submit(lambda lane, name=name: order.append(name)) for name in "abc"]  # type: ignore[misc]
    futures[-1].result()
    assert order == ["a", "b", "c"]


def test_exceptions_of_a_job_are_raised_by_its_future() -> None:
    def fails(lane: int) -> str:
        raise ValueError("no")

    made = Lanes[int](2, lambda lane: lane)
    bad, good = made.submit(fails), made.submit(answer("good"))
    with pytest.raises(ValueError, match="no"):
        bad.result()
    assert good.result() == "good"


def test_another_lane_runs_the_job_of_a_lane_that_leaves() -> None:
    barrier, met = threading.Barrier(2), threading.Event()

    def meet(lane: int) -> int:
        if not met.is_set():
            barrier.wait(10)
            met.set()
        return lane

    made = Lanes[int](2, lambda lane: lane, leaves=lambda lane, other: lane == 1 and other == 0)
    assert [future.result(10) for future in [made.submit(meet) for _ in range(9)]] == [0] * 9


def test_the_last_lane_stays() -> None:
    made = Lanes[int](3, lambda lane: lane, leaves=lambda lane, other: True)
    assert len([future.result(10) for future in [made.submit(answer("done")) for _ in range(9)]]) == 9


def test_an_exception_in_leaves_is_raised_by_the_future() -> None:
    barrier = threading.Barrier(2)
    made = Lanes[int](2, lambda lane: lane, leaves=lambda lane, other: bool(1 / 0))
    with pytest.raises(ZeroDivisionError):
        [future.result(10) for future in [made.submit(lambda lane: barrier.wait(10)) for _ in range(2)]]


def test_nothing_begins_after_a_stop() -> None:
    gate, running = threading.Event(), threading.Event()
    begun: list[int] = []

    def hold(lane: int) -> str:
        running.set()
        gate.wait(10)
        return "done"

    made = Lanes[int](1, lambda lane: lane)
    first, second = made.submit(hold), made.submit(begun.append)
    running.wait(10)
    threading.Timer(0.05, gate.set).start()
    made.stop()
    assert first.result() == "done" and begun == []
    with pytest.raises(CancelledError):
        second.result()


def test_a_job_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "GRACE", 0.01)
    gate, running = threading.Event(), threading.Event()

    def hang(lane: int) -> None:
        running.set()
        gate.wait(60)

    made = Lanes[int](1, lambda lane: lane)
    future = made.submit(hang)
    running.wait(10)
    made.stop()
    assert not future.done()
    gate.set()


@pytest.mark.parametrize(
    ("latency", "processes", "count"),
    [(0.0005, 1, FEWEST), (0.002, 2, 2), (0.03, 1, 10), (0.15, 1, MOST), (0.15, 4, 8), (0.03, 64, 1)],
)
def test_lanes_by_latency(latency: float, processes: int, count: int) -> None:
    assert suggested(latency, processes) == count


def test_shares_are_of_one_weight_and_hold_everything() -> None:
    weights = [5.0, 1.0, 4.0, 2.0, 3.0, 3.0]
    parts = shares(weights, 3)
    assert sorted(index for part in parts for index in part) == list(range(6))
    assert {sum(weights[index] for index in part) for part in parts} == {6.0}
    assert shares(weights, 3) == parts and shares([], 2) == [[], []]


# ---------------------------------------------------------------------- tests of a run

NODES = [
    "conformance/checks/test_hostile.py::test_hostile_bodies[createAccount]",
    "conformance/checks/test_accepted.py::test_valid_bodies_are_accepted[createAccount]",
    "conformance/fuzz/test_fuzz.py::test_schema_fuzzing[createAccount]",
    "conformance/checks/test_idempotency.py::test_replay[createPayout]",
]


def test_tests_that_may_crash_a_server_come_last() -> None:
    assert [late(node) for node in NODES] == [
        LAST.index("test_hostile") + 1,
        0,
        LAST.index("test_fuzz") + 1,
        0,
    ]
    assert set(for_lanes(NODES, 2)[:2]) == {NODES[1], NODES[3]}


def test_every_test_belongs_to_one_process() -> None:
    parts = [share(NODES, process, 2) for process in range(2)]
    assert sorted(parts[0] + parts[1]) == [0, 1, 2, 3]
    assert share(NODES, 2, 2) == []


def test_tests_that_share_set_up_stay_together() -> None:
    nodes = [f"checks/test_money.py::test_{number}[{on}]" for number in range(9) for on in ("a", "b")]
    for process in range(2):
        assert len({nodes[index][-3:] for index in share(nodes, process, 2)}) == 1


def test_generated_requests_stay_in_few_processes() -> None:
    nodes = list(known.tests())
    explorations = {index for index, node in enumerate(nodes) if known.generated(node)}
    for processes, generated, several in (
        (2, generated_time(0.001), 1),
        (4, 5.5, 2),
        (2, 20.0, 2),
    ):
        parts = [set(share(nodes, process, processes, generated)) for process in range(processes)]
        assert sorted(index for part in parts for index in part) == list(range(len(nodes)))
        assert sum(bool(part & explorations) for part in parts) == several
