"""Every mistake in every member of every operation is caught, has no effect, or is open."""

from __future__ import annotations

import re
import zlib

import pytest

from tests.faults.members import OPEN, Bug, bugs, caught, open_by

pytestmark = pytest.mark.usefixtures("quiet")


def _drawn() -> list[Bug]:
    """One server for each field of each operation, drawn by a number of its id."""
    by_field: dict[tuple[str, str], list[Bug]] = {}
    for bug in bugs():
        by_field.setdefault((bug.operation, bug.path), []).append(bug)
    return [max(those, key=lambda bug: zlib.crc32(bug.id.encode())) for those in by_field.values()]


def _judge(bug: Bug) -> None:
    assert open_by(bug) or caught(bug), "no check sees it"


@pytest.mark.parametrize("bug", _drawn(), ids=lambda bug: bug.id)
def test_a_mistake_in_a_member_is_caught(bug: Bug) -> None:
    _judge(bug)


@pytest.mark.slow
@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.id)
def test_each_mistake_in_each_member_is_caught(bug: Bug) -> None:
    _judge(bug)


@pytest.mark.parametrize("pattern", OPEN)
def test_each_open_pattern_is_of_some_server(pattern: str) -> None:
    assert any(re.search(pattern, bug.id) for bug in bugs())
