"""Threads that take turns computing are bound to one processor."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance._threads import pin_to_processor

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system has no affinity of threads"
)


def _affinity(number: int | None = None) -> set[int]:
    pin_to_processor(number)
    return os.sched_getaffinity(0)


def test_threads_keep_to_a_processor_and_so_do_those_that_they_start() -> None:
    with ThreadPoolExecutor(1) as outer:
        kept = outer.submit(_affinity, 1).result()
        with outer.submit(ThreadPoolExecutor, 1).result() as inner:
            inherited = outer.submit(lambda: inner.submit(_affinity).result()).result()
    assert len(kept) == 1
    assert inherited == kept


def test_the_main_thread_keeps_all_processors() -> None:
    assert threading.current_thread() is threading.main_thread()
    before = os.sched_getaffinity(0)
    assert _affinity() == before


def test_processors_that_a_container_withholds_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: int, processors: set[int]) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_affinity).result() == os.sched_getaffinity(0)
