"""How fast requests go out, how long an answer may take, and how long a rate limit is waited out."""

from __future__ import annotations

import threading
import time
from email.utils import parsedate_to_datetime

from conformance.wire.messages import Exchange

EXCHANGE_TIMEOUT = 30.0

#: After so many timeouts, and then so many seconds for a whole exchange: a server that hangs costs no hours.
PATIENT_TIMEOUTS = 5
IMPATIENT_TIMEOUT = 5.0


#: So often a server's own Retry-After is taken at its word; after that there is a wait at least.
TRUSTING = 3


class Patience:
    """How long one exchange may take: less once a server has let several run out."""

    def __init__(self) -> None:
        self.timeouts = 0

    @property
    def seconds(self) -> float:
        """Seconds for a whole exchange."""
        return EXCHANGE_TIMEOUT if self.timeouts < PATIENT_TIMEOUTS else IMPATIENT_TIMEOUT


class Pace:
    """Keeps requests apart for a rate limit, and waits out 429 and 503 within a budget of seconds."""

    def __init__(self, requests_per_second: float = 0.0, budget: float = 120.0) -> None:
        self.interval = 1.0 / requests_per_second if requests_per_second else 0.0
        self.budget = budget
        self.waited = 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def take_turn(self) -> None:
        """Blocks until the next request may be sent."""
        if not self.interval:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self.interval
        if turn > now:
            time.sleep(turn - now)

    def wait_out(self, exchange: Exchange, attempt: int) -> bool:
        """Waits as long as the server asks; False when the budget does not allow it."""
        seconds = _retry_after(exchange.header("retry-after"))
        if seconds is None:
            seconds = min(0.5 * 2**attempt, 8.0)
        elif attempt >= TRUSTING:
            # A server that asks for no wait, and is no readier each time, would be asked for ever.
            seconds = max(seconds, min(0.05 * 2 ** (attempt - TRUSTING), 8.0))
        with self._lock:
            if self.waited + seconds > self.budget:
                return False
            self.waited += seconds
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
