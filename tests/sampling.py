"""Samples the slow tests of a whole-folder run, a share of them each day; a run of named tests takes all.

SAMPLE in the environment, or the date, gives the number of the day. Each row of DAYS has the period in which
its cases are all run once; the offset differs from file to file, so that days take equally long. SAMPLE=all
runs everything.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

#: Environment variable with the number of the day; the processes of a run inherit it.
DAY = "SAMPLE"

#: Prefix of a test id -> period in days; the longest prefix counts. A day takes some 330 s of processor time,
#: 25 s of them for the tests that run every day.
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
    """Fixes the day for all processes of the run. Raises pytest.UsageError if it is not a number."""
    day = os.environ.setdefault(DAY, str(date.today().toordinal()))
    if day != "all" and not day.isdecimal():
        raise pytest.UsageError(f'{DAY}={day}: the day of the sample is a number, or "all".')


def pytest_report_header(config: pytest.Config) -> str:
    """Shows the day and the way to run everything."""
    if not _samples(config):
        return "sample: none, all tests named are run"
    day = os.environ[DAY]
    return (
        f"sample: slow tests of day {day}; {DAY}={day} draws them again, {DAY}=all or a named file runs all"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the cases of other days."""
    if not _samples(config):
        return
    chosen = drawn([item.nodeid for item in items], int(os.environ[DAY]))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def drawn(ids: list[str], day: int) -> set[str]:
    """Returns the ids of the tests that run on a day."""
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
    """Returns the period of a test in days; 1 if it runs every day."""
    starts = [start for start in DAYS if name.startswith(start)]
    return DAYS[max(starts, key=len)] if starts else 1


def _samples(config: pytest.Config) -> bool:
    """Returns True for a run of the whole folder without -k or SAMPLE=all."""
    whole = [Path(argument).resolve() for argument in config.args] == [TESTS]
    return whole and os.environ[DAY] != "all" and not config.option.keyword
