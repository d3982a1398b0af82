"""Confirmation of a failed check: it runs once more, alone and in its own accounts."""

from __future__ import annotations

from pathlib import Path

from conformance.checks import load_checks
from conformance.fuzz.exploration import FuzzSettings
from conformance.plugin.worker import Worker
from conformance.replay import load
from tests.replay.samples import NoNonces
from tests.support import running
from tests.support.runs import run_on


def test_the_replay_file_is_made_from_the_run_that_confirmed(tmp_path: Path) -> None:
    run = run_on(NoNonces())
    worker = Worker(
        run.target, index=0, workers=1, settings=FuzzSettings(1), replay_folder=tmp_path / "replays"
    )
    worker.run = run
    shared = run.account("authentication").beneficiary_id
    check = load_checks()["test_nonces.test_nonces_are_used_once"]
    findings, numbers = worker.run_check(check, "getBeneficiary")
    [failed] = [finding for finding in findings if finding.rule == "auth.nonce-replay"]
    assert failed.confirmed == "confirmed"
    first, again = (
        [exchange for number, exchange in run.record.items() if (number > max(numbers)) is later]
        for later in (False, True)
    )
    assert any(shared in exchange.call.path for exchange in first)
    assert again and not any(shared in exchange.call.path for exchange in again)
    assert run.sent == len(run.record)
    assert load(tmp_path / failed.replay)["steps"][0]["operation"] == "createAccount"


def test_replay_files_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    earlier, other = tmp_path / "replays" / "a.json", tmp_path / "replays" / "notes.txt"
    earlier.parent.mkdir()
    for path in (earlier, other):
        path.write_text("{}", "utf-8")
    outcome = running.run("--rule", "auth.missing-header@listWallets", folder=tmp_path)
    assert outcome.status == 0, outcome.output
    assert other.exists() and not earlier.exists()
