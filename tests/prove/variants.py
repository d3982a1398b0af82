"""Blames no conforming server, by any check or generated part.

Each variant, and one server with randomly drawn choices for each seed, meets the fixed checks and every part
of the explorations. A verdict that blames one is printed with the command that repeats it alone.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

from conformance.checks import plan
from conformance.contract.rules import RULES
from conformance.fuzz.exploration import FuzzSettings
from tests.prove import pool, selection
from tests.variants.catalogue import VARIANTS
from tests.variants.drawn import drawn
from tests.variants.judging import Judged, judge, parts
from tests.variants.variant import Variant

#: Generated cases of each part, few because there are many servers.
EXAMPLES = 10

#: Variant name ("drawn 7" for a drawn one); "checks" or an exploration; prefix of rules, or part; seed;
#: examples.
Job = tuple[str, str, str, int, int]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--variant", default="", metavar="TEXT", help="only servers whose name contains TEXT")
    parser.add_argument(
        "--rule", default="", metavar="PREFIX", help="only fixed checks of rules with this prefix"
    )
    parser.add_argument("--part", default="", metavar="TEXT", help="only parts whose name contains TEXT")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds of the generated parts (1)")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N", help="cases of each part")
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="sample of N runs, drawn by the seed"
    )
    parser.add_argument("--no-checks", action="store_true", help="explorations only")
    parser.add_argument("--only-checks", action="store_true", help="fixed checks only")
    parser.add_argument("--inconclusive", action="store_true", help="also print inconclusive cases")
    selection.seed(parser, 1)
    pool.options(parser)


def prove(options: argparse.Namespace) -> bool:
    """Judges the servers; returns True if none is blamed and each inconclusive verdict has a remedy."""
    jobs = selection.some(list(_jobs(options)), "run")
    if 0 < options.sample < len(jobs):
        print(f"{options.sample} of {len(jobs)} runs: --seed {options.seed} draws them again")
        jobs = random.Random(options.seed).sample(jobs, options.sample)
    blamed = incurable = sent = 0
    inconclusive: set[tuple[str, str, str]] = set()
    for job, judged in pool.mapped(_run, jobs, options.processes, "runs"):
        sent += judged.sent
        for summary in judged.blamed:
            blamed += 1
            print(f"blamed: {summary}\n  again: {_command(job)}", flush=True)
        for rule, operation, reason in judged.incurable:
            incurable += 1
            print(f"no remedy on {job[0]}: {rule} on {operation}: {reason}", flush=True)
        for rule, operation, reason in judged.inconclusive if options.inconclusive else ():
            if (job[0], rule, operation) not in inconclusive:
                print(f"inconclusive on {job[0]}: {rule} on {operation}: {reason}", flush=True)
            inconclusive.add((job[0], rule, operation))
    servers = len({job[0] for job in jobs})
    print(
        f"{servers} servers, {len(jobs)} runs, {sent} requests: {blamed} verdicts blame a conforming server, "
        f"{incurable} inconclusive ones have no remedy"
    )
    return not blamed and not incurable


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    for seed in range(options.seed, options.seed + options.seeds):
        for name in (*(variant.name for variant in VARIANTS), f"drawn {seed}"):
            if options.variant not in name:
                continue
            # The fixed checks do not depend on the seed.
            if not options.no_checks and (seed == options.seed or name.startswith("drawn")):
                yield (name, "checks", options.rule, seed, options.examples)
            for exploration, part in [] if options.only_checks or options.rule else parts():
                if options.part in f"{exploration} {part}":
                    yield (name, exploration, part, seed, options.examples)


def _run(job: Job) -> Judged:
    name, kind, part, seed, examples = job
    if kind == "checks":
        return judge(_variant(name), plan({rule for rule in RULES if rule.startswith(part)}))
    return judge(_variant(name), explored=[(kind, part)], settings=FuzzSettings(seed, examples))


def _variant(name: str) -> Variant:
    word, _, number = name.partition(" ")
    if word == "drawn":
        return drawn(int(number))
    return next(variant for variant in VARIANTS if variant.name == name)


def _command(job: Job) -> str:
    name, kind, part, seed, examples = job
    what = (
        f"--only-checks{f' --rule {part}' if part else ''}"
        if kind == "checks"
        else f"--no-checks --part '{kind} {part}' --examples {examples}"
    )
    return f"python -m tests.prove variants --variant '{name}' --seed {seed} {what}"
