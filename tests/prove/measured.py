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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIGURES: dict[str, Any] = {}

#: Thread -> seconds of waiting, answers read, and Unix time of the last one.
WAITED: defaultdict[int, float] = defaultdict(float)
ANSWERS: Counter[int] = Counter()
LAST: dict[int, float] = {}


def waited(seconds: float) -> None:
    WAITED[threading.get_ident()] += seconds


def answered(_: float) -> None:
    ANSWERS[threading.get_ident()] += 1
    LAST[threading.get_ident()] = time.time()


#: Functions that wait for time or an event, or read an answer, and what to do with the seconds of a call. Not
#: Condition.wait: simultaneous requests are waited for by it.
WATCHED: list[tuple[Any, str, Callable[[float], None]]] = [
    (time, "sleep", waited),
    (threading.Event, "wait", waited),
    (threading.Condition, "wait_for", waited),
    (socket.socket, "recv", answered),
]


def watch(owner: Any, name: str, note: Callable[[float], None]) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    def watched(*arguments: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            note(time.perf_counter() - begin)

    setattr(owner, name, watched)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    FIGURES["first test"] = time.time()
    for function in WATCHED:
        watch(*function)


def pytest_unconfigure() -> None:
    """Writes the figures. A lane is a thread that has read many answers: those of a race read few."""
    end, most = max(LAST.values(), default=0.0), max(ANSWERS.values(), default=0)
    FIGURES["last answer"] = end
    FIGURES["idle"] = [WAITED[lane] + end - LAST[lane] for lane in ANSWERS if ANSWERS[lane] > most / 10]
    FIGURES["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    Path(os.environ["SPEED_FIGURES"]).write_text(json.dumps(FIGURES), "utf-8")
