"""Measures the suite as whole commands, from process start to process end; proves nothing.

Prints a Markdown table. The server is a new one in a process of its own for each command; the two sides of a
ratio are measured in turns, so that other load affects both. Seconds say something on an idle machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.contract.rules import SPEC
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving import listener
from conformance.target.file import load
from conformance.world.run import Run
from tests.prove import selection
from tests.support import running

#: Timeout of a command in seconds.
PATIENCE = 1800

MB = 2**20

#: Latency in seconds of the server that is far away.
FAR = 0.150

CHECKS = ("-m", "not fuzz")


class BalancesStay(Behaviour):
    """Leaves balances as they are when a payout is created, as a server does that books it later."""

    def reserve_funds(self, ctx: Context) -> None:
        pass


class Distant(Behaviour):
    """Answers late, as a server far away does."""

    def finish(self, ctx: Context, response: Any) -> Any:
        return replace(super().finish(ctx, response), delay=FAR)


SERVERS: dict[str, type[Behaviour]] = {"near": Behaviour, "stay": BalancesStay, "far": Distant}


@dataclass(frozen=True)
class Measured:
    """A command that has ended: its seconds; of a run also the peak of its memory in bytes, its requests, the
    seconds before the first test and after the last answer, and the idle seconds of each lane."""

    seconds: float
    memory: int = 0
    requests: int = 0
    before: float = 0.0
    after: float = 0.0
    idle: Sequence[float] = ()


def command(*words: str, folder: Path = running.ROOT, good: bool = True, **variables: str) -> Measured:
    """Runs this Python interpreter with arguments in a folder. Raises RuntimeError if it fails and should be
    `good`."""
    began = time.perf_counter()
    done = running.executed(
        [sys.executable, *words],
        folder,
        together=True,
        timeout=PATIENCE,
        PYTHONPATH=str(running.ROOT),
        **variables,
    )
    seconds = time.perf_counter() - began
    if good and done.returncode:
        raise RuntimeError(f"exit status {done.returncode}:\n{done.stdout[-3000:]}")
    return Measured(seconds)


def pytest(*words: str, folder: Path = running.ROOT, **variables: str) -> Measured:
    """Runs pytest with measurements. Raises RuntimeError if a test fails."""
    with tempfile.TemporaryDirectory() as name:
        file, began = Path(name) / "figures.json", time.time()
        words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.prove.measured", *words)
        done = command(*words, folder=folder, good=True, SPEED_FIGURES=str(file), **variables)
        ended, figures = time.time(), json.loads(file.read_bytes())
    before, after = figures["first test"] - began, ended - figures["last answer"]
    return Measured(done.seconds, figures["memory"], 0, before, after, figures["idle"])


def suite(target: Path | str, *options: str) -> Measured:
    """Runs the suite on a target, which must conform."""
    with tempfile.TemporaryDirectory() as folder:
        report, state = Path(folder) / "reports", str(Path(folder) / "state")
        words = ("--pyargs", "conformance", f"--report-dir={report}", f"--target={target}", "--seed=1")
        done = pytest(*words, *options, HYPOTHESIS_STORAGE_DIRECTORY=state)
        results = json.loads((report / "results.json").read_bytes())
    return replace(done, requests=results["run"]["requests"])


def judged(server: str, *options: str) -> Measured:
    """Runs the suite on a new server."""
    with tempfile.TemporaryDirectory() as folder, served(server, Path(folder)) as target:
        return suite(target, *options)


def bare(requests: int) -> Measured:
    """Sends as many signed requests over one connection of http.client."""
    with tempfile.TemporaryDirectory() as folder, served("near", Path(folder)) as target:
        return command("-m", "tests.prove.bare", str(target), str(requests))


def served(server: str, folder: Path) -> Any:
    """Starts a server in a process of its own; yields its target file."""
    return running.server_of("tests.prove.speed", folder / "target.toml", server)


# ---------------------------------------------------------------------- rows


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", choices=ROWS, help="rows to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measurements of each (3)")
    parser.add_argument("--examples", type=int, default=100, help="generated cases of each part (100)")
    selection.seed(parser, 1)


def prove(options: argparse.Namespace) -> bool:
    """Prints the table; returns True."""
    print("| what | measured | aim | figures |\n|---|---:|---|---|", flush=True)
    for name, rows in ROWS.items():
        if not options.only or name in options.only:
            for cells in rows(options):
                print(f"| {' | '.join(cells)} |", flush=True)
    return True


#: What was measured, its value, the aim, and the figures behind it.
Row = tuple[str, str, str, str]


def checks(options: argparse.Namespace) -> Iterator[Row]:
    for server, what in (("near", "balances that move"), ("stay", "balances that stay")):
        ratios, last, waits = [], 0.0, []
        for _ in range(options.rounds):
            run = judged(server, *CHECKS)
            last = bare(run.requests).seconds
            ratios.append(run.seconds / last)
            waits.append(sum(run.idle))
        figures = f"{run.seconds:.1f} to {last:.1f} s, {run.requests:,} requests"
        yield f"fixed checks over a bare client, {what}", f"{_middle(ratios):.2f}", "2.5", figures
        lanes = f"{len(run.idle)} lanes"
        yield f"wall less busy time of all lanes, {what}", f"{_middle(waits):.1f} s", "2 s", lanes


def default(options: argparse.Namespace) -> Iterator[Row]:
    runs = [suite("embedded") for _ in range(options.rounds)]
    yield "default run, embedded server", _seconds(runs), "14 s", f"{runs[-1].requests:,} requests"
    for what, name in (("start to first test", "before"), ("last answer to exit", "after")):
        yield what, f"{_middle([getattr(run, name) for run in runs]):.2f} s", "0.5 s", "of these runs"
    runs = [judged("near", "-n", "2") for _ in range(options.rounds)]
    alone = [judged("near") for _ in range(options.rounds)]
    yield (
        "default run with -n 2, server of its own",
        _seconds(runs),
        "as one process",
        f"{_seconds(alone)} alone",
    )


def quick(options: argparse.Namespace) -> Iterator[Row]:
    runs = [judged("near", "--effort", "quick") for _ in range(options.rounds)]
    yield "quick run", _seconds(runs), "5 s", f"{runs[-1].requests:,} requests"


def generated(options: argparse.Namespace) -> Iterator[Row]:
    rates = []
    for _ in range(options.rounds):
        run = judged("near", "-m", "fuzz", "--lanes", "1", f"--fuzz-examples={options.examples}")
        rates.append((run.requests / (run.seconds - run.before - run.after), plain(options)))
    figures = " to ".join(f"{_middle(rate):.0f}" for rate in zip(*rates, strict=True))
    ratio = _middle([ours / theirs for ours, theirs in rates])
    yield "generated requests a second over st run's, one lane each", f"{ratio:.2f}", "2.5", figures


def plain(options: argparse.Namespace) -> float:
    """Returns the requests a second of schemathesis's command line, from the first answer to the last."""
    with tempfile.TemporaryDirectory() as name, served("near", Path(name)) as target:
        folder = Path(name)
        loaded = load(target, {})
        fixture = Run(loaded).account()
        ids = ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")
        log = folder / "log"
        (folder / "schemathesis.toml").write_text(
            "[generation]\nwith-security-parameters = false\n[phases.coverage]\nunexpected-methods = []\n"
        )
        words = ["run", str(SPEC / "openapi.yaml"), "--url", loaded.base_url, "--phases", "coverage,fuzzing"]
        words += ["-n", str(options.examples), "--seed", str(options.seed), "--workers", "1", "--no-color"]
        command(
            "-c",
            "from schemathesis.cli import schemathesis; schemathesis()",
            *words,
            folder=folder,
            good=False,
            SCHEMATHESIS_HOOKS="tests.prove.signing_hooks",
            SPEED_LOG=str(log),
            SPEED_API_KEY=loaded.primary.api_key,
            SPEED_SECRET=loaded.primary.secret,
            SPEED_IDS=json.dumps({name: getattr(fixture, name) for name in ids}),
        )
        times = [float(line) for line in log.read_text("utf-8").splitlines()]
    return len(times) / (times[-1] - times[0])


