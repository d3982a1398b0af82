"""Processor affinity of threads."""

from __future__ import annotations

import os
import threading
from contextlib import suppress


def pin_to_processor(number: int | None = None) -> None:
    """Pins the calling thread, and those it starts, to one of its processors: number modulo count, by default
    the process id.

    Threads of one interpreter run in turns because of its global lock. On several processors each turn starts
    later and with a cold cache: the requests of a race are sent two to five times as far apart, and lanes
    take a quarter longer. Does nothing in the main thread, in which other tests run, and on systems without
    thread affinity.
    """
    if not hasattr(os, "sched_setaffinity") or threading.get_native_id() == os.getpid():
        return
    allowed = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        os.sched_setaffinity(0, {allowed[(os.getpid() if number is None else number) % len(allowed)]})
