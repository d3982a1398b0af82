"""The pace of a run, on servers simulated in time of their own: it takes at most a quarter longer than with
the number of lanes that is best by hand, and few requests are refused."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.wire.limits import Limit, announced
from conformance.wire.pace import Pace

#: Processor time of the suite for a request, in seconds.
OWN_TIME = 0.0008

#: The operations of a test: reads, and every fourth time a write.
OPERATIONS = ("getBeneficiary", "getVirtualAccount", "listWallets", "createAccount")

#: Requests of a run, and of a test.
REQUESTS, TEST = 6000, 10


@dataclass
class Answer:
    """What a pace looks at of an exchange."""

    operation: str
    elapsed: float
    throttled: bool = False
    headers: dict[str, str] | None = None
    status: int | None = 200

    def header(self, name: str) -> str | None:
        return (self.headers or {}).get(name)


class Served:
    """A server: seconds that an answer takes, by operation and the number of requests under way, and how many
    requests it takes at once and in each second."""

    def __init__(
        self,
        latency: Callable[[str, int], float],
        at_once: float = float("inf"),
        rate: float = float("inf"),
        only: str = "",
        headers: dict[str, str] | None = None,
        chance: float = 0.0,
    ) -> None:
        self.latency, self.at_once, self.rate, self.only, self.headers = latency, at_once, rate, only, headers
        self.chance = chance
        self._second, self._used, self.under_way = 0, 0, 0
        self._draw = random.Random(5)

    def answer(self, operation: str, now: float) -> Answer:
        if int(now) != self._second:
            self._second, self._used = int(now), 0
        if self._draw.random() < self.chance:
            return Answer(operation, 0.001, True, self.headers, 429)
        if self.only in ("", operation):
            self._used += 1
            if self._used > self.rate or self.under_way >= self.at_once:
                return Answer(operation, 0.001, True, self.headers, 429)
        self.under_way += 1
        return Answer(operation, self.latency(operation, self.under_way))


@dataclass
class Entry:
    """A request that waits: its limit as it was when reserved, and the requests left of its test."""

    limit: Limit
    changes: int
    left: int
    operation: str


class Simulation:
    """A run on a server, in simulated time."""

    def __init__(self, server: Served, lanes: int | None = None, own_time: float = OWN_TIME) -> None:
        self.server, self.own_time = server, own_time
        self.now = self.processor = self._free = 0.0
        self.pace = Pace(lanes=lanes, clock=lambda: self.now, processor=lambda: self.processor)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._operations = (OPERATIONS[number % 4] for number in itertools.count())
        self._left, self._running = REQUESTS // TEST, 0
        self._lines: defaultdict[int, deque[Entry]] = defaultdict(deque)
        self.most = 0

    def run(self) -> float:
        """Runs all requests; returns the seconds that it takes."""
        self._staff()
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()
        return self.now

    def _at(self, time: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._numbers), event))

    def _staff(self) -> None:
        for _ in range(min(self.pace.lanes - self._running, self._left)):
            self._running += 1
            self._test()
        self.most = max(self.most, self._running)

    def _test(self) -> None:
        if not self._left or self._running > self.pace.lanes:
            self._running -= 1
            return
        self._left -= 1
        self._request(TEST, next(self._operations))

    def _request(self, left: int, operation: str) -> None:
        self._free = max(self._free, self.now) + self.own_time
        self.processor += self.own_time
        self._at(self._free, lambda: self._reserve(left, operation))

    def _reserve(self, left: int, operation: str) -> None:
        limit = self.pace.own.get(operation, self.pace.overall)
        entry = Entry(limit, limit.changes, left, operation)
        self._at(limit.reserve(1, self.now), lambda: self._queue(entry))

    def _queue(self, entry: Entry) -> None:
        self._lines[id(entry.limit)].append(entry)
        self._admit()

    def _admit(self) -> None:
        for line in [*self._lines.values()]:
            self._admit_of(line)

    def _admit_of(self, line: deque[Entry]) -> None:
        while line:
            entry = line[0]
            changed = entry.limit.changes != entry.changes
            if not changed and not self.pace.fits(entry.limit, 1):
                return
            line.popleft()
            if changed:
                self._reserve(entry.left, entry.operation)
            else:
                entry.limit.under_way += 1
                self._send(entry.limit, entry.left, entry.operation)

    def _send(self, limit: Limit, left: int, operation: str) -> None:
        answer = self.server.answer(operation, self.now)
        self._at(self.now + answer.elapsed, lambda: self._answered(limit, left, answer))

    def _answered(self, limit: Limit, left: int, answer: Any) -> None:
        self.pace.leave(limit, answer)
        if answer.throttled:
            self._at(self.now + 1, lambda: self._request(left, answer.operation))
        else:
            self.server.under_way -= 1
            if left > 1:
                self._request(left - 1, next(self._operations))
            else:
                self._staff()
                self._test()
        self._admit()


def steady(seconds: float) -> Callable[[str, int], float]:
    """Answers that take so long, more or less."""
    draw = random.Random(7)
    return lambda operation, under_way: seconds * draw.uniform(0.8, 1.4)


def slow_writes(operation: str, under_way: int) -> float:
    return 0.25 if operation.startswith("create") else 0.005


def crowded(operation: str, under_way: int) -> float:
    return 0.02 * (1 + max(0, under_way - 8) ** 2 / 4)


#: Server -> how it is made.
SERVERS: dict[str, Callable[[], Served]] = {
    "near": lambda: Served(steady(0.001)),
    "30 ms": lambda: Served(steady(0.03)),
    "150 ms": lambda: Served(steady(0.15)),
    "writes of 250 ms": lambda: Served(slow_writes),
    "150 a second": lambda: Served(steady(0.001), rate=150),
    "150 a second, 150 ms": lambda: Served(steady(0.15), rate=150),
    "20 a second": lambda: Served(steady(0.001), rate=20),
    "4 at once": lambda: Served(steady(0.02), at_once=4),
    "2 at once": lambda: Served(steady(0.02), at_once=2),
    "slows down under load": lambda: Served(crowded),
    "5 creates a second": lambda: Served(steady(0.005), rate=30, only="createAccount"),
    "announced": lambda: Served(steady(0.001), rate=150, headers={"ratelimit-policy": '"default";q=150;w=1'}),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_run_is_nearly_as_fast_as_with_the_best_number_of_lanes(name: str) -> None:
    chosen = Simulation(SERVERS[name]())
    seconds = chosen.run()
    best = min(Simulation(SERVERS[name](), lanes).run() for lanes in (1, 2, 4, 8, 16, 32))
    refused = chosen.pace.refused.total()
    text = f"{seconds:.1f} s, by hand {best:.1f} s; {refused} refused; {chosen.pace.described()}"
    assert seconds <= 1.25 * best, text
    assert refused <= 0.02 * REQUESTS, text


def test_requests_refused_whatever_the_pace_do_not_hold_others_up() -> None:
    run = Simulation(Served(steady(0.005), chance=0.01))
    assert run.run() < 60 and run.pace.overall.rate == 0
    assert not any("limits" in line for line in run.pace.described())


def test_limits_are_told_as_lines_for_the_user() -> None:
    lines = {}
    for name in ("20 a second", "4 at once", "5 creates a second", "slows down under load"):
        run = Simulation(SERVERS[name]())
        run.run()
        lines[name] = " ".join(run.pace.described())
    assert "[limits] requests_per_second = " in lines["20 a second"]
    assert "4 requests at once for all requests: --lanes 4" in lines["4 at once"]
    assert "a second for createAccount" in lines["5 creates a second"]
    assert "more made answers later" in lines["slows down under load"]


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
    limit.under_way = 3
    for answer, end in ((taken, 100.1), (refused, 100.1), (taken, 100.2)):
        limit.ended(answer, end - 0.1, end)  # type: ignore[arg-type]
    assert limit.at_once == 2


@pytest.mark.parametrize(("again", "at_once"), [(20.0, 2), (3.0, 1)])
def test_a_single_refusal_of_as_many_as_were_taken_is_forgotten(again: float, at_once: int) -> None:
    """Another client had one under way."""
    limit, taken = Limit(), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.1, True, {"retry-after": "1"}, 503)

    def refuse(number: int, now: float) -> None:
        limit.under_way = number
        for answer, end in ((refused, now), (taken, now + 0.1)):
            limit.ended(answer, end - 0.1, end)  # type: ignore[arg-type]
        limit.under_way = 0

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
    limit = Limit(at_once=2, under_way=3)
    gone, taken = Answer("listWallets", 0.01, status=None), Answer("listWallets", 0.1)
    refused: Any = Answer("listWallets", 0.01, True, {"retry-after": "1"}, 503)
    for answer, end in ((gone, 100.0), (refused, 100.02), (taken, 100.1)):
        limit.ended(answer, end - answer.elapsed, end)  # type: ignore[arg-type]
    assert limit.at_once == 2 and limit.at_once_refused > 2


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
    run = Simulation(SERVERS["30 ms"](), lanes=3)
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
