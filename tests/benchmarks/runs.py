"""Commands as a user starts them, measured from process start to process end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support import running

#: Timeout of a command in seconds.
PATIENCE = 1800

MB = 2**20


@dataclass(frozen=True)
class Run:
    """Seconds, CPU seconds of all processes, and peak memory of the largest in bytes. For a run of the suite
    also its requests and violations, and seconds by phase if measured.
    """

    seconds: float
    processor: float
    memory: int
    status: int = 0
    output: str = ""
    requests: int = 0
    violations: int = 0
    #: Phase -> seconds, and phase -> CPU seconds.
    phases: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    #: Seconds from the start to the first test, and from the last answer to the end.
    before: float = 0.0
    after: float = 0.0


def command(arguments: Sequence[str], folder: Path = running.ROOT, **variables: str) -> Run:
    """Runs this Python interpreter with arguments in a folder."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=running.environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        # Popen.wait does not return the resource usage.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Run(
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
            process.returncode,
            output.read().decode("utf-8", "replace"),
        )


def suite(target: Path | str, *options: str, phases: bool = False) -> Run:
    """Runs the suite on a target; `phases` measures them, at a small cost. Raises RuntimeError if the run has
    no verdict."""
    with tempfile.TemporaryDirectory() as folder:
        report, figures = Path(folder) / "reports", Path(folder) / "phases.json"
        words = [f"--target={target}", *options, *(["-p", "tests.benchmarks.phases"] if phases else [])]
        began = time.time()
        done = command(
            running.suite(report, words)[1:],
            BENCHMARK_PHASES=str(figures),
            BENCHMARK_BEGAN=str(began),
            # As in a CI job, without a database of earlier examples.
            HYPOTHESIS_STORAGE_DIRECTORY=str(Path(folder) / ".hypothesis"),
        )
        ended = time.time()
        if done.status not in (0, 1):
            raise RuntimeError(f"exit status {done.status}:\n{done.output[-3000:]}")
        results: dict[str, Any] = json.loads((report / "results.json").read_text("utf-8"))
        done = replace(
            done, requests=results["run"]["requests"], violations=results["counts"]["required"]["failed"]
        )
        if not phases:
            return done
        found: dict[str, Any] = json.loads(figures.read_text("utf-8"))
        found["seconds"]["end"] += ended - found["written"]
        found["used"]["end"] += done.processor - sum(found["used"].values())
        before, after = found["first test"] - began, ended - found["last answer"]
        return replace(done, phases=found["seconds"], used=found["used"], before=before, after=after)
