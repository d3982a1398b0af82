"""Locustfile with the users of `conformance load` that measures CPU time, judged or not.

Each process appends to the file MEASURED its CPU seconds between start and stop of the users, and the number
of their requests. With UNJUDGED set the same requests are sent without judging.
"""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

from locust import events
from locust.env import Environment

from conformance.judge.invariants import Invariants
from conformance.load.history import HistoryRecorder
from conformance.load.locustfile import Administrator, Careless, Payer, Reader, Session
from conformance.load.recorder import Recorder

__all__ = ["Administrator", "Careless", "Payer", "Reader"]


def _holds(*_: Any, **__: Any) -> bool:
    return True


if os.environ.get("UNJUDGED"):
    for owner, names in (
        (Recorder, ("judge", "inspect")),
        (HistoryRecorder, ("judge", "expect")),
        (Invariants, ("inspect",)),
        (Session, ("_by_oracle", "_holds", "_accepted")),
    ):
        for name in names:
            setattr(owner, name, _holds)


@events.init.add_listener  # type: ignore[untyped-decorator]
def _measure(environment: Environment, **_: Any) -> None:
    hooks: Any = environment.events
    requests = itertools.count()
    begun: list[float] = []

    def start(**_: Any) -> None:
        begun[:] = [time.process_time()]

    def stop(**_: Any) -> None:
        with open(os.environ["MEASURED"], "a", encoding="utf-8") as file:
            file.write(f"{time.process_time() - begun[0]} {next(requests)}\n")

    hooks.request.add_listener(lambda **_: next(requests))
    hooks.test_start.add_listener(start)
    # Runs before the report is written.
    hooks.test_stopping._handlers.insert(0, stop)
