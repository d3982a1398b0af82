"""The counter beside pytest's progress."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.plugin.progress import Counter

REPORTER = SimpleNamespace(isatty=True, hasmarkup=True)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TERM", "xterm")
    path = tmp_path / "tty"
    path.touch()
    return path


def test_counter_shows_and_clears(terminal: Path) -> None:
    looked = threading.Semaphore(0)

    def number() -> int:
        looked.release()
        return 12345

    with Counter(REPORTER, number, "createAccount", interval=0.001, terminal=terminal):
        # Its second look comes after its first writing.
        assert looked.acquire(timeout=10) and looked.acquire(timeout=10)
    written = terminal.read_text()
    assert written.startswith("\x1b7  12,345 requests, createAccount\x1b[K\x1b8")
    # The cursor comes back to where pytest left it, and nothing stays behind.
    assert written.endswith("\x1b7\x1b[K\x1b8")


@pytest.mark.parametrize(
    "reporter",
    [None, SimpleNamespace(isatty=False, hasmarkup=True), SimpleNamespace(isatty=True, hasmarkup=False)],
)
def test_nothing_is_shown_where_no_person_looks(reporter: object, terminal: Path) -> None:
    with Counter(reporter, lambda: 1, "createAccount", interval=0.001, terminal=terminal):
        pass
    assert terminal.read_text() == ""


def test_missing_terminal_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with Counter(REPORTER, lambda: 1, "createAccount", interval=0.001, terminal=tmp_path / "none"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_failure_passes_through(terminal: Path) -> None:
    with pytest.raises(ValueError), Counter(REPORTER, lambda: 1, "x", interval=0.001, terminal=terminal):
        raise ValueError
