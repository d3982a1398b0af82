"""Rules about one field of a body (sections 4.1 to 4.7 and 8): one row each.

A row is read by the oracle, by the judgement of clients, by the reference server, and by the check of those
that have examples. With its entry in rules.yaml, this is a whole rule:

    FieldRule("fields.blank-note", of("note"), lambda at: at.value.isspace(), examples=["  "])

Bodies with its examples must be refused; a server that does not look (`tests/faults/field_values.py`), or a
client that sends one (`tests/clients/changes.py`), is wrong.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.contract.field_values import (
    UNASSIGNED_CODES,
    not_positive,
    surely_longer,
    surely_no_amount,
    surely_no_choice,
    surely_no_code,
)
from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import ALL_RULES
from conformance.contract.traits import TRAITS

#: Currencies of the wrong kind: virtual accounts are fiat, wallets are crypto (section 1).
OTHER_CURRENCIES = {
    "createPayoutDestination": ("BTC",),
    "createVirtualAccount": ("BTC", "USDC"),
    "createWallet": ("USD", "EUR"),
    "createPayin": ("BTC",),
}

#: JSON type of a field -> that of Python.
TYPES: Mapping[str, type] = {"object": dict, "boolean": bool}


@dataclass(frozen=True)
class Member:
    """A field of an operation in a body, there or not; or a member of an address that is there, whose field
    is named address.city."""

    operation: str
    field: Field
    body: Mapping[str, Any]
    value: Any = None
    #: False for a field that the body does not have.
    present: bool = True

    @property
    def typed(self) -> bool:
        """True for a value of the field's JSON type."""
        return isinstance(self.value, TYPES.get(self.field.type, str))

    @property
    def text(self) -> bool:
        return isinstance(self.value, str) and self.field.type == "string"

    @property
    def needed(self) -> bool:
        """True for a field that this request must have: a required one of a create."""
        return self.field.required and not TRAITS[self.operation].subset_of


def members(operation: str, body: Mapping[str, Any]) -> Iterator[Member]:
    """Yields the fields of an operation as they are in a body, and the members of addresses."""
    for field in request_fields(operation):
        value: Any = body.get(field.name)
        yield Member(operation, field, body, value, field.name in body)
        for name in field.members if isinstance(value, dict) else ():
            # Missing and null members are open.
            if value.get(name) is not None:
                yield Member(operation, Field(f"{field.name}.{name}", form=MEMBER), body, value[name])


#: Form of a member of an address.
MEMBER = "member"

Test = Callable[[Member], object]


@dataclass(frozen=True)
class FieldRule:
    """A rule, where it applies, and which values it excludes there.

    `examples` are such values, or makes them for a field: those of a rule without a check of its own. `said`
    describes such a member where its name and value do not."""

    rule: str
    applies: Test
    wrong: Test
    examples: Sequence[Any] | Callable[[Field], Sequence[Any]] = ()
    said: Callable[[Member], str] | None = None

    def examples_of(self, field: Field) -> Sequence[Any]:
        """Values of a field that the rule may exclude."""
        return self.examples(field) if callable(self.examples) else self.examples

    def wrong_values(
        self, operation: str, fields: Iterable[Field], body: Mapping[str, Any]
    ) -> Iterator[tuple[Field, Any]]:
        """Yields fields with the examples that the rule excludes in a body."""
        for field in fields:
            for value in self.examples_of(field):
                if self.broken_by(Member(operation, field, {**body, field.name: value}, value)):
                    yield field, value

    def binds(self, member: Member) -> bool:
        """True where the rule says something of a member."""
        return bool(self.applies(member))

    def broken_by(self, member: Member) -> bool:
        return bool(self.applies(member) and self.wrong(member))


def _whole(at: Member) -> bool:
    return at.field.form != MEMBER


def _there(at: Member) -> bool:
    return _whole(at) and at.value is not None


def _fiat(at: Member) -> bool:
    """True for a code of an ISO standard: wallets have no fiat currency."""
    return at.text and (at.field.code == "country" or at.body.get("type") != "wallet")


