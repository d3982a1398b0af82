"""Faulty servers are caught: of each rule on each operation, in each field, by each check.

`python -m tests.prove faults` catches each of them.
"""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.running import run_check
from conformance.contract.rules import RULES, Level
from tests.faults.catalogue import Fault, load
from tests.faults.harness import catch, run_on_fault
from tests.faults.members import bugs, opened
from tests.prove.selection import each_cell, each_kind

pytestmark = pytest.mark.usefixtures("quiet", "no_waiting")

JUDGING = [
    pytest.param(check.name, rule, id=f"{check.name}-{rule}")
    for check in load_checks().values()
    for rule in check.rules
    if RULES[rule].level is not Level.OPEN
]

#: Each rule on each of its operations.
CELLS = [
    pytest.param(rule.id, operation, id=f"{rule.id}-{operation}")
    for rule in RULES.values()
    if rule.level is not Level.OPEN
    for operation in rule.operations
]


def _in_fields() -> list[Fault]:
    """One mistake for each field of each operation."""
    return each_kind([fault for fault in load() if fault.member])


@pytest.mark.parametrize(("rule", "operation"), CELLS)
def test_a_fault_of_the_rule_is_caught_on_the_operation(rule: str, operation: str) -> None:
    fault = each_cell().get((rule, operation))
    if fault:
        assert catch(fault).shows(fault), fault.id
        return
    # A mistake in a member may break another rule instead.
    mistakes = [fault for fault in load() if (fault.rule, fault.operation) == (rule, operation)]
    assert mistakes, f"no row of faults[{rule!r}] in tests/faults/ breaks it there"
    assert any((rule, operation) in catch(fault).broken for fault in mistakes[:20])


@pytest.mark.slow  # `.ci/run` proves these among the faults of each kind.
@pytest.mark.parametrize("fault", _in_fields(), ids=lambda fault: fault.id)
def test_a_mistake_in_a_field_is_caught(fault: Fault) -> None:
    outcome = catch(fault)
    assert outcome.shows(fault) or not outcome.effect, "no check sees it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [bug for bug in bugs() if (bug.operation, bug.description, bug.member) in opened()],
    ids=lambda fault: fault.id,
)
def test_what_is_open_is_caught_by_no_check(fault: Fault) -> None:
    assert not catch(fault).shows(fault)


def test_only_servers_are_open() -> None:
    assert opened().keys() <= {(bug.operation, bug.description, bug.member) for bug in bugs()}


@pytest.mark.slow
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
