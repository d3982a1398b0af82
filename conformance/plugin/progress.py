"""What stands beside pytest's progress, on terminals only: requests sent, time left, the server's latency."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from conformance._text import duration, milliseconds
from conformance.plugin import costs

#: Seconds between two looks.
INTERVAL = 0.5

#: Requests that a part of the generated ones takes, about.
GENERATED = 60

#: While a test runs, pytest keeps what is written to standard output for itself.
TERMINAL = Path("/dev/tty")

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


def _looked_at(reporter: Any, terminal: Path) -> bool:
    """Whether a person may be looking."""
    return bool(
        getattr(reporter, "isatty", False)
        and getattr(reporter, "hasmarkup", False)
        and os.environ.get("TERM", "dumb") != "dumb"
        and os.access(terminal, os.W_OK)
    )


def _write(terminal: Path, text: str) -> bool:
    """Writes to the right of the cursor, and leaves the cursor where it was."""
    try:
        with terminal.open("a", encoding="utf-8") as file:
            file.write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")
    except OSError:
        # A terminal that has gone is no reason to stop.
        return False
    return True


class Remaining:
    """How much time is left, by what tests cost on a conforming server, and how fast this one answers."""

    def __init__(self, reporter: Any, *, interval: float = INTERVAL, terminal: Path = TERMINAL) -> None:
        self._terminal, self._interval = terminal, interval
        self._shown = _looked_at(reporter, terminal)
        self._begin = self._last = time.monotonic()
        self._whole = self._done = 0
        #: Seconds that the last answers took.
        self._elapsed: deque[float] = deque(maxlen=200)

    def expect(self, nodeids: Sequence[str]) -> None:
        """Takes note of the tests that will run."""
        self._whole = sum(map(_weight, nodeids))
        self._begin = time.monotonic()

    def done(self, nodeid: str, elapsed: Sequence[float]) -> None:
        """Takes note that a test has run, and of how long each answer took."""
        self._done += _weight(nodeid)
        self._elapsed.extend(elapsed)
        now = time.monotonic()
        if self._shown and now - self._last >= self._interval:
            self._last = now
            self._shown = _write(self._terminal, f"  {self.text(now - self._begin)}")

    def text(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        parts = []
        if 0 < self._done < self._whole and seconds > 3:
            parts.append(f"about {duration(seconds * (self._whole - self._done) / self._done)} left")
        if self._elapsed:
            parts.append(f"answers in {milliseconds(statistics.median(self._elapsed))}")
        return ", ".join(parts)

    def close(self) -> None:
        """Leaves nothing behind."""
        if self._shown:
            _write(self._terminal, "")


def _weight(nodeid: str) -> int:
    """What a test costs: its requests, and of generated ones as many as there usually are."""
    return costs.of(nodeid) or (GENERATED if "::test_" in nodeid else 0)


class Counter:
    """Shows a number to the right of the cursor for as long as the context lasts."""

    def __init__(
        self,
        reporter: Any,
        number: Callable[[], int],
        what: str,
        *,
        interval: float = INTERVAL,
        terminal: Path = TERMINAL,
    ) -> None:
        self._number, self._what, self._interval = number, what, interval
        self._terminal = terminal
        self._shown = _looked_at(reporter, terminal)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> None:
        if self._shown:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._over.set()
            self._thread.join()
            self._write("")

    def _show(self) -> None:
        while not self._over.wait(self._interval):
            self._write(f"  {self._number():,} requests, {self._what}")

    def _write(self, text: str) -> None:
        if not _write(self._terminal, text):
            self._over.set()
