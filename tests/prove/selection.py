"""Selection of faults on the command line of a proof."""

from __future__ import annotations

import argparse
import functools
import random
import sys
import time
from typing import TypeVar

from conformance.judge.cells import grouped
from tests.faults.catalogue import Fault, load

One = TypeVar("One")


def options(parser: argparse.ArgumentParser) -> None:
    """Declares the options that narrow the faults."""
    parser.add_argument("--rule", default="", metavar="PREFIX", help="only rules with this prefix")
    parser.add_argument(
        "--operation", default="", metavar="TEXT", help="only operations with TEXT in their name"
    )
    parser.add_argument("--kind", default="", metavar="TEXT", help="only faults whose sentence contains TEXT")
    parser.add_argument(
        "--each-kind",
        action="store_true",
        help="each kind of fault on one operation; of mistakes in fields, one for each field and operation",
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="sample of N, drawn by the seed")
    seed(parser)


def seed(parser: argparse.ArgumentParser, usual: int | None = None) -> None:
    """Declares --seed; without a default the clock gives one."""
    value = usual if usual is not None else time.time_ns() % 10**9
    parser.add_argument("--seed", type=int, default=value, metavar="N", help="seed of the random choices")


def some(choices: list[One], what: str) -> list[One]:
    """Returns the list; ends the program with a usage error if it is empty."""
    if not choices:
        print(f"The options leave no {what}.", file=sys.stderr)
        raise SystemExit(2)
    return choices


def chosen(options: argparse.Namespace) -> list[Fault]:
    """Returns the selected faults; prints the seed of a sample. Ends the program if none is left."""
    faults = [
        fault
        for fault in load()
        if fault.rule.startswith(options.rule)
        and options.operation in fault.operation
        and options.kind in fault.kind
    ]
    faults = each_kind(faults) if options.each_kind else faults
    if 0 < options.sample < len(faults):
        print(f"{options.sample} of {len(faults)} faults: --seed {options.seed} draws them again")
        faults = random.Random(options.seed).sample(faults, options.sample)
    return some(faults, "fault")


def each_kind(faults: list[Fault]) -> list[Fault]:
    """Returns one fault of each group, spread over the operations, or over the mistakes in a field."""
    groups = grouped((fault.group, fault) for fault in faults)
    return [some[at % len(some)] for at, some in enumerate(groups.values())]


@functools.cache
def by_id() -> dict[str, Fault]:
    """Returns all faults by id; ids can be pickled, classes made by decorators cannot."""
    return {fault.id: fault for fault in load()}
