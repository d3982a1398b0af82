"""Representation of answers: words, statuses, headers, members, precision, null and absent members."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer
from tests.support.overrides import Usual, with_document

from .choice import choice, demand, times, with_members


@choice(seam="finish")
def not_acceptable(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Answers 406, in plain text, where Accept leaves JSON out."""
    accepted = ctx.header(b"accept") or "*/*"
    if re.search(r"\*/\*|application/(\*|json)", accepted):
        return usual(ctx, response)
    return Response(406, [(b"content-type", b"text/plain")], b"Not acceptable")


@choice(seam="error_message")
def messages_translated(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> str:
    """Writes the messages of errors in another language than English where one is asked for."""
    asked = ctx.header(b"accept-language") or "en"
    return usual(ctx, refusal) if asked.startswith("en") else "Die Anfrage wurde abgelehnt."


@choice("http.extra-fields")
class MembersThatChange(Behaviour):
    """Adds members to every answer, errors and replays included, that differ each time."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**super().shape(ctx, kind, document), "etag": uuid.uuid4().hex, "age": ctx.now}

    def bank_details(self, ctx: Context) -> dict[str, Any]:
        return {**super().bank_details(ctx), "verified_at": ctx.now}

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        return {**super().item(ctx, kind, record), "etag": uuid.uuid4().hex}

    def finish(self, ctx: Context, response: Response) -> Response:
        return with_members(super().finish(ctx, response), request_id=str(uuid.uuid4()), served=ctx.now)


@choice("http.extra-fields", seam="finish")
def members_everywhere(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Adds the interface and the environment to every answer, errors included."""
    return with_members(usual(ctx, response), livemode=False, api_version="2025-03-01")


# ---------------------------------------------------------------------- precision


class _StoredCoarsely(Behaviour):
    """Answers a change in microseconds from memory, and reads it in milliseconds from the database."""

    def stored(self, instant: int) -> int:
        """Returns a timestamp as the database stores it."""
        return instant

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        assert ctx.record is not None
        kept = {**ctx.record, **self._stamps(ctx.record)}
        ctx.store.change("UPDATE resources SET created = ? WHERE id = ?", kept["created"], kept["id"])
        ctx.store.update(kept)

    def write_beneficiary(self, ctx: Context, record: Record) -> None:
        super().write_beneficiary(ctx, record)
        ctx.store.update({**record, **self._stamps(record)})

    def _stamps(self, record: Record) -> dict[str, int]:
        return {name: self.stored(int(record[name])) for name in ("created", "updated")}

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        whole = instant is not None and instant % 1000 == 0
        return f"{text[:-4]}Z" if text and whole else text


@choice()
class MillisecondsCut(_StoredCoarsely):
    """Truncates to milliseconds."""

    def stored(self, instant: int) -> int:
        return instant // 1000 * 1000


@choice()
class MillisecondsRounded(_StoredCoarsely):
    """Rounds to milliseconds."""

    def stored(self, instant: int) -> int:
        return (instant + 500) // 1000 * 1000


@choice(seam="timestamp_text")
def digits_by_method(self: Behaviour, usual: Usual, ctx: Context, instant: int | None) -> str | None:
    """Shows whole seconds in answers to POST and PATCH, microseconds in answers to GET."""
    text = usual(ctx, instant)
    return text if text is None or ctx.request.method == "GET" else f"{text[:19]}Z"


# ---------------------------------------------------------------------- null and absent


@choice(seam="bank_details")
def null_bank_details(self: Behaviour, usual: Usual, ctx: Context) -> dict[str, Any]:
    """Shows inapplicable bank details as null."""
    names = ("ibans", "iban", "bic", "bank_name", "account_number", "routing_number")
    return {**dict.fromkeys(names), **usual(ctx)}


@choice(seam="item_fields")
def short_list_items(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> Sequence[str]:
    """Shows only the required members in list items."""
    optional = {"account": {"object"}, "payout_destination": {"label", "network", "account_number_last4"}}
    return [name for name in usual(ctx, kind) if name not in optional.get(kind, ())]


@choice(seam="destinations")
def embedded_list_form(
    self: Behaviour, usual: Usual, ctx: Context, record: Record
) -> list[Mapping[str, Any]]:
    """Shows the destinations in a beneficiary in the list form."""
    whole = usual(ctx, record)
    names = self.item_fields(ctx, "payout_destination")
    return [{name: destination[name] for name in names if name in destination} for destination in whole]


@choice(seam="replayed")
def scaled_replays(self: Behaviour, usual: Usual, ctx: Context, answer: Answer) -> Response | None:
    """Builds replayed answers from the row, whose amounts have eight decimals."""
    response = usual(ctx, answer)
    if response is None or not isinstance(response.document, dict):
        return response
    amounts = {
        name: format(Decimal(response.document[name]).quantize(Decimal("0.00000001")), "f")
        for name in ("amount", "amount_in_usd")
        if name in response.document and len(response.document[name]) < 20
    }
    return with_document(response, {**response.document, **amounts}) if amounts else response


# ---------------------------------------------------------------------- words, statuses and headers


#: Error types and codes that section 7 fixes.
_FIXED = (
    "authentication_error", "validation_error", "idempotency_error", "missing_headers", "timestamp_too_old",
    "nonce_replay", "invalid_signature", "invalid_idempotency_key", "idempotency_key_conflict",
)  # fmt: skip


@choice("http.extra-fields")
class OtherWords(Behaviour):
    """Writes long error messages in other languages and numbers them; types and codes not fixed by section 7
    are not words."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        return (
            "\u8981\u6c42\u306f\u62d2\u5426\u3055\u308c\u307e\u3057\u305f\u3002\nBitte pr\u00fcfen "
            f"(Vorgang {times(self, 'other words')}). <b>Nein</b> \U0001f645" + " \u0445" * 150
        )

    def error_type(self, ctx: Context, refusal: Refusal) -> str:
        usual = super().error_type(ctx, refusal)
        return usual if usual in _FIXED else "https://errors.example/\u0442\u0438\u043f\u044b#1"

    def error_code(self, ctx: Context, refusal: Refusal) -> str:
        usual = super().error_code(ctx, refusal)
        return usual if usual in _FIXED else "E-4711 / Zugriff"

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        if not isinstance(document, dict) or "error" not in document:
            return document  # another choice has a form of its own
        error = document["error"]
        return {
            "status": "error",
            "errors": [error],
            "error": {**error, "details": [{"field": None}], "param": None},
        }


@choice("http.success-status", "http.validation-status", "http.extra-fields")
class OddStatuses(Behaviour):
    """Uses an unexpected status where it is open, for refusals several in turn."""

    odd = (400, 402, 405, 406, 409, 410, 411, 412, 414, 415, 417, 418, 422, 424, 426, 428, 431, 451, 499)

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        usual = super().refusal_status(ctx, refusal)
        return (
            usual if usual in (401, 403, 404, 413) else self.odd[times(self, "odd statuses") % len(self.odd)]
        )

    def success_status(self, ctx: Context) -> int:
        odd = {"createPayout": 202, "createWallet": 203, "getBeneficiary": 203, "disableBeneficiary": 207}
        odd |= {"listWallets": 206, "updateBeneficiary": 226}
        return odd.get(ctx.operation) or super().success_status(ctx)


@choice(seam="finish")
def white_space(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Indents answers, with CRLF line ends and surrounding white space."""
    response = usual(ctx, response)
    text = json.dumps(json.loads(response.body), ensure_ascii=False, indent=3)
    response.body = b"\r\n\t " + text.replace("\n", "\r\n").encode() + b"\r\n\r\n"
    return response


@choice(seam="finish")
def repeated_headers(self: Behaviour, usual: Usual, ctx: Context, response: Response) -> Response:
    """Adds gateway headers, some repeated, some without meaning here."""
    response = usual(ctx, response)
    response.headers += [header for header in response.headers if header[0].lower() == b"date"]
    response.headers += [
        (b"vary", b"Accept"),
        (b"vary", b"Origin"),
        (b"set-cookie", b"lb=1; Path=/"),
        (b"set-cookie", b"session=2"),
        (b"content-language", b"de"),
        (b"x-request-id", b"1" * 400),
        (b"age", b"3"),
        (b"retry-after", b"5"),
        (b"www-authenticate", b'HMAC realm="accounts"'),
    ]
    return response


@demand(seam="check_value")
def plain_texts(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Requires phone numbers in E.164 format, and texts of a single line."""
    odd = isinstance(value, str) and any(character < " " for character in value)
    return odd or (field.name == "phone" and not re.fullmatch(r"\+[0-9]{6,49}", value))


@choice("http.extra-fields", seam="error_message")
def echoing_errors(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> str:
    """Repeats the request line, nonce and signature in error messages."""
    line = f"{ctx.request.method} {ctx.request.target.decode('latin-1')}"
    sent = ", ".join(ctx.header(name) or "-" for name in (b"x-nonce", b"x-signature"))
    return f"{usual(ctx, refusal)} Got {line} ({sent})."
