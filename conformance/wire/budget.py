"""Limits of one process of a run: rate of requests, deadline, retries, timeouts."""

from __future__ import annotations

import threading
import time

from conformance.contract.timestamps import http_date
from conformance.wire.messages import Exchange

#: Seconds for one exchange, and for all waits for a rate limit together.
EXCHANGE_TIMEOUT = 30.0
RETRY_SECONDS = 120.0

#: Number of timeouts after which IMPATIENT_TIMEOUT (seconds) applies.
PATIENT_TIMEOUTS = 5
IMPATIENT_TIMEOUT = 5.0

#: Retries that wait exactly Retry-After; later ones back off exponentially if that is longer.
TRUSTING = 3


class Budget:
    """Deadline and rate limit of this process. Thread-safe.

    `end` is in Unix seconds, `over` the reason to give after it.
    """

    def __init__(
        self,
        *,
        end: float | None = None,
        over: str = "the run's time was over",
        requests_per_second: float = 0.0,
    ) -> None:
        #: Number of requests that were admitted; each counts as often as it is transmitted.
        self.admitted = 0
        self.over = over
        self.limit(requests_per_second)
        # The wall clock may be adjusted during the run.
        self._end = None if end is None else time.monotonic() + end - time.time()
        self._next = 0.0
        self._lock = threading.Lock()
        self._ended = ""

    def limit(self, requests_per_second: float) -> None:
        """Limits the rate of requests; 0 is no limit."""
        #: Seconds between two requests.
        self.interval = 1.0 / requests_per_second if requests_per_second else 0.0

    @property
    def ended(self) -> str:
        """Reason why nothing more may be sent; empty if something may."""
        if not self._ended and self.left is not None and self.left <= 0:
            self._ended = self.over
        return self._ended

    @property
    def left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._end is None else self._end - time.monotonic()

    def take(self, number: int = 1) -> str:
        """Waits until a number of requests may be sent at once, and counts them.

        Returns the reason why they may not be sent, empty if they may."""
        if reason := self.ended:
            return reason
        wait, left = self._turn(number), self.left
        if left is not None and wait >= left:
            return self.stop(self.over)
        if wait:
            time.sleep(wait)
        with self._lock:
            self.admitted += number
        return self._ended

    def stop(self, reason: str) -> str:
        """Stops all sending; returns the reason, or an earlier one."""
        self._ended = self._ended or reason
        return self._ended

    def _turn(self, number: int) -> float:
        """Reserves a number of requests with the rate limiter; seconds until the last of them is due."""
        if not self.interval:
            return 0.0
        with self._lock:
            now = time.monotonic()
            last = max(now, self._next) + (number - 1) * self.interval
            self._next = last + self.interval
        return last - now


class Retry:
    """Waits after 429, and 503 with Retry-After, for at most `seconds` (None: RETRY_SECONDS) in all."""

    def __init__(self, budget: Budget | None = None, seconds: float | None = None) -> None:
        self.budget = budget or Budget()
        self.seconds = RETRY_SECONDS if seconds is None else seconds
        #: Seconds waited, and for each wait since `take` the status and its begin and end in Unix seconds.
        self.waited = 0.0
        self._spans: list[tuple[int, float, float]] = []
        self._lock = threading.Lock()

    def wait_out(self, exchange: Exchange, attempt: int) -> bool:
        """Waits as long as the server asks; False if that exceeds the seconds left, or the run's deadline."""
        seconds = _retry_after(exchange.header("retry-after"))
        if seconds is None:
            seconds = min(0.5 * 2**attempt, 8.0)
        elif attempt >= TRUSTING:
            # Otherwise Retry-After: 0 would be retried without delay.
            seconds = max(seconds, min(0.05 * 2 ** (attempt - TRUSTING), 8.0))
        left = self.budget.left
        with self._lock:
            if self.waited + seconds > self.seconds or (left is not None and seconds >= left):
                return False
            self.waited += seconds
            now = time.time()
            self._spans.append((exchange.status or 0, now, now + seconds))
        time.sleep(seconds)
        return True

    def take(self) -> list[tuple[int, float, float]]:
        """The waits since the last call: status, and begin and end in Unix seconds."""
        with self._lock:
            spans, self._spans = self._spans, []
        return spans


class TimeoutPolicy:
    """Timeout of exchanges in seconds, lowered after PATIENT_TIMEOUTS timeouts."""

    def __init__(self, seconds: float | None = None) -> None:
        self.timeouts = 0
        self._seconds = seconds

    @property
    def seconds(self) -> float:
        """Timeout of the next exchange."""
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
