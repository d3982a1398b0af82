"""Measures what the suite costs; proves nothing.

Prints a Markdown table of ratios, each row as soon as it is measured. The two sides of a ratio are measured
alternately, so that other load on the machine affects both. Parts of whole commands: checks (the fixed checks
against a bare client), quick (a quick run against its requests alone), processes (one against two), violating
(the end of runs with and without violations), memory (over bare pytest). Other parts: whole (the default run
on a server that answers after 30 ms), throughput (generated cases against plain `st run`), sandbox (with and
without --judge). Run only if named: profile (seconds of a run by phase) and lanes (seconds by lanes and
latency). tests/benchmarks/README.md describes each part.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator

from conformance.contract.operations import OPERATIONS
from tests.benchmarks import commands, sandbox, throughput
from tests.benchmarks.table import HEAD, Row
from tests.prove import selection

PARTS = ("checks", "quick", "processes", "violating", "memory", "whole", "throughput", "sandbox")
COMMANDS = {
    "checks": commands.checks,
    "quick": commands.quick,
    "processes": commands.processes,
    "violating": commands.violating,
}
FURTHER = ("profile", "lanes")


def prove(options: argparse.Namespace) -> bool:
    """Measures the selected parts; returns True."""
    parts: list[str] = options.only or list(PARTS)
    for number, row in enumerate(_rows(parts, options)):
        print("\n".join([*([] if number else HEAD), row.markdown]), flush=True)
    if "profile" in parts:
        for line in commands.profile(_narrowed(options)):
            print(line, flush=True)
    if "lanes" in parts:
        for line in commands.lanes(_narrowed(options) or commands.REDUCED, options.lanes, options.latencies):
            print(line, flush=True)
    return True


def _rows(parts: list[str], options: argparse.Namespace) -> Iterator[Row]:
    for name, measure in COMMANDS.items():
        if name in parts:
            yield from measure(options.rounds, _narrowed(options))
    if "memory" in parts:
        yield from commands.memory(_narrowed(options))
    if "whole" in parts:
        yield commands.whole(_narrowed(options))
    if "throughput" in parts:
        yield throughput.report(options.examples, options.seed)
    if "sandbox" in parts:
        yield sandbox.report(options.rounds)


def _narrowed(options: argparse.Namespace) -> list[str]:
    """Returns the pytest options that narrow a run."""
    return [*options.options, *(word for name in options.operation or () for word in ("--operation", name))]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", action="append", choices=(*PARTS, *FURTHER), help="a part to measure (repeatable)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="rounds of alternating measurements (3)"
    )
    parser.add_argument(
        "--operation",
        action="append",
        choices=tuple(OPERATIONS),
        metavar="NAME",
        help="whole and lanes with the tests of this operation only (repeatable)",
    )
    parser.add_argument(
        "--options",
        type=shlex.split,
        default=[],
        metavar="TEXT",
        help="options of the runs of whole and lanes, such as --options=\"-m 'not fuzz'\"",
    )
    for name, kind, usual, told in (
        ("--lanes", int, commands.LANES, "the rows of lanes (1,2,4,8,16,32)"),
        ("--latencies", float, commands.LATENCIES, "the columns of lanes, in milliseconds (0,10,50,150)"),
    ):
        parser.add_argument(name, type=_list(kind), default=usual, metavar="LIST", help=told)
    parser.add_argument("--examples", type=int, default=25, help="generated cases for each part (25)")
    selection.seed(parser, 1)


def _list(kind: type[int] | type[float]) -> Callable[[str], tuple[float, ...]]:
    """Parses numbers separated by commas."""
    return lambda text: tuple(kind(word) for word in text.split(","))
