"""Limits of what one process of a run sends: a budget with its rate, retries and timeouts."""

from __future__ import annotations

import threading
import time
from collections import Counter
from enum import StrEnum

from conformance.contract.timestamps import http_date
from conformance.wire.messages import Exchange

#: Seconds that a whole exchange may take, and that all waits for a rate limit may take together.
EXCHANGE_TIMEOUT = 30.0
RETRY_SECONDS = 120.0

#: Timeouts after which an exchange may take less, and the seconds it may take then.
PATIENT_TIMEOUTS = 5
IMPATIENT_TIMEOUT = 5.0

#: Retries for which Retry-After counts alone; later ones wait a minimum.
TRUSTING = 3

OVER = "the run's time was over"


class Quantity(StrEnum):
    """Quantities that a budget limits: requests as transmitted, resources created, payouts made."""

    REQUESTS = "requests"
    CREATIONS = "created resources"
    PAYOUTS = "payouts"


class Budget:
    """Limits of this process: numbers, a moment at which it ends, requests a second. Threads share it.

    `most` are the numbers that must not be exceeded, each with the reason to give then; `end` is in Unix
    seconds, and `over` the reason after it.
    """

    def __init__(
        self,
        *,
        most: dict[Quantity, tuple[int, str]] | None = None,
        end: float | None = None,
        over: str = OVER,
        requests_per_second: float = 0.0,
    ) -> None:
        self.used: Counter[Quantity] = Counter()
        self.over = over
        #: Seconds between two requests.
        self.interval = 1.0 / requests_per_second if requests_per_second else 0.0
        self._most = dict(most or {})
        # The wall clock may be set while the run goes on.
        self._end = None if end is None else time.monotonic() + end - time.time()
        self._next = 0.0
        self._lock = threading.Lock()
        self._ended = ""

    def limit(self, rate: float, requests: int | None, reason: str) -> None:
        """Changes the requests a second (0: no limit) and in all (None: no limit), and the reason to give
        when those are used up."""
        self.interval = 1.0 / rate if rate else 0.0
        if requests is not None:
            self._most[Quantity.REQUESTS] = requests, reason

    @property
    def ended(self) -> str:
        """Reason why nothing more is sent; empty while something may be."""
        if not self._ended and self.left is not None and self.left <= 0:
            self._ended = self.over
        return self._ended

    @property
    def left(self) -> float | None:
        """Seconds until the end; None where there is none."""
        return None if self._end is None else self._end - time.monotonic()

    def take(self, number: int = 1) -> str:
        """Waits until so many requests may be sent at once and counts them; the reason why they may not be
        sent, empty where they may."""
        if reason := self.ended:
            return reason
        wait, left = self._turn(number), self.left
        if left is not None and wait >= left:
            return self.stop(self.over)
        if wait:
            time.sleep(wait)
        with self._lock:
            if self._exceeded(Quantity.REQUESTS, number):
                return self._ended
            self.used[Quantity.REQUESTS] += number
        return self._ended

    def made(self, kind: Quantity) -> None:
        """Counts what a request has made; one too many is the last."""
        with self._lock:
            self._exceeded(kind, 1)
            self.used[kind] += 1

    def stop(self, reason: str) -> str:
        """Lets nothing more be sent; the reason, or an earlier one."""
        self._ended = self._ended or reason
        return self._ended

    def _turn(self, number: int) -> float:
        """Seconds until so many requests are due, counted from the one before them."""
        if not self.interval:
            return 0.0
        with self._lock:
            now = time.monotonic()
            last = max(now, self._next) + (number - 1) * self.interval
            self._next = last + self.interval
        return last - now

    def _exceeded(self, kind: Quantity, number: int) -> bool:
        most, reason = self._most.get(kind, (None, ""))
        if most is None or self.used[kind] + number <= most:
            return False
        self.stop(reason)
        return True


class Retry:
    """Waits out 429 and 503 with Retry-After, `seconds` in all."""

    def __init__(self, budget: Budget | None = None, seconds: float | None = None) -> None:
        self.budget = budget or Budget()
        self.seconds = RETRY_SECONDS if seconds is None else seconds
        #: Seconds that were waited, and how often.
        self.waited = 0.0
        self.waits = 0
        self._lock = threading.Lock()

    def wait_out(self, exchange: Exchange, attempt: int) -> bool:
        """Waits as long as the server asks; False where the seconds, or the time of the run, do not allow
        it."""
        seconds = _retry_after(exchange.header("retry-after"))
        if seconds is None:
            seconds = min(0.5 * 2**attempt, 8.0)
        elif attempt >= TRUSTING:
            # A server that asks for no wait, and is no readier each time, would be asked for ever.
            seconds = max(seconds, min(0.05 * 2 ** (attempt - TRUSTING), 8.0))
        left = self.budget.left
        with self._lock:
            if self.waited + seconds > self.seconds or (left is not None and seconds >= left):
                return False
            self.waited += seconds
            self.waits += 1
        time.sleep(seconds)
        return True


class TimeoutPolicy:
    """Seconds for a whole exchange: fewer once a server has let several run out."""

    def __init__(self, seconds: float | None = None) -> None:
        self.timeouts = 0
        self._seconds = seconds

    @property
    def seconds(self) -> float:
        """Seconds for the next exchange."""
        patient = EXCHANGE_TIMEOUT if self._seconds is None else self._seconds
        return patient if self.timeouts < PATIENT_TIMEOUTS else min(patient, IMPATIENT_TIMEOUT)


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        date = http_date(value)
        return None if date is None else max(0.0, date - time.time())
