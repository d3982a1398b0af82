"""Grouping of violations by common cause, with their consequences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from conformance.contract.rules import RULES, Level
from conformance.judge.ledger import Ledger
from conformance.judge.verdicts import Verdict
from conformance.report.causes import causes
from tests.support.drawn_runs import runs
from tests.support.report_samples import exchange, judged, keep, whole_run


def test_rules_that_follow_are_taken_along_on_the_same_operation_only() -> None:
    replay, idempotent = "auth.nonce-replay", "auth.nonce-replay-idempotent"
    broken = [(replay, "createAccount"), (idempotent, "createAccount"), (idempotent, "createWallet")]
    records = causes(whole_run(dict.fromkeys(broken, Verdict.FAILED)))
    assert {(one.rule, one.operations, one.consequences) for one in records} == {
        (replay, ("createAccount",), ((idempotent, "createAccount"),)),
        (idempotent, ("createWallet",), ()),
    }


@pytest.mark.parametrize(
    ("verdict", "broken", "status", "operation", "consequence"),
    [
        (Verdict.INCONCLUSIVE, "createAccount", 500, "createAccount", True),
        (Verdict.FAILED, "createAccount", 500, "createAccount", True),
        (Verdict.FAILED, "createAccount", None, "createAccount", True),
        # The evidence shows another operation, or no server error.
        (Verdict.INCONCLUSIVE, "createWallet", 500, "createAccount", False),
        (Verdict.FAILED, "listWallets", 500, "createAccount", False),
        (Verdict.FAILED, "createAccount", 204, "createAccount", False),
    ],
)
def test_a_consequence_shows_the_operation_and_the_symptom_of_its_cause(
    verdict: Verdict, broken: str, status: int | None, operation: str, consequence: bool
) -> None:
    followed = judged("list.walk", "listWallets", verdict, cause="http.no-server-error", exchanges=[1])
    results = whole_run({("http.no-server-error", broken): Verdict.FAILED}, followed)
    keep(results, exchange(1, status=status))
    led_to = [rule for cause in causes(results) for rule, _ in cause.consequences]
    assert led_to == ["list.walk"] * consequence


@pytest.mark.parametrize(("broken", "consequence"), [("listWallets", True), ("listAccounts", False)])
def test_a_consequence_without_evidence_is_of_its_own_operation(broken: str, consequence: bool) -> None:
    unclear = judged("list.walk", "listWallets", Verdict.INCONCLUSIVE, cause="http.success-json")
    [record] = causes(whole_run({("http.success-json", broken): Verdict.FAILED}, unclear))
    assert bool(record.consequences) == consequence


def test_a_refusal_of_the_wrong_shape_explains_no_acceptance() -> None:
    shape = {("error.shape", "listAccounts"): Verdict.FAILED}
    key, got = ("auth.signature", "listAccounts"), "401 without error type and code"
    unshaped = judged(*key, Verdict.FAILED, got=got, without_error_body=True)
    accepted = judged(*key, Verdict.FAILED, got="200 with a JSON body")
    assert [cause.rule for cause in causes(whole_run(shape, unshaped))] == ["error.shape"]
    assert {cause.rule for cause in causes(whole_run(shape, accepted))} == {"error.shape", "auth.signature"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_every_violation_is_in_exactly_one_cause(run: tuple[Ledger, dict[str, Any]]) -> None:
    results, _ = run
    records = causes(results)
    keys = [
        *((one.rule, operation) for one in records for operation in one.operations),
        *(key for one in records for key in one.consequences if results.cell(*key).violations),
    ]
    assert sorted(keys) == sorted(cell.key for cell in results.cells if cell.violations)
    assert all(one.operations for one in records)


def test_no_rule_follows_itself_in_a_circle_and_open_ones_follow_nothing() -> None:
    for rule in RULES.values():
        assert not rule.follows or rule.level is not Level.OPEN
        assert all(RULES[follow].level is not Level.OPEN for follow in rule.follows)
        behind, todo = set(), list(rule.follows)
        while todo:
            follow = todo.pop()
            assert follow != rule.id
            if follow not in behind:
                behind.add(follow)
                todo += RULES[follow].follows
