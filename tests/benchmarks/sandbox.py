"""Requests per second of the sandbox, with and without --judge."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.support import running

from . import bare
from .table import Row, in_turns, ratio

REQUESTS = 3000


def seconds(*options: str) -> float:
    """Returns the seconds of a bare client for REQUESTS on one connection, every second one a create."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running.sandbox(*options, "--report-dir", folder) as started,
    ):
        target = running.write_target(Path(folder) / "target.toml", started[1])
        begin = time.perf_counter()
        bare.main(target, REQUESTS)
        return time.perf_counter() - begin


def report(rounds: int) -> Row:
    """Compares the bare client's times."""
    judged, plain = in_turns(rounds, lambda: seconds("--judge"), seconds)
    return Row(
        "requests to the sandbox with --judge over those without",
        ratio(judged, plain),
        "<= 1.3",
        f"{1000 * min(judged) / REQUESTS:.2f} to {1000 * min(plain) / REQUESTS:.2f} ms a request",
    )
