"""The clock of the server under test, and waiting until it must show a later time."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from conformance.contract.timestamps import step
from conformance.wire.messages import Exchange


class ServerClock:
    """Server time, taken from the Date header of answers; the local clock until one was seen."""

    def __init__(self) -> None:
        self.offset = 0.0
        self.calibrated = False

    def observe(self, exchange: Exchange) -> None:
        """Takes the offset from an answer's Date header, which has whole seconds (RFC 9110, 6.6.1)."""
        value = exchange.header("date")
        if not value:
            return
        try:
            date = parsedate_to_datetime(value).timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        # The header was cut to the second, so on average the server is half a second further.
        self.offset = date + 0.5 - (exchange.started + exchange.elapsed)
        if abs(self.offset) < 1.5:
            self.offset = 0.0
        self.calibrated = True

    def now(self) -> int:
        """Server time in Unix epoch seconds."""
        return int(time.time() + self.offset)


#: Added to a wait: coarse sleeps and clocks that are being adjusted.
_MARGIN = 0.02


def wait_past(
    text: object, received: float | None = None, *, sleep: Callable[[float], None] | None = None
) -> float:
    """Waits until whatever the server stamps next must show a later time than `text`; the seconds waited.

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
        (sleep or time.sleep)(seconds)
    return seconds
