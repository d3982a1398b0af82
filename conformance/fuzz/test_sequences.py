"""Sequences of requests along the links of openapi.yaml (sections 2 to 4 and 8).

The function imports what it calls: collecting tests must not load Hypothesis.
"""

from __future__ import annotations

from conformance.fuzz.exploration import LOADING, FuzzSettings, exploration
from conformance.judge.cells import Cell
from conformance.world.run import Run


@exploration({"accounts": ("http.success-json", "createAccount")})
def test_sequences(run: Run, part: str, settings: FuzzSettings, name: str) -> list[Cell]:
    with LOADING:
        from conformance.fuzz.sequences import explore
    return explore(run, part, settings, name)
