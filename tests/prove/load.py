"""Finds rare faults under load, and blames no conforming server.

Each fault must be reported under its rule within the given time. The faults are in tests/load/faults.py;
`--variants` runs on conforming servers instead.
"""

from __future__ import annotations

import argparse
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from tests.load.faults import FAULTS
from tests.load.runs import load_run
from tests.load.serve import server

#: Conforming servers that stress load most: rate-limited, busy, with replication lag, slow, pre-populated.
CONFORMING = (
    "reference", "rate limited", "limited behind authentication", "busy", "slow", "one at a time",
    "others pay", "late", "lists in turn", "reads in turn", "furnished later",
)  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults or servers (default: all)")
    parser.add_argument("--variants", action="store_true", help="run on conforming servers")
    parser.add_argument("--users", type=int, default=50, help="users (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=120, help="for each server (default: %(default)s)")
    parser.add_argument(
        "--processes", type=int, default=0, help="worker processes (default: none, one process)"
    )


def prove(options: argparse.Namespace) -> bool:
    """Runs on each server; returns True if each outcome is as expected."""
    names = options.names or (CONFORMING if options.variants else tuple(FAULTS))
    words = ["--users", str(options.users), "--spawn-rate", str(options.users), "--headless"]
    words += ["--run-time", f"{options.seconds}s"]
    words += ["--processes", str(options.processes)] if options.processes else []
    print("| server | requests | rules |\n|---|---|---|", flush=True)
    proven = [_proven(name, words, options.seconds) for name in names]
    return all(proven)


def _proven(name: str, words: list[str], seconds: float) -> bool:
    with tempfile.TemporaryDirectory() as folder, server(name, Path(folder)) as target:
        with load_run(target, Path(folder) / "reports", *words) as run:
            status = run.process.wait(seconds + 60)
        broken = run.broken
        told = ", ".join(sorted(broken)) or f"none, exit status {status}"
        print(f"| {name} | {run.results['run']['requests']} | {told} |", flush=True)
        if name in FAULTS:
            return any(fnmatch(rule, pattern) for rule in broken for pattern in FAULTS[name].RULES)
        for rule, got in broken.items():
            print(f"{rule} on {got}")
        return not broken
