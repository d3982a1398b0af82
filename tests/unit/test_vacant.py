"""Accounts that checks have left, for others to work in."""

from __future__ import annotations

import pytest

from conformance.judge.verdicts import Inconclusive
from conformance.load.process import LoadProcess
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import served
from conformance.target.file import build
from conformance.wire.messages import Exchange
from conformance.wire.pace import Pace
from conformance.world import vacant as module
from conformance.world.calls import call, identifier, renewed
from conformance.world.created_resources import CreatedResources
from conformance.world.lane import Fixture, Lane
from conformance.world.purposes import (
    AUTHENTICATION,
    HOSTILE,
    INVALID_BODIES,
    LISTS,
    SHARED,
    SIBLING_TENANT,
    TENANT,
    WITHOUT_WALLETS,
    Purpose,
)
from conformance.world.vacant import VacantAccounts
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.payments import FewAccounts


def test_an_account_whose_resources_another_list_counts_is_taken(lane: Lane) -> None:
    """So it is in the sessions of a load run, each of which lists what it creates."""
    fixture = lane.account(fresh=True)
    opened, wallet = fixture.account, fixture.create("createWallet")
    vacant = VacantAccounts(CreatedResources())
    vacant.occupy(opened)
    vacant.leave([wallet])
    place = opened.organization, opened.call.path
    assert vacant.take([place], beside_wallets=True) is opened


def test_an_account_is_left_once_though_two_lanes_work_in_it(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = lane.account(fresh=True)
    opened, wallet = fixture.account, fixture.create("createWallet")
    vacant, place, first = lane.common.vacant, (opened.organization, opened.call.path), module._first
    vacant.leave([wallet])

    def meanwhile(*args: object) -> Exchange | None:
        found = first(*args)  # type: ignore[arg-type]
        # Another lane, before the account is noted as taken.
        vacant.leave([wallet])
        return found

    monkeypatch.setattr(module, "_first", meanwhile)
    assert vacant.take([place], beside_wallets=True) is opened
    assert vacant.take([place], beside_wallets=True) is None


@pytest.mark.parametrize(
    ("purpose", "found"),
    [(SHARED, True), (AUTHENTICATION, True), (LISTS, False)],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("operation", ["", "createWallet", "createBeneficiary"])
def test_whoever_asks_first_a_shared_account_is_of_the_same_kind(
    purpose: Purpose, found: bool, operation: str
) -> None:
    lane = run_on(compose(FewAccounts))
    fixture = lane.account(fresh=True)
    lane.common.vacant.leave([fixture.create("createWallet")])
    while lane.send(lane.client(), fixture.call("createAccount"), "one more").succeeded:
        pass
    shared = lane.account(purpose, operation=operation)
    if found:
        assert shared.account_id == fixture.account_id
    else:
        with pytest.raises(Inconclusive):
            _ = shared.account_id


def _fill(lane: Lane) -> None:
    """Creates accounts of both customers until the server refuses another one."""
    for owner in ("primary", "cousin"):
        create = lane.account(owner=owner, fresh=True).body("createAccount")
        customer = getattr(lane.target.primary, "customer_id" if owner == "primary" else "other_customer_id")
        opening = call("createAccount", {"customer_id": customer}, create)
        while lane.send(lane.client(), renewed(opening), "one more").succeeded:
            pass


def test_where_accounts_are_refused_those_of_a_lane_serve_its_other_purposes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But what is a sibling of others, and what needs an account without wallets, is alone there."""
    stays: list[Pace] = []
    monkeypatch.setattr(Pace, "stay", lambda pace: stays.append(pace))
    lane = run_on(compose(FewAccounts))
    other, samples = Lane(lane.target, lane._transport, common=lane.common), []
    for each, purpose in ((lane, SHARED), (lane, INVALID_BODIES), (other, INVALID_BODIES)):
        samples.append(each.account(purpose).account_id)
    shared, own, of_another = samples
    assert len({*samples}) == 3
    _fill(lane)
    assert lane.account(HOSTILE).account_id == shared
    assert lane.account(TENANT).account_id == shared
    assert lane.account(SIBLING_TENANT).account_id == own
    assert lane.account(AUTHENTICATION).account_id == shared
    # Nobody makes wallets, or looks for them, where another lane sends invalid bodies.
    with pytest.raises(Inconclusive):
        _ = lane.account(LISTS).account_id
    assert lane.account(fresh=True, operation="createWallet").account_id == of_another
    for place in (
        lane.account(WITHOUT_WALLETS),
        lane.account(fresh=True, operation="createVirtualAccount"),
        lane.account(fresh=True),
        other.account(SHARED),
    ):
        with pytest.raises(Inconclusive):
            _ = place.account_id
    assert lane.budget.pace in stays


@pytest.mark.parametrize(
    ("first", "operation"),
    [(SIBLING_TENANT, ""), (AUTHENTICATION.of("createWallet"), "createWallet")],
    ids=["sibling", "wallets"],
)
def test_where_accounts_are_refused_nobody_comes_to(first: Purpose, operation: str) -> None:
    """An account that is a sibling of others, or in which another lane makes wallets."""
    lane = run_on(compose(FewAccounts))
    user = Lane(lane.target, lane._transport, common=lane.common) if operation else lane
    taken = user.account(first).account_id
    _fill(lane)
    for purpose in () if operation else (SHARED, TENANT, HOSTILE):
        with pytest.raises(Inconclusive):
            _ = lane.account(purpose).account_id
    with pytest.raises(Inconclusive):
        _ = lane.account(fresh=True, operation="createWallet").account_id
    assert taken


def test_a_session_of_a_load_run_takes_no_account_in_which_something_is() -> None:
    server, seeded = new_server()
    with served(server, threads=True) as url:
        process = LoadProcess(build(target_tables(seeded, url), "the server"))
        process.limit(0)
        lane = process.sessions[process.begin()]
        client, opening = lane.client(), lane.account(fresh=True).account.call
        account = lane.accept(client, renewed(opening), "an account that a check opens")
        Fixture(lane, account_id=identifier(account)).create("createBeneficiary")
        lane.common.vacant.leave([account])
        assert lane.account(fresh=True).account_id != identifier(account)
        assert lane.alone().created is lane.created
