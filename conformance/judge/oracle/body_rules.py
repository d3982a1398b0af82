"""Demands on a request because of its body (sections 4.1 to 4.7 and 8).

Judged from the bytes alone, never from the intent of the generator, which shrinking may have changed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

from conformance.contract import json_text
from conformance.contract.field_rules import Member, field_rules, members
from conformance.contract.field_values import plain_email, plain_text
from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import same, show
from conformance.judge.oracle.reasons import Reason

#: Names of persons, in which a server may refuse digits.
PERSONAL = frozenset({"title", "first_name", "middle_name", "last_name", "display_name"})

#: Maximum length of a plain text in a field without a stated maximum.
UNSTATED_LENGTH = 100

#: Members of an address that are free text.
FREE_ADDRESS = frozenset({"address_line", "city"})


#: Maximum bytes of a body whose judgement is kept for a while.
REMEMBERED = 4096


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
    # A body is judged before it is sent, and with its answer.
    verdict = replace((_read if len(body) <= REMEMBERED else _read.__wrapped__)(operation, body))
    document = verdict.document
    if document is not None and not verdict.refusals and valid is not None:
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


@functools.lru_cache(256)
def _read(operation: str, body: bytes) -> BodyVerdict:
    """Judges a body by what it says alone."""
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
    return BodyVerdict(list(_refusals(operation, document)), document=document)


# ---------------------------------------------------------------------- refusals


def _refusals(operation: str, document: dict[str, Any]) -> Iterator[Reason]:
    for member in members(operation, document):
        for row in field_rules(operation):
            if row.broken_by(member):
                yield Reason(row.rule, row.said(member) if row.said else _described(member))


def _described(member: Member) -> str:
    name, value, most = member.field.name, member.value, member.field.max_length
    if not member.present:
        return f"a body without {name}"
    if isinstance(value, str) and most is not None and len(value) > most:
        return f"{name} of {len(value)} characters (at most {most})"
    return f"{name} {show(value)}"


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
