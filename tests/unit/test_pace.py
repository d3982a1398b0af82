"""The pace of a run, on servers simulated in time of their own: it takes at most a quarter longer than with
the number of lanes that is best by hand, and few requests are refused."""

from __future__ import annotations

import heapq
import itertools
import random
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.wire.limits import Limit
from conformance.wire.pace import AT_LEAST, Pace
from tests.support.answers import Answer

#: Processor time of the suite for a request, in seconds.
OWN_TIME = 0.0008

#: The operations of a test: reads, and every fourth time a write.
OPERATIONS = ("getBeneficiary", "getVirtualAccount", "listWallets", "createAccount")

#: Share of the requests, and of the answers, that wait for a processor on a busy machine, and the longest
#: wait in seconds.
WAITS, LONG_WAIT = 0.05, 0.03

#: Requests of a run, and of a test.
REQUESTS, TEST = 6000, 10


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
        own_time: float = OWN_TIME,
        freed: float = 0.0,
    ) -> None:
        self.latency, self.at_once, self.rate, self.only, self.headers = latency, at_once, rate, only, headers
        self.chance = chance
        #: Processor time of the suite for a request, in seconds.
        self.own_time = own_time
        #: The longest for which an answered request counts on, in seconds.
        self.freed = freed
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

    def left(self) -> None:
        self.under_way -= 1

    def free(self) -> float:
        """Seconds for which an answered request counts on."""
        return self._draw.uniform(0.1, 1) * self.freed


class Bucket(Served):
    """Takes as many requests as there are tokens, of which `rate` are added each second, up to a number."""

    def __init__(self, most: float, rate: float) -> None:
        super().__init__(steady(0.005, 1), rate=rate)
        self._most = self._tokens = most
        self._filled = 0.0

    def answer(self, operation: str, now: float) -> Answer:
        self._tokens = min(self._most, self._tokens + (now - self._filled) * self.rate)
        self._filled = now
        if self._tokens < 1:
            return Answer(operation, 0.001, True, self.headers, 429)
        self._tokens -= 1
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
    """A run on a server, in simulated time. On a `busy` machine, requests and answers wait at times."""

    def __init__(self, server: Served, lanes: int | None = None, busy: bool = False) -> None:
        self.server, self._busy, self._draw = server, busy, random.Random(3)
        self.now = self.processor = self._free = self._polled = 0.0
        self.pace = Pace(lanes=lanes, clock=lambda: self.now, processor=lambda: self.processor)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.operations = (OPERATIONS[number % 4] for number in itertools.count())
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

    def _late(self) -> float:
        """Seconds that a request or an answer waits."""
        if not self._busy:
            return 0.0
        return self._draw.uniform(0, LONG_WAIT if self._draw.random() < WAITS else 0.0005)

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
        self._request(TEST, next(self.operations))

    def _request(self, left: int, operation: str) -> None:
        self._free = max(self._free, self.now) + self.server.own_time
        self.processor += self.server.own_time
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
                if entry.limit.counted_on and self._polled <= self.now:
                    self._polled = self.now + entry.limit.counted_on
                    self._at(self._polled, self._admit)
                return
            line.popleft()
            if changed:
                self._reserve(entry.left, entry.operation)
            else:
                entry.limit.begin(1)
                self._send(entry.limit, entry.left, entry.operation)

    def _send(self, limit: Limit, left: int, operation: str) -> None:
        sent = self.now

        def arrived() -> None:
            answer = self.server.answer(operation, self.now)
            self._at(self.now + answer.elapsed, lambda: ended(answer))

        def ended(answer: Any) -> None:
            if not answer.throttled:
                self._at(self.now + self.server.free(), self.server.left)
            self._at(self.now + self._late(), lambda: self._answered(limit, left, answer, sent))

        self._at(self.now + self._late(), arrived)

    def _answered(self, limit: Limit, left: int, answer: Any, sent: float) -> None:
        answer.elapsed = self.now - sent
        self.pace.leave(limit, answer)
        if answer.throttled:
            self._at(self.now + 1, lambda: self._request(left, answer.operation))
        elif left > 1:
            self._request(left - 1, next(self.operations))
        else:
            self._staff()
            self._test()
        self._admit()


Latency = Callable[[str, int], float]


def steady(seconds: float, seed: int) -> Latency:
    """Answers that take so long, more or less."""
    draw = random.Random(seed)
    return lambda operation, under_way: seconds * draw.uniform(0.8, 1.4)


def slow_writes(seed: int) -> Latency:
    more = steady(1, seed)
    return lambda operation, at: (0.25 if operation.startswith("create") else 0.005) * more(operation, at)


def crowded(seed: int) -> Latency:
    more = steady(0.02, seed)
    return lambda operation, under_way: more(operation, 0) * (1 + max(0, under_way - 8) ** 2 / 4)


def processors(number: int, seed: int) -> Latency:
    """Answers that take 2 ms of one of the server's processors."""
    more = steady(0.002, seed)
    return lambda operation, under_way: more(operation, 0) * max(1, under_way / number)


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
    monkeypatch.setitem(globals(), "WAITS", 0.2)
    monkeypatch.setitem(globals(), "LONG_WAIT", 0.05)
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


class OutOfService(Served):
    """Refuses all requests for a second in each 17."""

    def answer(self, operation: str, now: float) -> Answer:
        if now % 17 < 1:
            return Answer(operation, 0.001, True, self.headers, 503)
        return super().answer(operation, now)


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
