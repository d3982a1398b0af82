"""What the suite costs: `python -m tests.benchmarks`, from the root of a checkout.

Prints a Markdown table of ratios. What is compared is measured in turns, in one run, so that a busy machine
changes both. Parts: near (the suite's own time), whole (the default run on a server that answers after 30
ms), growth (memory and report), prism (the reference server beside Prism), throughput (generated cases beside
plain `st run`); only where they are named: lanes (seconds by lanes and latency) and detection (which faults
are found by whom, and how soon).
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from . import detection, far, growth, near, prism, throughput
from .table import Row, markdown

PARTS = ("near", "whole", "growth", "prism", "throughput")
FURTHER = ("lanes", "detection")


def main() -> None:
    """Runs what the command line asks for."""
    options = _parser().parse_args()
    parts: list[str] = options.only or list(PARTS)
    rows = list(_rows(parts, options))
    if rows:
        print(markdown(rows))
    if "lanes" in parts:
        print("\n".join(["", *far.lanes(options.options)]), flush=True)
    if "detection" in parts:
        print("\nfaults found:")
        detection.report(options.faults, options.examples, options.seed)


def _rows(parts: list[str], options: argparse.Namespace) -> Iterator[Row]:
    if "near" in parts:
        yield from near.report(options.rounds)
    if "whole" in parts:
        yield far.whole(options.options)
    if "growth" in parts:
        yield from growth.report()
    if "prism" in parts:
        yield prism.report(options.rounds)
    if "throughput" in parts:
        yield throughput.report(options.examples, options.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", choices=(*PARTS, *FURTHER), help="one of the parts (repeatable)"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measure so often in turns (3)")
    parser.add_argument(
        "--options",
        type=shlex.split,
        default=[],
        metavar="TEXT",
        help="options of the runs of whole and lanes, such as --options=\"-m 'not fuzz'\"",
    )
    parser.add_argument("--examples", type=int, default=25, help="generated cases for each part (25)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of everything that is drawn (1)")
    parser.add_argument(
        "--faults",
        type=int,
        default=12,
        help="faulty servers to look at, one of each required rule first (12)",
    )
    return parser


if __name__ == "__main__":
    main()
