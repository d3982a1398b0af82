"""Servers with quotas: inconclusive once one is used up, with a remedy."""

from __future__ import annotations

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Finding, Verdict
from conformance.world.creations import created_in
from conformance.world.run import Run
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.payments import FewAccounts
from tests.variants.policies import FewOfEach

OPERATION = "createVirtualAccount"


def findings(run: Run, check: str, operation: str) -> list[Finding]:
    with hurried():
        return run_check(load_checks()[check], operation, run)[0]


@pytest.mark.parametrize("operation", ["createPayoutDestination", OPERATION])
def test_an_exhausted_quota_blames_no_valid_body(operation: str) -> None:
    run = run_on(compose(FewOfEach))
    fixture = created_in(run, operation)
    for _ in range(FewOfEach.most):
        run.send(fixture.client, fixture.call(operation), "one more")
    (found,) = findings(run, "test_accepted.test_sound_bodies_are_accepted", operation)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "quota_exceeded" in found.summary and "raise that limit" in found.remedy


def test_a_quota_of_one_element_has_its_own_remedy() -> None:
    class One(FewOfEach):
        most = 1

    judged = findings(run_on(compose(One)), "test_lists.test_walking_pages", "listVirtualAccounts")
    (walk,) = [finding for finding in judged if finding.rule == "list.walk"]
    assert "a list of one element" in walk.summary
    assert "[samples.virtual_account]" in walk.remedy


@pytest.mark.parametrize(
    ("check", "operation"),
    [
        ("test_fields.test_required_field_missing", "createAccount"),
        ("test_idempotency.test_replay", "createAccount"),
        ("test_resources.test_what_was_sent_is_shown", "createAccount"),
        ("test_list_contents.test_list_shows_what_was_created", "listVirtualAccounts"),
        ("test_tenancy.test_child_of_sibling", "getBeneficiary"),
        ("test_updates.test_update_changes_what_it_names", "updateBeneficiary"),
    ],
)
def test_a_customer_without_room_for_accounts_is_inconclusive(check: str, operation: str) -> None:
    run = run_on(compose(FewAccounts))
    customer = run.account()
    while run.send(customer.client, customer.call("createAccount"), "one more").succeeded:
        pass
    judged = findings(run, check, operation)
    assert not broken(judged)
    unclear = [finding for finding in judged if finding.verdict is Verdict.INCONCLUSIVE]
    assert unclear and all("quota_exceeded" in finding.summary for finding in unclear)
    assert all("raise that limit" in finding.remedy for finding in unclear)
