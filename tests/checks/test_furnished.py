"""Beside what a server itself puts into new accounts, what does not belong there is still seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.reference.behaviour import Behaviour
from conformance.world.habits import prepopulated
from tests.faults.harness import catch
from tests.prove.selection import by_id
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.jobs import AccountsFurnished, AccountsFurnishedLater

LEAK = "list.complete[listVirtualAccounts]: The elements of other parents are listed, too: everybody"
FAULTS = (
    LEAK,
    "list.empty[listWallets]: A list without matches shows all elements of the kind instead",
    "wallet.duplicate[createWallet]: A second wallet of the same pair is refused, but it is there",
    "refusal.changes-nothing[createVirtualAccount]: A refused request is performed all the same: field",
)


@pytest.mark.parametrize("name", FAULTS)
def test_what_does_not_belong_there_is_seen(name: str) -> None:
    fault = by_id()[name]
    behaviour = type("Furnished", (fault.behaviour, AccountsFurnished), {})
    assert catch(replace(fault, behaviour=behaviour)).shows(fault)


@hurried()
@pytest.mark.parametrize("furnishing", [AccountsFurnished, AccountsFurnishedLater])
def test_furnished_accounts_are_known(furnishing: type[Behaviour]) -> None:
    run = run_on(compose(furnishing))
    assert prepopulated(run, "listVirtualAccounts")
    assert prepopulated(run, "listWallets") is (furnishing is AccountsFurnished)
    assert not prepopulated(run, "listPayoutDestinations")


@hurried()
def test_elements_of_other_accounts_are_no_furniture() -> None:
    assert not prepopulated(run_on(by_id()[LEAK].make()), "listVirtualAccounts")
