"""A lane of a run and its fixtures: what checks work on, created through the API."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import CREATES, TRAITS
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import walk
from conformance.world.cache import Cache, once
from conformance.world.calls import call, identifier, member
from conformance.world.purposes import SHARED, Purpose, beside_wallets, names_account
from conformance.world.samples import BUSINESS, changed, with_marks
from conformance.world.sender import Sender

#: Sample body -> members to replace in it.
Restyle = Callable[[dict[str, Any]], dict[str, Any]]

#: Beneficiary id, destination id and currency.
Payee = tuple[str, str, str]


class Lane(Sender):
    """A lane of a run: what it sends, and the fixtures of its checks."""

    def account(
        self,
        purpose: Purpose = SHARED,
        owner: str = "primary",
        *,
        fresh: bool = False,
        below: bool = False,
        operation: str = "",
    ) -> Fixture:
        """Returns the account of a purpose and an owner: the "primary" or "secondary" organization, or
        "cousin", the other customer of the primary one. Checks that name the same share its contents.

        A `fresh` one has resources of its own in an account in which nothing is (for payouts: the funded one)
        and is not shared: one that a check has created and left, or a new one. `below`: the check works below
        a beneficiary, so that the shared account will do. `operation`: only its requests are sent to a fresh
        one: where its path names an account, one of the organization's other customer will do, and where
        wallets are not what it is about, one in which a check has left some."""
        primary = self.target.primary
        if purpose.funded and owner == "primary" and primary.funded_account_id is not None:
            fixture = Fixture(self, account_id=primary.funded_account_id)
        else:
            purpose = SHARED if purpose.funded else purpose
            only = operation if fresh else purpose.operation
            wallets = beside_wallets(only) if only else purpose.beside_wallets and not fresh
            fixture = Fixture(
                self,
                "primary" if owner == "cousin" else owner,
                self.account(purpose, owner).account_id if fresh and below else None,
                customer_id=primary.other_customer_id if owner == "cousin" else None,
                restyle=with_marks if purpose.marked else None,
                business=purpose.business or (purpose.marked and owner == "secondary"),
                vacant=not purpose.marked,
                beside_wallets=wallets,
                purpose=None if fresh else purpose,
                anywhere=names_account(only),
            )
        if fresh:
            return fixture
        key = (purpose, owner)
        if purpose.common:
            return self.cache.get(key, lambda: self.common.cache.get(key, lambda: fixture).seen_by(self))
        return self.cache.get(key, lambda: fixture)

    def forget(self, purpose: Purpose) -> None:
        """Gives the next check of a purpose another account."""
        for owner in ("primary", "secondary", "cousin"):
            self.cache.forget((purpose, owner))


class Fixture:
    """An account of one organization and the resources under it, each created on first access.

    Access to a resource that the server refuses to create raises Inconclusive, each time.
    """

    def __init__(
        self,
        lane: Lane,
        organization: str = "primary",
        account_id: str | None = None,
        customer_id: str | None = None,
        restyle: Restyle | None = None,
        business: bool = False,
        vacant: bool = False,
        beside_wallets: bool = False,
        purpose: Purpose | None = None,
        anywhere: bool = False,
    ) -> None:
        self.lane = lane
        self._vacant, self._beside_wallets = vacant, beside_wallets
        self._purpose, self._anywhere = purpose, anywhere
        self._business = business
        self._restyle = restyle
        self.client = lane.client(organization)
        own = self.client.organization
        #: The customers whose accounts will do, those of `anywhere` last.
        self._customers = [customer_id or own.customer_id]
        if anywhere and own.other_customer_id:
            self._customers.append(own.other_customer_id)
        #: Its parts.
        self.cache = Cache()
        self._account_id = account_id

    def seen_by(self, lane: Lane) -> Fixture:
        """Returns the same account, with the same parts, for another lane to send requests to."""
        other = copy.copy(self)
        other.lane, other.client = lane, lane.client(self.client.organization.name)
        return other

    # ------------------------------------------------------------------ parts

    @property
    @once
    def account(self) -> Exchange:
        """The exchange that created the account: of one that a check left if it may be `vacant`, or where the
        server refuses to create one, which may be for their number: then also one that serves its users for
        another purpose. Those with wallets come first but for one that checks share, in which they may create
        wallets."""
        vacant, create = self.lane.common.vacant, "createAccount"
        openings = [call(create, {"customer_id": each}, self.body(create)) for each in self._customers]
        places = [(self.client.organization.name, opening.path) for opening in openings]

        wallets, purpose = self._beside_wallets, self._purpose
        user = self.lane.common if purpose is not None and purpose.common else self.lane
        opened = vacant.take(places, beside_wallets=wallets and purpose is None) if self._vacant else None
        while opened is None:
            try:
                opened = self.lane.accept(self.client, openings[0], "an account to work in")
            except Inconclusive:
                if len(openings) == 1 and (opened := vacant.take(places, beside_wallets=wallets)) is None:
                    self.lane.budget.pace.stay()
                    # In a new one for any operation, checks might do what others would see in theirs.
                    named = purpose is not None or self._anywhere
                    other = vacant.share(places, purpose, user, beside_wallets=wallets) if named else None
                    if other is None:
                        raise
                    return other
                openings.pop(0)
        vacant.occupy(opened, purpose, user)
        return opened

    @property
    def customer_id(self) -> str:
        """The customer whose accounts are created and listed: the one whose this account is."""
        own, *others = self._customers
        return own if self._account_id or not others else str(self.account.call.ids["customer_id"])

    @property
    def account_id(self) -> str:
        return self._account_id or identifier(self.account)

    @property
    @once
    def beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary: of a `business`, where the server accepts one."""
        fixed = self.lane.samples.over("beneficiary").keys()
        for more in ({"country_code": "GB"}, {}) if self._business and not BUSINESS.keys() & fixed else ():
            body = changed(self.body("createBeneficiary"), {**BUSINESS, **more})
            business = self.lane.send(
                self.client, self.call("createBeneficiary", body), "a business, to work on"
            )
            if business.succeeded:
                return business
        return self.create("createBeneficiary")

    @property
    def beneficiary_id(self) -> str:
        return identifier(self.beneficiary)

    def part(self, kind: str) -> Exchange:
        """The exchange that created the resource of a kind, such as virtual_account."""
        if kind in ("account", "beneficiary"):
            own: Exchange = getattr(self, kind)
            return own
        return self.cache.get(kind, lambda: self.create(CREATES[kind]))

    @property
    def destination(self) -> Exchange:
        """The exchange that created the (bank account) payout destination."""
        return self.part("payout_destination")

    @property
    def destination_id(self) -> str:
        return identifier(self.destination)

    @property
    def payee(self) -> Payee:
        """The payee of a payout that the server accepts: this fixture's own, or that of the target file if
        only that is paid. Tried once in a run."""
        primary = self.lane.target.primary
        opened, vetted = (
            self.cache.peek(("account",)),
            primary.beneficiary_id and primary.payout_destination_id,
        )
        funded = str(primary.funded_account_id) in (self._account_id, opened and opened.get("id"))
        if not vetted or not funded:
            return self._own_payee
        return self.lane.common.cache.get("payee", self._vetted_payee) or self._own_payee

    @property
    def _own_payee(self) -> Payee:
        return self.beneficiary_id, self.destination_id, member(self.destination, "currency")

    def _vetted_payee(self) -> Payee | None:
        """The payee of the target file, if the server accepts it and refuses this fixture's; else None."""
        lane, primary = self.lane, self.lane.target.primary
        ids = {"account_id": self.account_id, "beneficiary_id": str(primary.beneficiary_id)}

        def currency() -> str:
            what = "the destinations of the payee of the target file, for their currency"
            listing = call("listPayoutDestinations", ids)
            for page in walk(lambda call, _: lane.send(self.client, call, what), listing).pages:
                if (own := str(primary.payout_destination_id)) in page.ids:
                    return member(page.exchange, "currency", page.ids.index(own))
            return "USD"

        def paid(payee: Payee) -> bool:
            attempt = self.call("createPayout", lane.samples.payout(*payee))
            return lane.send(self.client, attempt, "a payout, to see whether this payee is paid").succeeded

        with contextlib.suppress(Inconclusive):
            lane.answering()
            if paid(self._own_payee):
                return None
        vetted = str(primary.beneficiary_id), str(primary.payout_destination_id), currency()
        return vetted if paid(vetted) else None

    # ------------------------------------------------------------------ calls

    def ids(self, operation: str) -> dict[str, str]:
        """The path parameters of an operation in this fixture."""
        return {name: self.id_of(name) for name in OPERATIONS[operation].path_parameters}

    def id_of(self, name: str) -> str:
        """The id of the resource that a path parameter, or a member of a body, names."""
        if name in ("customer_id", "account_id"):
            return str(getattr(self, name))
        return identifier(self.part(name.removesuffix("_id")))

    def call(self, operation: str, body: Any = None) -> Call:
        """A valid call of an operation in this fixture, with a valid body unless one is given."""
        if body is None and OPERATIONS[operation].request_schema is not None:
            body = self.body(operation)
        return call(operation, self.ids(operation), body)

    def body(self, operation: str) -> dict[str, Any]:
        """A valid body: the sample, restyled except for members that the target file sets."""
        body = self._sample(operation)
        if self._restyle is None:
            return body
        fixed = {name for sample in self.lane.target.samples.values() for name in sample}
        return {**body, **{name: value for name, value in self._restyle(body).items() if name not in fixed}}

    def _sample(self, operation: str) -> dict[str, Any]:
        samples, traits = self.lane.samples, TRAITS[operation]
        match traits.creates:
            case "" if traits.subset_of:
                return {traits.free_text: samples.of(traits.changes)[traits.free_text]}
            case "payout_destination":
                return self.bank_account()
            case "payout":
                return samples.payout(*self.payee)
        return samples.of(traits.creates)

    def bank_account(self) -> dict[str, Any]:
        """A bank account body that the server accepts. Tried once in a run."""
        create, samples = "createPayoutDestination", self.lane.samples

        def choose() -> int:
            with contextlib.suppress(Inconclusive):
                for index, body in enumerate(samples.bank_accounts()):
                    attempt = call(create, self.ids(create), body)
                    purpose = "bank details, to see whether they are accepted"
                    if self.lane.send(self.client, attempt, purpose).succeeded:
                        return index
            return 0

        # New account numbers: a server may refuse the same ones twice.
        return samples.bank_accounts()[self.lane.common.cache.get("bank details", choose)]

    def create(self, operation: str, body: Any = None) -> Exchange:
        """Sends a valid create; raises Inconclusive when the server refuses it."""
        return self.lane.accept(self.client, self.call(operation, body), f"a valid {operation}, to work on")
