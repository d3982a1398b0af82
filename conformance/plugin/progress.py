"""Shows beside pytest's progress how long the run has taken and what it has sent, on terminals only."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Seconds between updates.
INTERVAL = 0.5

#: pytest captures standard output during tests.
TERMINAL = Path("/dev/tty")

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"


class Progress:
    """Writes `text(seconds)` to the right of the cursor, from `begin` to `close`."""

    def __init__(
        self,
        reporter: Any,
        text: Callable[[float], str],
        *,
        interval: float = INTERVAL,
        terminal: Path = TERMINAL,
    ) -> None:
        self._text, self._interval, self._terminal = text, interval, terminal
        self._over = threading.Event()
        self._watched = bool(
            getattr(reporter, "isatty", False)
            and getattr(reporter, "hasmarkup", False)
            and os.environ.get("TERM", "dumb") != "dumb"
            and os.access(terminal, os.W_OK)
        )
        self._thread = threading.Thread(target=self._tick, name="conformance progress", daemon=True)

    def begin(self) -> None:
        """Starts the clock."""
        if self._watched:
            self._thread.start()

    def close(self) -> None:
        """Clears the text."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._write("")

    def _tick(self) -> None:
        begin = time.monotonic()
        while not self._over.wait(self._interval) and self._write(
            f"  {self._text(time.monotonic() - begin)}"
        ):
            pass

    def _write(self, text: str) -> bool:
        """Writes without moving the cursor; False if the terminal is gone."""
        try:
            with self._terminal.open("a", encoding="utf-8") as file:
                file.write(f"{_SAVE}{text}{_CLEAR}{_RESTORE}")
        except OSError:
            return False
        return True
