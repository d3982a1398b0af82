"""`conformance compare`: names what changed between two runs.

Prints the verdicts and the observed choices that changed, as Markdown. Exit status: 1 if anything is worse
in the second run, else 0.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.report.changes import comparison, load, worse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name in ("before", "after"):
        parser.add_argument(
            name, type=Path, metavar=name.upper(), help="results.json of a run, or the folder it is in"
        )


def run(options: argparse.Namespace) -> int:
    """Prints the comparison. Raises InputError."""
    before, after = load(options.before), load(options.after)
    sys.stdout.write(comparison(before, after))
    return 1 if worse(before, after) else 0
