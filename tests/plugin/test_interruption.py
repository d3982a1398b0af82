"""Signals during a run: the first interrupts it, further ones do not stop its reports."""

from __future__ import annotations

import os
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
