"""Catches a share of all kinds of faults by a quick run.

Runs the tests of a quick run on kinds of faults drawn at random, on one operation after another until one is
caught, and prints the share with its confidence interval. Not proven: the share is below LEAST. With
`--places` it draws single faults, each on its own operation, and only measures the share.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import Any

from conformance.checks import plan
from conformance.plugin import known
from tests.faults.catalogue import Fault
from tests.faults.harness import Outcome, run_on_fault, run_one
from tests.prove import pool, selection
from tests.prove.probes import broken, kinds
from tests.variants.hurry import hurried

#: Minimum share of kinds that a quick run catches.
LEAST = 0.84


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kinds", type=int, nargs="?", default=250, metavar="N", help="kinds to draw (250)")
    parser.add_argument("--places", action="store_true", help="draw single faults, each on its own operation")
    selection.seed(parser, 1)
    pool.options(parser)


@hurried()
def caught(identifiers: Sequence[str]) -> str:
    """Returns the first of these faults in which a quick run finds a violation, or an empty string."""
    for identifier in identifiers:
        fault = selection.by_id()[identifier]
        run, outcome = run_on_fault(fault.make()), Outcome()
        tests = [(check, operation) for check, operation in plan() if known.in_quick(check.name, operation)]
        # Own operation first: it catches most faults.
        for check, operation in sorted(tests, key=lambda test: test[1] != fault.operation):
            run_one(check, operation, run, outcome)
            if outcome.broken or broken(run):
                return identifier
    return ""


def prove(options: argparse.Namespace) -> bool:
    """Tries kinds or places; returns True unless the 95% confidence interval is below LEAST."""
    every: dict[Any, list[Fault]] = {**kinds()}
    if options.places:
        every = {fault.id: [fault] for faults in every.values() for fault in faults}
    name = "single faults" if options.places else "kinds"
    drawn = random.Random(options.seed).sample(sorted(every), min(options.kinds, len(every)))
    work = [[fault.id for fault in every[kind]] for kind in drawn]
    hits = 0
    for identifiers, identifier in pool.mapped(caught, work, options.processes, name):
        hits += bool(identifier)
        if not identifier:
            print(f"not caught by a quick run: {', '.join(identifiers[:3])}", flush=True)
    low, high = interval(hits, len(work))
    print(
        f"a quick run catches {hits} of {len(work)} {name} drawn with seed {options.seed}: "
        f"{hits / len(work):.1%}, between {low:.1%} and {high:.1%} of all with a confidence of 95%"
    )
    return options.places or high >= LEAST


def interval(hits: int, number: int) -> tuple[float, float]:
    """Returns the 95% Wilson score interval."""
    z, share = 1.96, hits / number
    middle, width = (
        share + z * z / (2 * number),
        z * (share * (1 - share) / number + z * z / (4 * number**2)) ** 0.5,
    )
    return (middle - width) / (1 + z * z / number), (middle + width) / (1 + z * z / number)
