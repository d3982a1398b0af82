"""Polling for eventual consistency, with a bound on the total wait."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

from conformance.world.calls import call
from conformance.world.known_lists import small_list
from conformance.world.lag import LONGEST, MOST_IN_VAIN, PAUSES, Lag
from conformance.world.lane import Fixture, Lane
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.replicas import CommitsLate


def test_a_good_first_look_does_not_wait() -> None:
    with mock.patch.object(time, "sleep") as sleep:
        assert Lag().eventually("listWallets", lambda: 1, lambda seen: True) == 1
    assert not sleep.called


def test_a_late_write_is_waited_for_five_seconds() -> None:
    looks: list[int] = []
    lag = Lag()
    with hurried():
        for _ in range(MOST_IN_VAIN):
            begin = time.monotonic()
            lag.eventually("listWallets", lambda: looks.append(1), lambda seen: False)
            assert time.monotonic() - begin > 5
        before = len(looks)
        lag.eventually("listWallets", lambda: looks.append(1), lambda seen: False)
        assert len(looks) == before + 1
        lag.eventually("listAccounts", lambda: looks.append(1), lambda seen: False)
        assert len(looks) == before + 1 + 1 + len(PAUSES)


def test_what_is_known_to_show_late_is_waited_for_after_failed_waits() -> None:
    """Or a server with a cache of one second is blamed for reads of it, once other rules failed twice."""
    lag = Lag()

    def late() -> bool:
        begun = time.monotonic()
        return lag.eventually("listWallets", lambda: time.monotonic() - begun > 1, bool)

    with hurried():
        assert late()
        for _ in range(MOST_IN_VAIN):
            lag.eventually("listWallets", lambda: 1, lambda seen: False)
        assert late()
        begun = time.monotonic()
        lag.eventually("listWallets", lambda: 1, lambda seen: False)
        assert time.monotonic() - begun < 4


def test_target_file_says_how_late_a_write_may_show() -> None:
    looks: list[int] = []
    lag = Lag(60)
    with mock.patch.object(time, "sleep") as sleep:
        lag.eventually("listWallets", lambda: looks.append(1), lambda seen: False)
    assert sum(call.args[0] for call in sleep.call_args_list) == pytest.approx(60)
    assert len(looks) < 25
    assert Lag(1).within == LONGEST


def test_old_writes_are_not_waited_for() -> None:
    looks: list[int] = []
    with hurried():
        Lag().eventually("listWallets", lambda: looks.append(1), lambda seen: False, until=time.time() + 0.1)
        assert len(looks) == 3


def test_only_what_must_exist_is_asked_for_again() -> None:
    lane = run_on()
    own, sibling, foreign = (
        lane.account(fresh=True),
        lane.account(fresh=True),
        lane.account(owner="secondary"),
    )
    beneficiary, other = own.beneficiary_id, sibling.beneficiary_id

    def newest(account: str, child: str) -> float:
        ids = {"account_id": account, "beneficiary_id": child}
        return lane.created.newest(call("getBeneficiary", ids), "primary")

    assert newest(own.account_id, beneficiary) == own.beneficiary.arrived
    assert newest(foreign.account_id, beneficiary) == foreign.account.arrived
    for account, child in (
        (own.account_id, other),
        (own.account_id, "bene_unknown"),
        (beneficiary, beneficiary),
        ("acc_unknown", beneficiary),
    ):
        assert newest(account, child) == 0
    payee = {"beneficiary_id": beneficiary, "payout_destination_id": own.destination_id}
    for named, exists in (
        (payee, True),
        ({**payee, "beneficiary_id": other}, False),
        ({"beneficiary_id": "\ud800"}, False),
    ):
        paid = call("createPayout", {"account_id": own.account_id}, named)
        assert bool(lane.created.newest(paid, "primary")) is exists


def test_what_commits_late_is_found_and_rested_for() -> None:
    class CommitsSecondsLate(CommitsLate):
        """So late that no pause of a busy machine takes as long."""

        commits_behind = 2_000_000

    lane = run_on(compose(CommitsSecondsLate))
    with hurried():
        fixture = lane.account(fresh=True)
        assert lane.send(fixture.client, fixture.call("createVirtualAccount"), "at once").succeeded
        # Less by what passes between the create and its arrival here.
        assert 1 <= lane.lag.of_writes <= LONGEST
        sent = lane.sent
        other = lane.account(fresh=True)
        assert lane.send(other.client, other.call("createVirtualAccount"), "after a rest").succeeded
        assert lane.sent == sent + 2


def test_what_one_lane_has_waited_for_in_vain_no_other_waits_for() -> None:
    looks: list[int] = []
    first = run_on()
    lanes = [first, Lane(first.target, common=first.common)]
    with hurried():
        for lane in (*lanes, lanes[0]):
            lane.lag.eventually("listWallets", lambda: looks.append(1), lambda _: False)
        assert len(looks) == MOST_IN_VAIN * (1 + len(PAUSES)) + 1
        # A failed check is judged once more, alone, and waits anew.
        lanes[0].alone().lag.eventually("listWallets", lambda: looks.append(1), lambda _: False)
        assert len(looks) == (MOST_IN_VAIN + 1) * (1 + len(PAUSES)) + 1


def test_a_list_is_filled_once_for_all_lanes_and_anew_for_a_check_that_is_repeated() -> None:
    first = run_on()
    lanes = [first, Lane(first.target, first._transport, first_number=1_000_001, common=first.common)]
    with ThreadPoolExecutor() as pool:
        known, same = pool.map(lambda lane: small_list(lane, "listVirtualAccounts"), lanes)
    assert known is same
    for lane in lanes:
        assert all(lane.exchange(create.number) is create for create in known.created.values())
        assert lane.created.newest(known.call, "primary")
    assert small_list(first.alone(), "listVirtualAccounts") is not known


def test_elements_of_other_parents_are_known_by_the_paths_of_their_creates() -> None:
    lane = run_on()
    own, sibling, foreign = (
        lane.account(fresh=True),
        lane.account(fresh=True),
        lane.account(owner="secondary"),
    )
    neighbour = Fixture(lane, account_id=own.account_id)
    ids = [each.id_of("virtual_account_id") for each in (own, sibling, foreign)]
    strangers = {ids[1]: "another account's", ids[2]: "another organization's"}
    assert lane.created.strangers([*ids, "va_unknown"], own.call("listVirtualAccounts")) == strangers
    listing = own.call("listPayoutDestinations")
    destinations = [own.destination_id, neighbour.destination_id]
    assert lane.created.strangers(destinations, listing) == {destinations[1]: "another beneficiary's"}
    # The same parent, spelled otherwise.
    for target in (listing.target.upper(), listing.target + "/"):
        assert lane.created.strangers(destinations[:1], listing.but(target=target)) == {}
