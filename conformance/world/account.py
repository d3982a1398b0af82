"""Fixtures: an account and the resources under it that a check works on, created through the API."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import objects
from conformance.judge.verdicts import Inconclusive
from conformance.wire.forms import new_key
from conformance.wire.messages import MISSING, Call, Exchange, to_json
from conformance.world.cache import Key, RunCache
from conformance.world.samples import BUSINESS, changed

if TYPE_CHECKING:
    from conformance.world.run import Run

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
MARKED = ("tenant", "sibling tenant")

#: Sample body -> members to replace in it.
Restyle = Callable[[dict[str, Any]], dict[str, Any]]

#: Beneficiary id, destination id and currency.
Payee = tuple[str, str, str]

_PAYEE = Key["Payee | None"]("the payee of the target file, where only that is paid")
_BANK = Key[int]("which bank details the server accepts")
_ACCOUNT, _BENEFICIARY = Key[Exchange]("account"), Key[Exchange]("beneficiary")


def call(operation: str, ids: Mapping[str, str], body: Any = None, **changes: Any) -> Call:
    """Builds a call: path parameters filled in, a JSON body, and a new Idempotency-Key on POST."""
    described = OPERATIONS[operation]
    return Call(
        operation=operation,
        method=described.method,
        target=described.path.format(**{name: quoted(value) for name, value in ids.items()}),
        body=None if body is None else to_json(body),
        idempotency_key=new_key() if described.method == "POST" else None,
        **changes,
    )


def renewed(call: Call) -> Call:
    """Copies a call, with a new Idempotency-Key where it has one."""
    return call.but(idempotency_key=new_key()) if call.idempotency_key else call


#: Characters that a path segment may hold (RFC 3986) besides letters, digits and `_.-~`; `%` keeps ids that
#: are encoded already.
_IN_A_SEGMENT = "%!$&'()*+,;=:@"


def quoted(identifier: str) -> str:
    """Percent-encodes an id as a path segment (RFC 3986), unless it is encoded already."""
    return quote(identifier, safe=_IN_A_SEGMENT)


class Account:
    """An account of one organization and the resources under it, each created on first access.

    Access to a resource that the server refuses to create raises Inconclusive, each time.
    """

    def __init__(
        self,
        run: Run,
        organization: str = "primary",
        account_id: str | None = None,
        customer_id: str | None = None,
        restyle: Restyle | None = None,
        business: bool = False,
    ) -> None:
        self.run = run
        self._business = business
        self._restyle = restyle
        self.client = run.client(organization)
        #: The customer whose accounts are created and listed.
        self.customer_id = customer_id or self.client.organization.customer_id
        self._parts = RunCache()
        self._account_id = account_id

    # ------------------------------------------------------------------ parts

    def _created(self, operation: str) -> Exchange:
        return self._parts.get(Key(operation), lambda: self.create(operation))

    @property
    def account(self) -> Exchange:
        """The exchange that created the account."""
        return self._parts.get(_ACCOUNT, self._new_account)

    def _new_account(self) -> Exchange:
        opening = call("createAccount", {"customer_id": self.customer_id}, self.body("createAccount"))
        return self.run.accept(self.client, opening, "an account to work in")

    @property
    def account_id(self) -> str:
        return self._account_id or identifier(self.account)

    def works_in(self, account_id: str) -> bool:
        """True if the fixture has an account and this is its id."""
        made = self._parts.find(_ACCOUNT)
        return account_id in (self._account_id, made and made.get("id"))

    @property
    def beneficiary(self) -> Exchange:
        """The exchange that created the beneficiary: of a `business`, where the server accepts one."""
        return self._parts.get(_BENEFICIARY, self._new_beneficiary)

    def _new_beneficiary(self) -> Exchange:
        fixed = self.run.samples.over("beneficiary").keys()
        for more in ({"country_code": "GB"}, {}) if self._business and not BUSINESS.keys() & fixed else ():
            body = changed(self.body("createBeneficiary"), {**BUSINESS, **more})
            made = self.run.send(self.client, self.call("createBeneficiary", body), "a business, to work on")
            if made.succeeded:
                return made
        return self.create("createBeneficiary")

    @property
    def beneficiary_id(self) -> str:
        return identifier(self.beneficiary)

    @property
    def destination(self) -> Exchange:
        """The exchange that created the (bank account) payout destination."""
        return self._created("createPayoutDestination")

    @property
    def destination_id(self) -> str:
        return identifier(self.destination)

    @property
    def payee(self) -> Payee:
        """The payee of a payout that the server accepts: this fixture's own, or that of the target file if
        only that is paid. Tried once in a run."""
        primary = self.run.target.primary
        vetted = primary.beneficiary_id and primary.payout_destination_id
        if not vetted or not self.works_in(str(primary.funded_account_id)):
            return self._own_payee
        return self.run.cache.get(_PAYEE, self._vetted_payee) or self._own_payee

    @property
    def _own_payee(self) -> Payee:
        currency = self.destination.get("currency")
        return self.beneficiary_id, self.destination_id, currency if isinstance(currency, str) else "USD"

    def _vetted_payee(self) -> Payee | None:
        """The payee of the target file, if the server accepts it and refuses this fixture's; else None."""
        run, primary = self.run, self.run.target.primary
        ids = {"account_id": self.account_id, "beneficiary_id": str(primary.beneficiary_id)}
        listing = call("listPayoutDestinations", ids)
        listed = run.send(self.client, listing, "which currency does the payee of the target file take?")
        items = objects(listed.get("items"))
        named = (item for item in items if item.get("id") == primary.payout_destination_id)
        currency = str(next(named, {}).get("currency") or "USD")
        vetted = str(primary.beneficiary_id), str(primary.payout_destination_id), currency

        def paid(payee: Payee) -> bool:
            attempt = self.call("createPayout", run.samples.payout(*payee))
            return run.send(self.client, attempt, "which payee does this server pay?").succeeded

        with contextlib.suppress(Inconclusive):
            run.answering()
            if paid(self._own_payee):
                return None
        return vetted if paid(vetted) else None

    @property
    def virtual_account(self) -> Exchange:
        """The exchange that created the virtual account."""
        return self._created("createVirtualAccount")

    @property
    def virtual_account_id(self) -> str:
        return identifier(self.virtual_account)

    # ------------------------------------------------------------------ calls

    def ids(self, operation: str) -> dict[str, str]:
        """The path parameters of an operation in this fixture."""
        return {name: getattr(self, name) for name in OPERATIONS[operation].path_parameters}

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
        fixed = {name for sample in self.run.target.samples.values() for name in sample}
        return {**body, **{name: value for name, value in self._restyle(body).items() if name not in fixed}}

    def _sample(self, operation: str) -> dict[str, Any]:
        samples = self.run.samples
        match TRAITS[operation].creates:
            case "account":
                return samples.account()
            case "beneficiary":
                return samples.beneficiary()
            case "" if TRAITS[operation].subset_of:
                return {"note": samples.beneficiary()["note"]}
            case "payout_destination":
                return self.bank_account()
            case "payout":
                return samples.payout(*self.payee)
            case "virtual_account":
                return samples.virtual_account()
            case "wallet":
                return samples.wallet()
            case "payin":
                return samples.payin()
        raise KeyError(operation)

    def bank_account(self) -> dict[str, Any]:
        """A bank account body that the server accepts. Tried once in a run."""
        create, samples = "createPayoutDestination", self.run.samples

        def choose() -> int:
            with contextlib.suppress(Inconclusive):
                for index, body in enumerate(samples.bank_accounts()):
                    attempt = call(create, self.ids(create), body)
                    purpose = "which bank details does this server accept?"
                    if self.run.send(self.client, attempt, purpose).succeeded:
                        return index
            return 0

        # New account numbers: a server may refuse the same ones twice.
        return samples.bank_accounts()[self.run.cache.get(_BANK, choose)]

    def create(self, operation: str, body: Any = None) -> Exchange:
        """Sends a valid create; raises Inconclusive when the server refuses it."""
        return self.run.accept(self.client, self.call(operation, body), f"a valid {operation}, to work on")


