"""Stateful testing: random sequences of requests against a reference model in memory (sections 2 to 5 and 8).

The model and the machines are in conformance/fuzz; nothing of them is imported before a part runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.fuzz.exploration import exploration
from conformance.judge.findings import Finding

if TYPE_CHECKING:
    from conformance.fuzz.exploration import FuzzSettings
    from conformance.world.run_context import RunContext

#: Theme -> the rule and operation that stand for it where nothing came to be judged.
THEMES = {
    "payees": ("http.success-json", "createBeneficiary"),
    "holdings": ("http.success-json", "createVirtualAccount"),
    "everything": ("http.success-json", "createAccount"),
}


@exploration(THEMES)
def test_agrees_with_model(run: RunContext, part: str, settings: FuzzSettings, name: str) -> list[Finding]:
    from conformance.fuzz.stateful.stateful_fuzzing import explore_model

    return explore_model(run, part, settings, name)
