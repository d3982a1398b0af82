"""Beside what a server itself puts into new accounts, what does not belong there is still seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.reference.behaviour import Behaviour
from conformance.world.habits import prepopulated
from tests.faults.catalogue import load
from tests.faults.harness import catch
from tests.support.runs import run_on
from tests.variants.choice import compose
from tests.variants.hurry import hurried
from tests.variants.jobs import AccountsFurnished, AccountsFurnishedLater

KINDS = (
    ("list.complete", "listVirtualAccounts", "The elements of other parents are listed, too: everybody"),
    ("list.empty", "listWallets", "A list without matches shows all elements of the kind instead"),
    ("wallet.duplicate", "createWallet", "A second wallet of the same pair is refused, but it is there"),
    ("refusal.changes-nothing", "createVirtualAccount", "A refused request is performed all the same: field"),
)


@pytest.mark.parametrize(("rule", "operation", "kind"), KINDS)
def test_what_does_not_belong_there_is_seen(rule: str, operation: str, kind: str) -> None:
    (fault,) = (
        fault for fault in load() if (fault.rule, fault.operation, fault.kind) == (rule, operation, kind)
    )
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
    (leak,) = (fault for fault in load() if (fault.rule, fault.operation, fault.kind) == KINDS[0])
    assert not prepopulated(run_on(leak.make()), "listVirtualAccounts")
