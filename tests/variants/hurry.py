"""Fake clock for tests of eventual consistency."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from unittest import mock


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Makes `time.sleep` advance the clocks of this process, for all threads, instead of waiting."""
    lock = threading.Lock()
    ahead = 0.0
    real = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter", "time_ns")}

    def sleep(seconds: float) -> None:
        nonlocal ahead
        with lock:
            ahead += max(0.0, seconds)

    def seconds_of(name: str) -> object:
        return lambda: real[name]() + ahead

    clocks = {name: seconds_of(name) for name in ("time", "monotonic", "perf_counter")}
    clocks["time_ns"] = lambda: real["time_ns"]() + int(ahead * 1e9)
    with contextlib.ExitStack() as stack:
        for name, clock in {**clocks, "sleep": sleep}.items():
            stack.enter_context(mock.patch.object(time, name, clock))
        yield
