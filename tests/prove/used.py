"""A run ends on a used system as on an empty one, with as many requests.

The server has resources of earlier runs and other users: N accounts of each customer, and N beneficiaries,
destinations of one of them, payouts, virtual accounts and wallets in the funded account. Each order of lists
is tried. Verdicts of all cells are compared, and requests may be 5 % more.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from tests.support.running import run, write_target
from tests.support.used import ORDERS, fill

#: Factor by which a run may send more requests than on an empty system.
MOST = 1.05

#: Timeout of a run in seconds.
LONGEST = 1800.0


@dataclass(frozen=True)
class Night:
    """What a run came to: exit status, requests, created resources, and the verdict of each cell."""

    status: int
    requests: int
    created: int
    verdicts: dict[tuple[str, str], str]


def judged(number: int, order: str, arguments: Sequence[str], *, other_customer: bool = True) -> Night:
    """Judges a server with so many resources; the target file may name no other customer."""
    reference, seeded = new_server(ORDERS[order]())
    fill(reference.store, seeded, number)
    with tempfile.TemporaryDirectory() as name, served(reference) as url:
        tables = target_tables(seeded, url)
        if not other_customer:
            del tables["primary"]["other_customer_id"]
        target = write_target(Path(name) / "target.toml", tables)
        outcome = run(f"--target={target}", *arguments, folder=Path(name) / "reports", timeout=LONGEST)
        results = outcome.results
    verdicts = {(cell["rule"], cell["operation"]): cell["verdict"] for cell in results["cells"]}
    return Night(outcome.status, results["run"]["requests"], len(results["created"]), verdicts)


def problems(empty: Night, used: Night) -> list[str]:
    """What differs on a used system: exit status, verdicts, number of requests."""
    differences = [] if used.status == empty.status else [f"exit status {used.status}, not {empty.status}"]
    keys = empty.verdicts.keys() | used.verdicts.keys()
    pairs = {key: (empty.verdicts.get(key), used.verdicts.get(key)) for key in sorted(keys)}
    differences += [
        f"{' on '.join(key)}: {old}, now {new}" for key, (old, new) in pairs.items() if old != new
    ]
    if used.requests > MOST * empty.requests:
        differences.append(f"{used.requests} requests, {empty.requests} on an empty system")
    return differences


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("count", type=int, nargs="?", default=10_000, metavar="N", help="accounts (10,000)")
    parser.add_argument("--order", choices=list(ORDERS), help="one order of lists instead of all")
    parser.add_argument("--run", default="", metavar="OPTIONS", help="options of the runs")


def prove(options: argparse.Namespace) -> bool:
    """Compares runs; returns True if none differs."""
    arguments, good = shlex.split(options.run), True
    for other in (True, False):
        where = "" if other else ", without another customer"
        empty = judged(0, "oldest", arguments, other_customer=other)
        print(f"empty{where}: {empty.requests} requests, {empty.created} resources", flush=True)
        for order in [options.order] if options.order else ORDERS:
            used = judged(options.count, order, arguments, other_customer=other)
            print(f"{options.count}, {order}{where}: {used.requests} requests, {used.created} resources")
            for problem in problems(empty, used):
                good = False
                print(f"  {problem}", flush=True)
    return good
