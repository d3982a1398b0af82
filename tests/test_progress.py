"""The counter beside pytest's progress."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from conformance.progress import Counter


class Reporter:
    """What the counter uses of pytest's terminal reporter."""

    def __init__(self, terminal: bool) -> None:
        self.isatty = terminal
        self.hasmarkup = terminal
        self._tw = self
        self.written: list[str] = []
        self.shown = threading.Event()

    def write(self, text: str, **options: Any) -> None:
        self.written.append(text)
        self.shown.set()


def test_counter_shows_and_clears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    reporter = Reporter(terminal=True)
    with Counter(reporter, lambda: 12345, "createAccount", interval=0.001):
        assert reporter.shown.wait(10)
    assert "12,345 requests, createAccount" in reporter.written[0]
    # The cursor comes back to where pytest left it, and nothing stays behind.
    assert all(text.startswith("\x1b7") and text.endswith("\x1b[K\x1b8") for text in reporter.written)
    assert reporter.written[-1] == "\x1b7\x1b[K\x1b8"


def test_nothing_is_shown_where_no_person_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for reporter in (Reporter(terminal=False), None):
        with Counter(reporter, lambda: 1, "createAccount", interval=0.001):
            pass
    assert not Reporter(terminal=False).written


def test_failure_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ValueError), Counter(Reporter(terminal=True), lambda: 1, "x", interval=0.001):
        raise ValueError
