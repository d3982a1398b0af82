"""The processes that proofs share their work among, and the line that shows progress."""

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

#: Seconds between two progress lines where standard error is no terminal.
PROGRESS = 30.0


def options(parser: argparse.ArgumentParser) -> None:
    """Declares how many processes share the work."""
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that share the work (default: one a core)",
    )


def mapped(
    function: Callable[[Job], Result], jobs: Sequence[Job], processes: int, name: str = "", chunk: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order of the jobs; progress goes to standard error.

    Jobs and results travel between processes: jobs are names rather than objects made by decorators.
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
    """Counts jobs and shows the count: in place on a terminal, else on a new line every PROGRESS seconds."""

    def __init__(self, name: str, jobs: int) -> None:
        self._name, self._jobs, self._done = name, jobs, 0
        self._begin = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def advance(self) -> None:
        """Counts one job."""
        self._done += 1
        now, last = time.monotonic(), self._done == self._jobs
        if not last and now - self._shown < (0.2 if self._terminal else PROGRESS):
            return
        self._shown = now
        line = f"{self._name or 'jobs'}: {self._done} of {self._jobs}, {now - self._begin:.0f} s"
        end = "\n" if last or not self._terminal else ""
        print(f"\r{line}\x1b[K" if self._terminal else line, end=end, file=sys.stderr, flush=True)
