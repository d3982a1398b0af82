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
from .choice import Usual, choice, other


@choice(breaks=("auth.missing-header-status", "auth.unknown-key-status"), seam="refusal_status")
def unauthenticated_otherwise(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers a missing header with 400 and an unknown key with 403."""
    others = {"missing_headers": 400, "unknown_key": 403}
    return others.get(refusal.kind) or usual(ctx, refusal)


@choice(breaks=("auth.signature-hidden",), seam="error_message")
def signature_shown(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> str:
    """Shows the expected signature when refusing a wrong one, for debugging."""
    message = usual(ctx, refusal)
    if refusal.kind != "invalid_signature" or ctx.organization is None:
        return message
    return f"{message} Expected {signing.signature(self.signing_secret(ctx), self.signature_string(ctx))}"


@choice(breaks=("idempotency.key-other-uuids",), seam="parse_key")
def random_uuids_only(self: Behaviour, usual: Usual, ctx: Context, text: str) -> str | None:
    """Requires version 4 UUIDs in lower case as keys."""
    key = usual(ctx, text)
    if key is not None and (text != text.lower() or text[14] != "4"):
        raise Refusal("invalid_idempotency_key")
    return key


@choice(
    "idempotency.equivalent-body",
    breaks=("idempotency.conflict-equivalent", "idempotency.conflict-no-body"),
    seam="fingerprint",
)
def parsed_bodies_compared(self: Behaviour, usual: Usual, ctx: Context) -> bytes:
    """Compares the bodies of a repeated key by the values of known fields, without nulls."""
    known = [field.name for field in FIELDS.get(ctx.operation, ())]
    try:
        body = json_text.load(ctx.request.body or b"{}")
        values = {name: body[name] for name in known if body.get(name) not in (None, False)}
    except (ValueError, AttributeError):
        return usual(ctx)
    return json.dumps(values, sort_keys=True).encode()


@choice(breaks=("tenancy.payout-references-status",), seam="refusal_status")
def references_invalid(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers a payout to an unknown payee as a validation error."""
    named = refusal.kind in ("payout_beneficiary", "payout_destination", "payout_destination_owner")
    return 422 if named else usual(ctx, refusal)


@choice(breaks=("tenancy.payout-destination-owner",), seam="on_payout_destination_owner")
def any_destination_of_the_account(
    self: Behaviour, usual: Usual, ctx: Context, destination: Record | None
) -> None:
    """Accepts a destination of another beneficiary of the account in a payout."""
    return None


@choice(breaks=("fields.payin-amount-positive",), seam="check_amount")
def payins_of_any_amount(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: str) -> None:
    """Accepts a payin of zero."""
    if ctx.operation != "createPayin" or not re.fullmatch(r"0+(\.0+)?", value):
        usual(ctx, field, value)


@choice(breaks=("payout.amount-in-usd",), seam="amount_in_usd")
def no_rates_yet(self: Behaviour, usual: Usual, ctx: Context) -> str:
    """Shows zero as amount_in_usd until an exchange rate is available."""
    return "0.00"


@choice(breaks=("create.text-exact", "beneficiary.update-text-exact"), seam="kept_value")
def texts_composed(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Normalizes texts to NFC."""
    value = usual(ctx, field, value)
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@choice("fields.max-length-astral", breaks=("create.text-exact",), seam="check_characters")
def basic_plane_only(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: str) -> None:
    """Refuses characters outside the Basic Multilingual Plane."""
    usual(ctx, field, value)
    if any(character > "\uffff" for character in value):
        raise self.invalid(ctx, field, "invalid_characters", "holds characters outside the basic plane")


@choice(breaks=("beneficiary.update-moves-updated",), seam="patched")
def updated_stays(self: Behaviour, usual: Usual, ctx: Context, record: Record) -> Record:
    """Updates `updated` only on disable."""
    return {**usual(ctx, record), "updated": record["updated"]}


@choice("beneficiary.update-no-body", breaks=("beneficiary.update-empty",), seam="check_together")
def empty_patch_refused(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a PATCH without fields."""
    usual(ctx)
    if ctx.operation == "updateBeneficiary" and not ctx.values:
        raise Refusal("body_not_object", "Nothing to change.")


@choice("tenancy.and-validation", breaks=("beneficiary.update-empty",), seam="resolve")
def empty_patch_refused_first(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a PATCH without fields before it resolves the path."""
    if ctx.operation == "updateBeneficiary" and ctx.request.body == b"{}":
        raise Refusal("body_not_object", "Nothing to change.")
    usual(ctx)


@choice(breaks=("beneficiary.update-company-name",), seam="check_company_name")
def business_without_name(self: Behaviour, usual: Usual, ctx: Context, fields: Record) -> None:
    """Lets a PATCH remove the company name of a business."""
    if ctx.operation != "updateBeneficiary":
        usual(ctx, fields)


@choice(breaks=("http.charset-parameter",), seam="check_content_type")
def plain_content_type_only(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Requires the content type `application/json` without parameters."""
    usual(ctx)
    if ";" in (ctx.header(b"content-type") or ""):
        raise other("malformed_body", 415, "validation_error", "unsupported_media_type")


@choice(breaks=("http.chunked-body",), seam="authenticate")
def length_required(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Requires Content-Length for a body (RFC 9110, 15.5.12)."""
    usual(ctx)
    if ctx.header(b"transfer-encoding") is not None:
        raise other("malformed_body", 411, "validation_error", "length_required")


@choice(breaks=("http.chunked-body",))
class ReadsNoChunks(NoBodyIsEmpty):
    """Takes a body without a Content-Length for none, as a WSGI application does."""

    def authenticate(self, ctx: Context) -> None:
        if ctx.header(b"transfer-encoding") is not None:
            ctx.request = replace(ctx.request, body=b"")
        super().authenticate(ctx)


@choice(breaks=("destination.masked-enough",), seam="masked")
def half_masked(self: Behaviour, usual: Usual, ctx: Context, value: Any) -> str | None:
    """Masks only half of a value."""
    if value is None:
        return None
    text = str(value)
    return "*" * (len(text) - len(text) // 2) + text[len(text) - len(text) // 2 :]
