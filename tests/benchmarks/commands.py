"""Whole commands, from process start to process end with reports, compared with a bare client.

The server is a new reference server process for each command. The bare client (tests/benchmarks/bare.py)
sends as many signed requests over one connection, every second one a create.
"""

from __future__ import annotations

import shlex
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import runs, servers
from .phases import PHASES
from .runs import MB, Run
from .table import Row, ratio, shown

ALONE = ("--lanes", "1", "--seed", "1")
CHECKS = ("-m", "not fuzz", "--seed", "1")
QUICK = ("--effort", "quick", *ALONE)

#: Generated cases of each part with which a run sends about 30,000 requests.
MANY = ("--fuzz-examples", "210")

#: Status in place of 401, which makes about 300 violations.
VIOLATING = 200


def checks(rounds: int, options: Sequence[str] = ()) -> Iterator[Row]:
    """Compares the fixed checks with a bare client, with the default number of lanes and with one."""
    for what, words in (("the fixed checks", CHECKS), ("the fixed checks in one lane", (*CHECKS, *ALONE))):
        suite, client = [], []
        for _ in range(rounds):
            suite.append(_on_a_server(*words, *options))
            client.append(_bare(suite[-1].requests))
        yield _row(f"{what} over a bare client", suite, client, "<= 3.5")


def quick(rounds: int, options: Sequence[str] = ()) -> Iterator[Row]:
    """Compares a quick run with the time of its requests, from the first test to the last answer."""
    found = [_on_a_server(*QUICK, *options, phases=True) for _ in range(rounds)]
    whole = [run.seconds for run in found]
    requests = [run.seconds - run.before - run.after for run in found]
    figures = f"{shown(whole)} to {shown(requests)}, {found[-1].requests:,} requests"
    yield Row("a quick run over the time of its requests", ratio(whole, requests), "<= 1.6", figures)


def processes(rounds: int, options: Sequence[str] = ()) -> Iterator[Row]:
    """Compares the default run in one process with two, with the default number of lanes and with one, and
    with the most that two can save beside the server's own CPU time. The fixed checks alone gain nothing:
    their last reads wait five seconds for eventual consistency."""
    for what, words in (("", ("--seed", "1")), (", each in one lane", ALONE)):
        one, two, served = [], [], []
        for _ in range(rounds):
            with servers.target() as target:
                one.append(runs.suite(target, *words, *options))
                served.append(servers.processor_seconds(target))
            two.append(_on_a_server(*words, *options, "-n", "2"))
        yield _row(f"one process over two (-n 2){what}", one, two, ">= 1.6")
        alone = [run.seconds for run in one]
        possible = [(run.processor + used) / 2 for run, used in zip(one, served, strict=True)]
        yield Row(
            f"one process over half of the processor seconds of suite and server{what}: the bound",
            ratio(alone, possible),
            "",
            f"{shown(alone)} to {shown(possible)}, {shown(served)} of the server's",
        )


def violating(rounds: int, options: Sequence[str] = ()) -> Iterator[Row]:
    """Compares the seconds from the last answer to the end, of a conforming run and one with 300
    violations."""
    for status, aim in ((None, "<= 1"), (VIOLATING, "<= 2")):
        found = []
        for _ in range(rounds):
            with servers.target(unauthorized=status) as target:
                found.append(runs.suite(target, *ALONE, *options, phases=True))
        last = found[-1]
        yield Row(
            f"last answer to exit, seconds, {last.violations} violations",
            statistics.median(run.after for run in found),
            aim,
            f"{last.requests:,} requests; {last.used['reports']:.2f} s of processor for reports",
        )


