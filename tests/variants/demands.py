"""Constraints beyond the specification: unique values, forms of values, a single default, quotas, reviews."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Balance
from tests.specification import HIDDEN
from tests.support.overrides import Usual, with_document

from .choice import choice, demand, memory, move, stated, times, varied


class _UniqueValues(Behaviour):
    """Refuses a value that another resource of the organization already has in the field."""

    #: Resource types with fields that are unique in it.
    unique: ClassVar[tuple[tuple[str, str], ...]] = ()

    def _claims(self, ctx: Context, values: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        assert ctx.organization is not None
        for kind, name in sorted({each for fields in stated(self, "unique") for each in fields}):
            if kind == RECORD_KINDS[ctx.operation] and values.get(name):
                yield (ctx.organization.id, kind, name, str(values[name]))

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        own = ctx.beneficiary["id"] if ctx.beneficiary and ctx.operation == "updateBeneficiary" else None
        for claim in self._claims(ctx, ctx.values):
            if memory(self, "unique values").get(claim, own) != own:
                raise Refusal("invalid_field", f"The {claim[2]} is in use.", claim[2], "not_unique")

    def new_record(self, ctx: Context) -> Record:
        record = super().new_record(ctx)
        memory(self, "unique values").update(dict.fromkeys(self._claims(ctx, record), record["id"]))
        return record

    def patched(self, ctx: Context, record: Record) -> Record:
        memory(self, "unique values").update(dict.fromkeys(self._claims(ctx, ctx.values), record["id"]))
        return super().patched(ctx, record)


UniqueNames = varied(
    "UniqueNames", "Requires unique account names.", _UniqueValues, unique=(("account", "name"),)
)
UniquePeople = varied(
    "UniquePeople",
    "Requires unique tax ids, e-mail addresses and phone numbers of beneficiaries.",
    _UniqueValues,
    unique=tuple(("beneficiary", name) for name in ("tax_id", "email", "phone")),
)
UniqueBankAccounts = varied(
    "UniqueBankAccounts",
    "Requires unique bank accounts and wallet addresses.",
    _UniqueValues,
    unique=tuple(("payout_destination", name) for name in HIDDEN),
)
UniqueLabels = varied(
    "UniqueLabels",
    "Requires unique labels within a resource type.",
    _UniqueValues,
    unique=tuple((kind, "label") for kind in ("payout_destination", "virtual_account", "wallet")),
)


@choice(seam="create_destination")
def bank_accounts_found(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Returns the beneficiary's existing destination with the same bank account or wallet address."""
    for other in ctx.store.select("payout_destination", self.parent(ctx)["id"]):
        if any(ctx.values.get(name) and ctx.values[name] == other.get(name) for name in HIDDEN):
            ctx.record = other
            return
    usual(ctx)


# ---------------------------------------------------------------------- forms of values


