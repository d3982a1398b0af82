"""Signals during a run, and the progress beside pytest's."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.plugin import session
from conformance.plugin.session import Interruption, Progress


@pytest.fixture(autouse=True)
def handlers() -> Iterator[dict[signal.Signals, Any]]:
    """The handlers before a run."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_signal_interrupts_and_further_ones_do_not_stop_the_reports(
    handlers: dict[signal.Signals, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the reports a further one ends the process as the run does."""
    ends: list[int] = []
    monkeypatch.setattr(os, "_exit", ends.append)
    interruption = Interruption()
    for number in handlers:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    interruption.hold(interrupted=True)
    for number in handlers:
        signal.raise_signal(number)
    assert ends == []
    interruption.end()
    for number in handlers:
        signal.raise_signal(number)
    assert ends == [2, 2]


def test_a_program_that_goes_on_after_a_run_has_its_handlers_again(
    handlers: dict[signal.Signals, Any],
) -> None:
    interruption = Interruption()
    interruption.hold()
    interruption.end()
    assert {number: signal.getsignal(number) for number in handlers} == handlers


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
