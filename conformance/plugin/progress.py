"""A counter beside pytest's progress while generated requests are sent, on terminals only."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

#: Seconds between two looks.
INTERVAL = 0.5

#: While a test runs, pytest keeps what is written to standard output for itself.
TERMINAL = Path("/dev/tty")

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


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
        self._shown = bool(
            getattr(reporter, "isatty", False)
            and getattr(reporter, "hasmarkup", False)
            and os.environ.get("TERM", "dumb") != "dumb"
            and os.access(terminal, os.W_OK)
        )
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
        try:
            with self._terminal.open("a", encoding="utf-8") as terminal:
                terminal.write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")
        except OSError:
            # A terminal that has gone is no reason to stop.
            self._over.set()
