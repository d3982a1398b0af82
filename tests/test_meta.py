"""Completeness of the catalogue of rules, the checks and the faults."""

from __future__ import annotations

import functools

import pytest

from conformance.checks import load_checks
from conformance.checks.check import CHECKS
from conformance.contract.rules import RULES, Level
from conformance.judge.invariants import INVARIANTS
from tests.faults.catalogue import load
from tests.faults.harness import judged_cells

load_checks()


@functools.cache
def judged() -> set[tuple[str, str]]:
    return judged_cells()


@pytest.mark.parametrize("rule", RULES)
def test_a_check_judges_or_observes_the_rule_on_each_operation(rule: str) -> None:
    missing = [operation for operation in RULES[rule].operations if (rule, operation) not in judged()]
    assert not missing, f"no function in conformance/checks/ with @check({rule!r}) judges it there"


def test_every_check_cites_rules_and_runs_somewhere() -> None:
    for check in CHECKS.values():
        assert check.rules and set(check.rules) <= set(RULES), check.name
        assert check.operations, check.name
        for rule in check.rules:
            assert set(RULES[rule].operations) & set(check.operations), (check.name, rule)
        assert (check.function.__doc__ or "").strip(), f"{check.name} does not say how it probes"


def test_no_fault_breaks_an_open_rule() -> None:
    assert {fault.rule for fault in load() if RULES[fault.rule].level is Level.OPEN} == set()


def test_every_fault_has_a_name_of_its_own_and_says_what_is_wrong() -> None:
    names = [fault.id for fault in load()]
    assert len(names) == len(set(names))
    for fault in load():
        assert fault.sentence.endswith("."), fault.id
        assert set(fault.also) <= set(RULES), fault.id


def test_rules_of_every_response_are_judged() -> None:
    assert [rule for rule in INVARIANTS if RULES[rule].level is Level.OPEN] == []
