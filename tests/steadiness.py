"""Do verdicts stay the same? `python -m tests.steadiness --runs N`, from the root of a checkout.

Runs the whole default suite, as a user starts it, again and again: on the reference server and on conforming
servers whose choices are drawn at random, each server in a new process with nothing in it, each run with
another seed, with one and with two workers, with and without every core kept busy by other work. Of all runs
on one server every rule must have the same verdict on every operation. Prints each that differed, and how
many. Exit status 1 says that one did, or that a conforming server was blamed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from tests.support.running import run, write_target
from tests.variants.catalogue import VARIANTS, Variant, drawn

#: Workers of a run, and whether every core is busy beside it.
CONDITIONS = tuple(itertools.product((1, 2), (False, True)))

#: Verdicts that no conforming server may get.
BLAMED = ("failed", "warning", "error")

#: Seconds that one run may take.
LONGEST = 1800.0

#: Rule and operation.
Cell = tuple[str, str]


@dataclass(frozen=True)
class Job:
    """One run: its server (0: the reference, else the seed of a drawn one), seed and conditions."""

    server: int
    seed: int
    workers: int
    busy: bool

    def __str__(self) -> str:
        name = f"drawn {self.server}" if self.server else "reference"
        return f"{name}, seed {self.seed}, -n {self.workers}, {'busy' if self.busy else 'idle'} machine"


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = _parser().parse_args(arguments)
    seen: dict[tuple[int, Cell], dict[str, list[Job]]] = defaultdict(lambda: defaultdict(list))
    runs = blamed = 0
    # Whoever stops it learns what is known so far.
    with contextlib.suppress(KeyboardInterrupt):
        for job in itertools.islice(_jobs(options.first), options.runs):
            begin = time.monotonic()
            verdicts, status, output = _verdicts(job, options.options)
            runs += 1
            wrong = sorted(cell for cell, verdict in verdicts.items() if verdict in BLAMED)
            blamed += len(wrong) or not verdicts
            if not verdicts:
                print(f"{job}: no results:\n{output[-2000:]}")
            for cell, verdict in verdicts.items():
                seen[job.server, cell][verdict].append(job)
            told = "".join(f"\n  blamed: {rule} on {operation}" for rule, operation in wrong)
            took = time.monotonic() - begin
            print(
                f"run {runs}: {job}: {len(verdicts)} verdicts, exit {status}, {took:.0f} s{told}", flush=True
            )
    differing = {place: kinds for place, kinds in seen.items() if len(kinds) > 1}
    for (_, (rule, operation)), kinds in differing.items():
        shown = "; ".join(f"{verdict} in {len(jobs)} (as {jobs[0]})" for verdict, jobs in kinds.items())
        print(f"differs: {rule} on {operation}: {shown}")
    print(
        f"{runs} runs: {len(differing)} of {len(seen)} verdicts differed, {blamed} blamed a conforming server"
    )
    return 1 if differing or blamed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.steadiness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=8, metavar="N", help="so many runs (default 8)")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed (default 1)")
    parser.add_argument("options", nargs="*", help="further options of the suite, after --")
    return parser


def _jobs(first: int) -> Iterator[Job]:
    """The runs in their order: every server under all conditions before the next."""
    seeds = itertools.count(first)
    for server in itertools.count():
        for workers, busy in CONDITIONS:
            yield Job(server, next(seeds), workers, busy)


def _verdicts(job: Job, options: list[str]) -> tuple[dict[Cell, str], int, str]:
    """The verdict of each rule on each operation, the exit status, and what the run printed."""
    with tempfile.TemporaryDirectory() as name, _serving(job.server, Path(name)) as target:
        with _busy() if job.busy else contextlib.nullcontext():
            outcome = run(
                "--target",
                str(target),
                "--seed",
                str(job.seed),
                "-n",
                str(job.workers),
                *options,
                folder=Path(name) / "reports",
                timeout=LONGEST,
            )
        try:
            cells = outcome.results["cells"]
        except (OSError, ValueError):
            return {}, outcome.status, outcome.output
        verdicts = {(cell["rule"], cell["operation"]): str(cell["verdict"]) for cell in cells}
        return verdicts, outcome.status, outcome.output


# ---------------------------------------------------------------------- the server, and other work


@contextlib.contextmanager
def _serving(server: int, folder: Path) -> Iterator[Path]:
    """Serves from a new process; gives the target file."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(server, str(folder), theirs), daemon=True)
    process.start()
    try:
        yield Path(ours.recv())
    finally:
        process.terminate()
        process.join()


def _serve(number: int, folder: str, ready: Connection) -> None:
    variant: Variant = drawn(number) if number else VARIANTS[0]
    server, seeded = new_server(variant.behaviour(), variant.clock)
    with served(server, threads=True) as url:
        ready.send(str(write_target(Path(folder) / "target.toml", target_tables(seeded, url))))
        while True:
            time.sleep(3600)


@contextlib.contextmanager
def _busy() -> Iterator[None]:
    """Keeps every core busy."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, daemon=True) for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _work() -> None:
    number = 0
    while True:
        number += 1


if __name__ == "__main__":
    sys.exit(main())