def memory(options: Sequence[str] = ()) -> Iterator[Row]:
    """Compares the peak memory of runs in MB with that of pytest with an empty test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_nothing.py"
        path.write_text("def test_nothing():\n    pass\n", "utf-8")
        bare = runs.command(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)], Path(folder)).memory
    for name, words, aim in (
        ("the default run", ALONE, "<= 120"),
        ("a run of about 30,000 requests", (*ALONE, *MANY), "<= 200"),
    ):
        run = _on_a_server(*words, *options)
        yield Row(
            f"memory of {name} above bare pytest, MB",
            (run.memory - bare) / MB,
            aim,
            f"{run.memory / MB:.0f} and {bare / MB:.0f} MB, {run.requests:,} requests",
        )


def profile(options: Sequence[str] = ()) -> Iterator[str]:
    """Yields a Markdown table of seconds and CPU seconds by phase: fixed checks, default run, quick run, 300
    violations."""
    yield f"| run | {' | '.join(PHASES)} | whole | start to first test | last answer to exit |"
    yield f"|---|{'---:|' * (len(PHASES) + 3)}"
    for name, words, status in (
        ("checks", (*CHECKS, *ALONE), None),
        ("default", ALONE, None),
        ("quick", QUICK, None),
        ("violating", ALONE, VIOLATING),
    ):
        with servers.target(unauthorized=status) as target:
            run = runs.suite(target, *words, *options, phases=True)
        cells = [run.phases[phase] for phase in PHASES] + [run.seconds, run.before, run.after]
        yield f"| {name}, {run.requests:,} requests, {run.violations} violations | {_cells(cells)} |"
        cells = [run.used[phase] for phase in PHASES] + [run.processor]
        yield f"| {name}, of processor | {_cells(cells)} | | |"


def _cells(numbers: Sequence[float]) -> str:
    return " | ".join(f"{number:.2f}" for number in numbers)


def _row(what: str, above: Sequence[Run], below: Sequence[Run], aim: str) -> Row:
    seconds = [[run.seconds for run in found] for found in (above, below)]
    used = [statistics.median(run.processor for run in found) for found in (above, below)]
    figures = (
        f"{shown(seconds[0])} to {shown(seconds[1])}, {used[0]:.2f} to {used[1]:.2f} of processor, "
        f"{above[-1].requests:,} requests"
    )
    return Row(f"{what}, whole commands", ratio(*seconds), aim, figures)


def _on_a_server(*options: str, phases: bool = False) -> Run:
    with servers.target() as target:
        return runs.suite(target, *options, phases=phases)


def _bare(requests: int) -> Run:
    """Sends requests with the bare client. Raises RuntimeError if it fails."""
    with servers.target() as target:
        done = runs.command(["-m", "tests.benchmarks.bare", str(target), str(requests)])
    if done.status:
        raise RuntimeError(f"the bare client failed:\n{done.output[-2000:]}")
    return done


# ---------------------------------------------------------------------- latency


LANES = (1, 2, 4, 8, 16, 32)
#: In milliseconds.
LATENCIES = (0.0, 10.0, 50.0, 150.0)

#: Default options of the runs that measure lanes. They send some 450 requests in short tests; a whole run
#: takes half an hour in one lane at 150 ms.
REDUCED = ("-m", "not fuzz", "--operation", "getVirtualAccount", "--operation", "getAccountBalances")

#: Latency in seconds, and lanes, of the run with a target value.
LATENCY, MOST = 0.030, 16


def lanes(options: Sequence[str], numbers: Sequence[float], latencies: Sequence[float]) -> Iterator[str]:
    """Yields a Markdown table of the seconds of a run by lanes and latency, with the speed-up over the first
    number of lanes."""
    requests = 0
    yield f"| lanes | {' | '.join(f'{latency:g} ms' for latency in latencies)} |"
    yield f"|---:|{'---:|' * len(latencies)}"
    first: list[float] = []
    for number in numbers:
        found = []
        for latency in latencies:
            with servers.target(latency / 1000) as target:
                run = runs.suite(target, "--lanes", f"{number:g}", *options)
            found.append(run.seconds)
            requests = max(requests, run.requests)
        first = first or found
        cells = [f"{now:.1f} s ({then / now:.1f})" for now, then in zip(found, first, strict=True)]
        yield f"| {number:g} | {' | '.join(cells)} |"
    yield f"Runs of {shlex.join(options)}: {requests:,} requests at most, start and reports included."


def whole(options: Sequence[str] = ()) -> Row:
    """Compares a run at 30 ms with the sum of its requests' time in 16 lanes and its own time."""
    with servers.target() as target:
        near = runs.suite(target, "--lanes", "1", "--seed", "1", *options)
    with servers.target(LATENCY) as target:
        far = runs.suite(target, "--lanes", str(MOST), "--seed", "1", *options)
    possible = far.requests * LATENCY / MOST + near.seconds
    what = " ".join(options) or "the whole default run"
    return Row(
        f"{what} at 30 ms over requests x latency / 16 lanes + its own time",
        far.seconds / possible,
        "<= 1.5",
        f"{far.seconds:.1f} s to {far.requests:,} x 30 ms / 16 + {near.seconds:.1f} s",
    )
