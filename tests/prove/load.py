"""Finds rare faults under load, and blames no conforming server; prints the seconds until each was found.

Each fault must be reported under its rule within the given time; neither the run nor a replay file of a fault
may blame a conforming server. The faults are in tests/load/faults.py; `--variants` runs on conforming servers
instead. `--cost` compares the requests per CPU second of judged and unjudged users, in 1, 2 and 4 processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from conformance.fuzz import load_predicates
from conformance.replay import load, perform
from conformance.replay.run import REPRODUCED
from conformance.target.file import load as load_target
from conformance.world.run_context import RunContext
from tests.load.faults import FAULTS
from tests.load.runs import load_run
from tests.load.serve import server
from tests.support.running import ROOT

#: Minimum of judged users' requests per CPU second, as a share of unjudged users'.
LEAST = 0.7

#: Conforming servers that stress load most: rate-limited, busy, with replication lag, slow, pre-populated.
CONFORMING = (
    "reference", "rate limited", "limited behind authentication", "busy", "slow", "one at a time",
    "others pay", "late", "lists in turn", "reads in turn", "furnished later",
)  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults or servers (default: all)")
    parser.add_argument("--variants", action="store_true", help="run on conforming servers")
    parser.add_argument("--cost", action="store_true", help="measure the cost of judging")
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
    if options.cost:
        print("| processes | judged | unjudged | share |\n|---|---|---|---|", flush=True)
        shares = [_share(number, words) for number in (1, 2, 4)]
        return min(shares) >= LEAST
    print("| server | s | requests | rules | replays |\n|---|---|---|---|---|", flush=True)
    proven = [_proven(name, words, options.seconds) for name in names]
    return all(proven)


def _proven(name: str, words: list[str], seconds: float) -> bool:
    with tempfile.TemporaryDirectory() as folder, server(name, Path(folder)) as target:
        with load_run(target, Path(folder) / "reports", *words) as run:
            rules = FAULTS[name].RULES if name in FAULTS else ("*",)
            found = run.found(rules, seconds + 30)
            status = run.end() if run.process.poll() is None else run.process.returncode
        broken = run.broken
        replays = _replayed(Path(folder) / "reports")
        told = ", ".join(sorted(broken)) or f"none, exit status {status}"
        shown = "–" if found is None else f"{found:.0f}"
        requests, again = run.results["run"]["requests"], ", ".join(f"{n} {v}" for v, n in replays.items())
        print(f"| {name} | {shown} | {requests} | {told} | {again} |", flush=True)
        if name in FAULTS:
            return found is not None and REPRODUCED not in replays
        for rule, got in broken.items():
            print(f"{rule} on {got}")
        return not broken


def _replayed(reports: Path) -> Counter[str]:
    """Counts the verdicts of a run's replay files on the reference server."""
    load_predicates()
    with tempfile.TemporaryDirectory() as folder, server("reference", Path(folder)) as target:
        run = RunContext(load_target(target, {}))
        return Counter(perform(load(path), run).verdict for path in sorted(reports.glob("replays/*.json")))


def _share(processes: int, words: list[str]) -> float:
    """Returns the requests per CPU second of judged users as a share of those of unjudged users."""
    more = ["--processes", str(processes)] if processes > 1 else []
    judged, unjudged = (_requests_a_second([*words, *more], name) for name in ("", "1"))
    print(f"| {processes} | {judged:.0f} | {unjudged:.0f} | {judged / unjudged:.2f} |", flush=True)
    return judged / unjudged


def _requests_a_second(words: list[str], unjudged: str) -> float:
    """Returns the requests per CPU second, over all processes, of a load run on the reference server."""
    with tempfile.TemporaryDirectory() as folder, server("reference", Path(folder)) as target:
        file, own = Path(folder) / "measured", str(ROOT / "tests" / "load" / "measured.py")
        with mock.patch.dict(os.environ, {"MEASURED": str(file), "UNJUDGED": unjudged}):
            run = load_run(target, Path(folder) / "reports", *words, "--locustfile", own)
            with run as begun:
                begun.process.wait()
        measured = [tuple(map(float, line.split())) for line in file.read_text("utf-8").splitlines()]
        return sum(requests for _, requests in measured) / sum(used for used, _ in measured)
