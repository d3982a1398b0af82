"""The pace of a run, on servers simulated in time of their own: it takes at most a quarter longer than with
the number of lanes that is best by hand, and few requests are refused."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conformance.wire.limits import Limit
from conformance.wire.pace import AT_LEAST, FIRST, Pace
from tests.support import simulated_runs
from tests.support.answers import Answer
from tests.support.simulated_runs import (
    OPERATIONS,
    OWN_TIME,
    REQUESTS,
    Bucket,
    OutOfService,
    Served,
    Simulation,
    crowded,
    processors,
    slow_writes,
    steady,
)

#: Server -> how it is made, from a seed.
SERVERS: dict[str, Callable[[int], Served]] = {
    "near": lambda seed: Served(processors(1, seed)),
    "30 ms": lambda seed: Served(steady(0.03, seed)),
    "150 ms": lambda seed: Served(steady(0.15, seed)),
    "writes of 250 ms": lambda seed: Served(slow_writes(seed)),
    "150 a second": lambda seed: Served(steady(0.001, seed), rate=150),
    "150 a second, 20 ms": lambda seed: Served(steady(0.02, seed), rate=150),
    "150 a second, 60 ms": lambda seed: Served(steady(0.06, seed), rate=150),
    "20 a second": lambda seed: Served(steady(0.001, seed), rate=20),
    "4 at once": lambda seed: Served(steady(0.02, seed), at_once=4),
    "2 at once": lambda seed: Served(steady(0.02, seed), at_once=2),
    "slows down under load": lambda seed: Served(crowded(seed)),
    "cluster": lambda seed: Served(processors(2, seed)),
    "shared processor": lambda seed: Served(processors(1, seed), own_time=2.5 * OWN_TIME),
    "5 creates a second": lambda seed: Served(steady(0.005, seed), rate=30, only="createAccount"),
    "announced": lambda seed: Served(
        steady(0.001, seed), rate=150, headers={"ratelimit-policy": '"default";q=150;w=1'}
    ),
}

#: Server -> what its run says of a limit, as text that a number follows, and the least and greatest number.
LIMITS = {
    **dict.fromkeys(
        ("150 a second", "150 a second, 20 ms", "150 a second, 60 ms", "announced"),
        ("for all requests: [limits] requests_per_second = ", 120, 150),
    ),
    "20 a second": ("for all requests: [limits] requests_per_second = ", 16, 20),
    "4 at once": ("4 requests at once for all requests: --lanes ", 4, 4),
    "2 at once": ("2 requests at once for all requests: --lanes ", 2, 2),
    "5 creates a second": ("the run kept to ", 24, 30),
}


def best_by_hand(name: str, busy: bool) -> float:
    """The seconds of a run with the number of lanes that is best."""
    return min(Simulation(SERVERS[name](1), lanes, busy).run() for lanes in (1, 2, 4, 8, 16, 32))


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("name", SERVERS)
def test_a_run_is_nearly_as_fast_as_with_the_best_number_of_lanes(name: str, busy: bool) -> None:
    """It finds the limits as well, and says which, in lines for the user."""
    best = best_by_hand(name, busy)
    for seed in (1, 2, 3):
        chosen = Simulation(SERVERS[name](seed), busy=busy)
        seconds, refused = chosen.run(), chosen.pace.refused.total()
        said = " ".join(chosen.pace.described())
        text = f"{seconds:.1f} s, by hand {best:.1f} s; {refused} refused; {said}"
        assert seconds <= 1.25 * best, text
        assert refused <= 0.02 * REQUESTS, text
        if name in LIMITS:
            words, least, most = LIMITS[name]
            number = re.match(r"[\d.]*\d", said.partition(words)[2])
            assert number and least <= float(number[0]) <= most, text
        assert ("The server" in said) is (name in LIMITS), text


@pytest.mark.parametrize("name", ["near", "cluster"])
def test_lanes_stay_where_many_answers_wait(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_runs, "WAITS", 0.2)
    monkeypatch.setattr(simulated_runs, "LONG_WAIT", 0.05)
    best = best_by_hand(name, busy=True)
    for seed in (1, 2, 3):
        assert Simulation(SERVERS[name](seed), busy=True).run() <= 1.25 * best


@pytest.mark.parametrize(("seed", "busy"), [(6, False), (9, True)])
def test_what_was_measured_first_with_a_number_of_lanes_is_no_measure(seed: int, busy: bool) -> None:
    """The first answers with another number come sooner or later than all others."""
    name = "slows down under load"
    assert Simulation(SERVERS[name](seed), busy=busy).run() <= 1.25 * best_by_hand(name, busy)


@pytest.mark.parametrize(("chance", "seed"), [(0.01, 7), (0.01, 1), (0.03, 1), (0.03, 2)])
def test_requests_refused_whatever_the_pace_do_not_hold_others_up(chance: float, seed: int) -> None:
    run = Simulation(Served(steady(0.005, seed), chance=chance))
    assert run.run() < 60 and run.pace.overall.rate == 0
    assert not any("limits" in line for line in run.pace.described())


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(("most", "rate"), [(50, 10), (20, 10), (200, 50), (100, 30), (30, 5), (40, 20)])
def test_a_bucket_of_tokens_has_a_rate(most: int, rate: int, busy: bool) -> None:
    """Its requests at once are far above what it takes in the end."""
    run = Simulation(Bucket(most, rate), busy=busy)
    assert run.run() <= 1.1 * REQUESTS / rate
    assert run.pace.refused.total() <= 0.01 * REQUESTS
    assert 0.8 * rate <= run.pace.overall.rate <= 1.1 * rate


def test_a_server_that_is_out_of_service_at_times_has_no_lower_rate_each_time() -> None:
    run = Simulation(OutOfService(steady(0.05, 1)))
    assert run.run() < 105
    assert run.pace.overall.rate > 100


@pytest.mark.parametrize("busy", [False, True])
def test_a_server_may_count_on_what_it_has_answered(busy: bool) -> None:
    """For up to a millisecond; who sends the next request at once would find 2 of 4 places."""
    for seed in range(1, 5):
        run = Simulation(Served(steady(0.02, seed), at_once=4, freed=0.001), busy=busy)
        run.run()
        assert 3 <= run.pace.overall.fitted <= 4


def test_why_there_are_not_more_lanes() -> None:
    run = Simulation(SERVERS["slows down under load"](1))
    run.run()
    assert "more made answers later" in run.pace.described()[0]


def test_there_are_no_more_lanes_than_accounts_to_work_in() -> None:
    run, before = Simulation(Served(steady(0.15, 1))), Simulation(Served(steady(0.15, 1)))
    run.pace.stay()
    assert run.run() > before.run()
    assert run.most == FIRST < before.most
    assert run.pace.described() == ["Tests ran in at most 4 lanes; the server refused accounts for more."]


def test_a_race_that_is_refused_shows_no_limit_of_its_operation() -> None:
    pace = Pace(lanes=4)
    for name, throttled, number in (
        ("listWallets", False, 1),
        ("createPayin", True, 9),
        ("getPayin", False, 20),
    ):
        for _ in range(number):
            limit = pace.enter(1, name, None)
            assert limit is not None
            status = 429 if throttled else 200
            exchange: Any = Answer(name, 0.1, throttled, {"retry-after": "0"}, status)
            pace.leave(limit, exchange, raced=throttled)
    limit = pace.enter(1, "createPayin", None)
    assert limit is not None
    pace.leave(limit, Answer("createPayin", 0.1, True, {"retry-after": "0"}, 429), raced=True)  # type: ignore[arg-type]
    assert not pace.own


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_operations_that_were_sent_with_many_lanes_only_are_no_measure(seed: int) -> None:
    """Each hundred requests, another operation is sent beside the first."""
    run = Simulation(SERVERS["slows down under load"](seed))
    run.operations = (
        OPERATIONS[0] if number % 4 else f"createAccount{number // 100}" for number in itertools.count()
    )
    assert run.run() <= 1.25 * best_by_hand("slows down under load", busy=False)


def test_requests_refused_for_their_number_show_no_limit_of_their_operation() -> None:
    """The accounts that a run begins with are created at once."""
    now = 100.0
    pace = Pace(lanes=8, clock=lambda: now)
    refused: Any = Answer("createAccount", 0.01, True, {"retry-after": "1"}, 429)
    entered = [pace.enter(1, "createAccount", None) for _ in range(8)]
    for number, limit in enumerate(entered):
        assert limit is not None
        pace.leave(limit, refused if number < 4 else Answer("createAccount", 0.01))  # type: ignore[arg-type]
    for _ in range(20):
        now += 0.1
        limit = pace.enter(1, "listWallets", None)
        assert limit is not None
        pace.leave(limit, Answer("listWallets", 0.01))  # type: ignore[arg-type]
    limit = pace.enter(5, "createAccount", None)
    assert limit is not None
    pace.leave(limit, refused)
    assert not pace.own


def test_a_request_that_waits_for_its_own_limit_holds_no_other_up() -> None:
    pace = Pace(lanes=4, clock=lambda: 0.0)
    pace.own["createPayin"] = Limit(at_once=1)
    assert pace.enter(1, "createPayin", None)
    waiting = threading.Event()
    fits = pace.fits

    def watched(limit: Limit, number: int) -> bool:
        waiting.set()
        return fits(limit, number)

    pace.fits = watched  # type: ignore[method-assign]
    with ThreadPoolExecutor() as threads:
        second = threads.submit(pace.enter, 1, "createPayin", None)
        assert waiting.wait(10)
        read = threads.submit(pace.enter, 1, "listWallets", None)
        try:
            assert read.result(10) is pace.overall
        finally:
            pace.leave(pace.own["createPayin"], Answer("createPayin", 0.1))  # type: ignore[arg-type]
        assert second.result(10) is pace.own["createPayin"]


def test_a_fixed_number_of_lanes_and_a_given_rate_stay() -> None:
    run = Simulation(SERVERS["30 ms"](1), lanes=3)
    run.run()
    assert run.pace.lanes == run.most == 3 and run.pace.described() == []


def test_a_pace_that_learns_nothing_holds_no_request_back() -> None:
    pace = Pace(lanes=1, learns=False)
    limits = [pace.enter(1, "listWallets", 1.0) for _ in range(3)]
    refused: Any = Answer("listWallets", 0.1, True)
    for limit in limits:
        assert limit is pace.overall
        pace.leave(limit, refused)
    assert pace.overall.under_way == 0 and pace.described() == []


def test_a_clock_that_is_set_back_ends_no_run() -> None:
    pace = Pace(clock=lambda: 100.0)
    for _ in range(2 * AT_LEAST):
        limit = pace.enter(1, "listWallets", None)
        assert limit is not None
        pace.leave(limit, Answer("listWallets", -5.0))  # type: ignore[arg-type]
    assert pace.lanes >= 1
