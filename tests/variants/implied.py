"""Choices against implied rules: each earns a warning of its rule, and no failure."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

from conformance.contract import json_text, signing
from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .bodies import NoBodyIsEmpty
from .choice import choice


@choice(breaks=("auth.missing-header-status", "auth.unknown-key-status"))
class UnauthenticatedOtherwise(Behaviour):
    """Answers a missing header with 400 and an unknown key with 403."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        others = {"missing_headers": 400, "unknown_key": 403}
        return others.get(refusal.kind) or super().refusal_status(ctx, refusal)


@choice(breaks=("auth.signature-hidden",))
class SignatureShown(Behaviour):
    """Shows the expected signature when refusing a wrong one, for debugging."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        if refusal.kind != "invalid_signature" or ctx.organization is None:
            return message
        return f"{message} Expected {signing.signature(self.signing_secret(ctx), self.signature_string(ctx))}"


@choice(breaks=("idempotency.key-other-uuids",))
class RandomUuidsOnly(Behaviour):
    """Requires version 4 UUIDs in lower case as keys."""

    def parse_key(self, ctx: Context, text: str) -> str | None:
        key = super().parse_key(ctx, text)
        if key is not None and (text != text.lower() or text[14] != "4"):
            raise Refusal("invalid_idempotency_key")
        return key


@choice(
    "idempotency.equivalent-body", breaks=("idempotency.conflict-equivalent", "idempotency.conflict-no-body")
)
class ParsedBodiesCompared(Behaviour):
    """Compares the bodies of a repeated key by the values of known fields, without nulls."""

    def fingerprint(self, ctx: Context) -> bytes:
        known = [field.name for field in FIELDS.get(ctx.operation, ())]
        try:
            body = json_text.load(ctx.request.body or b"{}")
            values = {name: body[name] for name in known if body.get(name) not in (None, False)}
        except (ValueError, AttributeError):
            return super().fingerprint(ctx)
        return json.dumps(values, sort_keys=True).encode()


@choice(breaks=("tenancy.payout-references-status",))
class ReferencesInvalid(Behaviour):
    """Answers a payout to an unknown payee as a validation error."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        named = refusal.kind in ("payout_beneficiary", "payout_destination", "payout_destination_owner")
        return 422 if named else super().refusal_status(ctx, refusal)


@choice(breaks=("tenancy.payout-destination-owner",))
class AnyDestinationOfTheAccount(Behaviour):
    """Accepts a destination of another beneficiary of the account in a payout."""

    def on_payout_destination_owner(self, ctx: Context, destination: Record | None) -> None:
        return None


@choice(breaks=("fields.payin-amount-positive",))
class PayinsOfAnyAmount(Behaviour):
    """Accepts a payin of zero."""

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        if ctx.operation != "createPayin" or not re.fullmatch(r"0+(\.0+)?", value):
            super().check_amount(ctx, field, value)


@choice(breaks=("payout.amount-in-usd",))
class NoRatesYet(Behaviour):
    """Shows zero as amount_in_usd until an exchange rate is available."""

    def amount_in_usd(self, ctx: Context) -> str:
        return "0.00"


@choice(breaks=("create.text-exact", "beneficiary.update-text-exact"))
class TextsComposed(Behaviour):
    """Normalizes texts to NFC."""

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        value = super().kept_value(ctx, field, value)
        return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@choice("fields.max-length-astral", breaks=("create.text-exact",))
class BasicPlaneOnly(Behaviour):
    """Refuses characters outside the Basic Multilingual Plane."""

    def check_characters(self, ctx: Context, field: Field, value: str) -> None:
        super().check_characters(ctx, field, value)
        if any(character > "\uffff" for character in value):
            raise self.invalid(ctx, field, "invalid_characters", "holds characters outside the basic plane")


@choice(breaks=("beneficiary.update-moves-updated",))
class UpdatedStays(Behaviour):
    """Updates `updated` only on disable."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "updated": record["updated"]}


@choice("beneficiary.update-no-body", breaks=("beneficiary.update-empty",))
class EmptyPatchRefused(Behaviour):
    """Refuses a PATCH without fields."""

    def check_together(self, ctx: Context) -> None:
        super().check_together(ctx)
        if ctx.operation == "updateBeneficiary" and not ctx.values:
            raise Refusal("body_not_object", "Nothing to change.")


@choice("tenancy.and-validation", breaks=("beneficiary.update-empty",))
class EmptyPatchRefusedFirst(Behaviour):
    """Refuses a PATCH without fields before it resolves the path."""

    def resolve(self, ctx: Context) -> None:
        if ctx.operation == "updateBeneficiary" and ctx.request.body == b"{}":
            raise Refusal("body_not_object", "Nothing to change.")
        super().resolve(ctx)


@choice(breaks=("beneficiary.update-company-name",))
class BusinessWithoutName(Behaviour):
    """Lets a PATCH remove the company name of a business."""

    def check_company_name(self, ctx: Context, fields: Record) -> None:
        if ctx.operation != "updateBeneficiary":
            super().check_company_name(ctx, fields)


@choice(breaks=("http.charset-parameter",))
class PlainContentTypeOnly(Behaviour):
    """Requires the content type `application/json` without parameters."""

    def check_content_type(self, ctx: Context) -> None:
        super().check_content_type(ctx)
        if ";" in (ctx.header(b"content-type") or ""):
            refusal = Refusal("malformed_body", code="unsupported_media_type")
            refusal.status = 415
            raise refusal


@choice(breaks=("http.chunked-body",))
class LengthRequired(Behaviour):
    """Requires Content-Length for a body (RFC 9110, 15.5.12)."""

    def authenticate(self, ctx: Context) -> None:
        super().authenticate(ctx)
        if ctx.header(b"transfer-encoding") is not None:
            refusal = Refusal("malformed_body", code="length_required")
            refusal.status = 411
            raise refusal


@choice(breaks=("http.chunked-body",))
class ReadsNoChunks(NoBodyIsEmpty):
    """Takes a body without a Content-Length for none, as a WSGI application does."""

    def authenticate(self, ctx: Context) -> None:
        if ctx.header(b"transfer-encoding") is not None:
            ctx.request = replace(ctx.request, body=b"")
        super().authenticate(ctx)


@choice(breaks=("destination.masked-enough",))
class HalfMasked(Behaviour):
    """Masks only half of a value."""

    def masked(self, ctx: Context, value: Any) -> str | None:
        if value is None:
            return None
        text = str(value)
        return "*" * (len(text) - len(text) // 2) + text[len(text) - len(text) // 2 :]
