"""Measures the pace that a run finds by itself, beside fixed numbers of lanes, on servers that conform.

Each row is a server: how late it answers, and how many requests it takes. The seconds of the run that chose
its lanes are a ratio to those of the best fixed number, of those next to what the run found; a fixed number
is cut off once it takes longer than the best so far. Not proven: the run did not end with exit status 0, took
more than 1.25 times the best, or had more than 2 % of its requests refused behind the first dozen, by which
limits are learned. Ratios say something on an idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.contract.rules import RULES, Level
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import Stage
from tests.support.overrides import with_header
from tests.support.running import run, write_target
from tests.variants.networks import TOO_MANY, Allowance
from tests.variants.serving import several_processes

#: Fixed numbers of lanes, and how many of them a row tries.
LANES, NEAR = (1, 2, 4, 8, 16, 32), 3

#: What a run says of the number of lanes that suits, the most certain first.
FOUND = (r"--lanes (\d+)", r"at most (\d+) lanes")

#: Seconds after which any run is cut off.
LONGEST = 150

#: Ratio of seconds, and share of refused requests behind the first, that are enough.
ENOUGH, REFUSED, FIRST = 1.25, 0.02, 12


class Paced(Behaviour):
    """A server that answers after some seconds, or refuses.

    `late` is of reads, `writes` of others (None: the same); `crowd` the number of requests at once beyond
    which both grow. It takes `rate` requests in each second and `at_once` at once (0: any number), and
    refuses others with `status`. `processor` is the only one that it runs on.
    """

    def __init__(
        self,
        late: float = 0.0,
        writes: float | None = None,
        *,
        crowd: int = 0,
        rate: int = 0,
        at_once: int = 0,
        status: int = 429,
        processor: int | None = None,
    ) -> None:
        super().__init__()
        self.late, self.writes = late, late if writes is None else writes
        self.crowd, self.rate, self.at_once, self.status, self.processor = (
            crowd,
            rate,
            at_once,
            status,
            processor,
        )

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Begins in the process that serves."""
        self.__dict__.update(state)
        self.allowance, self.under_way = Allowance(self.rate), 0
        if self.processor is not None:
            os.sched_setaffinity(0, {self.processor})

    def stages(self, ctx: Context) -> Sequence[Stage]:
        return (self.admit, *super().stages(ctx))

    def admit(self, ctx: Context) -> Response | None:
        """Refuses a request beyond a limit."""
        if (self.at_once and self.under_way >= self.at_once) or (self.rate and not self.allowance.take()):
            return with_header(Response.of(self.status, TOO_MANY), b"retry-after", b"1")
        return None

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if response.status == self.status or not ctx.request.whole:
            return response
        self.under_way += 1
        seconds = self.late if ctx.request.method == "GET" else self.writes
        if self.crowd:
            seconds *= 1 + max(0, self.under_way - self.crowd) ** 2 / 4
        return replace(response, delay=seconds, after=self.left)

    def left(self) -> None:
        self.under_way -= 1


@dataclass(frozen=True)
class Row:
    """A server, and the number of its processes."""

    server: Paced
    processes: int = 1


#: The checks of a run: some 800 requests, among them races for a key and a wallet. Those that wait for
#: seconds are left out, as a wait takes as long with any pace.
CHECKS = "-m 'not fuzz' -k 'not test_nonces and not test_idempotency_keys' --operation createWallet"

#: The processor that a server and the suite share.
SHARED = 0

ROWS = {
    "near": Row(Paced()),
    "30 ms": Row(Paced(0.03)),
    "150 ms": Row(Paced(0.15)),
    "writes 250 ms": Row(Paced(0.005, 0.25)),
    "150 a second": Row(Paced(rate=150)),
    "20 a second": Row(Paced(rate=20)),
    "4 at once, 429": Row(Paced(0.02, at_once=4)),
    "4 at once, 503": Row(Paced(0.02, at_once=4, status=503)),
    "2 at once, 429": Row(Paced(0.02, at_once=2)),
    "2 at once, 503": Row(Paced(0.02, at_once=2, status=503)),
    "slow under load": Row(Paced(0.02, crowd=8)),
    "cluster": Row(Paced(), 2),
    "shared processor": Row(Paced(processor=SHARED)),
}


