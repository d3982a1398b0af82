"""Brings random servers to a verdict.

A server keeps to the rules but spoils answers at random: any status, any JSON, any bytes, any headers, on any
operation. Each meets checks drawn at random, and one in ten a part of the generated requests. The suite's own
failure, a traceback or an answer that nobody can write down is a mistake; the seed of its server is printed.
"""

from __future__ import annotations

import argparse
import os
import time

import pytest

from tests.prove import selection


class _Tally:
    """Counts servers, and stops after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.servers = self.failed = 0
        self.longest = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.servers += 1
            self.failed += report.failed
            self.longest = max(self.longest, report.duration)

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if time.monotonic() > self._end:
            item.session.shouldstop = "the time is over"


def options(parser: argparse.ArgumentParser) -> None:
    """Declares what the command line takes."""
    parser.add_argument("--servers", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many seconds")
    selection.seed(parser, 1)


def prove(options: argparse.Namespace) -> bool:
    """Runs the tests of random servers; returns True where each came to a verdict."""
    os.environ["RANDOM_ANSWERS"], os.environ["RANDOM_ANSWERS_SEED"] = str(options.servers), str(options.seed)
    tally = _Tally(options.seconds)
    chosen = ["-q", "--tb=short", "-k", "every_check_comes", "tests/checks/test_random_answers.py"]
    pytest.main(chosen, plugins=[tally])
    print(
        f"{tally.servers} random servers from seed {options.seed} on: {tally.failed} without a verdict; "
        f"the longest took {tally.longest:.1f} s"
    )
    return bool(tally.servers) and not tally.failed
