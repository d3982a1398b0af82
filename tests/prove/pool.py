"""Process pool of the proofs, which shows their progress."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

#: Seconds between lines of progress.
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
    function: Callable[[Job], Result], jobs: Sequence[Job], processes: int, name: str, chunk: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Yields each job with its result, in order; shows progress on standard error.

    Jobs and results are pickled: pass names, not objects made by decorators.
    """
    with get_context("fork").Pool(processes) if processes > 1 else contextlib.nullcontext() as pool:
        results = map(function, jobs) if pool is None else pool.imap(function, jobs, chunksize=chunk)
        begin = last = time.monotonic()
        for number, (job, result) in enumerate(zip(jobs, results, strict=True), 1):
            yield job, result
            now = time.monotonic()
            if now - last > PROGRESS or number == len(jobs):
                print(f"{name}: {number} of {len(jobs)}, {now - begin:.0f} s", file=sys.stderr, flush=True)
                last = now
