"""Every deliberately faulty server is caught by the checks of the rule that it breaks.

Here every kind of fault runs on one operation, and every rule on every operation with one kind at least; the
whole catalogue, and all checks on each fault, run by `python -m tests.prove faults`.
"""

from __future__ import annotations

import pytest

from tests.faults.catalogue import Fault, by_cell, load
from tests.faults.harness import CaseResult, catch, judged_cells


def _chosen() -> dict[CaseResult, list[Fault]]:
    """Each kind on one of its operations, spread over them, and one fault at least for each cell."""
    faults = load()
    kinds: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.rule, fault.kind), []).append(fault)
    chosen = {id(some[at % len(some)]) for at, some in enumerate(kinds.values())}
    cells = by_cell(faults)
    judged = judged_cells()
    return {
        cell: [fault for fault in some if id(fault) in chosen] or some[:1]
        for cell, some in cells.items()
        if cell in judged
    }


CHOSEN = _chosen()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: f"{cell[0]}-{cell[1]}")
def test_faults_are_caught(cell: CaseResult) -> None:
    survivors = []
    for fault in CHOSEN[cell]:
        # Which requests meet in a race is for the scheduler of a busy machine to say.
        for _ in range(3 if fault.rule.endswith("race") else 1):
            outcome = catch(fault)
            assert not outcome.errors, outcome.errors
            if outcome.shows(fault):
                break
        else:
            survivors.append(f"{fault.id}: {fault.description} {outcome.inconclusive.get(cell, '')}")
    assert not survivors, "no check notices:\n" + "\n".join(survivors)
