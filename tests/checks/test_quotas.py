"""Servers with quotas, after the run has used up the quota of an account or customer."""

from __future__ import annotations

import contextlib

import pytest

from conformance.checks import load_checks
from conformance.checks.check import run_check
from conformance.judge.findings import Inconclusive, Verdict
from conformance.world.creations import created_in, creations
from conformance.world.habits import room
from conformance.world.known_lists import small_list
from conformance.world.run_context import RunContext
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.payments import FewAccounts
from tests.variants.policies import FewOfEach

OPERATION = "createVirtualAccount"


@pytest.mark.parametrize("operation", ["createPayoutDestination", "createVirtualAccount"])
def test_an_exhausted_quota_blames_no_valid_body(operation: str) -> None:
    run = run_on(compose(FewOfEach))
    fixture = created_in(run, operation)
    for _ in range(FewOfEach.most):
        run.send(fixture.client, fixture.call(operation), "one more")
    findings, _ = run_check(load_checks()["test_accepted.test_sound_bodies_are_accepted"], operation, run)
    assert broken(findings) == {}


def filled() -> RunContext:
    """Returns a run on a server with quotas, with its shared account filled up."""
    run = run_on(compose(FewOfEach))
    shared = run.account()
    while run.send(shared.client, shared.call(OPERATION), "one more").succeeded:
        pass
    return run


def verdicts(run: RunContext, check: str, operation: str) -> set[Verdict]:
    with hurried():
        findings, _ = run_check(load_checks()[check], operation, run)
    return {finding.verdict for finding in findings}


@pytest.mark.parametrize(
    ("check", "operation"),
    [
        ("test_idempotency.test_replay", OPERATION),
        ("test_unauthenticated.test_authentication_comes_first", "getVirtualAccount"),
    ],
)
def test_check_goes_on_in_another_account(check: str, operation: str) -> None:
    run = filled()
    full = run.account().account_id
    assert Verdict.INCONCLUSIVE not in verdicts(run, check, operation)
    assert run.account().account_id != full


def test_a_quota_of_one_element_has_its_own_remedy() -> None:
    class One(FewOfEach):
        most = 1

    walking = load_checks()["test_lists.test_walking_pages"]
    with hurried():
        findings, _ = run_check(walking, "listVirtualAccounts", run_on(compose(One)))
    (walk,) = [finding for finding in findings if finding.rule == "list.walk"]
    assert "a list of one element" in walk.summary
    assert "[samples.virtual_account]" in walk.remedy


def test_an_account_below_its_quota_is_kept() -> None:
    run = run_on(compose(FewOfEach))
    shared = run.account()
    refused = run.send(shared.client, shared.call(OPERATION, {}), "a body without any field")
    assert refused.refused
    assert room(run, OPERATION, [refused]) is None
    assert run.account() is shared
    assert list(run.record.values())[-1] is refused, "another one in a list of known elements"


def test_a_look_for_room_blames_no_list_of_known_elements() -> None:
    run = run_on(compose())
    small_list(run, "listVirtualAccounts")
    conflicts = [made for made in run.record.values() if made.error_code == "idempotency_key_conflict"]
    assert room(run, OPERATION, [made for made in conflicts if made.operation == OPERATION]) is None
    findings, _ = run_check(load_checks()["test_filters.test_end_date"], "listVirtualAccounts", run)
    assert broken(findings) == {}


def test_a_quota_of_zero_keeps_the_shared_account() -> None:
    class NoneAtAll(FewOfEach):
        most = 0

    run = run_on(compose(NoneAtAll))
    shared = run.account()
    refused = run.send(shared.client, shared.call(OPERATION), "one where none is allowed")
    assert room(run, OPERATION, [refused]) is None
    assert run.account() is shared


@pytest.mark.parametrize(
    ("check", "operation"),
    [
        ("test_fields.test_required_field_missing", "createAccount"),
        ("test_hostile.test_hostile_bodies", "createAccount"),
        ("test_hostile.test_sound_answers", "createAccount"),
        ("test_idempotency.test_replay", "createAccount"),
        ("test_resources.test_what_was_sent_is_shown", "createAccount"),
        ("test_list_contents.test_list_shows_what_was_created", "listVirtualAccounts"),
        ("test_tenancy.test_child_of_sibling", "getBeneficiary"),
        ("test_tenancy.test_foreign_parent", "getBeneficiary"),
        ("test_updates.test_update_changes_what_it_names", "updateBeneficiary"),
    ],
)
def test_customer_with_no_room_for_accounts(check: str, operation: str) -> None:
    run = run_on(compose(FewAccounts))
    shared, fresh = run.account(), run.account(fresh=True)
    assert shared.account_id != fresh.account_id
    for owner in ("primary", "secondary"):
        customer = run.account(owner=owner)
        while run.send(customer.client, customer.call("createAccount"), "one more").succeeded:
            pass
    found = verdicts(run, check, operation)
    assert not found & {Verdict.INCONCLUSIVE, Verdict.FAILED, Verdict.WARNING}


def test_a_sibling_account_is_another_one_under_a_quota() -> None:
    class Two(FewAccounts):
        def quotas(self) -> dict[str, tuple[int, int]]:
            return {**super().quotas(), "account": (3, 422)}

    run = run_on(compose(Two))
    for _ in range(3):
        run.send(run.client(), run.account().call("createAccount"), "one more")
    opened = [run.account(purpose).account_id for purpose in ("shared", "created", "tenant")]
    with contextlib.suppress(Inconclusive):
        assert run.account("sibling tenant").account_id not in opened


def test_only_plain_accounts_made_before_stand_for_those_that_a_full_customer_refuses() -> None:
    run = run_on(compose(FewAccounts))
    fixture = run.account(fresh=True)
    for body in ({"name": "one", "id": "acc_of_mine"}, {"name": "  two "}, {"name": "three"}):
        assert run.send(fixture.client, fixture.call("createAccount", body), "an account").succeeded
    while run.send(fixture.client, fixture.call("createAccount"), "one more").succeeded:
        pass
    names = {made.body["name"] for made in creations(run, "createAccount")}
    assert "three" in names and not names & {"one", "  two "}