def far(options: argparse.Namespace) -> Iterator[Row]:
    run = judged("far")
    bound = run.requests * FAR / len(run.idle)
    figures = f"{run.seconds:.0f} s, {run.requests:,} requests, {len(run.idle)} lanes"
    yield (
        "default run at 150 ms over requests x latency / lanes",
        f"{run.seconds / bound:.2f}",
        "1.2",
        figures,
    )


def memory(options: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_nothing.py"
        path.write_text("def test_nothing():\n    pass\n", "utf-8")
        least = pytest(str(path), folder=Path(folder)).memory
    run = judged("near")
    figures = f"{run.memory / MB:.0f} and {least / MB:.0f} MB"
    yield (
        "memory of the default run above bare pytest",
        f"{(run.memory - least) / MB:.0f} MB",
        "100 MB",
        figures,
    )


ROWS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "checks": checks,
    "default": default,
    "quick": quick,
    "generated": generated,
    "far": far,
    "memory": memory,
}


def _middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def _seconds(runs: Sequence[Measured]) -> str:
    return f"{_middle([run.seconds for run in runs]):.1f} s"


def main(name: str, file: Path) -> None:
    """Serves until the parent process ends."""
    parent = os.getppid()
    server, seeded = new_server(SERVERS[name]())
    with listener.served(server) as url:
        running.write_target(file.with_suffix(".part"), target_tables(seeded, url)).rename(file)
        while os.getppid() == parent:
            time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
