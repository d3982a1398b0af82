"""Hostile servers: each mode in this process, some as whole runs of pytest."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance._files import InputError
from conformance.checks import plan
from conformance.checks.running import run_check
from conformance.diagnosis import examination
from conformance.diagnosis.examine import preflight
from conformance.judge.cells import Cell
from conformance.target.file import build
from conformance.wire import answers
from conformance.world.lane import Lane
from tests.hostile.modes import MODES, SERVERS, UNUSABLE, Mode
from tests.hostile.runs import run
from tests.hostile.server import Hostile, Scale, hostile
from tests.proofs import parametrize, selected
from tests.variants.hurry import hurried

#: Smaller amounts than in whole runs.
SMALL = Scale(pause=0.01, large=400_000, headers=500, after=2)

#: Some checks of a create and a list operation.
TRIED = {"test_sound_requests_pass", "test_replay", "test_walking_pages", "test_what_was_sent_is_shown"}
CHECKS = [
    case
    for case in plan(operations={"createVirtualAccount", "listVirtualAccounts", "updateBeneficiary"})
    if case[0].function.__name__ in TRIED
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lowers the size limit of the client, and waits for nothing."""
    monkeypatch.setattr(answers, "MAX_BODY", 100_000)
    with hurried():
        yield


@pytest.fixture
def mode(program: Mode) -> Mode:
    """Returns a mode, which this machine can have."""
    if "https" in program.scheme and shutil.which("openssl") is None:
        pytest.skip("openssl makes certificates")
    return program


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_a_run_ends_as_it_should:
        parametrize(metafunc, selected(metafunc.config, MODES.values()))


@pytest.mark.parametrize("program", [mode for mode in SERVERS if mode.statuses == UNUSABLE], ids=str)
def test_a_server_that_cannot_be_judged_is_told_why(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    # Short only where a server is silent: this machine may be slow.
    if "not answer" in mode.tells and "HTTP" not in mode.tells:
        monkeypatch.setattr(examination, "SECONDS", 0.2)
    with hostile(mode.behave, mode.when, scheme=mode.scheme, scale=SMALL) as server:
        with pytest.raises(InputError) as caught:
            preflight(build(server.tables, "hostile"))
        assert server.elsewhere.requests == []
    text = str(caught.value)
    assert re.search(mode.tells.replace("4,194,304", "[0-9,]+"), text), text
    assert "\n" not in text and text.isprintable()


def judged(server: Hostile, timeout: float) -> tuple[Lane, list[Cell]]:
    """Returns the run, and the cells of some checks on a server."""
    limits = {"request_timeout": timeout, "retry_seconds": 0}
    lane = Lane(build(server.tables | {"limits": limits}, "hostile"))
    cells = [cell for check, name in CHECKS for cell in run_check(check, name, lane)[0]]
    return lane, cells


@pytest.mark.parametrize("program", [mode for mode in SERVERS if mode.statuses != UNUSABLE], ids=str)
def test_every_check_comes_to_a_verdict(mode: Mode) -> None:
    with hostile(mode.behave, mode.when, scheme=mode.scheme, scale=SMALL) as server:
        lane, cells = judged(server, 0.2 if "--request-timeout" in mode.options else 10.0)
        assert server.elsewhere.requests == []
    assert len(cells) >= len(CHECKS)
    kept = [len(exchange.response_body) for exchange in lane.recent]
    assert max(kept) <= answers.MAX_BODY
    assert all(len(exchange.response_headers) <= 2 * answers.MAX_HEADERS for exchange in lane.recent)
    broken = {rule for (rule, _), tally in lane.invariants.tallies.items() if tally.broken}
    broken |= {cell.rule for cell in cells if cell.verdict.is_violation}
    if mode.statuses == {1}:
        assert broken or lane.lost, "the server is blamed for nothing"
    if mode.statuses == {0}:
        assert not broken


#: Modes of whole runs that are narrowed to some checks for speed; those of the others are slow.
NARROWED = {
    "dies": ["--rule", "auth.header-case"],
    "a killed worker": ["--rule", "auth.header-case"],
    "disk full": ["--rule", "auth.header-case@listWallets"],
    "SIGTERM": ["--rule", "auth.header-case", "--rule", "auth.signature"],
}


@pytest.mark.parametrize("name", NARROWED)
def test_a_narrowed_run_ends_as_it_should(name: str, tmp_path: Path) -> None:
    outcome = run(MODES[name], tmp_path, "-m", "not fuzz", *NARROWED[name], scale=Scale(after=30))
    assert outcome.problems == [], outcome.output[-3000:]


@pytest.mark.slow
def test_a_run_ends_as_it_should(mode: Mode, tmp_path: Path) -> None:
    outcome = run(mode, tmp_path, "-m", "not fuzz")
    assert outcome.problems == [], outcome.output[-3000:]