def identifier(exchange: Exchange) -> str:
    """The id of the resource an exchange created; raises Inconclusive when there is none."""
    value = exchange.get("id")
    # An unpaired surrogate cannot be sent back in UTF-8.
    if not isinstance(value, str) or not value or any("\ud800" <= letter <= "\udfff" for letter in value):
        shown = "no id" if value is MISSING else f"the id {value!r:.60}"
        raise Inconclusive(
            f"{exchange.operation} answered {exchange.described()} with {shown}, "
            "which cannot be used further",
            cause="format.id",
        )
    return value


def purpose_of(operation: str, otherwise: str = "shared") -> str:
    """The purpose of the account in which an operation can succeed."""
    return "payouts" if TRAITS[operation].draws_on_funds else otherwise


def parameters(operation: str) -> tuple[str, ...]:
    """The path parameters of an operation, the top-level one first."""
    return OPERATIONS[operation].path_parameters


def unknown_like(known: str) -> str:
    """Derives an id that almost certainly does not exist and has the syntax of a known one.

    The prefix stays; digits are replaced by digits, letters by letters (hexadecimal where all are).
    """
    prefix, separator, rest = known.partition("_")
    if not separator:
        prefix, rest = "", known
    if rest.isdigit():
        digits = "".join(secrets.choice("0123456789") for _ in range(max(len(rest) - 1, 11)))
        return f"{prefix}{separator}9{digits}"
    hexadecimal = all(c in "0123456789abcdefABCDEF-" for c in rest)
    letters = "abcdef" if hexadecimal else "abcdefghjkmnpqrstvwxyz"

    def other(character: str) -> str:
        if character.isdigit():
            return secrets.choice("0123456789")
        if character.isascii() and character.islower():
            return secrets.choice(letters)
        if character.isascii() and character.isupper():
            return secrets.choice(letters.upper())
        return character

    # The first characters may encode a version, a time or a shard: they stay where 12 others are left.
    keep = len(rest) - 12 if len(rest) > 16 else 0
    while True:
        candidate = rest[:keep] + "".join(map(other, rest[keep:]))
        if candidate != rest:
            break
    if len(rest) < 6:
        candidate += "".join(secrets.choice("0123456789" if hexadecimal else letters) for _ in range(10))
    return f"{prefix}{separator}{candidate}"
