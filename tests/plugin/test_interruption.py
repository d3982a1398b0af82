"""Signals during a run: the first interrupts it, further ones do not stop its reports."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from conformance.plugin.session import Interruption


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a program that calls pytest.main and continues afterwards."""
    monkeypatch.setattr("conformance.plugin.session._is_command", lambda: False)


@pytest.fixture
def interruption(told: list[str]) -> Iterator[Interruption]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    interruption = Interruption(told.append)
    yield interruption
    interruption.end()
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_signal_interrupts_a_run(interruption: Interruption, told: list[str]) -> None:
    interruption.begin()
    for number in (signal.SIGTERM, signal.SIGINT):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert not told


def test_further_signals_do_not_stop_its_reports(interruption: Interruption, told: list[str]) -> None:
    interruption.begin()
    interruption.hold()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        signal.raise_signal(number)
    assert len(told) == 1 and "reporting what was measured" in told[0]


def test_a_command_that_is_about_to_end_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr("conformance.plugin.session._is_command", lambda: True)
    interruption = Interruption(lambda text: None)
    interruption.hold(interrupted=True)
    try:
        interruption.end()
        signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_an_error_in_the_message_of_an_interruption_is_ignored() -> None:
    def tell(text: str) -> None:
        raise RuntimeError("reentrant call")

    interruption = Interruption(tell)
    interruption.hold()
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        interruption.end()
