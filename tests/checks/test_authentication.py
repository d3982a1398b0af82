"""Authentication checks against a server that forgets nonces, and without a second organization."""

from __future__ import annotations

from conformance.checks import load_checks
from conformance.checks.check import Check, run_check
from conformance.judge.verdicts import Verdict
from tests.faults.harness import judge
from tests.load.faults import NoncesForgotten
from tests.support.runs import run_on

MODULES = ("test_authentication", "test_nonces", "test_signature", "test_unauthenticated")


def checks(*operations: str) -> list[tuple[Check, str]]:
    return [
        (check, operation)
        for check in sorted(load_checks().values(), key=lambda check: check.last)
        if check.name.startswith(MODULES)
        for operation in operations
        if operation in check.operations
    ]


class RemembersFew(NoncesForgotten):
    """Remembers only the last 12 nonces."""

    most = 12


def test_nonces_that_are_forgotten_after_a_while_are_noticed() -> None:
    outcome = judge(RemembersFew(), checks("listWallets"))
    assert set(outcome.broken) == {("auth.nonce-replay", "listWallets")}


def test_without_a_second_organization_the_first_is_judged() -> None:
    run = run_on(secondary=False)
    cells = [
        cell
        for check, operation in checks("createWallet", "listAccounts")
        if check.rules[0].startswith("auth.") and not check.last
        for cell in run_check(check, operation, run)[0]
    ]
    kept = {cell.rule for cell in cells if cell.verdict is Verdict.NOT_APPLICABLE}
    assert kept == {"auth.nonce-scope"}
