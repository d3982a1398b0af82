"""Measures a run, as a pytest plugin: `-p tests.prove.measured`.

Writes JSON to the file SPEED_FIGURES: the Unix times of the first test and of the last answer, the peak of
memory in bytes, and the seconds in which each lane waited for time or an event, or had ended before the
others.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import socket
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

#: Thread -> seconds of waiting, answers read, and Unix time of the last one.
WAITED: defaultdict[int, float] = defaultdict(float)
ANSWERS: Counter[int] = Counter()
LAST: dict[int, float] = {}
TIMES: dict[str, float] = {}

_WAITING = threading.local()


def measure(owner: Any, name: str) -> None:
    """Adds the time in a function that waits; one that calls another counts once."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def timed(*arguments: Any, **named: Any) -> Any:
        if getattr(_WAITING, "now", False):
            return function(*arguments, **named)
        _WAITING.now, begin = True, time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            _WAITING.now = False
            WAITED[threading.get_ident()] += time.perf_counter() - begin

    setattr(owner, name, timed)


def watch_answers() -> None:
    """Notes when a thread has read from a socket."""
    receive = socket.socket.recv

    @functools.wraps(receive)
    def received(*arguments: Any) -> bytes:
        try:
            return receive(*arguments)
        finally:
            thread = threading.get_ident()
            ANSWERS[thread] += 1
            LAST[thread] = time.time()

    socket.socket.recv = received  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    TIMES["first test"] = time.time()
    # Not Condition.wait: simultaneous requests are waited for by it.
    for owner, name in ((time, "sleep"), (threading.Event, "wait"), (threading.Condition, "wait_for")):
        measure(owner, name)
    watch_answers()


def pytest_unconfigure() -> None:
    """Writes the figures. A lane is a thread that has read many answers: those of a race read few."""
    most = max(ANSWERS.values(), default=0)
    lanes = [thread for thread, answers in ANSWERS.items() if answers > most / 10]
    end = max(LAST.values(), default=0.0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    idle = [WAITED[lane] + end - LAST[lane] for lane in lanes]
    Path(os.environ["SPEED_FIGURES"]).write_text(
        json.dumps({**TIMES, "last answer": end, "idle": idle, "memory": memory}), "utf-8"
    )
