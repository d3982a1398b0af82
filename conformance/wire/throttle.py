"""How fast requests go out, how long an answer may take, and how long a rate limit is waited out."""

from __future__ import annotations

import threading
import time
from email.utils import parsedate_to_datetime

from conformance.wire.allowance import Allowance
from conformance.wire.messages import Exchange

#: Seconds that a whole exchange may take, and that all waits for a rate limit may take together.
EXCHANGE_TIMEOUT = 30.0
RETRY_SECONDS = 120.0

#: After so many timeouts, and then so many seconds for a whole exchange: a server that hangs costs no hours.
PATIENT_TIMEOUTS = 5
IMPATIENT_TIMEOUT = 5.0


#: So often a server's own Retry-After is taken at its word; after that there is a wait at least.
TRUSTING = 3


class Patience:
    """How long one exchange may take: less once a server has let several run out."""

    def __init__(self, seconds: float | None = None) -> None:
        self.timeouts = 0
        self._seconds = seconds

    @property
    def seconds(self) -> float:
        """Seconds for a whole exchange."""
        patient = EXCHANGE_TIMEOUT if self._seconds is None else self._seconds
        return patient if self.timeouts < PATIENT_TIMEOUTS else min(patient, IMPATIENT_TIMEOUT)


class Pace:
    """Waits out 429 and 503 within a budget of seconds, and sends within the allowance of the run."""

    def __init__(self, allowance: Allowance | None = None, budget: float | None = None) -> None:
        self.allowance = allowance or Allowance()
        self.budget = RETRY_SECONDS if budget is None else budget
        #: Seconds that were waited, and how often.
        self.waited = 0.0
        self.waits = 0
        self._lock = threading.Lock()

    def take_turn(self, number: int = 1) -> str:
        """Blocks until so many requests may be sent at once; why they may not be, empty where they may."""
        return self.allowance.take(number)

    def wait_out(self, exchange: Exchange, attempt: int) -> bool:
        """Waits as long as the server asks; False when the budget, or the time of the run, does not allow
        it."""
        seconds = _retry_after(exchange.header("retry-after"))
        if seconds is None:
            seconds = min(0.5 * 2**attempt, 8.0)
        elif attempt >= TRUSTING:
            # A server that asks for no wait, and is no readier each time, would be asked for ever.
            seconds = max(seconds, min(0.05 * 2 ** (attempt - TRUSTING), 8.0))
        left = self.allowance.left
        with self._lock:
            if self.waited + seconds > self.budget or (left is not None and seconds >= left):
                return False
            self.waited += seconds
            self.waits += 1
        time.sleep(seconds)
        return True


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError, OverflowError):
            return None
