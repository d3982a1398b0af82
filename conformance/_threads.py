"""Processors that threads run on."""

from __future__ import annotations

import os
import threading
from contextlib import suppress


def keep_to_one_processor(number: int | None = None) -> None:
    """Keeps the calling thread, and those that it starts, to one of its processors, counted from a number: by
    default that of the process.

    Threads of one interpreter compute in turns. A turn on another processor begins later and finds nothing in
    its cache: requests of a race are then sent two to five times as far apart, and lanes take a quarter
    longer. Does nothing in the first thread of a process, in which other tests run, too, and on systems
    without an affinity of threads.
    """
    if not hasattr(os, "sched_setaffinity") or threading.get_native_id() == os.getpid():
        return
    allowed = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        os.sched_setaffinity(0, {allowed[(os.getpid() if number is None else number) % len(allowed)]})
