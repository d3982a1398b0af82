"""Limits of one process of a run: pace, deadline, retries, timeouts."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from conformance.wire.limits import Limit, retry_after
from conformance.wire.messages import Exchange
from conformance.wire.pace import Pace

#: Seconds for one exchange, and for all waits for a rate limit together.
EXCHANGE_TIMEOUT = 30.0
RETRY_SECONDS = 120.0

#: Number of timeouts after which IMPATIENT_TIMEOUT (seconds) applies.
PATIENT_TIMEOUTS = 5
IMPATIENT_TIMEOUT = 5.0

#: Seconds from which on a wait for a limit of requests is noted.
LONG = 0.1

#: Retries that wait exactly Retry-After; later ones back off exponentially if that is longer.
TRUSTING = 3


class Budget:
    """Deadline and pace of this process. Thread-safe.

    `end` is in Unix seconds, `over` the reason to give after it.
    """

    def __init__(
        self,
        *,
        end: float | None = None,
        over: str = "the run's time was over",
        pace: Pace | None = None,
    ) -> None:
        #: Number of requests that were admitted; each counts as often as it is transmitted.
        self.admitted = 0
        self.over = over
        self.pace = pace or Pace()
        # The wall clock may be adjusted during the run.
        self._end = None if end is None else time.monotonic() + end - time.time()
        self._lock = threading.Lock()
        self._ended = ""
        #: Waits until a request might be sent, from and to in Unix seconds, since `waits` were taken.
        self._waits: list[tuple[float, float]] = []

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

    def take(self, operation: str, number: int = 1) -> Turn:
        """Waits until a number of requests may be sent at once, and counts them."""
        if reason := self.ended:
            return Turn(reason)
        begin = time.time()
        limit = self.pace.enter(number, operation, self.left)
        if limit is None:
            return Turn(self.stop(self.over))
        with self._lock:
            self.admitted += number
            # Behind a race, or for want of lanes, requests wait where nothing is limited, too.
            if limit.known and (end := time.time()) - begin > LONG:
                self._waits.append((begin, end))
        return Turn(self._ended, limit)

    def waits(self) -> list[tuple[float, float]]:
        """The waits for a limit of requests since the last call, from and to in Unix seconds."""
        with self._lock:
            waits, self._waits = self._waits, []
        return waits

    def stop(self, reason: str) -> str:
        """Stops all sending; returns the reason, or an earlier one."""
        self._ended = self._ended or reason
        return self._ended


@dataclass(frozen=True)
class Turn:
    """The answer of a budget: why a request may not be sent, empty if it may, and the limit that it counts
    for."""

    withheld: str = ""
    limit: Limit | None = None


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
        seconds = retry_after(exchange)
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
