"""Unusual but allowed choices: words, statuses, headers, white space, sizes."""

from __future__ import annotations

import json
import re
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal

from .choice import Usual, choice, demand, times

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
