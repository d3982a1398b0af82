"""Signals during a run: the first interrupts it, further ones do not stop its reports."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.plugin.session import Interruption


@pytest.fixture(autouse=True)
def handlers() -> Iterator[dict[signal.Signals, Any]]:
    """The handlers before a run."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("command", [True, False], ids=["command", "embedded"])
def test_the_first_signal_interrupts_and_further_ones_do_not_stop_the_reports(
    command: bool, handlers: dict[signal.Signals, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor the end of the process; a program that calls pytest.main and goes on has its handlers again."""
    monkeypatch.setattr("conformance.plugin.session._is_command", lambda: command)
    interruption = Interruption()
    interruption.begin()
    for number in handlers:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    interruption.hold(interrupted=True)
    for number in handlers:
        signal.raise_signal(number)
    interruption.end()
    after = {number: signal.getsignal(number) for number in handlers}
    assert after == (dict.fromkeys(handlers, signal.SIG_IGN) if command else handlers)
