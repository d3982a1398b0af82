"""Growth of the report with what is recorded: 1, 10 and 100 times as many exchanges."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from tests.support.running import ROOT, environment

from .table import Row

TIMES = (1, 10, 100)

#: Exchanges of the smallest run.
SMALLEST = 300


def report(smallest: int) -> Iterator[Row]:
    """A row for each file: its growth over that of the exchanges, from 10 to 100 times as many as in the
    smallest run."""
    found = [_measured(times * smallest) for times in TIMES]
    for name in ("results.json", "report.html"):
        sizes = [measured[name] / 2**20 for measured in found]
        grown = (sizes[2] - sizes[0]) / max((sizes[1] - sizes[0]) * 11, 1e-9) if sizes[1] > sizes[0] else 0.0
        figures = ", ".join(
            f"{times * smallest:,}: {size:.1f} MB" for times, size in zip(TIMES, sizes, strict=True)
        )
        yield Row(f"{name}, growth to 100 times over that to 10 times", grown, "<= 1.1 (linear)", figures)


def _measured(exchanges: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.growing", str(exchanges)],
        cwd=ROOT,
        env=environment(PYTHONPATH=str(ROOT)),
        stdout=subprocess.PIPE,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured
