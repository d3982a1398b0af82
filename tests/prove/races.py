"""Measures how often the checks of simultaneous requests find a mistake that shows in a window of time.

Servers read, wait for some milliseconds, and write what they have read (tests/support/windows.py), in threads
of one process or of several; other lanes of the run send requests meanwhile. Each line has how many of the
runs found it, and how many requests one took, those after a violation too. Not proven: fewer than 19 of 20
found it. The figures are those of an idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.checks import plan
from conformance.checks.running import run_check
from conformance.target.file import Target, build
from conformance.world.lane import Fixture, Lane
from tests.support import windows
from tests.variants.hurry import hurried
from tests.variants.serving import several_processes

#: Rules, operations and mistakes: at least one of each check of simultaneous requests.
MISTAKES: tuple[tuple[str, str, type[windows.Window]], ...] = (
    ("auth.nonce-race", "createVirtualAccount", windows.NonceWindow),
    ("tenancy.foreign-parent", "listAccounts", windows.TenantWindow),
    ("idempotency.race", "createPayout", windows.KeyWindow),
    ("idempotency.race", "createBeneficiary", windows.KeyWindow),
    ("idempotency.hang-up", "createBeneficiary", windows.KeyWindow),
    ("wallet.race", "createWallet", windows.PairWindow),
    ("destination.default", "createPayoutDestination", windows.DefaultWindow),
    ("beneficiary.update", "updateBeneficiary", windows.PatchWindow),
    ("beneficiary.disable", "disableBeneficiary", windows.PatchWindow),
    ("payout.race", "createPayout", windows.BalanceWindow),
    ("create.echo", "createVirtualAccount", windows.NewestWindow),
    ("list.complete", "listVirtualAccounts", windows.ListWindow),
    ("list.complete", "listPayoutDestinations", windows.ListWindow),
    ("read.equals-create", "getBeneficiary", windows.ListWindow),
    ("read.equals-create", "getVirtualAccount", windows.ReadWindow),
    ("balances.of-account", "getAccountBalances", windows.ReadWindow),
)

#: Least share of the runs that find a mistake.
ENOUGH = 0.95


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", default="", metavar="PREFIX", help="only rules with this prefix")
    parser.add_argument("--windows", type=float, nargs="+", default=[1, 3, 10], metavar="MS", help="(1 3 10)")
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2], metavar="N", help="processes (1 2)")
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 4, 16], metavar="N", help="(1 4 16)")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="runs for each line (20)")


def prove(options: argparse.Namespace) -> bool:
    """Prints the table; returns True if each line has enough."""
    print(
        f"{'rule':23}{'operation':25}{'window':>8}{'processes':>11}{'lanes':>7}{'found':>9}{'requests':>10}"
    )
    good = True
    for rule, operation, mistake in MISTAKES:
        if not rule.startswith(options.rule):
            continue
        for window in options.windows:
            for count in options.servers:
                with window_served(mistake(window), count) as tables:
                    target = build(tables, "a server with a window")
                    for lanes in options.lanes:
                        hits, sent = measured(target, rule, operation, lanes, options.runs)
                        good = good and hits >= ENOUGH * options.runs
                        line = f"{rule:23}{operation:25}{window:>5g} ms{count:>11}{lanes:>7}"
                        print(f"{line}{hits:>6}/{options.runs}{sent / options.runs:>10.0f}", flush=True)
    return good


@contextlib.contextmanager
def window_served(behaviour: windows.Window, count: int) -> Iterator[dict[str, Any]]:
    """Serves from so many processes; yields the tables of the target file."""
    with (
        tempfile.TemporaryDirectory() as name,
        several_processes(Path(name), behaviour, count, threads=True) as tables,
    ):
        yield tables


def measured(target: Target, rule: str, operation: str, lanes: int, runs: int) -> tuple[int, int]:
    """Returns the number of runs that find the mistake, and of their requests."""
    hits = sent = 0
    with _beside(target, lanes - 1):
        for _ in range(runs):
            lane = Lane(target)
            # Those of requests at once only.
            checks = [check for check, _ in plan({rule}, {operation}) if _races(check.name)]
            # A read that shows a loss is repeated for seconds.
            with hurried():
                cells = [cell for check in checks for cell in run_check(check, operation, lane)[0]]
            hits += any(cell.violations for cell in cells if cell.rule == rule)
            sent += lane.sent
    return hits, sent


def _races(name: str) -> bool:
    return any(word in name for word in ("test_races", "at_once", "meanwhile"))


@contextlib.contextmanager
def _beside(target: Target, lanes: int) -> Iterator[None]:
    """Other lanes, which send while the context lasts."""
    over = threading.Event()

    def send(number: int) -> None:
        lane = Lane(target, first_number=number * 1_000_000)
        # A create may be answered wrongly, as a probe of the race beside it is.
        fixture = Fixture(lane, account_id=target.primary.funded_account_id)
        while not over.is_set():
            lane.send(lane.client(), fixture.call("listVirtualAccounts"), "a request of another lane")

    threads = [threading.Thread(target=send, args=(number,)) for number in range(1, lanes + 1)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
