"""Repeats whole runs: seeds, workers, lanes and a busy machine change no verdict.

Runs the whole default suite, as a user starts it, again and again: on the reference server and on conforming
servers whose choices are drawn at random, each server in a new process with nothing in it, each run with
another seed, with one and with two workers, in one lane and in several, with and without every core kept busy
by other work. Of all runs on one server every rule must have the same verdict on every operation. Prints each
that differs at once, and how many did. The reports of a run that differs or blames somebody are kept, replay
files included, with those of the first run on its server. Not proven: a verdict differed, a conforming server
was blamed, or a run came to nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from tests.prove import pool, selection
from tests.support.running import run, write_target
from tests.variants.catalogue import VARIANTS, Variant, drawn
from tests.variants.policies import DailyLimit, FewOfEach

#: Workers of a run, and whether every core is busy beside it.
CONDITIONS = tuple(itertools.product((1, 2), (False, True)))

#: Lanes of a run, in turns; 0: as many as the run itself finds useful.
LANES = (1, 6, 0)

#: Choices that drawn servers do without here: what is left of a limit that is smaller than a run depends on
#: which check came first, and with it what cannot be judged any more.
LEFT_OUT = (DailyLimit, FewOfEach)

#: Verdicts that no conforming server may get.
BLAMED = ("failed", "warning", "error")

#: Exit statuses of runs on a conforming server: it conforms, or could not be judged in all.
FINE = (0, 6)

#: Seconds that one run may take.
LONGEST = 1800.0

#: Rule and operation.
Case = tuple[str, str]


@dataclass(frozen=True)
class Job:
    """One run: its server (0: the reference, else the seed of a drawn one), seed and conditions."""

    server: int
    seed: int
    workers: int
    busy: bool
    lanes: int

    def __str__(self) -> str:
        name = f"drawn {self.server}" if self.server else "reference"
        lanes = f", {self.lanes} lanes" if self.lanes else ""
        machine = "busy" if self.busy else "idle"
        return f"{name}, seed {self.seed}, -n {self.workers}{lanes}, {machine} machine"


@dataclass
class Ran:
    """What a run came to: the verdict and summary of each case, how it ended, and where its reports are."""

    job: Job
    verdicts: dict[Case, tuple[str, str]]
    errors: list[str]
    status: int
    output: str
    folder: Path

    @property
    def blamed(self) -> list[Case]:
        """The cases by which a conforming server is blamed."""
        return sorted(case for case, (verdict, _) in self.verdicts.items() if verdict in BLAMED)

    @property
    def failed(self) -> bool:
        """Whether it came to nothing, or ended as no run on a conforming server may."""
        return not self.verdicts or self.status not in FINE or bool(self.errors)


@dataclass
class Tally:
    """What all runs came to until now. Reports that show something are kept in `folder`."""

    folder: Path
    runs: int = 0
    compared: int = 0
    blamed: int = 0
    failed: int = 0
    differing: dict[tuple[int, Case], set[str]] = field(default_factory=dict)
    _first: dict[int, Ran] = field(default_factory=dict)

    def take(self, ran: Ran) -> list[str]:
        """Compares a run with the first one on its server; gives what there is to say, a line each."""
        return list(self._take(ran))

    def _take(self, ran: Ran) -> Iterator[str]:
        self.runs += 1
        first = self._first.setdefault(ran.job.server, ran)
        for case in ran.blamed:
            yield f"  blamed: {_named(case)}: {ran.verdicts[case][1]}"
        for error in ran.errors:
            yield f"  error: {error}"
        if not ran.verdicts:
            yield f"  no results:\n{ran.output[-2000:]}"
        differing = 0
        for case in sorted({*first.verdicts, *ran.verdicts}) if first is not ran and ran.verdicts else ():
            self.compared += 1
            (was, before), (now, summary) = (run.verdicts.get(case, ("absent", "")) for run in (first, ran))
            if was != now:
                differing += 1
                self.differing.setdefault((ran.job.server, case), set()).update((was, now))
                yield f"  differs: {_named(case)}: {was} ({first.job}: {before}), now {now}: {summary}"
        self.blamed += len(ran.blamed)
        self.failed += ran.failed
        if ran.blamed or ran.failed or differing:
            for run in (first, ran):
                shutil.copytree(run.folder, self.folder / f"run {run.job}", dirs_exist_ok=True)
            yield f"  kept: {self.folder / f'run {ran.job}'}"
        if first is not ran:
            shutil.rmtree(ran.folder)

    def __str__(self) -> str:
        return (
            f"{self.runs} runs on {len(self._first)} servers, {self.compared} verdicts compared: "
            f"{len(self.differing)} differed, {self.blamed} blamed a conforming server; "
            f"{self.failed} runs failed"
        )

    @property
    def steady(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.differing or self.blamed or self.failed)


def _named(case: Case) -> str:
    return f"{case[0]} on {case[1]}"


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument("--runs", type=int, default=8, metavar="N", help="so many runs (default 8)")
    parser.add_argument(
        "--servers", type=int, default=0, metavar="SEED", help="the first server: 0 the reference (default)"
    )
    parser.add_argument(
        "--keep",
        default="reports/steadiness",
        metavar="DIR",
        help="where reports of runs that differ are kept (default reports/steadiness)",
    )
    parser.add_argument("options", nargs="*", help="further options of the suite, after --")
    selection.seed(parser, 1)


def prove(options: argparse.Namespace) -> bool:
    """Does the runs; whether nothing went wrong."""
    tally = Tally(Path(options.keep))
    jobs = list(itertools.islice(_jobs(options.seed, options.servers), options.runs))
    # Whoever stops it learns what is known so far.
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as name:
        for job, ran in pool.mapped(lambda job: _ran(job, options.options, Path(name)), jobs, 1, "runs"):
            said = tally.take(ran)
            print(f"run {tally.runs}: {job}: {len(ran.verdicts)} verdicts, exit {ran.status}")
            print("".join(f"{line}\n" for line in said), end="", flush=True)
    for (_, case), verdicts in tally.differing.items():
        print(f"differed: {_named(case)}: {', '.join(sorted(verdicts))}")
    print(tally)
    return tally.steady


def _jobs(first: int, server: int) -> Iterator[Job]:
    """The runs in their order: every server under all conditions before the next."""
    seeds, lanes = itertools.count(first), itertools.cycle(LANES)
    for number in itertools.count(server):
        for workers, busy in CONDITIONS:
            yield Job(number, next(seeds), workers, busy, next(lanes))


def _ran(job: Job, options: list[str], folder: Path) -> Ran:
    """What one run comes to; its reports are below `folder`."""
    place = folder / str(job)
    place.mkdir()
    lanes = ("--lanes", str(job.lanes)) if job.lanes else ()
    with _serving(job.server, place) as target, _busy() if job.busy else contextlib.nullcontext():
        outcome = run(
            "--target",
            str(target),
            "--seed",
            str(job.seed),
            "-n",
            str(job.workers),
            *lanes,
            *options,
            folder=place / "reports",
            timeout=LONGEST,
        )
    (place / "output.txt").write_text(outcome.output, "utf-8")
    try:
        results = outcome.results
    except (OSError, ValueError):
        return Ran(job, {}, [], outcome.status, outcome.output, place)
    verdicts = {
        (case["rule"], case["operation"]): (str(case["verdict"]), str(case.get("summary") or ""))
        for case in results["cells"]
    }
    return Ran(job, verdicts, list(results.get("errors") or ()), outcome.status, outcome.output, place)


# ---------------------------------------------------------------------- the server, and other work


@contextlib.contextmanager
def _serving(server: int, folder: Path) -> Iterator[Path]:
    """Serves from a new process; gives the target file, which is written in `folder`."""
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
    choices = tuple(choice for choice in variant.choices if choice not in LEFT_OUT)
    variant = replace(variant, choices=choices)
    server, seeded = new_server(variant.behaviour(), variant.clock)
    with served(server, threads=True) as url:
        ready.send(str(write_target(Path(folder) / "target.toml", target_tables(seeded, url))))
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(5)


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
    # Whoever is killed leaves nothing behind that keeps a core busy.
    parent = os.getppid()
    while os.getppid() == parent:
        pass
