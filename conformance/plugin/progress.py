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


class Progress:
    """Writes `text(seconds)` to the right of the cursor, without moving it, from `begin` to `close`."""

    def __init__(self, reporter: Any, text: Callable[[float], str]) -> None:
        self._text = text
        self._watched = getattr(reporter, "isatty", False) and getattr(reporter, "hasmarkup", False)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="conformance progress", daemon=True)

    def begin(self) -> None:
        """Starts the clock."""
        if self._watched and os.environ.get("TERM", "dumb") != "dumb":
            self._thread.start()

    def close(self) -> None:
        """Clears the text."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _tick(self) -> None:
        begin = time.monotonic()
        try:
            with TERMINAL.open("a", encoding="utf-8") as terminal:
                while not self._over.wait(INTERVAL):
                    print(
                        f"\x1b7  {self._text(time.monotonic() - begin)}\x1b[K\x1b8",
                        end="",
                        file=terminal,
                        flush=True,
                    )
                print("\x1b7\x1b[K\x1b8", end="", file=terminal, flush=True)
        except OSError:
            # There is no terminal, or no longer.
            return
