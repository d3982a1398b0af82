"""Generated requests of every operation, valid and mutated ones (sections 4, 5, 7 and 8), and sequences of
requests along the links of openapi.yaml (sections 2 to 4 and 8).

The functions import what they call: collecting tests must not load Hypothesis.
"""

from __future__ import annotations

from conformance.contract.operations import OPERATIONS
from conformance.fuzz.exploration import LOADING, FuzzSettings, exploration
from conformance.judge.cells import Cell
from conformance.world.lane import Lane


@exploration({operation: ("http.success-json", operation) for operation in OPERATIONS})
def test_schema_fuzzing(lane: Lane, part: str, settings: FuzzSettings) -> list[Cell]:
    with LOADING:
        from conformance.fuzz.generated_requests import fuzz
    return fuzz(lane, part, settings)


@exploration({"accounts": ("http.success-json", "createAccount")}, early=True)
def test_sequences(lane: Lane, part: str, settings: FuzzSettings) -> list[Cell]:
    with LOADING:
        from conformance.fuzz.sequences import explore
    return explore(lane, part, settings)
