"""Measures the pace that a run finds by itself, beside fixed numbers of lanes, on servers that conform.

Each row is a server: how late it answers, and how many requests it takes. The seconds of each run are a
ratio to those of the best fixed number of the row. Not proven: a run that chose its lanes did not end with
exit status 0, took more than 1.25 times the best, or had more than 2 % of its requests refused. Ratios say
something on an idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
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

#: Fixed numbers of lanes, the fastest first on most servers.
LANES = (16, 8, 32, 4, 2, 1)

#: Most seconds of a run, as a multiple of the best fixed number; and of the first run of a row.
TOO_LATE, LONGEST = 2.0, 300.0

#: Ratio of seconds, and share of refused requests, that are enough.
ENOUGH, REFUSED = 1.25, 0.02


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
    """A server, the number of its processes, and options of the runs that judge it."""

    server: Paced
    processes: int = 1
    options: str = "-m 'not fuzz'"


QUICK = "-m 'not fuzz' --effort quick"

#: The processor that a server and the suite share.
SHARED = 0

ROWS = {
    "near": Row(Paced()),
    "30 ms": Row(Paced(0.03)),
    "150 ms": Row(Paced(0.15), options=QUICK),
    "writes 250 ms": Row(Paced(0.005, 0.25), options=QUICK),
    "150 a second": Row(Paced(rate=150)),
    "20 a second": Row(Paced(rate=20), options=QUICK),
    "4 at once, 429": Row(Paced(0.02, at_once=4), options=QUICK),
    "4 at once, 503": Row(Paced(0.02, at_once=4, status=503), options=QUICK),
    "2 at once, 429": Row(Paced(0.02, at_once=2), options=QUICK),
    "2 at once, 503": Row(Paced(0.02, at_once=2, status=503), options=QUICK),
    "slow under load": Row(Paced(0.02, crowd=8), options=QUICK),
    "cluster": Row(Paced(), 2),
    "shared processor": Row(Paced(processor=SHARED)),
}


@dataclass(frozen=True)
class Measured:
    """A run that has ended."""

    seconds: float
    #: Of the suite's processor time.
    busy: float
    requests: int
    refused: int
    status: int
    unjudged: Sequence[str]
    pace: str

    @property
    def line(self) -> str:
        """Its figures as cells of a table."""
        return f"{self.requests:,} | {self.refused:,} | {self.status} | {len(self.unjudged)} | {self.pace}"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", choices=ROWS, help="rows to measure (default: all)")
    parser.add_argument("--lanes", type=int, nargs="*", default=LANES, metavar="N", help="fixed numbers")
    parser.add_argument("--options", metavar="WORDS", help="options of the runs (default: those of the row)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs that choose their lanes (1)")


def prove(options: argparse.Namespace) -> bool:
    """Prints the table; returns True if it is proven."""
    print("| server | lanes | ratio | seconds | busy | requests | refused | exit | inconclusive | found |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    rows = [_measured(name, options) for name in options.only or ROWS]
    return all(rows)


def _measured(name: str, options: argparse.Namespace) -> bool:
    """Measures a row; returns True if it is proven."""
    row, good, best = ROWS[name], True, LONGEST / TOO_LATE
    words = row.options if options.options is None else options.options
    fixed = []
    for number in options.lanes:
        one = _judged(row, f"{words} --lanes {number} --run-timeout {TOO_LATE * best:.0f}")
        best = min(best, one.seconds) if one.status in (0, 6) else best
        fixed.append((str(number), one))
    chosen = [("chosen", _judged(row, words)) for _ in range(options.repeat)]
    for lanes, one in [*fixed, *chosen]:
        ratio = one.seconds / best
        print(
            f"| {name} | {lanes} | {ratio:.2f} | {one.seconds:.1f} | {one.busy:.1f} | {one.line} |",
            flush=True,
        )
        for line in one.unjudged:
            print(f"  {line}", flush=True)
        if lanes == "chosen":
            good = good and not one.status and ratio <= ENOUGH and one.refused <= REFUSED * one.requests
    return good


def _judged(row: Row, words: str) -> Measured:
    """Runs the suite on a new server of a row."""
    with tempfile.TemporaryDirectory() as folder, _served(row, Path(folder)) as target:
        before, spent = os.sched_getaffinity(0), _spent()
        if row.server.processor is not None:
            os.sched_setaffinity(0, {row.server.processor})
        try:
            outcome = run(
                f"--target={target}",
                "--seed=1",
                *shlex.split(words),
                folder=Path(folder),
                timeout=2 * LONGEST,
            )
        finally:
            os.sched_setaffinity(0, before)
        results, spent = outcome.results, _spent() - spent
    course = results["run"]
    required = {id for id, rule in RULES.items() if rule.level is Level.REQUIRED}
    unjudged = [
        f"{cell['rule']} on {cell['operation']}: {cell['summary']}"
        for cell in results["cells"]
        if cell["verdict"] == "inconclusive" and cell["rule"] in required
    ]
    pace = " ".join(course["pace"])
    return Measured(
        course["seconds"], spent, course["requests"], course["retries"], outcome.status, unjudged, pace
    )


def _spent() -> float:
    """Processor time of the runs that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


@contextlib.contextmanager
def _served(row: Row, folder: Path) -> Iterator[Path]:
    with several_processes(folder, row.server, row.processes) as tables:
        yield write_target(folder / "target.toml", {**tables, "lists": {"array_style": "repeat"}})
