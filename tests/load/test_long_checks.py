"""The checks that only load runs have pass on the reference server, and fail on one with a fault."""

from __future__ import annotations

import contextlib

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.judge.cells import Cell
from conformance.judge.verdicts import Verdict
from conformance.load.long_checks import LONG_CHECKS, MEMORY, Memory
from conformance.reference.behaviour import Behaviour
from tests.load.faults import BalanceReadBeforeCommit, DisableLost, KeysEvicted, NoncesForgotten, UpdateLost
from tests.support.runs import run_on
from tests.variants.hurry import hurried

#: Rule -> check, operation, and fault.
ROWS = {
    "idempotency.replay": ("test_keys_of_earlier_sessions", "createWallet", KeysEvicted),
    "auth.nonce-replay": ("test_nonces_of_earlier_requests", "listWallets", NoncesForgotten),
    "beneficiary.update": ("test_changes_of_one_beneficiary_at_once", "updateBeneficiary", UpdateLost),
    "beneficiary.disable": ("test_changes_of_one_beneficiary_at_once", "disableBeneficiary", DisableLost),
    "payout.race": ("test_payouts_at_once_in_many_rounds", "createPayout", BalanceReadBeforeCommit),
}


def judged(rule: str, behaviour: Behaviour | None) -> Cell:
    """Returns what the check of a rule says of a server, in several sessions with one memory."""
    check, operation, _ = ROWS[rule]
    run, memory = run_on(behaviour), Memory()
    memory.nonces.append(run.account().account)
    for _ in range(3):
        session = run.alone()
        session.cache.put(MEMORY, memory)
        session.lag.within = 0.2
        # The fault of payouts waits in earnest.
        with contextlib.nullcontext() if rule == "payout.race" else hurried():
            [cell], _ = run_check(LONG_CHECKS[f"long_checks.{check}"], operation, session)
        if cell.violations:
            break
    return cell


@pytest.mark.parametrize("rule", ROWS)
def test_a_check_fails_where_its_rule_is_broken_and_only_there(rule: str) -> None:
    assert judged(rule, None).verdict is Verdict.PASSED
    behaviour = ROWS[rule][2]()
    # The fault shows at once.
    behaviour.__dict__.update(most=0, one_in=1)
    assert judged(rule, behaviour).violations


def test_ordinary_runs_have_none_of_them() -> None:
    assert LONG_CHECKS and not LONG_CHECKS.keys() & load_checks().keys()
