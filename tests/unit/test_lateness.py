"""Looking again until a write shows, and not for ever at a server that never shows it."""

from __future__ import annotations

import time

from conformance.fixtures.cache import RunCache
from conformance.fixtures.lateness import MOST_IN_VAIN, PAUSES, look_until
from tests.variants.hurry import hurried


def test_first_good_look_is_the_answer() -> None:
    looks = iter(range(10))
    with hurried():
        begin = time.monotonic()
        assert look_until(RunCache(), "listWallets", lambda: next(looks), lambda seen: seen == 3) == 3
        assert time.monotonic() - begin >= sum(PAUSES[:3])
    assert next(looks) == 4


def test_good_at_once_waits_for_nothing() -> None:
    with hurried():
        begin = time.monotonic()
        assert look_until(RunCache(), "listWallets", lambda: 1, lambda seen: True) == 1
        assert time.monotonic() - begin < PAUSES[0]


def test_five_seconds_are_waited_before_anybody_is_blamed() -> None:
    cache, looks = RunCache(), []
    with hurried():
        for _ in range(MOST_IN_VAIN):
            begin = time.monotonic()
            look_until(cache, "listWallets", lambda: looks.append(1), lambda seen: False)
            assert time.monotonic() - begin > 5
        before = len(looks)
        look_until(cache, "listWallets", lambda: looks.append(1), lambda seen: False)
        assert len(looks) == before + 1
        look_until(cache, "listAccounts", lambda: looks.append(1), lambda seen: False)
        assert len(looks) == before + 1 + 1 + len(PAUSES)


def test_hurried_time_moves_all_clocks_alike() -> None:
    before = time.time(), time.monotonic(), time.perf_counter(), time.time_ns()
    with hurried():
        time.sleep(100)
        after = time.time(), time.monotonic(), time.perf_counter(), time.time_ns() / 1e9
    for earlier, later in zip((*before[:3], before[3] / 1e9), after, strict=True):
        assert 100 <= later - earlier < 200
    assert time.time() - before[0] < 100
