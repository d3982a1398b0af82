"""Signals that end a run: the first interrupts it, and the run reports what it has; later ones only print a
notice."""

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
    """Handles the signals of one run, in the main thread; in other threads the embedding program does.

    `tell` prints a line.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._previous: dict[signal.Signals, Any] = {}
        self._interrupted = self._told = False

    def begin(self) -> None:
        """Makes SIGTERM interrupt the run as SIGINT does."""
        self._handle(signal.SIGTERM, signal.default_int_handler)

    def hold(self, *, interrupted: bool = False) -> None:
        """Ignores further signals while results are written, which takes seconds."""
        self._interrupted = self._interrupted or interrupted
        for number in _SIGNALS:
            self._handle(number, self._notice)

    def end(self) -> None:
        """Restores the signal handlers, unless the process ends with an interrupted run."""
        if self._interrupted and _is_command():
            self._previous.clear()
        while self._previous:
            with contextlib.suppress(ValueError):
                signal.signal(*self._previous.popitem())

    def _handle(self, number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
        with contextlib.suppress(ValueError):
            before = signal.signal(number, handler)
            self._previous.setdefault(number, before)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        # The main thread may be writing: one line, once, keeps the output readable.
        if not self._told:
            self._told = True
            with contextlib.suppress(RuntimeError, OSError):
                self._tell("conformance: reporting what was measured, a moment (SIGKILL ends it at once)")


def _is_command() -> bool:
    """True if this process was started as pytest or as the suite's own command."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", "") or ""
    started = PurePath(getattr(main, "__file__", None) or "").stem
    commands = ("pytest", "py.test", "conformance")
    return name.partition(".")[0] in commands or started in commands
