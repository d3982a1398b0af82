"""Measures the phases of a run, as a pytest plugin: `-p tests.benchmarks.phases`.

Writes JSON to the file BENCHMARK_PHASES: seconds by phase, and the Unix times of the first test and of the
last answer. BENCHMARK_BEGAN is the Unix time of the command's start. Only the main thread is measured, so the
run must use one lane and one process.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

#: Phases in order. `waited` is time in sockets and sleeps; `end` is the time after the last test without
#: reports, to which the parent process adds the seconds after pytest's last hook.
PHASES = ("start", "collection", "waited", "client", "judging", "handing on", "pytest", "reports", "end")


class Clock:
    """Assigns elapsed time to the innermost active phase."""

    def __init__(self, began: float) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.seconds["start"] = time.time() - began
        #: CPU seconds by phase.
        self.used: dict[str, float] = {**dict.fromkeys(PHASES, 0.0), "start": time.process_time()}
        self.times: dict[str, float] = {}
        self._stack = ["start"]
        self._last = self._now()

    def mark(self) -> None:
        """Assigns the time since the last mark."""
        phase, (now, used), (then, before) = self._stack[-1], self._now(), self._last
        self.seconds[phase] += now - then
        self.used[phase] += used - before
        self._last = now, used

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def follow(self, phase: str) -> None:
        """Replaces the outermost phase."""
        self.mark()
        self._stack[0] = phase

    def patch(self, owner: Any, name: str, phase: str) -> None:
        """Measures a function as a phase."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != _MAIN:
                return function(*arguments, **named)
            self.mark()
            self._stack.append(phase)
            if phase == "judging":
                self.times.setdefault("first test", time.time())
            try:
                return function(*arguments, **named)
            finally:
                self.mark()
                self._stack.pop()
                if phase == "waited":
                    self.times["last answer"] = time.time()

        setattr(owner, name, timed)


_MAIN = threading.get_ident()
CLOCK = Clock(float(os.environ.get("BENCHMARK_BEGAN", time.time())))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    CLOCK.follow("collection")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop() -> Generator[None, Any, Any]:
    """Patches the measured functions, which are imported by now."""
    from conformance.plugin import controller, execution, worker
    from conformance.wire import client

    for owner, name, phase in (
        (socket.socket, "recv", "waited"),
        (socket.socket, "connect", "waited"),
        (time, "sleep", "waited"),
        (client.Client, "send", "client"),
        (client.Client, "transmit", "client"),
        (client.Client, "race", "client"),
        (client.Client, "watch", "judging"),
        (execution.Executor, "run", "judging"),
        (worker.Worker, "ledger", "handing on"),
        (controller.Controller, "take", "handing on"),
        (controller.Controller, "finish", "reports"),
    ):
        CLOCK.patch(owner, name, phase)
    CLOCK.follow("pytest")
    result = yield
    CLOCK.follow("end")
    return result


def pytest_unconfigure() -> None:
    """Writes the results."""
    CLOCK.mark()
    figures = {"seconds": CLOCK.seconds, "used": CLOCK.used, **CLOCK.times, "written": time.time()}
    Path(os.environ["BENCHMARK_PHASES"]).write_text(json.dumps(figures), "utf-8")
