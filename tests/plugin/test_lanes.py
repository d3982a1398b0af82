"""Lanes run ahead, and whoever asks for results notices nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from conformance.plugin.lanes import MOST, Lanes, shares, suggested


def lanes(count: int) -> Lanes[int, str]:
    return Lanes(count, lambda lane: lane)


def answer(text: str) -> Callable[[int], str]:
    return lambda lane: text


def test_results_come_by_key_in_any_order() -> None:
    made = lanes(3)
    made.start([(str(number), 0.0, answer(f"result {number}")) for number in range(20)])
    assert [made.result(str(number)) for number in range(20)] == [f"result {number}" for number in range(20)]
    made.stop()


def test_jobs_run_at_once_each_on_a_worker_of_its_own() -> None:
    barrier, seen = threading.Barrier(4), set()

    def meet(lane: int) -> str:
        barrier.wait(10)
        seen.add(lane)
        return "met"

    made = lanes(4)
    made.start([(str(number), 0.0, meet) for number in range(4)])
    assert [made.result(str(number)) for number in range(4)] == ["met"] * 4
    assert seen == {0, 1, 2, 3} == set(made.workers)


def test_heaviest_job_begins_first_but_who_is_asked_for_is_next() -> None:
    order: list[str] = []
    gate, running = threading.Event(), threading.Event()

    def first(lane: int) -> str:
        running.set()
        gate.wait(10)
        return noted("heavy")(lane)

    def noted(name: str) -> Callable[[int], str]:
        def run(lane: int) -> str:
            order.append(name)
            return name

        return run

    made = lanes(1)
    made.start([("light", 1.0, noted("light")), ("middle", 2.0, noted("middle")), ("heavy", 3.0, first)])
    running.wait(10)
    asked = threading.Thread(target=made.result, args=("light",))
    asked.start()
    while made._waiting[0] is not made._jobs["light"]:
        threading.Event().wait(0.001)
    gate.set()
    asked.join(10)
    made.result("middle")
    assert order == ["heavy", "light", "middle"]


def test_what_a_job_raises_reaches_who_asks() -> None:
    def fails(lane: int) -> str:
        raise ValueError("no")

    made = lanes(2)
    made.start([("bad", 0.0, fails), ("good", 0.0, answer("good"))])
    with pytest.raises(ValueError, match="no"):
        made.result("bad")
    assert made.result("good") == "good"


def test_nothing_begins_after_a_stop() -> None:
    gate, running, begun = threading.Event(), threading.Event(), []

    def wait(lane: int) -> str:
        running.set()
        gate.wait(10)
        return "done"

    def begin(lane: int) -> str:
        begun.append(lane)
        return ""

    made = lanes(1)
    made.start([("running", 1.0, wait), ("waiting", 0.0, begin)])
    running.wait(10)
    threading.Timer(0.05, gate.set).start()
    made.stop()
    assert made.result("running") == "done" and begun == []
    with pytest.raises(RuntimeError, match="stopped"):
        made.result("waiting")


@pytest.mark.parametrize(
    ("latency", "processes", "count"),
    [(0.0005, 1, 1), (0.002, 1, 1), (0.03, 1, 10), (0.15, 1, MOST), (0.15, 4, 4), (0.03, 64, 1)],
)
def test_lanes_by_latency(latency: float, processes: int, count: int) -> None:
    assert suggested(latency, processes) == count


def test_shares_are_of_one_weight_and_hold_everything() -> None:
    weights = [5.0, 1.0, 4.0, 2.0, 3.0, 3.0]
    parts = shares(weights, 3)
    assert sorted(index for part in parts for index in part) == list(range(6))
    assert {sum(weights[index] for index in part) for part in parts} == {6.0}
    assert shares(weights, 3) == parts and shares([], 2) == [[], []]
