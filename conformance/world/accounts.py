"""Accounts to work in, by purpose: checks that name one purpose share an account and see its contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.contract.traits import TRAITS
from conformance.judge.findings import Inconclusive, LeftOut
from conformance.wire.messages import Exchange
from conformance.world.account import AccountFixture, Place, Restyle
from conformance.world.read_only import NOT_MADE
from conformance.world.samples import with_marks

if TYPE_CHECKING:
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

#: Purposes of accounts whose texts carry random words.
_MARKED = ("tenant", "sibling tenant")

#: Number of accounts without resources that are reserved for the run's shared fixtures.
_RESERVED = 1


class Accounts:
    """The accounts of a run, each made when first asked for."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._kept: dict[tuple[str, str], AccountFixture] = {}
        #: Path of a customer's accounts -> those that fixtures can share, in the order of opening.
        self._common: dict[str, list[Exchange]] = {}
        #: The ids of accounts that fixtures work in.
        self._used: set[str] = set()

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
            return self._new(restyle, owner, Place.FIRST if below else Place.EMPTY)
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
        opening = fixture.call("createAccount")
        common = self._common.setdefault(opening.path, [])
        try:
            made = fixture.run.accept(fixture.client, opening, "an account to work in")
        except Inconclusive:
            found = self._unused(opening.path, fixture.client.organization.name)
            match fixture.place:
                case Place.EMPTY:
                    found = found[_RESERVED:]
                case Place.COMMON | Place.FIRST:
                    found = common[:1] + found
                case Place.SECOND:
                    found = common[1:2] + found
            if not found:
                raise
            made = found[0]
        self._used.add(str(made.get("id")))
        if fixture.place is Place.COMMON and made not in common:
            common.append(made)
        return made

    def _unused(self, path: str, organization: str) -> list[Exchange]:
        """The accounts of a customer that the run has created and that no fixture works in."""
        return [
            made
            for made in list(self._run.accepted)
            if made.operation == "createAccount"
            and made.organization == organization
            and made.call.path == path
            and isinstance(made.get("id"), str)
            and made.get("id") not in self._used
        ]

    def forget(self, purpose: str) -> None:
        """Lets the next request for a purpose make another account."""
        self._kept = {key: fixture for key, fixture in self._kept.items() if key[0] != purpose}

    def leave(self, account_id: str) -> None:
        """Replaces the shared fixtures of an account when they are next asked for."""
        self._kept = {key: each for key, each in self._kept.items() if not each.works_in(account_id)}


def purpose_of(operation: str, otherwise: str = "shared") -> str:
    """The purpose of the account in which an operation can succeed."""
    return "payouts" if TRAITS[operation].draws_on_funds else otherwise
