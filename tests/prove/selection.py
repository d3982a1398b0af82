"""Selection of faults on the command line of a proof."""

from __future__ import annotations

import argparse
import functools
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

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
        help="each kind of fault on one operation; of mistakes that are repeated in fields, one for each "
        "field of each operation, and each way in one of them",
    )
    parser.add_argument("--but-tested", action="store_true", help="without what tests/test_faults.py catches")
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
    tested = [*each_cell().values()] if options.but_tested else []
    if options.each_kind:
        faults = each_kind(faults, tested)
    else:
        ids = {fault.id for fault in tested}
        faults = [fault for fault in faults if fault.id not in ids]
    if 0 < options.sample < len(faults):
        print(f"{options.sample} of {len(faults)} faults: --seed {options.seed} draws them again")
        faults = random.Random(options.seed).sample(faults, options.sample)
    return some(faults, "fault")


def each_kind(faults: Iterable[Fault], tested: Iterable[Fault] = ()) -> list[Fault]:
    """Returns a fault of each group and of each way of which none was tested, spread over the operations."""
    ways = Counter(fault.way for fault in tested)
    groups = grouped((fault.group, fault) for fault in faults)
    for fault in tested:
        groups.pop(fault.group, None)
    chosen = []
    for at, some in enumerate(groups.values()):
        begin = at % len(some)
        chosen.append(min(some[begin:] + some[:begin], key=lambda fault: ways[fault.way]))
        ways[chosen[-1].way] += 1
    return [*chosen, *{fault.way: fault for fault in faults if not ways[fault.way]}.values()]


@functools.cache
def each_cell() -> dict[tuple[str, str], Fault]:
    """Returns, by rule and operation, a fault that a row makes, of as many groups as possible."""
    rows = sorted((fault for fault in load() if not fault.member), key=lambda fault: crc32(fault.id.encode()))
    cells, groups = dict[tuple[str, str], Fault](), set[tuple[str, ...]]()
    for cell, faults in grouped(((fault.rule, fault.operation), fault) for fault in rows).items():
        cells[cell] = next((fault for fault in faults if fault.group not in groups), faults[0])
        groups.add(cells[cell].group)
    return cells


@functools.cache
def by_id() -> dict[str, Fault]:
    """Returns all faults by id; ids can be pickled, classes made by decorators cannot."""
    return {fault.id: fault for fault in load()}
