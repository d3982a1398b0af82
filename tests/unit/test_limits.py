"""Limits of requests that a server announces, or shows by refusals."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire.limits import GUESS, Limit, announced
from tests.support.answers import Answer


@pytest.mark.parametrize(
    ("headers", "rate"),
    [
        ({"ratelimit-policy": '"default";q=100;w=10'}, 10),
        ({"ratelimit-policy": '"burst";q=100;w=1, "daily";q=1000;w=100'}, 10),
        ({"ratelimit-limit": "100, 100;w=60"}, 100 / 60),
        ({"ratelimit-limit": "100"}, 0),
        ({"ratelimit-policy": "0;w=0"}, 0),
        ({}, 0),
    ],
)
def test_announced_limits(headers: dict[str, str], rate: float) -> None:
    answer: Any = Answer("", 0.1, True, headers)
    assert announced(answer) == pytest.approx(rate)


@pytest.mark.parametrize(("seconds", "waits"), [(3600, [0]), (50, [50, 50, 0]), (1, [1, 1, 1])])
def test_no_run_waits_for_a_limit_that_no_run_outlasts(seconds: int, waits: list[float]) -> None:
    """Every request is refused, as where a quota of the day is used up."""
    limit, now = Limit(), 100.0
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": str(seconds)}, 429)
    for wait in waits:
        limit.under_way += 1
        limit.ended(refused, now, now + 0.1)
        due = limit.reserve(1, now + 0.1)
        assert due == pytest.approx(now + 0.1 + wait)
        now = due


def test_a_refusal_that_is_read_late_counts_for_those_that_were_under_way() -> None:
    """Two are taken at once; the answer to one of them is read before the refusal of the third."""
    limit, taken = Limit(), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": "1"}, 503)
    limit.begin(3)
    for answer, end in ((taken, 100.1), (refused, 100.1), (taken, 100.2)):
        limit.ended(answer, end - 0.1, end)  # type: ignore[arg-type]
    taken_alone(limit, 100.2)
    assert limit.at_once == 2


def taken_alone(limit: Limit, now: float) -> None:
    """Sends one request when all others have ended; the server takes it."""
    assert limit.fits(1, now)
    limit.begin(1)
    limit.ended(Answer("listWallets", 0.1), now, now + 0.1)  # type: ignore[arg-type]


def test_where_one_alone_is_refused_too_the_limit_is_a_rate() -> None:
    """Nothing is sent beside it, nor a race; what ends meanwhile shows nothing."""
    limit, taken = Limit(), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": "1"}, 429)
    limit.begin(3)
    for answer in (refused, taken):
        limit.ended(answer, 99.9, 100.0)  # type: ignore[arg-type]
        assert not limit.fits(1, 100.0)
    limit.ended(taken, 100.0, 100.1)  # type: ignore[arg-type]
    assert limit.fits(1, 100.1)
    limit.begin(1)
    assert not limit.fits(1, 100.1)
    limit.ended(refused, 100.11, 100.12)
    assert (limit.rate, limit.at_once) == (0.95 * 2, float("inf"))
    assert limit.reserve(1, 100.2) == pytest.approx(101.12)


@pytest.mark.parametrize(
    ("headers", "rate"),
    [({"retry-after": "300"}, 0.0), ({"retry-after": "1", "ratelimit-policy": "100;w=1"}, 95.0)],
)
def test_one_refused_alone_ends_the_probe_of_a_limit_at_once(headers: dict[str, str], rate: float) -> None:
    limit = Limit()
    plain, alone = (Answer("listWallets", 0.1, True, each, 429) for each in (None, headers))
    limit.begin(2)
    for _ in range(2):
        limit.ended(plain, 99.9, 100.0)  # type: ignore[arg-type]
    limit.begin(1)
    limit.ended(alone, 100.1, 100.2)  # type: ignore[arg-type]
    limit.begin(1)
    assert limit.fits(20, 102.0) and limit.rate == rate
    limit.ended(Answer("listWallets", 0.1), 102.0, 102.1)  # type: ignore[arg-type]
    assert limit.at_once == float("inf")


def test_a_late_answer_holds_no_request_up_to_its_end() -> None:
    limit, taken = Limit(), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": "1"}, 429)
    limit.begin(4)
    for answer in (refused, taken):
        limit.ended(answer, 99.9, 100.0)  # type: ignore[arg-type]
    assert not limit.fits(1, 100.9) and limit.fits(1, 101.1) and limit.at_once == 3


def test_a_limit_that_no_requests_reach_is_not_raised() -> None:
    limit = Limit(at_once=4, fitted=4)
    for now in (100.0, 102.0, 104.0):
        limit.begin(3)
        limit.reserve(1, now)
        for _ in range(3):
            limit.ended(Answer("listWallets", 0.1), now, now + 0.1)  # type: ignore[arg-type]
    assert limit.at_once == 4
    limit.begin(4)
    limit.reserve(1, 106.0)
    assert (limit.at_once, limit.fitted) == (5, 4)


def test_no_more_were_refused_at_once_than_were_under_way() -> None:
    """One ended while the refused one was under way, and another took its place."""
    limit, refused = Limit(at_once=5, fitted=4), Answer("listWallets", 0.1, True, {"retry-after": "1"}, 429)
    limit.begin(5)
    limit.ended(Answer("listWallets", 0.1), 99.9, 100.0)  # type: ignore[arg-type]
    limit.begin(1)
    limit.ended(refused, 99.9, 100.1)  # type: ignore[arg-type]
    assert limit.at_once_refused == 5


@pytest.mark.parametrize(("again", "at_once"), [(20.0, 2), (3.0, 1)])
def test_a_single_refusal_of_as_many_as_were_taken_is_forgotten(again: float, at_once: int) -> None:
    """Another client had one under way."""
    limit, taken = Limit(), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": "1"}, 503)

    def refuse(number: int, now: float) -> None:
        limit.begin(number)
        for answer, end in ((refused, now), (taken, now + 0.1)):
            limit.ended(answer, end - 0.1, end)  # type: ignore[arg-type]
        limit.under_way = 0
        taken_alone(limit, now + 0.1)

    refuse(3, 100.0)
    assert limit.at_once == 2
    refuse(2, 120.0)
    assert limit.at_once == 1
    limit.reserve(1, 122.0)
    assert limit.at_once == 2
    refuse(2, 120.0 + again)
    limit.reserve(1, 122.0 + again)
    assert limit.at_once == at_once


def test_a_refusal_beside_a_request_whose_caller_hung_up_lowers_no_limit() -> None:
    limit = Limit(at_once=2, fitted=2)
    limit.begin(3)
    gone, taken = Answer("listWallets", 0.01, status=None), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.01, True, {"retry-after": "1"}, 503)
    for answer, end in ((gone, 100.0), (refused, 100.02), (taken, 100.1)):
        limit.ended(answer, end - answer.elapsed, end)  # type: ignore[arg-type]
    assert limit.at_once == 2 and limit.at_once_refused > 2


def test_an_outage_does_not_lower_a_rate_with_each_request_that_asks_for_its_end() -> None:
    limit, refused = Limit(), Answer("listWallets", 0.01, True, {"retry-after": "1"}, 503)
    for second in range(5):
        now = 100.0 + 1.1 * second
        limit.begin(1)
        limit.ended(refused, now, now + 0.01)  # type: ignore[arg-type]
    assert limit.rate == 0.95 * GUESS
