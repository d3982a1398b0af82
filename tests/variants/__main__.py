"""Runs everything on conforming servers: `python -m tests.variants [--help]`, from the root of a checkout.

Every server of the catalogue, and for each seed one whose choices are drawn at random, meets the fixed checks
and every part of the explorations. Whoever is blamed is printed with the command that runs just that again.
Exit status 1 says that a conforming server was blamed.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context

from conformance.checks import plan
from conformance.harness.exploration import FuzzSettings

from .catalogue import VARIANTS, Variant, drawn
from .judging import Judged, judge, parts

#: Generated cases of each part: few, for many servers.
EXAMPLES = 10

#: What one process does: the variant's name ("drawn 7" for a drawn one), kind of test, part, seed, examples.
Job = tuple[str, str, str, int, int]


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line asks for; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)
    begin, blamed, sent = time.perf_counter(), 0, 0
    jobs = list(_jobs(options))
    if options.sample:
        print(f"seed {options.first}: --first {options.first} runs these again")
        jobs = random.Random(options.first).sample(jobs, min(options.sample, len(jobs)))
    inconclusive: set[tuple[str, str, str]] = set()
    for job, judged in _judged(jobs, options.processes):
        sent += judged.sent
        for summary in judged.blamed:
            blamed += 1
            print(f"blamed: {summary}\n  again: {_command(job)}", flush=True)
        if options.inconclusive:
            for rule, operation, reason in judged.inconclusive:
                if (job[0], rule, operation) not in inconclusive:
                    print(f"inconclusive on {job[0]}: {rule} on {operation}: {reason}", flush=True)
                inconclusive.add((job[0], rule, operation))
    servers = len({job[0] for job in jobs})
    print(
        f"{servers} servers, {len(jobs)} runs, {sent} requests in {time.perf_counter() - begin:.0f} s: "
        f"{blamed} verdicts blame a conforming server"
    )
    return 1 if blamed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.variants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="so many seeds (default 1)")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first of them (default 1)")
    parser.add_argument("--variant", default="", metavar="TEXT", help="only servers whose names hold this")
    parser.add_argument("--part", default="", metavar="TEXT", help="only parts whose names hold this")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N", help="cases of each part")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N runs, at random")
    parser.add_argument("--no-checks", action="store_true", help="explorations only")
    parser.add_argument("--only-checks", action="store_true", help="fixed checks only")
    parser.add_argument("--inconclusive", action="store_true", help="print what stayed inconclusive, too")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="processes to share the work")
    return parser


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    for seed in range(options.first, options.first + options.seeds):
        for name in (*(variant.name for variant in VARIANTS), f"drawn {seed}"):
            if options.variant not in name:
                continue
            # The fixed checks draw nothing: one seed is enough for them.
            if not options.no_checks and (seed == options.first or name.startswith("drawn")):
                yield (name, "checks", "", seed, options.examples)
            for exploration, part in [] if options.only_checks else parts():
                if options.part in f"{exploration} {part}":
                    yield (name, exploration, part, seed, options.examples)


def _judged(jobs: list[Job], processes: int) -> Iterator[tuple[Job, Judged]]:
    if processes == 1:
        yield from ((job, _run(job)) for job in jobs)
        return
    with get_context("fork").Pool(processes) as pool:
        yield from zip(jobs, pool.imap(_run, jobs), strict=True)


def _run(job: Job) -> Judged:
    name, kind, part, seed, examples = job
    if kind == "checks":
        return judge(_variant(name), plan())
    return judge(_variant(name), explored=[(kind, part)], settings=FuzzSettings(seed, examples))


def _variant(name: str) -> Variant:
    word, _, number = name.partition(" ")
    if word == "drawn":
        return drawn(int(number))
    return next(variant for variant in VARIANTS if variant.name == name)


def _command(job: Job) -> str:
    name, kind, part, seed, examples = job
    what = (
        "--only-checks" if kind == "checks" else f"--no-checks --part '{kind} {part}' --examples {examples}"
    )
    return f"python -m tests.variants --variant '{name}' --first {seed} {what}"


if __name__ == "__main__":
    sys.exit(main())