@demand(seam="check_value")
def titles_listed(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Requires a title from a fixed list."""
    return field.name == "title" and value not in ("Mr", "Mrs", "Ms", "Miss")


@demand(seam="check_company_name")
def companies_of_businesses(self: Behaviour, ctx: Context, fields: Record) -> object:
    """Refuses a company name of an individual."""
    return fields.get("beneficiary_type") != "business" and ctx.values.get("company_name") is not None


@demand(seam="check_value")
def tax_ids_of_aform(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Requires a tax id of at most 15 letters and digits."""
    return field.name == "tax_id" and not re.fullmatch("[0-9A-Za-z-]{1,15}", value)


@demand("fields.other-scripts", seam="check_value")
def latin_names(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Limits names to the ASCII characters of payment messages."""
    return isinstance(value, str) and field.name.endswith("name") and not value.isascii()


_PERSONS = ("first_name", "middle_name", "last_name")


@demand(seam="check_value")
def persons_without_digits(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Refuses digits in the names of persons, but not in how they are shown."""
    return field.name in _PERSONS and re.search(r"\d", str(value))


@demand(seam="check_value")
def names_without_digits(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Refuses digits in all names of persons."""
    return field.name in (*_PERSONS, "display_name") and re.search(r"\d", str(value))


@choice("create.text-exact", "beneficiary.update-text-exact", seam="kept_value")
def emails_in_lower_case(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Stores e-mail addresses in lower case."""
    value = usual(ctx, field, value)
    return value.lower() if field.name == "email" and isinstance(value, str) else value


@choice("create.text-exact", "beneficiary.update-text-exact", seam="kept_value")
def phones_as_e164(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Stores phone numbers in E.164 format."""
    value = usual(ctx, field, value)
    if field.name == "phone" and isinstance(value, str) and value.startswith("+"):
        return "+" + re.sub(r"[^0-9]", "", value)
    return value


# ---------------------------------------------------------------------- second default


def _default_there(behaviour: Behaviour, ctx: Context) -> bool:
    others = ctx.store.select("payout_destination", behaviour.parent(ctx)["id"])
    return any(other.get("is_default") for other in others)


@demand("destination.second-default", seam="check_state")
def second_default_refused(self: Behaviour, ctx: Context) -> object:
    """Refuses a second default destination."""
    asked = ctx.operation == "createPayoutDestination" and ctx.values.get("is_default")
    return asked and _default_there(self, ctx)


@choice("destination.second-default", seam="create_destination")
def first_default_stays(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Keeps the first default destination, and creates a second one as non-default."""
    if ctx.values.get("is_default") and _default_there(self, ctx):
        ctx.values = {**ctx.values, "is_default": False}
    usual(ctx)


@choice()
class BritainOnly(Behaviour):
    """Accepts only British countries, pounds and three kinds of wallets, with a minimum amount."""

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        super().check_country(ctx, field, value)
        if value != "GB":
            raise self.invalid(ctx, field, "unsupported", "is not served")

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        super().check_currency(ctx, field, value)
        if value != "GBP":
            raise self.invalid(ctx, field, "unsupported", "is not served")

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        super().check_amount(ctx, field, value)
        if float(value) < 5:
            raise self.invalid(ctx, field, "too_small", "is too small")

    def check_wallet_pair(self, ctx: Context) -> None:
        pair = (ctx.values.get("currency"), ctx.values.get("network"))
        if pair not in (("BTC", "bitcoin"), ("ETH", "ethereum"), ("USDC", "polygon")):
            super().check_wallet_pair(ctx)
            raise self.invalid(ctx, next(iter(self.fields(ctx))), "unsupported", "is not served")


# ---------------------------------------------------------------------- policies


@choice(seam="create")
def payees_reviewed(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Puts every third beneficiary under review immediately after creation."""
    usual(ctx)
    if ctx.operation == "createBeneficiary" and times(self, "payees reviewed") % 3 == 0:
        move(self, ctx, ctx.record or {}, status="inactive")


@demand(seam="check_beneficiary_usable")
def vetted_payees(self: Behaviour, ctx: Context, beneficiary: Record) -> object:
    """Pays only manually verified payees; the target file names one."""
    return not beneficiary["verified"]


@demand(seam="check_state")
def frozen_when_disabled(self: Behaviour, ctx: Context) -> object:
    """Refuses changes and new destinations of a disabled beneficiary."""
    frozen = ctx.operation in ("updateBeneficiary", "createPayoutDestination")
    return frozen and ctx.beneficiary and ctx.beneficiary["status"] == "disabled"


@demand(seam="check_state")
def few_of_each(self: Behaviour, ctx: Context) -> object:
    """Limits a beneficiary to 14 destinations, and an account to 14 virtual accounts."""
    limited = ctx.operation in ("createPayoutDestination", "createVirtualAccount")
    return limited and ctx.store.count(RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]) >= 14


@choice("payout.insufficient-funds")
class DailyLimit(Behaviour):
    """Limits the payouts of an account per day."""

    most_a_day = Decimal(60)

    def _with_this(self, ctx: Context) -> Decimal:
        paid = memory(self, "daily limit")[self.parent(ctx)["id"]]
        return Decimal(paid) + Decimal(str(ctx.values.get("amount")))

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        if self._with_this(ctx) > self.most_a_day:
            raise Refusal("insufficient_funds", "The limit of the day is reached.", code="limit_exceeded")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        memory(self, "daily limit")[self.parent(ctx)["id"]] = self._with_this(ctx)


@choice()
class SamePayoutOnce(Behaviour):
    """Refuses a second payout of the same amount to the same destination as a duplicate."""

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        if memory(self, "same payout once")[self._payout(ctx)]:
            raise Refusal("invalid_field", "This may have been paid already.", "amount", "duplicate_payout")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        times(self, "same payout once", self._payout(ctx))

    def _payout(self, ctx: Context) -> tuple[Any, ...]:
        names = ("beneficiary_id", "payout_destination_id", "amount", "currency")
        return tuple(ctx.values.get(name) for name in names)


@demand(seam="check_state")
def one_of_each_currency(self: Behaviour, ctx: Context) -> object:
    """Limits an account to one virtual account of each currency."""
    creates = ctx.operation == "createVirtualAccount"
    others = ctx.store.select("virtual_account", self.parent(ctx)["id"]) if creates else []
    return any(other["currency"] == ctx.values.get("currency") for other in others)


@demand(seam="check_state")
def virtual_accounts_of_one(self: Behaviour, ctx: Context) -> object:
    """Enables virtual accounts for a single organization, the first that creates one."""
    if ctx.operation != "createVirtualAccount" or ctx.organization is None:
        return False
    first = memory(self, "virtual accounts of one").setdefault("organization", ctx.organization.id)
    return first != ctx.organization.id


@choice(seam="balance")
def in_the_red(self: Behaviour, usual: Usual, ctx: Context, balance: Balance) -> dict[str, Any]:
    """Shows negative balances."""
    shown = usual(ctx, balance)
    return {**shown, "available_balance": "-12.40", "total_balance": "-12.40"}


@choice(seam="replay")
def body_before_key(self: Behaviour, usual: Usual, ctx: Context) -> Response | None:
    """Validates the body before the idempotency key."""
    kept = ctx.body, ctx.values
    if ctx.request.method == "POST" and ctx.operation != "disableBeneficiary":
        self.validate(ctx)
    ctx.body, ctx.values = kept
    return usual(ctx)


@choice(seam="item")
def seconds_in_lists(self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record) -> Any:
    """Shows whole seconds in lists and microseconds elsewhere; filters use microseconds."""
    item = usual(ctx, kind, record)
    cut = {name: f"{item[name][:19]}Z" for name in ("created", "updated") if name in item}
    return {**item, **cut}


@choice(seam="new_id")
def long_odd_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Makes long ids with every character that a path allows unencoded."""
    return f"{usual(ctx, kind)}-Az.9~_{usual(ctx, kind).partition('_')[2]}"


@choice("http.extra-fields")
class MembersWithin(Behaviour):
    """Adds members that change with every answer to nested objects."""

    def _more(self, value: Any, ctx: Context) -> Any:
        if isinstance(value, dict):
            return {**{name: self._more(member, ctx) for name, member in value.items()}, "_served": ctx.now}
        return [self._more(item, ctx) for item in value] if isinstance(value, list) else value

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        document = response.document if response.body else None
        return with_document(response, self._more(document, ctx)) if isinstance(document, dict) else response
