"""The clock of the server under test, and waiting for its next tick."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from conformance.contract.timestamps import http_date, parse, step
from conformance.wire.messages import Exchange


class ServerClock:
    """Estimate of server time from Date headers: local time plus `offset` seconds."""

    def __init__(self) -> None:
        self.offset = 0.0
        self.calibrated = False

    def observe(self, exchange: Exchange) -> None:
        """Sets the offset from an answer's Date header, which has whole seconds (RFC 9110, 6.6.1)."""
        date = http_date(exchange.header("date"))
        if date is None:
            return
        # Date is truncated to the second: half a second on average.
        self.offset = date + 0.5 - exchange.arrived
        if abs(self.offset) < 1.5:
            self.offset = 0.0
        self.calibrated = True

    def now(self) -> int:
        """Server time in Unix epoch seconds."""
        return int(time.time() + self.offset)


def apart(exchanges: Iterable[Exchange]) -> float:
    """Lower bound in seconds of the skew between Date headers, which may be a gateway's, and the `created` of
    new resources; 0 if none shows."""
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
    # Both may be truncated to the second, and `created` set at any time during the exchange.
    return max(0.0, stamped - date - 1, date - exchange.elapsed - stamped - 1)


#: Seconds added to a wait for coarse sleeps and clock adjustments.
_MARGIN = 0.02


def wait_past(text: object, received: float | None = None) -> float:
    """Waits until the server's clock must have ticked since timestamp `text`; returns the seconds waited.

    `received` is when the answer with it arrived, in Unix seconds of the local clock (default: now). One
    resolution of the timestamp after that, the server's clock shows a later time whatever its offset. Returns
    at once if `text` is no timestamp.
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
