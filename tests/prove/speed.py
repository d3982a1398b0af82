"""Measures the suite as whole commands, from process start to process end; proves nothing.

Prints a Markdown table. The server is a new one in a process of its own for each command; the two sides of a
ratio are measured in turns, so that other load affects both. Seconds say something on an idle machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from conformance.contract.documents import SPEC
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving import listener
from conformance.target.file import load
from conformance.world.lane import Lane
from tests.support import running

#: Timeout of a command in seconds.
PATIENCE = 1800

MB = 2**20

#: Latency in seconds of the server that is far away.
FAR = 0.150


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
    """A run that has ended: its seconds, those before the first test and after the last answer, the peak of
    its memory in bytes, its requests, and the idle seconds of each lane."""

    seconds: float
    before: float
    after: float
    memory: int
    requests: int
    idle: Sequence[float]


def command(*words: str, folder: Path = running.ROOT, good: bool = True, **variables: str) -> float:
    """Runs this Python interpreter with arguments in a folder; returns the seconds. Raises RuntimeError if it
    fails and should be `good`."""
    began = time.perf_counter()
    variables["PYTHONPATH"] = str(running.ROOT)
    done = running.executed([sys.executable, *words], folder, together=True, timeout=PATIENCE, **variables)
    if good and done.returncode:
        raise RuntimeError(f"exit status {done.returncode}:\n{done.stdout[-3000:]}")
    return time.perf_counter() - began


def pytest(*words: str, folder: Path = running.ROOT) -> Measured:
    """Runs pytest, of whose tests none may fail."""
    with tempfile.TemporaryDirectory() as name:
        began, report = time.time(), Path(name) / "results.json"
        words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.prove.measured", *words)
        if "conformance" in words:
            words = (*words, f"--report-dir={name}")
        file = f"{name}/figures"
        seconds = command(*words, folder=folder, SPEED_FIGURES=file, HYPOTHESIS_STORAGE_DIRECTORY=name)
        ended, figures = time.time(), json.loads(Path(file).read_bytes())
        requests = json.loads(report.read_bytes())["run"]["requests"] if report.exists() else 0
    before, after = figures["first test"] - began, ended - figures["last answer"]
    return Measured(seconds, before, after, figures["memory"], requests, figures["idle"])


def suite(target: Path | str, *options: str) -> Measured:
    """Runs the suite on a target, which must conform."""
    return pytest("--pyargs", "conformance", f"--target={target}", "--seed=1", *options)


def judged(server: str, *options: str) -> Measured:
    """Runs the suite on a new server."""
    with tempfile.TemporaryDirectory() as folder, served(server, Path(folder)) as target:
        return suite(target, *options)


def bare(requests: int) -> float:
    """The seconds in which a bare client sends as many requests."""
    with tempfile.TemporaryDirectory() as folder, served("near", Path(folder)) as target:
        return command("-m", "tests.prove.bare", str(target), str(requests))


def served(server: str, folder: Path) -> Any:
    """Starts a server in a process of its own; yields its target file."""
    return running.server_of("tests.prove.speed", folder / "target.toml", server)


# ---------------------------------------------------------------------- rows


#: What was measured, its value, the aim, and the figures behind it.
Row = tuple[str, str, str, str]


def checks(rounds: range, examples: int) -> Iterator[Row]:
    for server, what in (("near", "balances that move"), ("stay", "balances that stay")):
        pairs = [(run := judged(server, "-m", "not fuzz"), bare(run.requests)) for _ in rounds]
        ratio = median(run.seconds / least for run, least in pairs)
        run, least = pairs[-1]
        figures = f"{run.seconds:.1f} to {least:.1f} s, {run.requests:,} requests"
        yield f"fixed checks over a bare client, {what}", f"{ratio:.2f}", "2.5", figures
        idle = median(sum(run.idle) for run, _ in pairs)
        yield f"wall less busy time of all lanes, {what}", f"{idle:.1f} s", "2 s", f"{len(run.idle)} lanes"


def default(rounds: range, examples: int) -> Iterator[Row]:
    runs = [suite("embedded") for _ in rounds]
    yield "default run, embedded server", _seconds(runs), "14 s", f"{runs[-1].requests:,} requests"
    yield "start to first test", f"{median(run.before for run in runs):.2f} s", "0.5 s", "of these runs"
    yield "last answer to exit", f"{median(run.after for run in runs):.2f} s", "0.5 s", "of these runs"
    two, one = (_seconds([judged("near", *words) for _ in rounds]) for words in (("-n", "2"), ()))
    yield "default run with -n 2, server of its own", two, "as one process", f"{one} alone"


def quick(rounds: range, examples: int) -> Iterator[Row]:
    runs = [judged("near", "--effort", "quick") for _ in rounds]
    yield "quick run", _seconds(runs), "5 s", f"{runs[-1].requests:,} requests"


def generated(rounds: range, examples: int) -> Iterator[Row]:
    pairs = []
    for _ in rounds:
        run = judged("near", "-m", "fuzz", "--lanes", "1", f"--fuzz-examples={examples}")
        pairs.append((run.requests / (run.seconds - run.before - run.after), plain(examples)))
    figures = " to ".join(f"{median(rates):.0f}" for rates in zip(*pairs, strict=True))
    ratio = median(ours / theirs for ours, theirs in pairs)
    yield "generated requests a second over st run's, one lane each", f"{ratio:.2f}", "2.5", figures


def plain(examples: int) -> float:
    """Returns the requests a second of schemathesis's command line, from the first answer to the last."""
    with tempfile.TemporaryDirectory() as name, served("near", Path(name)) as target:
        loaded, log = load(target, {}), Path(name) / "log"
        fixture = Lane(loaded).account()
        ids = ("customer_id", "account_id", "beneficiary_id", "virtual_account_id")
        (Path(name) / "schemathesis.toml").write_text(
            "[generation]\nwith-security-parameters = false\n[phases.coverage]\nunexpected-methods = []\n"
        )
        words = ["run", str(SPEC / "openapi.yaml"), "--url", loaded.base_url, "--phases", "coverage,fuzzing"]
        words += ["-n", str(examples), "--seed", "1", "--workers", "1", "--no-color"]
        command(
            "-c",
            "from schemathesis.cli import schemathesis; schemathesis()",
            *words,
            folder=Path(name),
            good=False,
            SCHEMATHESIS_HOOKS="tests.prove.signing_hooks",
            SPEED_LOG=str(log),
            SPEED_API_KEY=loaded.primary.api_key,
            SPEED_SECRET=loaded.primary.secret,
            SPEED_IDS=json.dumps({name: fixture.id_of(name) for name in ids}),
        )
        times = [float(line) for line in log.read_text("utf-8").splitlines()]
    return len(times) / (times[-1] - times[0])


