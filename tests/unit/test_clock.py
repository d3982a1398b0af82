"""Two clocks of one server: that of Date headers and that which stamps resources."""

from __future__ import annotations

import pytest

from conformance.wire.clock import apart
from conformance.wire.messages import Exchange, to_json
from tests.support.report_samples import exchange


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
def test_clocks_are_apart(stamp: str, seconds: float) -> None:
    assert apart([created(NOON, stamp)]) == pytest.approx(seconds)


def test_what_is_least_counts_as_replays_are_old() -> None:
    answers = [created(NOON, "2026-11-22T11:59:40Z"), created(NOON, "2026-11-22T12:00:00Z")]
    assert apart(answers) == 0
    assert apart([created(None, "2026-11-22T12:00:00Z")]) == apart([]) == 0
