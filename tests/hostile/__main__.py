"""`python -m tests.hostile [MODE ...]`: runs pytest against hostile servers and prints a table.

Each mode (all of them unless some are named, by parts of their names) is a whole run of the checks in a
process of its own. The table has time to verdict, peak memory of the largest process, exit status, and the
verdict's sentence; what a run did that it may not do stands below. Exit status: 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.hostile.modes import MODES
from tests.hostile.runs import Outcome, run

#: Characters of a sentence in the table.
SHOWN = 150


def row(outcome: Outcome) -> str:
    """A line of the table."""
    sentence = outcome.sentence.replace("|", "/")
    short = sentence if len(sentence) <= SHOWN else f"{sentence[: SHOWN - 1]}…"
    return (
        f"| {outcome.mode.name} | {outcome.seconds:.1f} | {outcome.memory:.0f} | {outcome.status} "
        f"| {outcome.seen} | {short} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile", description="Runs pytest against hostile servers."
    )
    parser.add_argument("modes", nargs="*", metavar="MODE", help="parts of names of modes (default: all)")
    parser.add_argument("--list", action="store_true", help="list the modes, and run none")
    parser.add_argument(
        "--shard", default="1/1", metavar="PART/PARTS", help="one of several parts of the modes"
    )
    parser.add_argument(
        "--fuzz", action="store_true", help="with the generated requests, which take twice the time"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="OPERATION",
        help="only its checks: a tenth of the time",
    )
    parser.add_argument("--show", action="store_true", help="print the output of runs with a problem")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    chosen = [
        mode
        for mode in MODES.values()
        if not options.modes or any(word in mode.name for word in options.modes)
    ][part - 1 :: parts]
    if options.list:
        print("\n".join(mode.name for mode in chosen))
        return 0
    print("| mode | s | MB | exit | requests | verdict |\n|---|---|---|---|---|---|", flush=True)
    wrong: list[Outcome] = []
    chosen_tests = [] if options.fuzz else ["-m", "not fuzz"]
    chosen_tests += [word for operation in options.only for word in ("--operation", operation)]
    for mode in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(mode, Path(folder), *chosen_tests)
        print(row(outcome), flush=True)
        if outcome.problems:
            wrong.append(outcome)
    for outcome in wrong:
        print(f"\n{outcome.mode.name}: {'; '.join(outcome.problems)}")
        if options.show:
            print(outcome.output[-6000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
