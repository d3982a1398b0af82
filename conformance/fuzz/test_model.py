"""Stateful testing: random sequences of requests against a reference model (sections 2 to 5 and 8).

The function imports what it calls: collecting tests must not load Hypothesis.
"""

from __future__ import annotations

from conformance.fuzz.exploration import FuzzSettings, exploration
from conformance.judge.findings import Finding
from conformance.world.run_context import RunContext

#: Theme -> rule and operation of its finding where nothing is judged.
THEMES = {
    "payees": ("http.success-json", "createBeneficiary"),
    "holdings": ("http.success-json", "createVirtualAccount"),
    "everything": ("http.success-json", "createAccount"),
}

#: Parts of each theme, which lanes run in parallel: `payees`, `payees-2`, ...
SHARES = 5

PARTS = {
    theme if share == 1 else f"{theme}-{share}": stands_for
    for theme, stands_for in THEMES.items()
    for share in range(1, SHARES + 1)
}


@exploration(PARTS)
def test_agrees_with_model(run: RunContext, part: str, settings: FuzzSettings, name: str) -> list[Finding]:
    from conformance.fuzz.stateful.stateful_fuzzing import explore_model

    return explore_model(run, part, settings, name)
