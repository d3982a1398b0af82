"""Request fields that a body lacks, or that have a value of another type or form: sections 4.1 to 4.7 and 8.

Each table takes the fields that it goes through and, in another kind of body than the sample, the words for
it (`where`). Servers check each kind of body by a schema of its own; there one value for a field is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from conformance.checks.defective_bodies import DefectiveBodies
from conformance.contract.fields import Field
from conformance.contract.traits import TRAITS
from conformance.judge.field_values import UNASSIGNED_CODES, not_positive
from conformance.judge.oracle.body_rules import OTHER_CURRENCIES
from conformance.world import samples
from conformance.world.case import Case
from conformance.world.corpora import amounts as corpus
from conformance.world.corpora.texts import WRONG_CODES
from conformance.world.corpora.value import values
from conformance.world.corpora.wrong_values import too_long, wrong_choices, wrong_optional_types, wrong_types

#: Stands for a value that a valid body leaves out, where one of another type is made of it.
_STANDING_IN = "1"


def required(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """A body without each required field in turn, then without all of them."""
    rule = "fields.required"
    for field in fields:
        name = f"{where or 'a body'} without {field.name}"
        yield at.defective(rule, name, at.without(field.name))
    names = {field.name for field in fields}
    if not where and (at.valid().keys() != names or len(names) > 1):
        yield at.defective(rule, "an empty object", {})


def required_null(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """A body in which each required field in turn is null."""
    for field in fields:
        name = f"{field.name} null{_in(where)}"
        yield at.defective("fields.required-null", name, at.having(field.name, None))


def types(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Required fields of another JSON type."""
    for field in fields:
        kinds = [("a number", 1)] if where else wrong_types(field, at.good(field.name))
        for kind, value in kinds:
            name = f"{field.name} as {kind}{_in(where)}"
            yield at.defective("fields.type", name, at.having(field.name, value))


def addresses(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Addresses that are a string, a number, a boolean or an array."""
    for field in fields:
        kinds = [("a string", "1 Main Street")] if where else wrong_types(field, at.good(field.name))
        for kind, value in kinds:
            name = f"address as {kind}{_in(where)}"
            yield at.defective("fields.address", name, at.having(field.name, value))


def address_members(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Addresses of which a documented member is a number, and one of which a member is an object."""
    for field in fields:
        good = at.good(field.name) or samples.address("state")
        kinds: list[tuple[str, str, Any]] = [(member, "a number", 5) for member in field.members]
        kinds.append((field.members[0], "an object", {"value": good[field.members[0]]}))
        for member, kind, value in kinds[: 1 if where else None]:
            name = f"address with {member} as {kind}{_in(where)}"
            yield at.defective("fields.address-types", name, at.having(field.name, {**good, member: value}))


def optional_types(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Optional fields of a JSON type that no coercion turns into the right one."""
    for field in fields:
        kinds = list(wrong_optional_types(field, at.good(field.name, _STANDING_IN)))
        for kind, value in kinds[: 1 if where else None]:
            name = f"{field.name} as {kind}{_in(where)}"
            yield at.defective("fields.optional-type", name, at.having(field.name, value))


def lengths(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Values one character longer than their maximum, in ASCII and in other letters, and far longer."""
    for field in fields:
        kinds = list(too_long(field))
        for kind, value in kinds[: 1 if where else None]:
            name = f"{field.name} of {kind} (at most {field.max_length}){_in(where)}"
            yield at.defective("fields.max-length", name, at.having(field.name, value))


def choices(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Values that an enumeration does not list, or that only begin or end like a listed one."""
    for field in fields:
        wrong = list(wrong_choices(field))
        for value in wrong[: 1 if where else None]:
            yield at.defective("fields.enum", _valued(field, value, where), at.having(field.name, value))


def codes(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Country codes that are not two letters, and currency codes that are not three."""
    for field in fields:
        wrong = values(WRONG_CODES[field.code])
        for value in wrong[: 2 if where else None]:
            name = _valued(field, value, where)
            yield at.defective(f"fields.{field.code}-code", name, at.having(field.name, value))


def unassigned_codes(at: DefectiveBodies, fields: Sequence[Field], where: str = "") -> Iterator[Case]:
    """Codes of the right form that nothing has."""
    for field in fields:
        value = UNASSIGNED_CODES[field.code]
        name = _valued(field, value, where)
        yield at.defective("fields.unassigned-code", name, at.having(field.name, value))


def currencies_of_another_kind(at: DefectiveBodies) -> Iterator[Case]:
    """Cryptocurrencies of virtual accounts, bank accounts and payins, and fiat currencies of wallets."""
    crypto = not TRAITS[at.operation].unique_pair
    for code in OTHER_CURRENCIES[at.operation]:
        name = f"currency {code}, which is {'crypto' if crypto else 'fiat'}"
        yield at.defective("fields.currency-kind", name, at.having("currency", code))


def company_names(at: DefectiveBodies) -> Iterator[Case]:
    """Businesses without a company name, and with null for it."""
    rule, field = "fields.company-name", "company_name"
    yield at.defective(rule, "a business without company_name", at.without(field))
    yield at.defective(rule, "a business whose company_name is null", at.having(field, None))


def networks(at: DefectiveBodies) -> Iterator[Case]:
    """Wallet destinations without a network, and with null for it."""
    rule, field = "fields.network", "network"
    yield at.defective(rule, "a wallet destination without network", at.without(field))
    yield at.defective(rule, "a wallet destination whose network is null", at.having(field, None))


def amounts(at: DefectiveBodies) -> Iterator[Case]:
    """Amounts that are zero, negative, no plain decimal or a JSON number; a payin's must be positive by a
    rule of its own."""
    for wrong in corpus.REFUSED:
        implied = TRAITS[at.operation].creates == "payin" and not_positive(wrong.value)
        rule = "fields.payin-amount-positive" if implied else "fields.amount"
        yield at.defective(rule, f"amount {corpus.named(wrong)}", at.having("amount", wrong.value))


def _in(where: str) -> str:
    return f" in {where}" if where else ""


def _valued(field: Field, value: Any, where: str) -> str:
    return f'{field.name} "{value}"{_in(where)}'
