"""Runs on simulated servers, in time of their own: nothing is sent, and nobody waits."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.wire.limits import Limit
from conformance.wire.pace import Pace
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


class OutOfService(Served):
    """Refuses all requests for a second in each 17."""

    def answer(self, operation: str, now: float) -> Answer:
        if now % 17 < 1:
            return Answer(operation, 0.001, True, self.headers, 503)
        return super().answer(operation, now)


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
