"""Shows the time left and the server's latency to the right of pytest's progress, on terminals only."""

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

#: Seconds between two changes of the text.
INTERVAL = 0.5

#: While a test runs, pytest keeps what is written to standard output for itself.
TERMINAL = Path("/dev/tty")

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


def _is_watched(reporter: Any, terminal: Path) -> bool:
    """True if a person may be looking."""
    return bool(
        getattr(reporter, "isatty", False)
        and getattr(reporter, "hasmarkup", False)
        and os.environ.get("TERM", "dumb") != "dumb"
        and os.access(terminal, os.W_OK)
    )


def _write(terminal: Path, text: str) -> bool:
    """Writes to the right of the cursor, and leaves the cursor there; false where the terminal has gone,
    which is no reason to stop."""
    try:
        with terminal.open("a", encoding="utf-8") as file:
            file.write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")
    except OSError:
        return False
    return True


class Remaining:
    """Estimates the time left from the requests of the tests that are done and of those that are not."""

    def __init__(self, reporter: Any, *, interval: float = INTERVAL, terminal: Path = TERMINAL) -> None:
        self._terminal, self._interval = terminal, interval
        self._shown = _is_watched(reporter, terminal)
        self._begin = self._last = time.monotonic()
        self._whole = self._done = 0
        #: Seconds of the last answers.
        self._elapsed: deque[float] = deque(maxlen=200)

    def expect(self, nodeids: Sequence[str]) -> None:
        """Begins a run of these tests."""
        self._whole = sum(map(known.cost, nodeids))
        self._begin = time.monotonic()

    def done(self, nodeid: str, elapsed: Sequence[float]) -> None:
        """Counts a test that has run, with the seconds that each answer took."""
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
