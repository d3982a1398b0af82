"""Authentication checks report the broken rule on its operation, and no other."""

from __future__ import annotations

import time

import pytest

from conformance.checks import load_checks
from conformance.checks.auth_probes import FORGOTTEN
from conformance.checks.check import Check, run_check
from conformance.contract.operations import OPERATIONS
from conformance.judge.findings import Verdict
from tests.faults.harness import judge
from tests.load.faults import NoncesForgotten
from tests.prove.selection import by_id
from tests.support.runs import run_on
from tests.variants.hurry import hurried

MODULES = ("test_authentication", "test_nonces", "test_signature", "test_unauthenticated")


def checks(*operations: str, only: str = "") -> list[tuple[Check, str]]:
    return [
        (check, operation)
        for check in sorted(load_checks().values(), key=lambda check: check.last)
        if check.name.startswith(MODULES) and only in check.name
        for operation in operations
        if operation in check.operations
    ]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "name",
    [
        "auth.missing-header[createAccount]: A request without this header needs no authentication: "
        "X-API-Key",
        "auth.missing-header[createBeneficiary]: A missing header is answered with another type or code: "
        "X-API-Key type",
        "auth.unknown-key[createWallet]: An unknown key counts as that of the organization whose secret the "
        "request is signed with",
        "auth.signature[disableBeneficiary]: A signature is accepted that is not the right one: first 8",
        "auth.comes-first[listVirtualAccounts]: An unknown or foreign resource of the path is refused as "
        "such before this step: headers",
        "auth.comes-first[disableBeneficiary]: An unknown id of the path is refused as such before this "
        "step; a foreign one is not: signature",
    ],
)
def test_a_broken_rule_fails_no_other_rule(name: str) -> None:
    broken = by_id()[name]
    outcome = judge(broken.make(), checks(broken.operation, "listWallets", "createPayout"))
    assert not outcome.errors
    related = {broken.rule, *broken.also}
    assert {cell for cell in outcome.broken if cell[0] not in related or cell[1] != broken.operation} == set()
    assert (broken.rule, broken.operation) in outcome.broken


@pytest.mark.parametrize(
    "kind",
    [
        "A nonce is remembered together with something else of the request, here only: operation",
        "A nonce that was used here may be used for other operations",
        "A nonce that was used for another operation may be used here once",
    ],
)
def test_a_nonce_fault_is_reported_on_its_own_operation_only(kind: str) -> None:
    broken = by_id()[f"auth.nonce-replay[listAccounts]: {kind}"]
    outcome = judge(broken.make(), checks("listAccounts", "createPayout", "updateBeneficiary", only="nonces"))
    assert {operation for _, operation in outcome.broken} == {"listAccounts"}
    assert not outcome.inconclusive


class RemembersFew(NoncesForgotten):
    """Remembers only the last 12 nonces."""

    most = 12


def test_nonces_that_are_forgotten_after_a_while_are_noticed() -> None:
    outcome = judge(RemembersFew(), checks("listWallets"))
    assert set(outcome.broken) == {("auth.nonce-replay", "listWallets")}


def test_without_a_second_organization_the_first_is_judged() -> None:
    run = run_on(secondary=False)
    findings = [
        finding
        for check, operation in checks("createWallet", "listAccounts")
        if check.rules[0].startswith("auth.") and not check.last
        for finding in run_check(check, operation, run)[0]
    ]
    kept = {finding.rule for finding in findings if finding.verdict is Verdict.NOT_APPLICABLE}
    assert kept == {"auth.nonce-scope"}


@hurried()
def test_one_lane_waits_once_for_the_nonces_of_all_operations() -> None:
    run, waited = run_on(), list[float]()

    def pause(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    run.pause = pause
    for check, operation in checks(*OPERATIONS, only="test_nonces."):
        run_check(check, operation, run)
    assert len(waited) == len(OPERATIONS) and sum(waited) <= FORGOTTEN
