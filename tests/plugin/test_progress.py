"""The remaining time beside pytest's progress display."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.plugin.progress import Remaining

REPORTER = SimpleNamespace(isatty=True, hasmarkup=True)
TESTS = ["test_own.py::test_one", "test_own.py::test_two", "test_own.py::test_three"]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TERM", "xterm")
    path = tmp_path / "tty"
    path.touch()
    return path


def shown(reporter: object, terminal: Path) -> Remaining:
    remaining = Remaining(reporter, interval=0, terminal=terminal)
    remaining.expect(TESTS)
    remaining.done(TESTS[0], [0.02, 0.04])
    return remaining


def test_latency_shows_and_is_cleared(terminal: Path) -> None:
    remaining = shown(REPORTER, terminal)
    assert terminal.read_text() == "\x1b7  answers in 30 ms\x1b[K\x1b8"
    remaining.close()
    # The cursor is restored to pytest's position and the text erased.
    assert terminal.read_text().endswith("\x1b7\x1b[K\x1b8")


def test_time_left_follows_from_the_requests_that_are_left(terminal: Path) -> None:
    assert shown(REPORTER, terminal).text(60).startswith("about 2 min 0 s left, ")


@pytest.mark.parametrize(
    "reporter",
    [None, SimpleNamespace(isatty=False, hasmarkup=True), SimpleNamespace(isatty=True, hasmarkup=False)],
)
def test_progress_is_shown_only_on_an_interactive_terminal(reporter: object, terminal: Path) -> None:
    shown(reporter, terminal).close()
    assert terminal.read_text() == ""


def test_missing_terminal_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown(REPORTER, tmp_path / "none").close()
    assert list(tmp_path.iterdir()) == []