def far(rounds: range, examples: int) -> Iterator[Row]:
    run = judged("far")
    ratio = run.seconds / (run.requests * FAR / len(run.idle))
    figures = f"{run.seconds:.0f} s, {run.requests:,} requests, {len(run.idle)} lanes"
    yield "default run at 150 ms over requests x latency / lanes", f"{ratio:.2f}", "1.2", figures


def memory(rounds: range, examples: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_nothing.py"
        path.write_text("def test_nothing():\n    pass\n", "utf-8")
        least = pytest(str(path), folder=Path(folder)).memory / MB
    peak = judged("near").memory / MB
    figures = f"{peak:.0f} and {least:.0f} MB"
    yield "memory of the default run above bare pytest", f"{peak - least:.0f} MB", "100 MB", figures


ROWS: dict[str, Callable[[range, int], Iterator[Row]]] = {
    "checks": checks,
    "default": default,
    "quick": quick,
    "generated": generated,
    "far": far,
    "memory": memory,
}


def _seconds(runs: Sequence[Measured]) -> str:
    return f"{median(run.seconds for run in runs):.1f} s"


# ---------------------------------------------------------------------- the command


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", choices=ROWS, help="rows to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measurements of each (3)")
    parser.add_argument("--examples", type=int, default=100, help="generated cases of each part (100)")


def prove(options: argparse.Namespace) -> bool:
    """Prints the table; returns True."""
    print("| what | measured | aim | figures |\n|---|---:|---|---|", flush=True)
    for name in options.only or ROWS:
        for row in ROWS[name](range(options.rounds), options.examples):
            print(f"| {' | '.join(row)} |", flush=True)
    return True


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
