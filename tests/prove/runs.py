"""Blames no conforming server in whole runs, with options drawn at random.

Each seed draws the choices of one server, and the lanes, processes or rate of the run that judges it over
HTTP in its own process: interference between tests shows only there. A run that blames the server is printed
with the command that repeats it; its reports stay in --keep.
"""

from __future__ import annotations

import argparse
import random
import shlex
import shutil
import tempfile
from pathlib import Path

from conformance.report.changes import load
from tests.prove import pool, selection
from tests.support.running import run, write_target
from tests.variants.drawn import drawn
from tests.variants.judging import BLAMED
from tests.variants.serving import serving

#: Options that change which requests are concurrent.
OPTIONS = (
    "",
    "--lanes 1",
    "--lanes 2",
    "--lanes 8",
    "--lanes 16",
    "-m 'not fuzz' --lanes 32",
    "-n 2",
    "-n 2 --lanes 2",
    "-n 2 --lanes 8",
    "-n 3",
    "--rate 150 --effort quick",
    "--effort quick",
    "--effort quick --lanes 8",
)

#: Timeout of a run in seconds.
LONGEST = 900.0

#: Folder for the reports of runs that blame a server.
FOLDER = Path("reports/runs")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("count", type=int, nargs="?", default=20, metavar="N", help="servers to judge (20)")
    parser.add_argument(
        "--keep", type=Path, default=FOLDER, metavar="DIR", help=f"reports of blaming runs ({FOLDER})"
    )
    selection.seed(parser, 1)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Judges the servers; returns True if none is blamed."""
    jobs = [(seed, str(options.keep)) for seed in range(options.seed, options.seed + options.count)]
    blaming = 0
    for (seed, _), blame in pool.mapped(judged, jobs, options.processes, "runs"):
        if blame:
            blaming += 1
            print(f"{blame}\n  again: python -m tests.prove runs 1 --seed {seed}", flush=True)
    print(f"{len(jobs)} runs, seeds from {options.seed}: {blaming} blame a conforming server")
    return not blaming


def judged(job: tuple[int, str]) -> str:
    """Describes the blame in a run on the server of a seed, with the server's choices and the run's options;
    empty if there is none."""
    seed, reports = job
    variant, chosen = drawn(seed), random.Random(seed).choice(OPTIONS)
    with tempfile.TemporaryDirectory() as name, serving(variant) as tables:
        folder = Path(name) / "reports"
        words = (f"--target={write_target(Path(name) / 'target.toml', tables)}", *shlex.split(chosen))
        outcome = run(*words, folder=folder, timeout=LONGEST)
        server = f"{variant.name}; {chosen}: "
        if outcome.status not in (0, 1, 6):
            return f"{server}exit status {outcome.status}\n{outcome.output[-2000:]}"
        blamed = [
            cell.key
            for cell in load(folder).cells
            if cell.verdict in BLAMED and cell.rule not in variant.breaks
        ]
        if blamed:
            shutil.rmtree(Path(reports, str(seed)), ignore_errors=True)
            shutil.copytree(folder, Path(reports, str(seed)))
    return server + ", ".join(f"{rule} on {operation}" for rule, operation in blamed) if blamed else ""
