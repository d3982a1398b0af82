"""Accounts by purpose: checks that name the same purpose share an account and its contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.contract.operations import match
from conformance.contract.traits import TRAITS
from conformance.wire.messages import Exchange
from conformance.world.account import AccountFixture
from conformance.world.samples import with_marks

if TYPE_CHECKING:
    from conformance.world.run_context import RunContext


#: The purposes. A suffix after a slash makes another account: "authentication/createWallet" is not that of
#: "authentication".
PURPOSES = (
    # Requests that read, or that must be refused.
    "shared",
    # Payouts: the target's funded account, else the shared one.
    "payouts",
    # Any number of resources.
    "created",
    # Lists whose elements are all known.
    "lists",
    # Reads of lists with elements.
    "populated",
    # Requests of section 5.
    "authentication",
    # Bodies with one defect.
    "invalid bodies",
    # Odd requests, of which some may be accepted.
    "hostile",
    # Isolation between organizations and accounts (section 5.5).
    "tenant",
    "sibling tenant",
)

#: Purposes of accounts whose free texts all get random markers.
_MARKED = ("tenant", "sibling tenant")


class Accounts:
    """The accounts of a run, each created on first use."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._fixtures: dict[tuple[str, str], AccountFixture] = {}

    def account(
        self, purpose: str = "shared", owner: str = "primary", *, fresh: bool = False, below: bool = False
    ) -> AccountFixture:
        """Returns the fixture of a purpose and an owner: the "primary" or "secondary" organization, or
        "cousin", the other customer of the primary one.

        A `fresh` fixture has resources of its own in a new account (for payouts: the funded one) and is not
        cached. `below`: the check works below a beneficiary, so that the shared account will do. Raises
        KeyError for an unknown purpose."""
        run, primary = self._run, self._run.target.primary
        whole = purpose.partition("/")[0]
        if whole not in PURPOSES:
            raise KeyError(purpose)
        if purpose == "payouts" and owner == "primary" and primary.funded_account_id is not None:
            fixture = AccountFixture(run, account_id=primary.funded_account_id)
        else:
            purpose = "shared" if purpose == "payouts" else purpose
            fixture = AccountFixture(
                run,
                "primary" if owner == "cousin" else owner,
                self.account(purpose, owner).account_id if fresh and below else None,
                customer_id=primary.other_customer_id if owner == "cousin" else None,
                restyle=with_marks if whole in _MARKED else None,
                business=whole == "sibling tenant" or (whole == "tenant" and owner == "secondary"),
            )
        return fixture if fresh else self._fixtures.setdefault((purpose, owner), fixture)

    def created(self, customer_id: str) -> list[str]:
        """The ids of the accounts that the run has created for a customer, in the order of creation."""
        made = self._run.accepted
        return list(dict.fromkeys(str(one.get("id")) for one in made if customer_of(one) == customer_id))

    def forget(self, purpose: str) -> None:
        """Removes a purpose's fixtures from the cache."""
        self._fixtures = {key: each for key, each in self._fixtures.items() if key[0] != purpose}


def customer_of(made: Exchange) -> str:
    """The customer id in the path of a createAccount; "" for other exchanges."""
    called = match(made.method, made.call.path) if made.operation == "createAccount" else None
    return called[1]["customer_id"] if called else ""


def purpose_of(operation: str, otherwise: str = "shared") -> str:
    """The purpose of the account in which an operation can succeed."""
    return "payouts" if TRAITS[operation].draws_on_funds else otherwise
