"""Concurrent histories: several clients at once, and an order in which all their answers are right (sections
3, 4.0, 4.2, 4.6 and 5.4).

How histories are made and checked is in conformance/fuzz; nothing of it is imported before a part runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.runner import exploration
from conformance.verdict import Finding, Inconclusive, Verdict

if TYPE_CHECKING:
    from conformance.fuzz.settings import FuzzSettings
    from conformance.suite import Suite

#: What is raced for -> the rule and operation that stand for it where nothing came to be judged.
RACES = {
    "keys": ("idempotency.race", "createVirtualAccount"),
    "wallets": ("wallet.race", "createWallet"),
    "beneficiaries": ("beneficiary.update", "updateBeneficiary"),
    "nonces": ("auth.nonce-race", "listAccounts"),
}


@exploration(*RACES)
def test_has_legal_order(suite: Suite, part: str, settings: FuzzSettings) -> list[Finding]:
    from conformance.fuzz.histories import explore_histories

    name = "test_histories.test_has_legal_order"
    try:
        return explore_histories(suite, part, settings, name)
    except Inconclusive as stop:
        rule, operation = RACES[part]
        return [
            Finding(
                rule,
                operation,
                Verdict.INCONCLUSIVE,
                name,
                summary=stop.reason,
                cure=stop.cure,
                cause=stop.cause,
            )
        ]
