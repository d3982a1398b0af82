"""Confirmation of a failed check: it runs once more, alone and in its own accounts."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.fuzz.exploration import FuzzSettings
from conformance.plugin.worker import Worker
from tests.support.mistakes import NoNonces
from tests.support.runs import run_on


def test_a_failed_check_runs_again_in_accounts_of_its_own() -> None:
    run = run_on(NoNonces())
    worker = Worker(run.target, index=0, settings=FuzzSettings(1))
    worker.run = run
    shared = run.account("authentication").beneficiary_id
    check = load_checks()["test_nonces.test_nonces_are_used_once"]
    cells, numbers = worker.run_check(check, "getBeneficiary")
    [failed] = [cell for cell in cells if cell.rule == "auth.nonce-replay"]
    assert failed.violations[0].confirmed == "confirmed"
    first, again = (
        [exchange for number, exchange in run.record.items() if (number > max(numbers)) is later]
        for later in (False, True)
    )
    assert any(shared in exchange.call.path for exchange in first)
    assert again and not any(shared in exchange.call.path for exchange in again)
    assert run.sent == len(run.record)
