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
from tests.support.overrides import Usual

from .bodies import NoBodyIsEmpty
from .choice import choice, demand


@choice("auth.missing-header-status", "auth.unknown-key-status", seam="refusal_status")
def unauthenticated_otherwise(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers a missing header with 400 and an unknown key with 403."""
    others = {"missing_headers": 400, "unknown_key": 403}
    return others.get(refusal.kind) or usual(ctx, refusal)


@choice("auth.signature-hidden", seam="error_message")
def signature_shown(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> str:
    """Shows the expected signature when refusing a wrong one, for debugging."""
    message = usual(ctx, refusal)
    if refusal.kind != "invalid_signature" or ctx.organization is None:
        return message
    return f"{message} Expected {signing.signature(self.signing_secret(ctx), self.signature_string(ctx))}"


@demand("idempotency.key-other-uuids", seam="parse_key", kind="invalid_idempotency_key")
def random_uuids_only(self: Behaviour, ctx: Context, text: str) -> object:
    """Requires version 4 UUIDs in lower case as keys."""
    return text.strip() and (text != text.lower() or text[14] != "4")


@choice(
    "idempotency.equivalent-body",
    "idempotency.conflict-equivalent",
    "idempotency.conflict-no-body",
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


@choice("tenancy.payout-references-status", seam="refusal_status")
def references_invalid(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers a payout to an unknown payee as a validation error."""
    named = refusal.kind in ("payout_beneficiary", "payout_destination", "payout_destination_owner")
    return 422 if named else usual(ctx, refusal)


@choice("tenancy.payout-destination-owner", seam="on_payout_destination_owner")
def any_destination_of_the_account(self: Behaviour, usual: Usual, ctx: Context, destination: Any) -> None:
    """Accepts a destination of another beneficiary of the account in a payout."""


@choice("fields.payin-amount-positive", seam="check_amount")
def payins_of_any_amount(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: str) -> None:
    """Accepts a payin of zero."""
    if ctx.operation != "createPayin" or not re.fullmatch(r"0+(\.0+)?", value):
        usual(ctx, field, value)


@choice("payout.amount-in-usd", seam="amount_in_usd")
def no_rates_yet(self: Behaviour, usual: Usual, ctx: Context) -> str:
    """Shows zero as amount_in_usd until an exchange rate is available."""
    return "0.00"


@choice("create.text-exact", "beneficiary.update-text-exact", seam="kept_value")
def texts_composed(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Normalizes texts to NFC."""
    value = usual(ctx, field, value)
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@demand("fields.max-length-astral", "create.text-exact", seam="check_characters")
def basic_plane_only(self: Behaviour, ctx: Context, field: Field, value: str) -> object:
    """Refuses characters outside the Basic Multilingual Plane."""
    return any(character > "\uffff" for character in value)


@choice("beneficiary.update-moves-updated", seam="patched")
def updated_stays(self: Behaviour, usual: Usual, ctx: Context, record: Record) -> Record:
    """Updates `updated` only on disable."""
    return {**usual(ctx, record), "updated": record["updated"]}


@demand(
    "beneficiary.update-no-body", "beneficiary.update-empty", seam="check_together", kind="body_not_object"
)
def empty_patch_refused(self: Behaviour, ctx: Context) -> object:
    """Refuses a PATCH without fields."""
    return ctx.operation == "updateBeneficiary" and not ctx.values


@choice("tenancy.and-validation", "beneficiary.update-empty", seam="resolve")
def empty_patch_refused_first(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses a PATCH without fields before it resolves the path."""
    if ctx.operation == "updateBeneficiary" and ctx.request.body == b"{}":
        raise Refusal("body_not_object", "Nothing to change.")
    usual(ctx)


@choice("beneficiary.update-company-name", seam="check_company_name")
def business_without_name(self: Behaviour, usual: Usual, ctx: Context, fields: Record) -> None:
    """Lets a PATCH remove the company name of a business."""
    if ctx.operation != "updateBeneficiary":
        usual(ctx, fields)


@demand("http.charset-parameter", seam="check_content_type", kind="malformed_body", status=415)
def plain_content_type_only(self: Behaviour, ctx: Context) -> object:
    """Requires the content type `application/json` without parameters."""
    return ";" in (ctx.header(b"content-type") or "")


@demand("http.chunked-body", seam="authenticate", kind="malformed_body", status=411)
def length_required(self: Behaviour, ctx: Context) -> object:
    """Requires Content-Length for a body (RFC 9110, 15.5.12)."""
    return ctx.header(b"transfer-encoding") is not None


@choice("http.chunked-body")
class ReadsNoChunks(NoBodyIsEmpty):
    """Takes a body without a Content-Length for none, as a WSGI application does."""

    def authenticate(self, ctx: Context) -> None:
        if ctx.header(b"transfer-encoding") is not None:
            ctx.request = replace(ctx.request, body=b"")
        super().authenticate(ctx)


@choice("destination.masked-enough", seam="masked")
def barely_masked(self: Behaviour, usual: Usual, ctx: Context, value: Any) -> str | None:
    """Masks five characters in the middle of a value, of a short one half of it."""
    text = "" if value is None else str(value)
    return None if value is None else f"{text[: min(4, len(text) // 2)]}*****{text[9:]}"


@choice("list.plain-integers", seam="list_document")
def numbers_as_floats(self: Behaviour, usual: Usual, ctx: Context) -> Any:
    """Writes the numbers of a list's envelope as 63.0, as encoders without integers do."""
    return {name: float(value) if isinstance(value, int) else value for name, value in usual(ctx).items()}
