"""Load runs in a subprocess, as a user starts them."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.running import ROOT, environment

#: Seconds within which what a test waits for must happen.
PATIENCE = 300


@dataclass
class LoadRun:
    """A started load run, and its report folder."""

    process: subprocess.Popen[str]
    folder: Path

    @property
    def log(self) -> str:
        """What it has written to the terminal."""
        # A character may be written in part.
        return (self.folder.parent / f"{self.folder.name}.log").read_text("utf-8", "replace")

    @property
    def created(self) -> int:
        """Size of the list of created resources, in bytes."""
        path = self.folder / "created.jsonl"
        return path.stat().st_size if path.exists() else 0

    @property
    def announced(self) -> set[str]:
        """The violated rules that it has printed so far."""
        return set(re.findall(r"^conformance: broken: (\S+) on", self.log, re.MULTILINE))

    def until(self, event: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Waits for an event, as long as the run lasts."""
        end = time.monotonic() + seconds
        while not event():
            assert self.process.poll() is None and time.monotonic() < end, self.log
            time.sleep(0.05)

    def end(self) -> int:
        """Stops the run; returns its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    @property
    def results(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "results.json").read_text("utf-8"))
        return document

    @property
    def broken(self) -> dict[str, str]:
        """Returns the violated rules with what was got."""
        return {
            cell["rule"]: f"{cell['operation']}: {cell['summary']}"
            for cell in self.results["cells"]
            if cell["verdict"] in ("failed", "warning", "error")
        }


def command(target: Path, folder: Path, *arguments: str) -> list[str]:
    """Returns the command line of a load run."""
    words = [sys.executable, "-m", "conformance.cli", "load", "--target", str(target)]
    return [*words, "--report-dir", str(folder), "--only-summary", *arguments]


@contextlib.contextmanager
def load_run(target: Path, folder: Path, *arguments: str) -> Iterator[LoadRun]:
    """Starts a load run, and kills it at the end of the context if it still runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        process = subprocess.Popen(
            command(target, folder, *arguments),
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield LoadRun(process, folder)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
