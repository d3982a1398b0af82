"""Accounts that checks have left, for others to work in."""

from __future__ import annotations

from conformance.world.created_resources import CreatedResources
from conformance.world.lane import Lane
from conformance.world.vacant import VacantAccounts


def test_an_account_whose_resources_another_list_counts_is_taken(lane: Lane) -> None:
    """So it is in the sessions of a load run, each of which lists what it creates."""
    fixture = lane.account(fresh=True)
    opened, wallet = fixture.account, fixture.create("createWallet")
    vacant = VacantAccounts(CreatedResources())
    vacant.occupy(opened)
    vacant.leave([wallet])
    place = opened.organization, opened.call.path
    assert vacant.take([place], beside_wallets=True) is opened
