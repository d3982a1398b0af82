"""Concurrent histories: several clients at once, and an order in which all their answers are right (sections
3, 4.0, 4.2, 4.6 and 5.4).

How histories are made and checked is in conformance/fuzz; nothing of it is imported before a part runs.
"""

from __future__ import annotations

from conformance.fuzz.exploration import FuzzSettings, exploration
from conformance.judge.findings import Finding
from conformance.world.run_context import RunContext

#: Contended resource -> the rule and operation that stand for it where nothing came to be judged.
RACES = {
    "keys": ("idempotency.race", "createVirtualAccount"),
    "wallets": ("wallet.race", "createWallet"),
    "beneficiaries": ("beneficiary.update", "updateBeneficiary"),
    "nonces": ("auth.nonce-race", "listAccounts"),
}


@exploration(RACES)
def test_has_legal_order(run: RunContext, part: str, settings: FuzzSettings, name: str) -> list[Finding]:
    from conformance.fuzz.histories.history_fuzzing import explore_histories

    return explore_histories(run, part, settings, name)
