"""Makes each check fail by each of its rules; `python -m tests.prove faults` catches each faulty server."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.contract.rules import RULES, Level
from tests.faults.catalogue import load
from tests.faults.harness import run_on_fault

JUDGING = [
    pytest.param(check.name, rule, id=f"{check.name}-{rule}")
    for check in load_checks().values()
    for rule in check.rules
    if RULES[rule].level is not Level.OPEN
]


@pytest.mark.slow
@pytest.mark.usefixtures("quiet", "no_waiting")
@pytest.mark.parametrize(("name", "rule"), JUDGING)
def test_every_check_fails_by_each_of_its_rules_on_some_fault(name: str, rule: str) -> None:
    check = load_checks()[name]
    tried = [fault for fault in load() if fault.rule == rule and fault.operation in check.operations]
    # Ordered by operation, so that a kind which the check misses costs one run before the next kind.
    for fault in sorted(tried, key=lambda fault: check.operations.index(fault.operation)):
        cells, _ = run_check(check, fault.operation, run_on_fault(fault.make()))
        if any(cell.rule == rule and cell.verdict.is_violation for cell in cells):
            return
    pytest.fail(f"none of {len(tried)} faults makes {name} fail by {rule}")