def _positive_is_implied(at: Member) -> bool:
    return TRAITS[at.operation].creates == "payin" and not_positive(at.value)


def _other_type(at: Member) -> bool:
    # A lenient server may read the others as null.
    return not at.typed and at.value not in ("", 0, False)


def _no_amount(at: Member) -> bool:
    if isinstance(at.value, str):
        return surely_no_amount(at.value) and not _positive_is_implied(at)
    return isinstance(at.value, (int, float)) and not isinstance(at.value, bool)


def _misnamed(at: Member) -> str:
    """The name of a member that is almost a field's, or is a path into its object; empty without one."""
    field = at.field
    for name in at.body:
        if _folded(name) == _folded(field.name) or (field.members and re.match(rf"{field.name}[.\[]", name)):
            return name
    return ""


def _folded(name: str) -> str:
    """A name without letter case, hyphens, underscores and spaces."""
    return re.sub(r"[-_\s]", "", name).lower()


def of(name: str) -> Test:
    """Where a text field is there."""
    return lambda at: at.text and at.field.name == name


#: In the order in which they are named of one value, the most specific first.
FIELD_RULES: list[FieldRule] = [
    FieldRule("fields.required", lambda at: at.needed, lambda at: not at.present),
    FieldRule(
        "body.member-names",
        lambda at: at.needed and not at.present,
        _misnamed,
        said=lambda at: f"{at.field.name} under the name {_misnamed(at)!r}",
    ),
    FieldRule("fields.required-null", lambda at: at.needed, lambda at: at.present and at.value is None),
    FieldRule("fields.address", lambda at: _there(at) and at.field.members, lambda at: not at.typed),
    FieldRule("fields.amount", lambda at: _there(at) and at.field.kind == "amount", _no_amount),
    FieldRule(
        "fields.payin-amount-positive", lambda at: at.text and at.field.kind == "amount", _positive_is_implied
    ),
    FieldRule("fields.type", lambda at: _there(at) and at.field.required, lambda at: not at.typed),
    FieldRule("fields.optional-type", lambda at: _there(at) and not at.field.required, _other_type),
    FieldRule("fields.address-types", lambda at: at.field.form == MEMBER, lambda at: not at.typed),
    FieldRule(
        "fields.max-length",
        lambda at: at.text and at.field.max_length,
        lambda at: surely_longer(at.value, at.field.max_length or 0),
    ),
    FieldRule(
        "fields.enum",
        lambda at: at.text and at.field.choices,
        lambda at: surely_no_choice(at.value, at.field.choices),
    ),
    FieldRule(
        "fields.country-code",
        lambda at: at.text and at.field.code == "country",
        lambda at: surely_no_code(at.value, 2),
    ),
    FieldRule(
        "fields.currency-code",
        # Whether a card has a fiat currency is not shown.
        lambda at: (
            at.text and at.field.code == "currency" and at.body.get("type", "bank_account") == "bank_account"
        ),
        lambda at: surely_no_code(at.value, 3),
    ),
    FieldRule(
        "fields.unassigned-code",
        lambda at: at.field.code and _fiat(at),
        lambda at: at.value == UNASSIGNED_CODES[at.field.code],
        examples=lambda field: [UNASSIGNED_CODES[field.code]] if field.code else [],
    ),
    FieldRule(
        "fields.currency-kind",
        lambda at: (
            at.text and at.field.name == "currency" and at.body.get("type", "bank_account") == "bank_account"
        ),
        lambda at: at.value in OTHER_CURRENCIES[at.operation],
    ),
    FieldRule(
        "fields.company-name",
        lambda at: at.field.name == "company_name" and at.body.get("beneficiary_type") == "business",
        lambda at: at.value is None,
    ),
    FieldRule(
        "fields.network",
        lambda at: at.field.name == "network" and at.body.get("type") == "wallet",
        lambda at: at.value is None,
    ),
]


@functools.cache
def field_rules(operation: str) -> tuple[FieldRule, ...]:
    """The rows of the rules that cover an operation."""
    return tuple(row for row in FIELD_RULES if operation in ALL_RULES[row.rule].operations)
