"""Accounts by purpose: checks that name the same purpose share an account and its contents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from conformance.contract.operations import match
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, Place, call
from conformance.world.samples import with_marks

if TYPE_CHECKING:
    from conformance.wire.client import Client
    from conformance.world.run_context import RunContext


#: Purpose -> the fallback when the server refuses to create another account. A suffix after a slash makes
#: another account: "authentication/createWallet" is not that of "authentication".
PURPOSES: Mapping[str, Place] = {
    # Requests that read, or that must be refused.
    "shared": Place.COMMON,
    # Payouts: the target's funded account, else the shared one.
    "payouts": Place.EMPTY,
    # Any number of resources.
    "created": Place.COMMON,
    # Lists whose elements are all known.
    "lists": Place.KEPT,
    # Reads of lists with elements.
    "populated": Place.COMMON,
    # Requests of section 5.
    "authentication": Place.COMMON,
    # Bodies with one defect.
    "invalid bodies": Place.COMMON,
    # Odd requests, of which some may be accepted.
    "hostile": Place.COMMON,
    # Isolation between organizations and accounts (section 5.5).
    "tenant": Place.FIRST,
    "sibling tenant": Place.SECOND,
}

#: Fallbacks that must belong to the same customer.
_TENANTS = (Place.FIRST, Place.SECOND)

#: Purposes of accounts whose free texts all get random markers.
_MARKED = ("tenant", "sibling tenant")

#: Number of unused accounts that are reserved for cached fixtures.
_RESERVED = 1


class Accounts:
    """The accounts of a run, each created on first use."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._kept: dict[tuple[str, str], AccountFixture] = {}
        #: Fallback accounts, in the order of creation.
        self._common: list[Exchange] = []
        #: Account id of a fixture -> id of its customer.
        self._customers: dict[str, str] = {}
        #: Numbers of the exchanges that created accounts in included runs.
        self._others: set[int] = set()
        #: True once an account was full.
        self._left = False
        #: Customers that have reached a quota of accounts.
        self._refusing: set[str] = set()
        #: Customer -> the customer that replaces it.
        self.instead: Mapping[str, str] = {}

    def account(
        self, purpose: str = "shared", owner: str = "primary", *, fresh: bool = False, below: bool = False
    ) -> AccountFixture:
        """Returns the fixture of a purpose and an owner: the "primary" or "secondary" organization, or
        "cousin", the other customer of the primary one.

        A `fresh` fixture has resources of its own in a new account (for payouts: the funded one) and is not
        cached. `below`: the check works below a beneficiary, so that the shared account will do, until one
        has been full. Raises KeyError for an unknown purpose."""
        run, primary = self._run, self._run.target.primary
        whole, _, part = purpose.partition("/")
        place = PURPOSES[whole]
        if part and whole != "authentication":
            place = Place.EMPTY
        if purpose == "payouts" and owner == "primary" and primary.funded_account_id is not None:
            fixture = AccountFixture(run, account_id=primary.funded_account_id)
        else:
            if purpose == "payouts":
                purpose, place = "shared", PURPOSES["shared"]
            if fresh:
                place = Place.BELOW if below else Place.EMPTY
            shared = fresh and below and not self._left
            fixture = AccountFixture(
                run,
                "primary" if owner == "cousin" else owner,
                self.account(purpose, owner).account_id if shared else None,
                customer_id=primary.other_customer_id if owner == "cousin" else None,
                restyle=with_marks if whole in _MARKED else None,
                place=place,
                business=whole == "sibling tenant" or (whole == "tenant" and owner == "secondary"),
            )
        return fixture if fresh else self._kept.setdefault((purpose, owner), fixture)

    def opened(self, fixture: AccountFixture) -> Exchange:
        """The exchange that created a fixture's account, or its fallback where the server refuses to create
        one. Raises Inconclusive without a fallback."""
        opening = call("createAccount", {"customer_id": fixture.home}, fixture.body("createAccount"))
        try:
            made = fixture.run.accept(fixture.client, opening, "an account to work in")
        except Inconclusive:
            fallback = self._fallback(fixture, opening)
            self.refuses_another(fixture.client, fixture.home)
            # A check that runs again with the other customer has used its keys in the fallback accounts.
            if fallback is None or self.instead:
                raise
            made = fallback
        self._customers[str(made.get("id"))] = customer_of(made)
        if fixture.place is Place.COMMON and made not in self._common:
            self._common.append(made)
        return made

    def refuses_another(self, client: Client, customer_id: str) -> bool:
        """True if a quota of accounts is reached: a valid create is refused, now or before."""
        if customer_id not in self._refusing:
            create = call("createAccount", {"customer_id": customer_id}, self._run.samples.account())
            answer = self._run.send(client, create, "is there room for one more?")
            if answer.refused and not (answer.throttled or answer.refused_authentication):
                self._refusing.add(customer_id)
        return customer_id in self._refusing

    def _fallback(self, fixture: AccountFixture, opening: Call) -> Exchange | None:
        """The exchange that created the fallback account of a fixture: for tenants one of its customer in
        this run, else one of its organization."""

        def near(made: Exchange) -> bool:
            if fixture.place in _TENANTS and (made.call.path != opening.path or made.number in self._others):
                return False
            return made.organization == fixture.client.organization.name

        common = [] if fixture.place in (Place.EMPTY, Place.KEPT) else list(filter(near, self._common))
        unused = [made for made in self.created() if near(made) and made.get("id") not in self._customers]
        if fixture.place is Place.EMPTY:
            del unused[:_RESERVED]
        if fixture.place is Place.SECOND:
            del common[:1]
        return next(iter(common + unused), None)

    def created(self, customer_id: str | None = None) -> list[Exchange]:
        """The exchanges that created accounts, of all customers or of one, in the order of creation."""
        first: dict[str, Exchange] = {}
        for made in list(self._run.accepted):
            if made.operation == "createAccount" and isinstance(made.get("id"), str):
                # Later ones with the same id are idempotent replays.
                first.setdefault(str(made.get("id")), made)
        return [made for made in first.values() if customer_id in (None, customer_of(made))]

    def customer_of(self, account_id: str, otherwise: str) -> str:
        """The customer of a fixture's account; `otherwise` for other accounts."""
        return self._customers.get(account_id, otherwise)

    @property
    def scarce(self) -> bool:
        """True if the primary customer has reached a quota of accounts."""
        return self._run.target.primary.customer_id in self._refusing

    def include(self, other: Accounts) -> None:
        """Adds the accounts of a run that has ended; those of its fixtures become COMMON fallbacks."""
        theirs = other.created()
        self._customers |= other._customers
        self._common += [made for made in theirs if made.get("id") in other._customers]
        self._others |= {made.number for made in theirs}

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Swaps the two customers of the primary organization where accounts are created and listed."""
        first, other = self._run.target.primary.customer_id, self._run.target.primary.other_customer_id
        self.instead = {} if other is None else {first: other, other: first}
        try:
            yield
        finally:
            self.instead = {}

    def forget(self, purpose: str) -> None:
        """Removes a purpose's fixtures from the cache."""
        self._kept = {key: fixture for key, fixture in self._kept.items() if key[0] != purpose}

    def leave(self, account_id: str) -> None:
        """Removes a full account's fixtures from the cache."""
        self._left = True
        self._kept = {key: each for key, each in self._kept.items() if not each.works_in(account_id)}


def customer_of(made: Exchange) -> str:
    """The customer id in the path of a createAccount; "" without one."""
    called = match(made.method, made.call.path)
    return called[1]["customer_id"] if called else ""


def purpose_of(operation: str, otherwise: str = "shared") -> str:
    """The purpose of the account in which an operation can succeed."""
    return "payouts" if TRAITS[operation].draws_on_funds else otherwise
