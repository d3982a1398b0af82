"""Runs the suite against servers that break, hang, lie or attack; prints a table.

Each mode (by default all) is a whole run of the checks in its own process. The table shows the seconds to the
verdict, the peak memory of the largest process, the exit status and the verdict's sentence; the mistakes of
each run follow.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.hostile.modes import MODES, Mode
from tests.hostile.runs import Outcome, run
from tests.prove import pool, selection

#: Maximum length of a sentence in the table, in characters.
SHOWN = 150


def row(outcome: Outcome) -> str:
    """Renders a row of the table."""
    sentence = outcome.sentence.replace("|", "/")
    short = sentence if len(sentence) <= SHOWN else f"{sentence[: SHOWN - 1]}…"
    return (
        f"| {outcome.mode.name} | {outcome.seconds:.1f} | {outcome.memory:.0f} | {outcome.status} "
        f"| {outcome.seen} | {short} |"
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("modes", nargs="*", metavar="MODE", help="parts of mode names (default: all)")
    parser.add_argument("--list", action="store_true", help="list the modes, and run none")
    parser.add_argument(
        "--fuzz", action="store_true", help="include generated requests, which doubles the time"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="OPERATION",
        help="only the fixed checks: a tenth of the time",
    )
    parser.add_argument("--show", action="store_true", help="print the output of runs with a problem")


def prove(options: argparse.Namespace) -> bool:
    """Runs the modes; returns True if no run made a mistake."""
    words = options.modes or [""]
    found = [mode for mode in MODES.values() if any(word in mode.name for word in words)]
    chosen = selection.some(found, "mode")
    if options.list:
        print("\n".join(mode.name for mode in chosen))
        return True
    print("| mode | s | MB | exit | requests | verdict |\n|---|---|---|---|---|---|", flush=True)
    wrong: list[Outcome] = []
    chosen_tests = [] if options.fuzz else ["-m", "not fuzz"]
    chosen_tests += [word for operation in options.only for word in ("--operation", operation)]
    # One at a time, since time and memory are measured.
    for _, outcome in pool.mapped(lambda mode: _outcome(mode, chosen_tests), chosen, 1, "modes"):
        print(row(outcome), flush=True)
        if outcome.problems:
            wrong.append(outcome)
    for outcome in wrong:
        print(f"\n{outcome.mode.name}: {'; '.join(outcome.problems)}")
        if options.show:
            print(outcome.output[-6000:])
    return not wrong


def _outcome(mode: Mode, options: Sequence[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return run(mode, Path(folder), *options)
