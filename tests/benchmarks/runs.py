"""Runs of the suite as a user starts them, measured."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.running import ROOT, environment, run


@dataclass(frozen=True)
class Run:
    """One run: seconds from its start to its end, processor seconds of its processes, and its requests."""

    seconds: float
    processor: float
    requests: int
    folder: str = ""


def suite(target: Path | str, *options: str) -> Run:
    """Runs the suite on a target. Raises RuntimeError where it does not end well."""
    with tempfile.TemporaryDirectory() as folder:
        begin, before = time.perf_counter(), processor_seconds()
        outcome = run("--target", str(target), *options, folder=Path(folder), timeout=1800)
        seconds, processor = time.perf_counter() - begin, processor_seconds() - before
        if outcome.status not in (0, 5):
            raise RuntimeError(f"exit status {outcome.status}:\n{outcome.output[-3000:]}")
        results: dict[str, Any] = outcome.results if "--collect-only" not in options else {}
        return Run(seconds, processor, results.get("run", {}).get("requests", 0))


def command(arguments: Sequence[str], folder: Path = ROOT) -> float:
    """Seconds that a command of this Python takes."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - begin


def processor_seconds() -> float:
    """Processor seconds of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
