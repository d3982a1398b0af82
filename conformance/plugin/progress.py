"""Shows the remaining time and the server's latency beside pytest's progress, on terminals only."""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance._text import duration, milliseconds
from conformance.plugin import known

#: Seconds between updates.
INTERVAL = 0.5

#: pytest captures standard output during tests.
TERMINAL = Path("/dev/tty")

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


def _is_watched(reporter: Any, terminal: Path) -> bool:
    """True if the output is an interactive terminal."""
    return bool(
        getattr(reporter, "isatty", False)
        and getattr(reporter, "hasmarkup", False)
        and os.environ.get("TERM", "dumb") != "dumb"
        and os.access(terminal, os.W_OK)
    )


def _write(terminal: Path, text: str) -> bool:
    """Writes to the right of the cursor without moving it; False if the terminal is gone."""
    try:
        with terminal.open("a", encoding="utf-8") as file:
            file.write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")
    except OSError:
        return False
    return True


class Remaining:
    """Estimates the remaining time from the requests of finished and remaining tests."""

    def __init__(self, reporter: Any, *, interval: float = INTERVAL, terminal: Path = TERMINAL) -> None:
        self._terminal, self._interval = terminal, interval
        self._shown = _is_watched(reporter, terminal)
        self._begin = self._last = time.monotonic()
        self._whole = self._done = 0
        #: Latencies of the last answers in seconds.
        self._elapsed: deque[float] = deque(maxlen=200)

    def expect(self, nodeids: Sequence[str]) -> None:
        """Starts the clock for a run of these tests."""
        self._whole = sum(map(known.cost, nodeids))
        self._begin = time.monotonic()

    def done(self, nodeid: str, elapsed: Sequence[float]) -> None:
        """Counts a finished test, with the latency of each answer in seconds."""
        self._done += known.cost(nodeid)
        self._elapsed.extend(elapsed)
        now = time.monotonic()
        if self._shown and now - self._last >= self._interval:
            self._last = now
            self._shown = _write(self._terminal, f"  {self.text(now - self._begin)}")

    def text(self, seconds: float) -> str:
        """The text shown after so many seconds."""
        parts = []
        if 0 < self._done < self._whole and seconds > 3:
            parts.append(f"about {duration(seconds * (self._whole - self._done) / self._done)} left")
        if self._elapsed:
            parts.append(f"answers in {milliseconds(statistics.median(self._elapsed))}")
        return ", ".join(parts)

    def close(self) -> None:
        """Clears the text."""
        if self._shown:
            _write(self._terminal, "")