@dataclass(frozen=True)
class Measured:
    """A run that has ended, or was cut off after as many seconds."""

    seconds: float
    #: Of the suite's processor time.
    busy: float
    requests: int
    refused: int
    status: int
    unjudged: Sequence[str]
    pace: str
    cut: bool

    @property
    def share(self) -> float:
        """The part of its requests that was refused."""
        return self.refused / max(1, self.requests)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", choices=ROWS, help="rows to measure (default: all)")
    parser.add_argument("--lanes", type=int, nargs="*", metavar="N", help="fixed numbers (default: near)")
    parser.add_argument("--options", default=CHECKS, metavar="WORDS", help=f"of the runs (default: {CHECKS})")


def prove(options: argparse.Namespace) -> bool:
    """Prints the table; returns True if it is proven."""
    print("| server | chosen | best | lanes | ratio | refused | exit | busy | requests | by lanes | found |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|", flush=True)
    rows = [_measured(name, options.lanes, options.options) for name in options.only or ROWS]
    return all(rows)


def _measured(name: str, lanes: Sequence[int] | None, words: str) -> bool:
    """Measures a row; returns True if it is proven."""
    row, fixed = ROWS[name], {}
    chosen = _judged(row, words, LONGEST)
    best, number = chosen.seconds, "chosen"
    for each in _near(chosen.pace) if lanes is None else lanes:
        run = fixed[each] = _judged(row, f"{words} --lanes {each}", math.ceil(best))
        if not run.cut and run.seconds < best:
            best, number = run.seconds, str(each)
    ratio = chosen.seconds / best
    each_of = ", ".join(
        f"{each}: {'over ' if run.cut else ''}{run.seconds:.1f} s" for each, run in sorted(fixed.items())
    )
    found = "; ".join([chosen.pace, *chosen.unjudged])
    print(
        f"| {name} | {chosen.seconds:.1f} s | {best:.1f} s | {number} | {ratio:.2f} | {chosen.share:.1%} | "
        f"{chosen.status} | {chosen.busy:.1f} s | {chosen.requests:,} | {each_of} | {found} |",
        flush=True,
    )
    few = chosen.refused - FIRST <= REFUSED * chosen.requests
    return not chosen.status and ratio <= ENOUGH and few


def _near(pace: str) -> Sequence[int]:
    """The fixed numbers nearest to the one that a run found, the nearest first."""
    found = next((int(match[1]) for words in FOUND if (match := re.search(words, pace))), LANES[0])
    return sorted(LANES, key=lambda number: abs(math.log2(number / found)))[:NEAR]


def _judged(row: Row, words: str, most: int) -> Measured:
    """Runs the suite on a new server of a row, for so many seconds at most."""
    with tempfile.TemporaryDirectory() as folder, _served(row, Path(folder)) as target:
        before, spent = os.sched_getaffinity(0), _spent()
        if row.server.processor is not None:
            os.sched_setaffinity(0, {row.server.processor})
        try:
            outcome = run(
                f"--target={target}",
                "--seed=1",
                f"--run-timeout={most}",
                *shlex.split(words),
                folder=Path(folder),
                timeout=2 * LONGEST,
            )
        finally:
            os.sched_setaffinity(0, before)
        if outcome.status not in (0, 1, 6):
            raise RuntimeError(f"exit status {outcome.status}:\n{outcome.output[-3000:]}")
        results, spent = outcome.results, _spent() - spent
    course = results["run"]
    required = {id for id, rule in RULES.items() if rule.level is Level.REQUIRED}
    unjudged = [
        f"{cell['rule']} on {cell['operation']}: {cell['summary']}"
        for cell in results["cells"]
        if cell["verdict"] == "inconclusive" and cell["rule"] in required
    ]
    return Measured(
        course["seconds"],
        spent,
        course["requests"],
        course["retries"],
        outcome.status,
        unjudged,
        " ".join(course["pace"]),
        cut=course["seconds"] >= most,
    )


def _spent() -> float:
    """Processor time of the runs that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


@contextlib.contextmanager
def _served(row: Row, folder: Path) -> Iterator[Path]:
    with several_processes(folder, row.server, row.processes) as tables:
        yield write_target(folder / "target.toml", {**tables, "lists": {"array_style": "repeat"}})
