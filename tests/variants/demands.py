"""Constraints beyond the specification: unique values, forms of values, a single default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS

from .choice import Usual, choice, memory, varied


class _UniqueValues(Behaviour):
    """Refuses a value that another resource of the organization already has in the field."""

    #: Resource types with fields that are unique in it.
    unique: ClassVar[tuple[tuple[str, str], ...]] = ()

    def _claims(self, ctx: Context, values: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        assert ctx.organization is not None
        # A server may make several of these choices.
        for kind, name in sorted(
            {each for one in type(self).__mro__ for each in vars(one).get("unique", ())}
        ):
            if kind == KINDS[ctx.operation] and values.get(name):
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


_NUMBERS = ("account_number", "iban", "wallet_address")

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
    unique=tuple(("payout_destination", name) for name in _NUMBERS),
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
        if any(ctx.values.get(name) and ctx.values[name] == other.get(name) for name in _NUMBERS):
            ctx.record = other
            return
    usual(ctx)


# ---------------------------------------------------------------------- forms of values

TITLES = ("Mr", "Mrs", "Ms", "Miss")


@choice(seam="check_value")
def titles_listed(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> None:
    """Requires a title from a fixed list."""
    usual(ctx, field, value)
    if field.name == "title" and value not in TITLES:
        raise self.invalid(ctx, field, "not_allowed", "must be one of " + ", ".join(TITLES))


@choice(seam="check_company_name")
def companies_of_businesses(self: Behaviour, usual: Usual, ctx: Context, fields: Record) -> None:
    """Refuses a company name of an individual."""
    usual(ctx, fields)
    if fields.get("beneficiary_type") != "business" and ctx.values.get("company_name") is not None:
        raise self.invalid(ctx, Field("company_name"), "not_allowed", "is allowed for a business only")


@choice(seam="check_value")
def tax_ids_of_aform(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> None:
    """Requires a tax id of at most 15 letters and digits."""
    usual(ctx, field, value)
    if field.name == "tax_id" and not re.fullmatch("[0-9A-Za-z-]{1,15}", value):
        raise self.invalid(ctx, field, "malformed", "is malformed")


@choice(breaks=("fields.other-scripts",), seam="check_value")
def latin_names(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> None:
    """Limits names to the ASCII characters of payment messages."""
    usual(ctx, field, value)
    if isinstance(value, str) and field.name.endswith("name") and not value.isascii():
        raise self.invalid(ctx, field, "invalid_characters", "holds characters outside ASCII")


@choice()
class PersonsWithoutDigits(Behaviour):
    """Refuses digits in the names of persons, but not in how they are shown."""

    names: ClassVar[tuple[str, ...]] = ("first_name", "middle_name", "last_name")

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value)
        if field.name in self.names and any(character.isdigit() for character in str(value)):
            raise self.invalid(ctx, field, "invalid_characters", "holds a digit")


NamesWithoutDigits = varied(
    "NamesWithoutDigits",
    "Refuses digits in all names of persons.",
    PersonsWithoutDigits,
    names=(*PersonsWithoutDigits.names, "display_name"),
)


@choice(breaks=("create.text-exact", "beneficiary.update-text-exact"), seam="kept_value")
def emails_in_lower_case(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Stores e-mail addresses in lower case."""
    value = usual(ctx, field, value)
    return value.lower() if field.name == "email" and isinstance(value, str) else value


@choice(breaks=("create.text-exact", "beneficiary.update-text-exact"), seam="kept_value")
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


@choice("destination.second-default", seam="check_state")
def second_default_refused(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a second default destination."""
    usual(ctx)
    asked = ctx.operation == "createPayoutDestination" and ctx.values.get("is_default")
    if asked and _default_there(self, ctx):
        raise Refusal("invalid_field", "There is a default already.", "is_default", "default_exists")


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
