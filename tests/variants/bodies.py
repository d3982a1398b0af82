"""Choices about request bodies: sections 4 and 8."""

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

from .choice import choice

#: Refusals whose body the specification does not show.
VALIDATION = (
    "invalid_field",
    "invalid_parameter",
    "malformed_body",
    "body_not_object",
    "malformed_query",
    "body_too_large",
    "duplicate_wallet",
    "insufficient_funds",
    "missing_idempotency_key",
)


@choice("http.validation-status")
class ErrorsByField(Behaviour):
    """Validation failures have status 400 and a list of what is wrong, in the manner of many frameworks."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return 400 if refusal.kind in VALIDATION else super().refusal_status(ctx, refusal)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        if refusal.kind in VALIDATION:
            return {
                "detail": [{"loc": ["body", refusal.field], "msg": refusal.message, "type": refusal.code}]
            }
        return super().error_document(ctx, refusal)


@choice("http.validation-status")
class InvalidAsUnauthenticated(Behaviour):
    """A body or query that is wrong is answered 401, as any 4xx will do."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        wrong = refusal.kind in VALIDATION and refusal.kind not in ("duplicate_wallet", "insufficient_funds")
        return 401 if wrong else super().refusal_status(ctx, refusal)


@choice("http.validation-status")
class TerseErrors(Behaviour):
    """Validation failures are answered with a bare JSON string and all refusals with other statuses."""

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


@choice("body.unknown-fields")
class NoUnknownFields(Behaviour):
    """Unknown and server-owned fields are refused, on PATCH too."""

    def check_together(self, ctx: Context) -> None:
        super().check_together(ctx)
        known = {field.name for field in FIELDS[ctx.operation]}
        for name in ctx.body:
            if name not in known:
                raise self.invalid(ctx, Field("a field"), "unknown_field", "is unknown")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("duplicate member")
    return dict(pairs)


@choice("body.legal-oddities")
class StrictJson(Behaviour):
    """Duplicate members, NUL, and numbers that no double holds are refused."""

    def parse_json(self, ctx: Context, text: str) -> Any:
        if "\\u0000" in text or re.search(
            r"[0-9]{40}|[eE][+]?[0-9]{3}", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        ):
            raise ValueError("odd")
        return json_text.load(text, parse_constant=self.on_constant, object_pairs_hook=_no_duplicates)


@choice("body.legal-oddities")
class SurrogatesReplaced(Behaviour):
    """An unpaired surrogate is taken as the replacement character."""

    def parse_json(self, ctx: Context, text: str) -> Any:
        return _whole(super().parse_json(ctx, text))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, dict):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


@choice("body.content-type")
class JsonDeclared(Behaviour):
    """A body has to be declared as JSON."""

    def check_content_type(self, ctx: Context) -> None:
        declared = (ctx.header(b"content-type") or "").partition(";")[0].strip().lower()
        if declared != "application/json":
            made = Refusal("malformed_body", code="unsupported_media_type")
            made.status = 415
            raise made


@choice("fields.lenient-values")
class CodesInAnyCase(Behaviour):
    """Lower-case codes are taken and turned into capitals."""

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        super().check_country(ctx, field, value.upper() if value.isascii() else value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        super().check_currency(ctx, field, value.upper() if value.isascii() else value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        if field.kind in ("country", "currency") and isinstance(value, str):
            value = value.upper()
        return super().kept_value(ctx, field, value)


@choice("fields.lenient-values")
class SyntaxChecked(Behaviour):
    """E-mail addresses and phone numbers have to look like some, and no text may be empty."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value)
        if not isinstance(value, str):
            return
        local, _, domain = value.rpartition("@")
        labels = domain.split(".")
        email = (
            0 < len(local) <= 64
            and len(labels) > 1
            and len(value) <= 254
            and all(re.fullmatch("[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label) for label in labels)
        )
        if (
            not value.strip()
            or (field.name == "email" and not email)
            or (field.name == "phone" and not re.fullmatch(r"\+[1-9][0-9]{6,14}", value))
        ):
            raise self.invalid(ctx, field, "malformed", "is malformed")


@choice("fields.lenient-values")
class SpacesTrimmed(Behaviour):
    """Spaces around a text are dropped."""

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        value = super().kept_value(ctx, field, value)
        return value.strip() if isinstance(value, str) else value


@choice("fields.null-optional")
class NoNulls(Behaviour):
    """No field may be null."""

    def check_null(self, ctx: Context, field: Field) -> None:
        raise self.invalid(ctx, field, "null_field", "may not be null")


@choice("beneficiary.update-no-body")
class NoBodyIsEmpty(Behaviour):
    """A PATCH without a body counts as one with an empty object."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        if ctx.operation == "updateBeneficiary" and not ctx.request.body:
            return {}
        return super().parse_body(ctx)


@choice("fields.address-members")
class AnyAddress(Behaviour):
    """An address may have any members, or none, but for texts that are none; they are kept as they came."""

    def check_address(self, ctx: Context, field: Field, value: dict[str, Any]) -> None:
        for name in field.members:
            if value.get(name) is not None:
                self.check_type(ctx, Field(f"{field.name}.{name}"), value[name])

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return value


@choice("fields.max-length-astral")
class LengthInUtf16(Behaviour):
    """Characters beyond the basic plane count twice, as in Java and JavaScript."""

    def length(self, ctx: Context, value: str) -> int:
        return len(value.encode("utf-16-le", "surrogatepass")) // 2


@choice("fields.amount-odd")
class AnyDecimal(Behaviour):
    """Exponents, plus signs and missing digits are read as the numbers they stand for."""

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
    """Amounts have at most fifteen digits and two decimals, and show as many."""

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        super().check_amount(ctx, field, value)
        if not re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,2})?", value):
            raise self.invalid(ctx, field, "too_precise", "has too many digits")

    def amount_text(self, ctx: Context, record: dict[str, Any]) -> Any:
        return format(Decimal(record["amount"]).quantize(Decimal("0.01")), "f")


@choice(breaks=("fields.unassigned-code", "fields.currency-kind"))
class UnassignedCodes(Behaviour):
    """Codes are only looked at for their form."""

    def check_assigned(self, ctx: Context, field: Field, value: str, assigned: frozenset[str]) -> None:
        assert assigned in (COUNTRIES, CURRENCIES)


@choice(breaks=("fields.optional-type",))
class OptionalTypesIgnored(Behaviour):
    """An optional field of another type is taken as not sent."""

    def check_field(self, ctx: Context, field: Field) -> None:
        required = any(
            described.name == field.name and described.required for described in FIELDS["createBeneficiary"]
        )
        try:
            super().check_field(ctx, field)
        except Refusal as refusal:
            if refusal.code != "wrong_type" or field.required or required or field.kind == "enum":
                raise


@choice("http.validation-status")
class NullErrors(Behaviour):
    """The body of a validation failure is null."""

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        return None if refusal.kind in VALIDATION else super().error_document(ctx, refusal)
