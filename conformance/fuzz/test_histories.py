"""Linearizability of concurrent requests (sections 3, 4.0, 4.2, 4.6 and 5.4).

The function imports what it calls: collecting tests must not load Hypothesis.
"""

from __future__ import annotations

from conformance.fuzz.exploration import FuzzSettings, exploration
from conformance.judge.findings import Finding
from conformance.world.run_context import RunContext

#: Kind of history -> rule and operation of its finding where nothing is judged.
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
