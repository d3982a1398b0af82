"""Catches each kind of fault by the checks of its rule, and makes each check fail by each of its rules.

Each kind runs on one operation, each cell has at least one fault. `python -m tests.prove faults` runs the
whole catalogue, with --all-checks against all checks.
"""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.contract.rules import RULES, Level
from tests.faults.catalogue import Fault, by_cell, load
from tests.faults.harness import CaseResult, catch, judged_cells, run_on_fault
from tests.prove.selection import each_kind


def _chosen() -> dict[CaseResult, list[Fault]]:
    """Returns each kind on one operation, spread over the operations, and at least one fault for each
    cell."""
    chosen = {fault.id for fault in each_kind(load())}
    judged = judged_cells()
    return {
        cell: [fault for fault in some if fault.id in chosen] or some[:1]
        for cell, some in by_cell(load()).items()
        if cell in judged
    }


CHOSEN = _chosen()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("cell", CHOSEN, ids=lambda cell: f"{cell[0]}-{cell[1]}")
def test_faults_are_caught(cell: CaseResult) -> None:
    survivors = []
    for fault in CHOSEN[cell]:
        # Scheduling on a busy machine decides if the requests of a race meet: try three times.
        for _ in range(3 if fault.rule.endswith("race") else 1):
            outcome = catch(fault)
            assert not outcome.errors, outcome.errors
            if outcome.shows(fault):
                break
        else:
            survivors.append(f"{fault.id}: {fault.description} {outcome.inconclusive.get(cell, '')}")
    assert not survivors, "no check notices:\n" + "\n".join(survivors)


JUDGING = [
    pytest.param(check.name, rule, id=f"{check.name}-{rule}")
    for check in load_checks().values()
    for rule in check.rules
    if RULES[rule].level is not Level.OPEN
]


@pytest.mark.usefixtures("quiet", "no_waiting")
@pytest.mark.parametrize(("name", "rule"), JUDGING)
def test_every_check_fails_by_each_of_its_rules_on_some_fault(name: str, rule: str) -> None:
    check = load_checks()[name]
    tried = [fault for fault in load() if fault.rule == rule and fault.operation in check.operations]
    # Ordered by operation, so that a kind which the check misses costs one run before the next kind.
    for fault in sorted(tried, key=lambda fault: check.operations.index(fault.operation)):
        findings, _ = run_check(check, fault.operation, run_on_fault(fault.make()))
        if any(finding.rule == rule and finding.verdict.is_violation for finding in findings):
            return
    pytest.fail(f"none of {len(tried)} faults makes {name} fail by {rule}")
