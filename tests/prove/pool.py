"""Process pool of the proofs, and their progress display."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

#: Seconds between progress lines if standard error is not a terminal.
PROGRESS = 30.0


def options(parser: argparse.ArgumentParser) -> None:
    """Declares the number of processes."""
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes (default: one for each core)",
    )


def mapped(
    function: Callable[[Job], Result], jobs: Sequence[Job], processes: int, name: str = "", chunk: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Yields each job with its result, in order; shows progress on standard error.

    Jobs and results are pickled: pass names, not objects made by decorators.
    """
    progress = Progress(name, len(jobs))
    if processes == 1:
        for job in jobs:
            yield job, function(job)
            progress.advance()
        return
    with get_context("fork").Pool(processes) as pool:
        for job, result in zip(jobs, pool.imap(function, jobs, chunksize=chunk), strict=True):
            yield job, result
            progress.advance()


class Progress:
    """Counts jobs; shows the count in place on a terminal, otherwise as a line every PROGRESS seconds."""

    def __init__(self, name: str, jobs: int) -> None:
        self._name, self._jobs, self._done = name, jobs, 0
        self._begin = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def advance(self) -> None:
        self._done += 1
        now, last = time.monotonic(), self._done == self._jobs
        if not last and now - self._shown < (0.2 if self._terminal else PROGRESS):
            return
        self._shown = now
        line = f"{self._name or 'jobs'}: {self._done} of {self._jobs}, {now - self._begin:.0f} s"
        end = "\n" if last or not self._terminal else ""
        print(f"\r{line}\x1b[K" if self._terminal else line, end=end, file=sys.stderr, flush=True)
