"""Samples the slow tests: a run of the whole folder takes those of a day, a run of named tests all.

Days are numbers: SAMPLE in the environment, or the date's. They go round, so that as many days as a row of
DAYS says run each of its cases once; each file begins elsewhere, so that days take equally long. SAMPLE=all
runs everything.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

#: The environment variable of the day, which the processes of a run inherit.
DAY = "SAMPLE"

#: Beginning of a test's id -> days on one of which it is run; the longest beginning counts. A day takes some
#: 330 s of processor time, of which 25 s are tests of every day.
DAYS = {
    "tests/browser": 2,
    "tests/checks": 6,
    "tests/ecosystem": 2,
    "tests/fuzz": 5,
    "tests/hostile": 6,
    "tests/load": 3,
    "tests/plugin": 6,
    "tests/reference/test_serve.py": 4,
    "tests/replay": 3,
    "tests/report": 6,
    "tests/test_faults.py": 8,
    "tests/test_variants.py::test_conforming": 12,
    "tests/test_variants.py::test_drawn": 4,
    "tests/test_variants.py::test_explored": 5,
    "tests/unit/test_docs.py::test_command_runs": 4,
}

TESTS = Path(__file__).parent


def pytest_configure() -> None:
    """Chooses the day once for all processes of the run. Raises pytest.UsageError where it is no number."""
    day = os.environ.setdefault(DAY, str(date.today().toordinal()))
    if day != "all" and not day.isdecimal():
        raise pytest.UsageError(f'{DAY}={day}: the day of the sample is a number, or "all".')


def pytest_report_header(config: pytest.Config) -> str:
    """Names the day, and the ways to run everything."""
    if not _samples(config):
        return "sample: none, all tests named are run"
    day = os.environ[DAY]
    return (
        f"sample: slow tests of day {day}; {DAY}={day} draws them again, {DAY}=all or a named file runs all"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the cases of other days."""
    if not _samples(config):
        return
    chosen = drawn([item.nodeid for item in items], int(os.environ[DAY]))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def drawn(ids: list[str], day: int) -> set[str]:
    """The ids of the tests that are run on a day."""
    families: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name in ids:
        families[name.partition("::")[0], days(name)].append(name)
    return {
        name
        for (file, period), names in families.items()
        for place, name in enumerate(sorted(names, key=lambda name: zlib.crc32(name.encode())))
        if (place + zlib.crc32(file.encode()) + day) % period == 0
    }


def days(name: str) -> int:
    """The days on one of which the test of an id is run; 1 for tests of every day."""
    starts = [start for start in DAYS if name.startswith(start)]
    return DAYS[max(starts, key=len)] if starts else 1


def _samples(config: pytest.Config) -> bool:
    """Returns True for a run of the whole folder, unnarrowed."""
    whole = [Path(argument).resolve() for argument in config.args] == [TESTS]
    return whole and os.environ[DAY] != "all" and not config.option.keyword
