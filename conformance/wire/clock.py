"""The clock of the server under test, and waiting until it must show a later time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from conformance.contract.timestamps import http_date, parse, step
from conformance.wire.messages import Exchange


class ServerClock:
    """Server time, by the Date header of answers; before the first one local time, `offset` seconds on."""

    def __init__(self) -> None:
        self.offset = 0.0
        self.calibrated = False

    def observe(self, exchange: Exchange) -> None:
        """Takes the offset from an answer's Date header, which has whole seconds (RFC 9110, 6.6.1)."""
        date = http_date(exchange.header("date"))
        if date is None:
            return
        # The header was cut to the second, so on average the server is half a second further.
        self.offset = date + 0.5 - exchange.arrived
        if abs(self.offset) < 1.5:
            self.offset = 0.0
        self.calibrated = True

    def now(self) -> int:
        """Server time in Unix epoch seconds."""
        return int(time.time() + self.offset)


def apart(exchanges: Iterable[Exchange]) -> float:
    """Lower bound in seconds of the skew between the Date header, which may be a gateway's, and timestamps of
    new resources; 0 where none shows."""
    least = math.inf
    for exchange in exchanges:
        gap = _gap(exchange)
        if gap == 0.0:
            return 0.0
        least = least if gap is None else min(least, gap)
    return least if math.isfinite(least) else 0.0


def _gap(exchange: Exchange) -> float | None:
    if not (exchange.method == "POST" and exchange.succeeded):
        return None
    created, date = parse(exchange.get("created")), http_date(exchange.header("date"))
    if created is None or date is None:
        return None
    stamped = float(created)
    # Either may be cut to the second, and written before or after the other.
    return max(0.0, stamped - date - 1, date - exchange.elapsed - stamped - 1)


#: Added to a wait: coarse sleeps and clocks that are being adjusted.
_MARGIN = 0.02


def wait_past(text: object, received: float | None = None) -> float:
    """Waits until the server's next timestamp must be later than `text`; returns the seconds waited.

    `received` is when the answer with the timestamp arrived (Unix seconds, local clock; now if not
    given). The stamp was older then, so one step of the server's clock after that its clock shows more,
    however far it is from the local one. What is not a timestamp is not waited for.
    """
    length = step(text)
    if length is None:
        return 0.0
    now = time.time()
    arrived = now if received is None else min(received, now)
    seconds = max(0.0, arrived + float(length) + _MARGIN * min(float(length) * 10, 1.0) - now)
    if seconds:
        time.sleep(seconds)
    return seconds
