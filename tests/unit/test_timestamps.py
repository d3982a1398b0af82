"""Timestamps are compared exactly at any precision, and waits are no longer than the precision demands."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from conformance.contract import timestamps
from conformance.judge.outcomes import Unclear, later
from conformance.wire.clock import apart, wait_past
from conformance.wire.messages import MISSING, Exchange, to_json
from tests.support.report_samples import exchange


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", Fraction(0)),
        ("1970-01-01T00:00:01.5Z", Fraction(3, 2)),
        ("2000-02-29T12:00:00Z", Fraction(951825600)),
        ("2000-02-29T12:00:00.000001Z", Fraction(951825600) + Fraction(1, 10**6)),
        ("2000-02-29T12:00:00.123456789012Z", Fraction(951825600) + Fraction(123456789012, 10**12)),
        ("2000-02-29T12:00:00,25Z", Fraction(951825600) + Fraction(1, 4)),
        ("2000-02-29T12:00:00+00:00", Fraction(951825600)),
        ("2000-02-29T13:30:00+0130", Fraction(951825600)),
        ("2000-02-29T07:00:00-05:00", Fraction(951825600)),
        ("2016-12-31T23:59:60Z", Fraction(1483228800)),
        ("1969-12-31T23:59:59.5Z", Fraction(-1, 2)),
    ],
)
def test_parse_is_exact(text: str, seconds: Fraction) -> None:
    assert timestamps.parse(text) == seconds


NO_TIMESTAMPS = """
yesterday
2000-01-01
2000-01-01T00:00:00
2000-01-01 00:00:00Z
2000-02-30T00:00:00Z
2000-01-01T24:00:00Z
2000-01-01T00:60:00Z
2000-01-01T00:00:61Z
2000-01-01T00:00:00.Z
2000-01-01T00:00:00+25:00
٢٠٠٠-01-01T00:00:00Z
"""


@pytest.mark.parametrize(
    "text", [*NO_TIMESTAMPS.split("\n"), "2000-01-01T00:00:00Z\n", None, 0, 1.5, True, [], {}, MISSING]
)
def test_parse_takes_nothing_else(text: object) -> None:
    assert timestamps.parse(text) is None
    assert timestamps.step(text) is None
    assert timestamps.whole_second(text) is None


#: Unix time of a clock that stands.
NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("text", "since", "least", "most"),
    [
        ("2025-01-01T00:00:00Z", None, 1.0, 1.1),
        ("2025-01-01T00:00:00Z", 0.6, 0.1, 0.5),
        ("2025-01-01T00:00:00Z", 5.0, 0.0, 0.0),
        ("2025-01-01T00:00:00.123456Z", None, 0.0, 0.001),
        # A server clock that is ahead.
        ("2025-01-01T00:00:00Z", -3600.0, 1.0, 1.1),
        *((no_timestamp, None, 0.0, 0.0) for no_timestamp in (None, MISSING, "soon", 7)),
    ],
)
def test_waits_depend_on_the_shown_precision(
    text: object, since: float | None, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "time", lambda: NOW)
    received = None if since is None else NOW - since
    assert wait_past(text, received) == sum(slept)
    assert least <= sum(slept) <= most and 0.0 not in slept


@pytest.mark.parametrize(
    ("before", "after", "good"),
    [
        ("2026-01-01T00:00:01.4Z", "2026-01-01T00:00:01.5Z", True),
        ("2026-01-01T00:00:01.4Z", "2026-01-01T00:00:02Z", True),
        # Truncating a later time to whole seconds gives the same.
        ("2026-01-01T00:00:01.4Z", "2026-01-01T00:00:01Z", None),
        ("2026-01-01T00:00:01.4Z", "2026-01-01T00:00:00Z", False),
        ("2026-01-01T00:00:01.400Z", "2026-01-01T00:00:01.000Z", False),
        ("2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z", False),
    ],
)
def test_times_are_compared_at_the_coarser_precision(before: str, after: str, good: bool | None) -> None:
    earlier, answer = (
        exchange(number, to_json({"updated": text})) for number, text in ((1, before), (2, after))
    )
    _, got, *_ = later("updated", answer, "updated", earlier)
    assert (None if isinstance(got, Unclear) else got == "") is good


def created(date: str | None, stamp: str) -> Exchange:
    headers = [("Content-Type", "application/json"), *([("Date", date)] if date else [])]
    return exchange(1, to_json({"created": stamp}), 201, elapsed=0.1, response_headers=headers)


NOON = "Sun, 22 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("2026-11-22T12:00:00.9Z", 0.0),
        ("2026-11-22T11:59:59.5Z", 0.0),
        ("2026-11-22T12:00:07Z", 6.0),
        ("2026-11-22T11:59:53Z", 5.9),
        ("2026-11-22T11:00:00Z", 3598.9),
        ("noon", 0.0),
    ],
)
def test_the_offset_of_the_server_clock_is_measured(stamp: str, seconds: float) -> None:
    assert apart([created(NOON, stamp)]) == pytest.approx(seconds)
