"""The sample of a day: what its tests are, and that days together leave none out."""

from __future__ import annotations

from collections import Counter
from unittest.mock import Mock

import pytest

from tests.sampling import (
    DAY,
    DAYS,
    TESTS,
    days,
    drawn,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
)

IDS = [
    f"{start}{'' if start.endswith('.py') else '/test_some.py'}::test_{case}"
    for start in DAYS
    for case in range(7)
]


def test_days_go_round() -> None:
    """Any days that follow one another run each case once in its period."""
    for period in set(DAYS.values()):
        of_period = [name for name in IDS if days(name) == period]
        for first in (0, 739_942):
            times = Counter(name for day in range(first, first + period) for name in drawn(of_period, day))
            assert times == Counter(of_period)


def test_what_no_row_names_is_run_every_day() -> None:
    name = "tests/unit/test_text.py::test_other"
    assert days(name) == 1
    assert all(name in drawn([name, *IDS], day) for day in range(20))


def test_every_row_names_tests_that_there_are() -> None:
    for start in DAYS:
        file, _, function = start.removeprefix("tests/").partition("::")
        assert (TESTS / file).exists()
        assert not function or f"def {function}" in (TESTS / file).read_text("utf-8")


@pytest.mark.parametrize(
    ("sample", "arguments", "keyword", "said"),
    [
        ("5", ["tests"], "", "slow tests of day 5; "),
        ("all", ["tests"], "", "sample: none"),
        ("5", ["tests"], "lists", "sample: none"),
        ("5", ["tests/hostile"], "", "sample: none"),
    ],
)
def test_run_says_which_tests_it_draws(
    sample: str, arguments: list[str], keyword: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the whole folder is sampled."""
    monkeypatch.setenv(DAY, sample)
    monkeypatch.chdir(TESTS.parent)
    config = Mock(args=arguments, option=Mock(keyword=keyword))
    assert said in pytest_report_header(config)
    items: list[pytest.Item] = [Mock(nodeid=name) for name in IDS]
    pytest_collection_modifyitems(config, items)
    assert (len(items) < len(IDS)) == ("slow tests" in said)


def test_day_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DAY, "often")
    with pytest.raises(pytest.UsageError, match="SAMPLE=often: "):
        pytest_configure()
