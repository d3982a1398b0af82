"""Demands on a request because of its body (sections 4.1 to 4.7 and 8).

Judged from the bytes alone, never from the intent of the generator, which shrinking may have changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from conformance.contract import json_text
from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import same, show
from conformance.judge.field_values import (
    UNASSIGNED_CODES,
    not_positive,
    plain_email,
    plain_text,
    surely_longer,
    surely_no_amount,
    surely_no_choice,
    surely_no_code,
)
from conformance.judge.oracle.reasons import Reason

#: Names of persons, in which a server may refuse digits.
PERSONAL = frozenset({"title", "first_name", "middle_name", "last_name", "display_name"})

#: Maximum length of a plain text in a field without a stated maximum.
UNSTATED_LENGTH = 100

#: Currencies of the wrong kind: virtual accounts are fiat, wallets are crypto (section 1).
OTHER_CURRENCIES = {
    "createPayoutDestination": ("BTC",),
    "createVirtualAccount": ("BTC", "USDC"),
    "createWallet": ("USD", "EUR"),
    "createPayin": ("BTC",),
}

#: Members of an address that are free text.
FREE_ADDRESS = frozenset({"address_line", "city"})


@dataclass(frozen=True)
class ValidBody:
    """A body that the server accepts; `pinned` are optional fields that it may need."""

    operation: str
    body: dict[str, Any]
    pinned: frozenset[str] = frozenset()

    @property
    def needed(self) -> frozenset[str]:
        """Fields that a plain body must have."""
        return self.pinned | frozenset(OPERATIONS[self.operation].required_fields)


@dataclass
class BodyVerdict:
    """Reasons to refuse a body; `plain`: every server must accept it. `longest` is a field of exactly its
    maximum length; `document` is None unless it is an unambiguous JSON object."""

    refusals: list[Reason] = dataclass_field(default_factory=list)
    plain: bool = False
    longest: str = ""
    document: dict[str, Any] | None = None


class _Duplicate(Exception):
    """An object has a duplicate member, which is open (body.legal-oddities)."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _integer(text: str) -> float | int:
    return int(text) if len(text) < 300 else float("inf")


def _no_json(literal: str) -> Any:
    raise ValueError(literal)


def judge_body(operation: str, body: bytes | None, valid: ValidBody | None) -> BodyVerdict:
    """Judges the body of an operation that takes one; `valid` is a body that this server accepts."""
    if not body:
        if TRAITS[operation].subset_of:
            # Open: may count as an empty object.
            return BodyVerdict()
        return BodyVerdict([Reason("body.malformed", "an empty body")])
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return BodyVerdict([Reason("body.malformed", "a body that is not UTF-8")])
    if text.startswith("\ufeff"):
        return BodyVerdict()
    try:
        document = json_text.load(
            text, object_pairs_hook=_object, parse_int=_integer, parse_constant=_no_json
        )
    except (_Duplicate, json_text.TooDeep):
        return BodyVerdict()
    except ValueError:
        return BodyVerdict([Reason("body.malformed", "a body that is not JSON")])
    if not isinstance(document, dict):
        return BodyVerdict([Reason("body.malformed", "a body that is not a JSON object")])
    refusals = [
        reason for reason in _refusals(operation, document) if operation in RULES[reason.rule].operations
    ]
    verdict = BodyVerdict(refusals, document=document)
    if not refusals and valid is not None:
        verdict.plain = _plain_document(operation, document, valid)
        verdict.longest = next(
            (
                field.name
                for field in request_fields(operation)
                if isinstance(document.get(field.name), str) and len(document[field.name]) == field.max_length
            ),
            "",
        )
    return verdict


# ---------------------------------------------------------------------- refusals


def _refusals(operation: str, document: dict[str, Any]) -> Iterator[Reason]:
    create = not TRAITS[operation].subset_of
    for field in request_fields(operation):
        if field.name not in document:
            if create and field.required:
                yield Reason("fields.required", f"a body without {field.name}")
                if other := _misnamed(field, document):
                    yield Reason("body.member-names", f"{field.name} under the name {show(other)}")
        elif (value := document[field.name]) is None:
            if create and field.required:
                yield Reason("fields.required-null", f"{field.name} null")
        elif not _typed(field, value):
            yield from _wrong_type(field, value)
        elif isinstance(value, str):
            yield from _wrong_text(operation, field, value, document)
        elif isinstance(value, dict):
            for name in field.members:
                # Missing and null members are open.
                if value.get(name) is not None and not isinstance(value[name], str):
                    yield Reason("fields.address-types", f"{field.name}.{name} {show(value[name])}")
    if create:
        yield from _together(operation, document)


