"""The checks of section 5 blame the rule that is broken, on the operation where it is, and nothing else."""

from __future__ import annotations

import logging
from collections import OrderedDict

import pytest

from conformance.checks import load_checks
from conformance.harness.check import Check
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from tests.faults.catalogue import Fault, load
from tests.faults.harness import judge

MODULES = ("test_authentication", "test_signature", "test_unauthenticated")


def checks(*operations: str, only: str = "") -> list[tuple[Check, str]]:
    return [
        (check, operation)
        for check in load_checks().values()
        if check.name.startswith(MODULES) and only in check.name
        for operation in operations
        if operation in check.operations
    ]


def fault(rule: str, operation: str, kind: str) -> Fault:
    (found,) = [one for one in load() if (one.rule, one.operation, one.kind) == (rule, operation, kind)]
    return found


@pytest.mark.parametrize(
    ("rule", "operation", "kind"),
    [
        ("auth.missing-header", "createAccount", "accepts-without: X-API-Key"),
        ("auth.missing-header", "listAccounts", "accepts-without: X-Signature"),
        ("auth.missing-header", "createBeneficiary", "missing-answered-otherwise: X-API-Key type"),
        ("auth.bearer-only", "createVirtualAccount", "takes-bearer"),
        ("auth.timestamp-window", "createPayin", "wider-window: any past"),
        ("auth.unknown-key", "createWallet", "falls-back"),
        ("auth.unknown-key", "disableBeneficiary", "lenient-keys: prefix"),
        ("auth.signature", "disableBeneficiary", "compares-less: first 8"),
        ("auth.signature", "getVirtualAccount", "signature-answered-otherwise: status 403"),
        ("auth.nonce-replay", "getVirtualAccount", "replay-answered-otherwise: status 409"),
        ("auth.comes-first", "listVirtualAccounts", "resolves-first: headers"),
        ("auth.comes-first", "disableBeneficiary", "unknown-first: signature"),
    ],
)
def test_broken_rule_drags_no_other_along(
    rule: str, operation: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("conformance.reference.app"), "disabled", True)
    broken = fault(rule, operation, kind)
    outcome = judge(broken.make(), checks(operation, "listWallets", "createPayout"))
    assert not outcome.errors
    related = {rule, *broken.also}
    assert {cell for cell in outcome.broken if cell[0] not in related or cell[1] != operation} == set()
    assert (rule, operation) in outcome.broken


@pytest.mark.parametrize("kind", ["scoped-nonces: operation", "recorded-privately", "checks-own-only"])
def test_partner_with_nonces_of_its_own_is_not_blamed_on_others(kind: str) -> None:
    broken = fault("auth.nonce-replay", "listAccounts", kind)
    outcome = judge(broken.make(), checks("listAccounts", "createPayout", "updateBeneficiary", only="nonces"))
    assert {operation for _, operation in outcome.broken} == {"listAccounts"}
    assert not outcome.inconclusive


class RemembersFew(Behaviour):
    """Remembers the last nonces only."""

    def __init__(self) -> None:
        self.known: OrderedDict[str, None] = OrderedDict()

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        if nonce in self.known:
            return False
        self.known[nonce] = None
        if len(self.known) > 12:
            self.known.popitem(last=False)
        return True


def test_nonces_that_are_forgotten_after_a_while_are_noticed() -> None:
    outcome = judge(RemembersFew(), checks("listWallets"))
    assert set(outcome.broken) == {("auth.nonce-replay", "listWallets")}
