"""The session that controls a run: signals, progress, and the target that it examines."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from conformance._files import InputError
from conformance.checks import plan
from conformance.checks.running import run_check
from conformance.diagnosis.examine import preflight
from conformance.judge.verdicts import Verdict
from conformance.plugin import session
from conformance.plugin.session import Interruption, Progress
from conformance.reference.app import system_clock
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import Target, build
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport
from tests.variants.hurry import hurried
from tests.variants.networks import LimitedInFront
from tests.variants.surroundings import Between


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
    assert twice.acquire(timeout=60) and twice.acquire(timeout=60)
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


def reference(change: dict[str, Any] | None = None, ahead: float = 0.0) -> tuple[Target, InProcessTransport]:
    """Returns a target on an in-process reference server, with some of its keys changed."""
    server, seeded = new_server(clock=lambda: system_clock() + int(ahead * 1_000_000))
    tables = target_tables(seeded, "http://reference.test")
    for path, value in (change or {}).items():
        table, key = path.split(".")
        tables[table][key] = value
    return build(tables, "target.toml"), InProcessTransport(server)


def test_wrong_clock() -> None:
    class NoDate(InProcessTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            del response.headers["date"]
            return response

    target, transport = reference(ahead=4000)
    # With a correct Date header the suite follows the server's clock; without it, it cannot.
    preflight(target, transport)
    with pytest.raises(InputError) as caught:
        preflight(target, NoDate(transport.server))
    text = str(caught.value)
    assert "clock" in text and "NTP" in text and "\n" not in text
    assert not any(secret in text for secret in target.secrets)


def test_rate_of_a_limiter_is_learned_and_kept() -> None:
    target, transport = reference()
    with hurried():
        lane = Lane(target, LimitedInFront(transport, 2))
        # A timestamp that is almost too old may be too old where this machine is slow.
        checks = [each for each in plan({"auth.nonce-replay"}, {"createAccount"}) if not each[0].waits]
        cells = [cell for check, name in checks for cell in run_check(check, name, lane)[0]]
    assert {cell.verdict for cell in cells} == {Verdict.PASSED}, cells
    pace = lane.budget.pace
    assert 1 < pace.overall.rate <= 2 and pace.refused.total() <= 12 < lane.sent
    assert any("[limits] requests_per_second" in line for line in pace.described())


def test_server_with_a_fault_is_left_to_the_checks() -> None:
    """One broken operation must not keep the others from being judged."""

    class ListsBroken(Between):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "GET":
                return httpx.Response(500, content=b"oops")
            return super().handle_request(request)

    target, transport = reference()
    preflight(target, ListsBroken(transport))