def _misnamed(field: Field, document: dict[str, Any]) -> str:
    """The name of a member that is almost a field's, or is a path into its object; empty without one."""
    for name in document:
        if _folded(name) == _folded(field.name) or (field.members and re.match(rf"{field.name}[.\[]", name)):
            return name
    return ""


def _folded(name: str) -> str:
    """A name without letter case, hyphens, underscores and spaces."""
    return re.sub(r"[-_\s]", "", name).lower()


def _typed(field: Field, value: Any) -> bool:
    match field.type:
        case "object":
            return isinstance(value, dict)
        case "boolean":
            return isinstance(value, bool)
    return isinstance(value, str)


def _wrong_type(field: Field, value: Any) -> Iterator[Reason]:
    what = f"{field.name} {show(value)}"
    if field.name == "address" and field.required:
        yield Reason("fields.address", what)
    elif field.name == "amount" and isinstance(value, (int, float)) and not isinstance(value, bool):
        yield Reason("fields.amount", what)
    if field.required:
        yield Reason("fields.type", what)
    elif value not in ("", 0, False):
        # A lenient server may read these as null.
        yield Reason("fields.optional-type", what)


def _wrong_text(operation: str, field: Field, value: str, document: dict[str, Any]) -> Iterator[Reason]:
    if field.max_length is not None and surely_longer(value, field.max_length):
        yield Reason(
            "fields.max-length", f"{field.name} of {len(value)} characters (at most {field.max_length})"
        )
    what = f"{field.name} {show(value)}"
    if field.choices and surely_no_choice(value, field.choices):
        yield Reason("fields.enum", what)
    if field.code == "country" and surely_no_code(value, 2):
        yield Reason("fields.country-code", what)
    bank = document.get("type", "bank_account") == "bank_account"
    if field.code == "currency" and bank and surely_no_code(value, 3):
        yield Reason("fields.currency-code", what)
    fiat = field.code != "currency" or document.get("type") != "wallet"
    if field.code and fiat and value == UNASSIGNED_CODES[field.code]:
        yield Reason("fields.unassigned-code", what)
    wallet = TRAITS[operation].creates == "payout_destination" and document.get("type") != "bank_account"
    if field.name == "currency" and not wallet and value in OTHER_CURRENCIES.get(operation, ()):
        yield Reason("fields.currency-kind", f"currency {value}")
    if field.name == "amount" and surely_no_amount(value):
        implied = TRAITS[operation].creates == "payin" and not_positive(value)
        yield Reason("fields.payin-amount-positive" if implied else "fields.amount", what)


def _together(operation: str, document: dict[str, Any]) -> Iterator[Reason]:
    creates = TRAITS[operation].creates
    business = creates == "beneficiary" and document.get("beneficiary_type") == "business"
    wallet = creates == "payout_destination" and document.get("type") == "wallet"
    if business and document.get("company_name") is None:
        yield Reason("fields.company-name", "a business without company_name")
    if wallet and document.get("network") is None:
        yield Reason("fields.network", "a wallet destination without network")


# ---------------------------------------------------------------------- acceptance


def _plain_document(operation: str, document: dict[str, Any], valid: ValidBody) -> bool:
    known = {field.name: field for field in request_fields(operation)}
    if TRAITS[operation].subset_of:
        if not document:
            return False
    elif not valid.needed <= document.keys():
        return False
    # A server may refuse the company_name of an individual.
    named = "company_name" in document
    business = document.get("beneficiary_type") == "business"
    if business is not named and not (named and "company_name" in valid.body):
        return False
    return all(
        name in known and _plain_value(operation, known[name], value, valid)
        for name, value in document.items()
    )


def _plain_value(operation: str, field: Field, value: Any, valid: ValidBody) -> bool:
    if field.name in valid.body and same(value, valid.body[field.name]):
        return True
    if field.name in valid.pinned:
        return False
    if field.free:
        longest = UNSTATED_LENGTH if field.max_length is None else field.max_length
        return plain_text(value, longest, digits=field.name not in PERSONAL)
    match field.name:
        case "email":
            return plain_email(value)
        case "beneficiary_type":
            return TRAITS[operation].creates == "beneficiary" and value in field.choices
        case "is_default":
            # A second default may be refused (destination.second-default).
            return value is False
        case "address":
            return _plain_address(value, valid.body.get("address"))
    return False


def _plain_address(value: Any, valid: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(valid, dict) or value.keys() != valid.keys():
        return False
    return all(
        same(member, valid[name]) or (name in FREE_ADDRESS and plain_text(member, UNSTATED_LENGTH))
        for name, member in value.items()
    )
