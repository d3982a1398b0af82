"""The time and the requests beside pytest's progress."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.plugin import session
from conformance.plugin.session import Progress

WATCHED = SimpleNamespace(isatty=True, hasmarkup=True)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(session, "INTERVAL", 0.01)
    monkeypatch.setattr(session, "TERMINAL", tmp_path / "tty")
    (tmp_path / "tty").touch()
    return tmp_path / "tty"


def test_it_ticks_by_itself_and_is_cleared(terminal: Path) -> None:
    twice = threading.Semaphore(0)

    def text(seconds: float) -> str:
        twice.release()
        return "5 requests"

    shown = Progress(WATCHED, text)
    shown.begin()
    assert twice.acquire(timeout=10) and twice.acquire(timeout=10)
    shown.close()
    assert terminal.read_text().startswith("\x1b7  5 requests\x1b[K\x1b8\x1b7  5 requests\x1b[K\x1b8")
    # The cursor is restored to pytest's position and the text erased.
    assert terminal.read_text().endswith("\x1b7\x1b[K\x1b8")


@pytest.mark.parametrize(
    "reporter",
    [None, SimpleNamespace(isatty=False, hasmarkup=True), SimpleNamespace(isatty=True, hasmarkup=False)],
)
def test_it_is_shown_only_on_an_interactive_terminal(reporter: object, terminal: Path) -> None:
    shown = Progress(reporter, lambda seconds: "never")
    shown.begin()
    shown.close()
    assert terminal.read_text() == ""
