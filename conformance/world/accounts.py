"""Accounts to work in, by purpose: checks that name one purpose share an account and see its contents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from conformance.contract.operations import match
from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive, LeftOut
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, Place, Restyle, call
from conformance.world.read_only import NOT_MADE
from conformance.world.samples import with_marks

if TYPE_CHECKING:
    from conformance.wire.client import Client
    from conformance.world.run_context import RunContext


#: Purpose -> the account to share when the server refuses to open another. A part may follow a slash:
#: "authentication/createWallet" is another account than "authentication".
PURPOSES: Mapping[str, Place] = {
    # Requests that read, or that must be refused.
    "shared": Place.COMMON,
    # Payouts: the account with funds that the target names, else the shared one.
    "payouts": Place.EMPTY,
    # Resources whose number does not matter.
    "created": Place.COMMON,
    # Lists of which all elements are known.
    "lists": Place.KEPT,
    # Reads that must have something to show.
    "populated": Place.COMMON,
    # Requests of section 5.
    "authentication": Place.COMMON,
    # Bodies with one defect.
    "invalid bodies": Place.COMMON,
    # Odd requests, some of which may be accepted.
    "hostile": Place.COMMON,
    # Resources that other organizations and accounts must not see.
    "tenant": Place.FIRST,
    "sibling tenant": Place.SECOND,
}

#: Purposes for which a run that creates nothing takes the shared account.
_SHAREABLE = ("authentication", "hostile", "invalid bodies")

#: Places in which the customer matters.
_TENANTS = (Place.FIRST, Place.SECOND)

#: Purposes of accounts whose texts carry random words.
_MARKED = ("tenant", "sibling tenant")

#: Number of accounts without resources that are reserved for the run's shared fixtures.
_RESERVED = 1


class Accounts:
    """The accounts of a run, each made when first asked for."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._kept: dict[tuple[str, str], AccountFixture] = {}
        #: The accounts that fixtures can share, in the order of opening.
        self._common: list[Exchange] = []
        #: Id of an account that a fixture works in -> id of its customer.
        self._customers: dict[str, str] = {}
        #: The numbers of the exchanges that created accounts in runs that have ended.
        self._others: set[int] = set()
        #: Customers that take no more accounts.
        self._refusing: set[str] = set()
        #: Customer -> the one of which a check makes and lists accounts in its place.
        self.instead: Mapping[str, str] = {}

    def account(
        self, purpose: str = "shared", owner: str = "primary", *, fresh: bool = False, below: bool = False
    ) -> AccountFixture:
        """The fixture of a purpose in an account of an owner: "primary" or "secondary" organization, or
        "cousin", the other customer of the primary one. A `fresh` one is in a new account and not kept; for
        payouts, in the account with funds. `below`: the check works below a beneficiary of its own, so that
        it can share an account when the server refuses to open another.

        Raises KeyError for an unknown purpose, LeftOut where the run creates nothing."""
        whole, _, part = purpose.partition("/")
        place = PURPOSES[whole]
        if part and whole != "authentication":
            place = Place.EMPTY
        restyle = with_marks if whole in _MARKED else None
        funded = self._run.target.primary.funded_account_id if owner == "primary" else None
        if purpose == "payouts" and funded is not None:
            if fresh and not self._run.read_only:
                return AccountFixture(self._run, account_id=funded)
            if fresh or (purpose, owner) not in self._kept:
                self._kept[purpose, owner] = AccountFixture(self._run, account_id=funded)
            return self._kept[purpose, owner]
        if purpose == "payouts" or (self._run.read_only and whole in _SHAREABLE):
            purpose, place = "shared", PURPOSES["shared"]
        if self._run.read_only and (fresh or purpose not in ("shared", *_MARKED)):
            raise LeftOut(f"this needs an account of its own, and {NOT_MADE}")
        if fresh:
            return self._new(restyle, owner, Place.BELOW if below else Place.EMPTY)
        if (purpose, owner) not in self._kept:
            self._kept[purpose, owner] = self._new(restyle, owner, place)
        return self._kept[purpose, owner]

    def _new(self, restyle: Restyle | None, owner: str, place: Place) -> AccountFixture:
        if owner == "cousin":
            other = self._run.target.primary.other_customer_id
            return AccountFixture(self._run, customer_id=other, restyle=restyle, place=place)
        return AccountFixture(self._run, owner, restyle=restyle, place=place)

    def opened(self, fixture: AccountFixture) -> Exchange:
        """The exchange that created the account of a fixture; when the server refuses to open another, that
        of an earlier account which the fixture may share. Raises Inconclusive when there is none."""
        opening = call("createAccount", {"customer_id": fixture.home}, fixture.body("createAccount"))
        try:
            made = fixture.run.accept(fixture.client, opening, "an account to work in")
        except Inconclusive:
            found = self._sharable(fixture, opening)
            self.refuses_another(fixture.client, fixture.home)
            # A check that runs again with the other customer has used the keys of those in the first.
            if not found or self.instead:
                raise
            made = found[0]
        self._customers[str(made.get("id"))] = customer_of(made)
        if fixture.place is Place.COMMON and made not in self._common:
            self._common.append(made)
        return made

    def refuses_another(self, client: Client, customer_id: str) -> bool:
        """True if a customer takes no more accounts: it refuses a plain one, now or before."""
        if customer_id not in self._refusing:
            create = call("createAccount", {"customer_id": customer_id}, self._run.samples.account())
            answer = self._run.send(client, create, "is there room for one more?")
            if answer.refused and not (answer.throttled or answer.refused_authentication):
                self._refusing.add(customer_id)
        return customer_id in self._refusing

    def _sharable(self, fixture: AccountFixture, opening: Call) -> list[Exchange]:
        """The exchanges that created accounts which a fixture may share, the best first: of tenants those of
        its customer in this run, else of its organization."""

        def near(made: Exchange) -> bool:
            if fixture.place in _TENANTS and (made.call.path != opening.path or made.number in self._others):
                return False
            return made.organization == fixture.client.organization.name

        common = list(filter(near, self._common))
        unused = [made for made in self.created() if near(made) and made.get("id") not in self._customers]
        match fixture.place:
            case Place.EMPTY:
                return unused[_RESERVED:]
            case Place.COMMON | Place.BELOW | Place.FIRST:
                return common[:1] + unused
            case Place.SECOND:
                return common[1:2] + unused
        return unused

    def created(self, customer_id: str | None = None) -> list[Exchange]:
        """The exchanges that created accounts, of all customers or of one, in the order of creation."""
        first: dict[str, Exchange] = {}
        for made in list(self._run.accepted):
            if made.operation == "createAccount" and isinstance(made.get("id"), str):
                # Later ones with its id are replays.
                first.setdefault(str(made.get("id")), made)
        return [made for made in first.values() if customer_id in (None, customer_of(made))]

    def customer_of(self, account_id: str, otherwise: str) -> str:
        """The id of the customer of an account that a fixture opened, else another."""
        return self._customers.get(account_id, otherwise)

    @property
    def scarce(self) -> bool:
        """True where the primary organization's first customer takes no more accounts."""
        return self._run.target.primary.customer_id in self._refusing

    def include(self, other: Accounts) -> None:
        """Takes over the accounts of a run that has ended. Those that its fixtures worked in are for fixtures
        that may find any resources."""
        theirs = other.created()
        self._customers |= other._customers
        self._common += [made for made in theirs if made.get("id") in other._customers]
        self._others |= {made.number for made in theirs}

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Lets a check make and list accounts of the primary organization's other customer meanwhile."""
        first, other = self._run.target.primary.customer_id, self._run.target.primary.other_customer_id
        self.instead = {} if other is None else {first: other, other: first}
        try:
            yield
        finally:
            self.instead = {}

    def forget(self, purpose: str) -> None:
        """Lets the next request for a purpose make another account."""
        self._kept = {key: fixture for key, fixture in self._kept.items() if key[0] != purpose}

    def leave(self, account_id: str) -> None:
        """Replaces the shared fixtures of an account when they are next asked for."""
        self._kept = {key: each for key, each in self._kept.items() if not each.works_in(account_id)}


def customer_of(made: Exchange) -> str:
    """The id of the customer in the path of a createAccount."""
    called = match(made.method, made.call.path)
    return called[1]["customer_id"] if called else ""


def purpose_of(operation: str, otherwise: str = "shared") -> str:
    """The purpose of the account in which an operation can succeed."""
    return "payouts" if TRAITS[operation].draws_on_funds else otherwise
