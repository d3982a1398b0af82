"""Choices about request bodies (sections 4 and 8)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, ClassVar

from conformance.contract import json_text
from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.codes import COUNTRIES, CURRENCIES
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS
from tests.support.overrides import Usual

from .choice import choice, demand

#: Refusals whose response body is not specified.
VALIDATION = (
    "invalid_field", "invalid_parameter", "malformed_body", "body_not_object", "malformed_query",
    "body_too_large", "duplicate_wallet", "insufficient_funds", "missing_idempotency_key",
)  # fmt: skip


@choice("http.validation-status")
class ErrorsByField(Behaviour):
    """Answers validation errors with 400 and a list of errors, as many frameworks do."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return 400 if refusal.kind in VALIDATION else super().refusal_status(ctx, refusal)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        if refusal.kind in VALIDATION:
            return {
                "detail": [{"loc": ["body", refusal.field], "msg": refusal.message, "type": refusal.code}]
            }
        return super().error_document(ctx, refusal)


@choice("http.validation-status", seam="refusal_status")
def invalid_as_unauthenticated(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers an invalid body or query with 401, since any 4xx is allowed."""
    wrong = refusal.kind in VALIDATION and refusal.kind not in ("duplicate_wallet", "insufficient_funds")
    return 401 if wrong else usual(ctx, refusal)


@choice("http.validation-status")
class TerseErrors(Behaviour):
    """Answers validation errors with a bare JSON string, and all refusals with other statuses."""

    other_statuses: ClassVar[dict[str, int]] = {
        "invalid_idempotency_key": 422,
        "idempotency_key_conflict": 422,
        "duplicate_wallet": 400,
        "invalid_parameter": 400,
        "body_not_object": 400,
    }

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return self.other_statuses.get(refusal.kind) or super().refusal_status(ctx, refusal)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        return "invalid" if refusal.kind in VALIDATION else super().error_document(ctx, refusal)


@demand(seam="check_together")
def no_unknown_fields(self: Behaviour, ctx: Context) -> object:
    """Refuses unknown and server-owned fields, also on PATCH."""
    return set(ctx.body) - {field.name for field in FIELDS[ctx.operation]}


def _resembling(ctx: Context) -> set[str]:
    """Names of members that are documented ones in other letters or with other signs."""
    known = {re.sub("[^a-z]", "", field.name): field.name for field in FIELDS[ctx.operation]}
    return {name for name in ctx.body if known.get(re.sub("[^a-z]", "", name.lower()), name) != name}


@demand(seam="check_together", status=409)
def resembling_names_conflict(self: Behaviour, ctx: Context) -> object:
    """Refuses members whose names resemble documented ones with 409."""
    return _resembling(ctx)


@demand(seam="check_together", status=404)
def unknown_members_not_found(self: Behaviour, ctx: Context) -> object:
    """Answers unknown members with 404."""
    return set(ctx.body) - {field.name for field in FIELDS[ctx.operation]}


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("duplicate member")
    return dict(pairs)


@choice("body.legal-oddities", seam="parse_json")
def strict_json(self: Behaviour, usual: Usual, ctx: Context, text: str) -> Any:
    """Refuses duplicate members, NUL, and numbers beyond the range of a double."""
    if "\\u0000" in text or re.search(
        r"[0-9]{40}|[eE][+]?[0-9]{3}", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    ):
        raise ValueError("odd")
    return json_text.load(text, parse_constant=self.on_constant, object_pairs_hook=_no_duplicates)


@choice("body.legal-oddities", seam="parse_json")
def surrogates_replaced(self: Behaviour, usual: Usual, ctx: Context, text: str) -> Any:
    """Replaces an unpaired surrogate by U+FFFD."""
    return _whole(usual(ctx, text))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, dict):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


@demand("body.content-type", seam="check_content_type", kind="malformed_body", status=415)
def json_declared(self: Behaviour, ctx: Context) -> object:
    """Requires a JSON content type."""
    declared = (ctx.header(b"content-type") or "").partition(";")[0].strip().lower()
    return declared != "application/json"


@choice()
class CodesInAnyCase(Behaviour):
    """Accepts lower-case codes and stores them in upper case."""

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        super().check_country(ctx, field, value.upper() if value.isascii() else value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        super().check_currency(ctx, field, value.upper() if value.isascii() else value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        if field.kind in ("country", "currency") and isinstance(value, str):
            value = value.upper()
        return super().kept_value(ctx, field, value)


@choice()
class CodesOfAnyLetters(Behaviour):
    """Takes two, or three, letters of any script for a code."""

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        if value.isascii() or not (len(value) == 2 and value.isalpha()):
            super().check_country(ctx, field, value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        if value.isascii() or not (len(value) == 3 and value.isalpha()):
            super().check_currency(ctx, field, value)


@demand(seam="check_value")
def syntax_checked(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Validates the syntax of e-mail addresses and phone numbers, and refuses empty strings."""
    if not isinstance(value, str):
        return False
    local, _, domain = value.rpartition("@")
    labels = domain.split(".")
    email = (
        0 < len(local) <= 64
        and len(labels) > 1
        and len(value) <= 254
        and all(re.fullmatch("[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label) for label in labels)
    )
    phone = re.fullmatch(r"\+[1-9][0-9]{6,14}", value)
    return not value.strip() or not {"email": email, "phone": phone}.get(field.name, True)


@choice(seam="kept_value")
def spaces_trimmed(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Trims spaces around a text."""
    value = usual(ctx, field, value)
    return value.strip() if isinstance(value, str) else value


@choice(seam="check_field")
def listed_values_in_any_case(self: Behaviour, usual: Usual, ctx: Context, field: Field) -> None:
    """Takes a listed value in any letter case, with white space around it, for the listed one."""
    if field.choices and isinstance(text := ctx.body.get(field.name), str):
        ctx.body = {**ctx.body, field.name: text.strip().lower()}
    usual(ctx, field)


@demand(seam="check_null")
def no_nulls(self: Behaviour, ctx: Context, field: Field) -> object:
    """Refuses null in every field."""
    return True


@choice("beneficiary.update-no-body")
class NoBodyIsEmpty(Behaviour):
    """Treats a PATCH without a body as an empty object."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        if ctx.operation == "updateBeneficiary" and not ctx.request.body:
            return {}
        return super().parse_body(ctx)


@choice()
class AnyAddress(Behaviour):
    """Accepts any text members in an address, or none, and stores them unchanged."""

    def check_address(self, ctx: Context, field: Field, value: dict[str, Any]) -> None:
        for name in field.members:
            if value.get(name) is not None:
                self.check_type(ctx, Field(f"{field.name}.{name}"), value[name])

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return value


@choice("fields.max-length-astral", seam="length")
def length_in_utf16(self: Behaviour, usual: Usual, ctx: Context, value: str) -> int:
    """Counts length in UTF-16 code units, as Java and JavaScript do."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2


@choice("fields.amount-odd")
class AnyDecimal(Behaviour):
    """Accepts amounts with exponents, plus signs or missing digits as the number that they denote."""

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        number = re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", value)
        if not (number and len(value) < 60 and Decimal(value) > 0):
            super().check_amount(ctx, field, value)

    def amount_text(self, ctx: Context, record: dict[str, Any]) -> Any:
        return format(Decimal(record["amount"]), "f")

    def amount_in_usd(self, ctx: Context) -> str:
        return format(Decimal(super().amount_in_usd(ctx)), "f")


@choice("fields.amount-odd")
class AmountsInCents(Behaviour):
    """Limits amounts to fifteen digits and two decimals, and always shows two decimals."""

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        super().check_amount(ctx, field, value)
        if not re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,2})?", value):
            raise self.invalid(ctx, field, "too_precise", "has too many digits")

    def amount_text(self, ctx: Context, record: dict[str, Any]) -> Any:
        return format(Decimal(record["amount"]).quantize(Decimal("0.01")), "f")


@choice("fields.unassigned-code", "fields.currency-kind", seam="check_assigned")
def unassigned_codes(
    self: Behaviour, usual: Usual, ctx: Context, field: Field, value: str, assigned: frozenset[str]
) -> None:
    """Checks only the form of country and currency codes."""
    assert assigned in (COUNTRIES, CURRENCIES)


@choice("fields.optional-type", seam="check_field")
def optional_types_ignored(self: Behaviour, usual: Usual, ctx: Context, field: Field) -> None:
    """Ignores an optional field of another type."""
    required = any(
        described.name == field.name and described.required for described in FIELDS["createBeneficiary"]
    )
    try:
        usual(ctx, field)
    except Refusal as refusal:
        if refusal.code != "wrong_type" or field.required or required or field.kind == "enum":
            raise


@choice("http.validation-status", seam="error_document")
def null_errors(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> Any:
    """Answers a validation error with the body null."""
    return None if refusal.kind in VALIDATION else usual(ctx, refusal)
