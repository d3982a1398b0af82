"""Whole commands, from process start to process end with reports written, beside a bare client.

The server is the reference server in a process of its own. The bare client (tests/benchmarks/bare.py) sends
as many signed requests over one connection to the same server, every second one a create.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.running import executed, suite

from . import servers
from .phases import PHASES
from .runs import processor_seconds
from .table import Row, ratio, shown

CHECKS = ("-m", "not fuzz", "--lanes", "1", "--seed", "1")
QUICK = ("--effort", "quick", "--lanes", "1", "--seed", "1")


@dataclass(frozen=True)
class Command:
    """One command: seconds from start to end, processor seconds, requests, seconds by phase if measured."""

    seconds: float
    processor: float
    requests: int = 0
    #: From the start to the first test, and from the last answer to the end.
    before: float = 0.0
    after: float = 0.0
    phases: dict[str, float] | None = None

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.processor:.2f} s of processor)"


def run(target: Path, *options: str, phases: bool = False) -> Command:
    """Runs the suite on a target; `phases` measures where its time goes, which costs a little. Raises
    RuntimeError where the run does not come to a verdict."""
    with tempfile.TemporaryDirectory() as folder:
        report, figures = Path(folder) / "reports", Path(folder) / "phases.json"
        words = ["--target", str(target), *options, *(["-p", "tests.benchmarks.phases"] if phases else [])]
        begin, began, used = time.perf_counter(), time.time(), processor_seconds()
        done = executed(
            suite(report, words),
            Path.cwd(),
            together=True,
            timeout=1800,
            BENCHMARK_PHASES=str(figures),
            BENCHMARK_BEGAN=str(began),
        )
        seconds, ended, used = time.perf_counter() - begin, time.time(), processor_seconds() - used
        if done.returncode not in (0, 1):
            raise RuntimeError(f"exit status {done.returncode}:\n{done.stdout[-3000:]}")
        requests = json.loads((report / "results.json").read_text("utf-8"))["run"]["requests"]
        if not phases:
            return Command(seconds, used, requests)
        found: dict[str, Any] = json.loads(figures.read_text("utf-8"))
        by_phase: dict[str, float] = found["seconds"]
        by_phase["end"] = by_phase.get("end", 0.0) + ended - found["written"]
        before, after = found["first test"] - began, ended - found["last answer"]
        return Command(seconds, used, requests, before, after, by_phase)


def bare(target: Path, requests: int) -> Command:
    """Sends so many requests by the bare client."""
    begin, used = time.perf_counter(), processor_seconds()
    command = [sys.executable, "-m", "tests.benchmarks.bare", str(target), str(requests)]
    done = executed(command, Path.cwd(), together=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"the bare client failed:\n{done.stdout[-2000:]}")
    return Command(time.perf_counter() - begin, processor_seconds() - used, requests)


def report(rounds: int, options: Sequence[str] = ()) -> Iterator[Row]:
    """The ratios of whole commands, measured in turns on servers of their own."""
    checks, quick, two, clients, few = [], [], [], [], []
    for _ in range(rounds):
        checks.append(_on_a_server(*CHECKS, *options))
        clients.append(_bare_on_a_server(checks[-1].requests))
        two.append(_on_a_server(*CHECKS, *options, "-n", "2"))
        quick.append(_on_a_server(*QUICK, *options))
        few.append(_bare_on_a_server(quick[-1].requests))
    yield _row("the fixed checks over a bare client, whole commands", checks, clients, "<= 3.5")
    yield _row("a quick run over a bare client, whole commands", quick, few, "")
    yield _row("one process over two (-n 2), whole commands", checks, two, ">= 1.6")


def profile(options: Sequence[str] = ()) -> Iterator[str]:
    """A Markdown table: seconds by phase of runs of the fixed checks and of a quick run."""
    yield f"| run | {' | '.join(PHASES)} | whole | start to first test | last answer to exit |"
    yield f"|---|{'---:|' * (len(PHASES) + 3)}"
    for name, words in (("checks", CHECKS), ("quick", QUICK)):
        measured = _on_a_server(*words, *options, phases=True)
        phases = measured.phases or {}
        cells = [phases.get(phase, 0.0) for phase in PHASES]
        cells += [measured.seconds, measured.before, measured.after]
        yield f"| {name}, {measured.requests:,} requests | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def _row(what: str, above: Sequence[Command], below: Sequence[Command], aim: str) -> Row:
    seconds = [[command.seconds for command in commands] for commands in (above, below)]
    used = [[command.processor for command in commands] for commands in (above, below)]
    figures = (
        f"{shown(seconds[0])} to {shown(seconds[1])}, {statistics.median(used[0]):.2f} to "
        f"{statistics.median(used[1]):.2f} of processor, {above[-1].requests:,} requests"
    )
    return Row(what, ratio(*seconds), aim, figures)


def _on_a_server(*options: str, phases: bool = False) -> Command:
    with servers.target() as target:
        return run(target, *options, phases=phases)


def _bare_on_a_server(requests: int) -> Command:
    with servers.target() as target:
        return bare(target, requests)
