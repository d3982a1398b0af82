"""Signals that end a run: the first interrupts it, and the run then reports what it measured; further ones
are told that it is about to."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Handles the signals of one run in the main thread; elsewhere whoever embeds pytest handles them.

    `tell` prints a line.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._usual: dict[signal.Signals, Any] = {}
        self._interrupted = self._told = False

    def begin(self) -> None:
        """Lets SIGTERM interrupt the run as SIGINT does."""
        self._handle(signal.SIGTERM, signal.default_int_handler)

    def hold(self, *, interrupted: bool = False) -> None:
        """From now on signals end nothing: what was measured is being reported, which takes seconds."""
        self._interrupted = self._interrupted or interrupted
        for number in _SIGNALS:
            self._handle(number, self._wait)

    def end(self) -> None:
        """Gives the signals back, unless the process ends with a run that was interrupted: then there is
        nothing left to interrupt."""
        if self._interrupted and _is_command():
            self._usual.clear()
        while self._usual:
            with contextlib.suppress(ValueError):
                signal.signal(*self._usual.popitem())

    def _handle(self, number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
        with contextlib.suppress(ValueError):
            before = signal.signal(number, handler)
            self._usual.setdefault(number, before)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        # A handler must not write where the main thread may be writing: once, and as one line.
        if not self._told:
            self._told = True
            with contextlib.suppress(RuntimeError, OSError):
                self._tell("conformance: reporting what was measured, a moment (SIGKILL ends it at once)")


def _is_command() -> bool:
    """True if this process was started as pytest, or as the suite's own command, and does nothing else."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", "") or ""
    started = PurePath(getattr(main, "__file__", None) or "").stem
    return name.partition(".")[0] in ("pytest", "conformance") or started in (
        "pytest",
        "py.test",
        "conformance",
    )
