"""Base of all seams: transactions, time, identifiers and refusals."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal

#: Kind of resource -> prefix of its id (section 2).
PREFIXES = {
    "customer": "cus_",
    "account": "acc_",
    "beneficiary": "bene_",
    "payout_destination": "dest_",
    "payout": "po_",
    "virtual_account": "va_",
    "wallet": "wal_",
    "payin": "pin_",
}

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def random_text(alphabet: str, length: int) -> str:
    """A text of random characters of an alphabet of at most 256, almost equally frequent."""
    return "".join(alphabet[byte % len(alphabet)] for byte in secrets.token_bytes(length))


class Base:
    """Common seams. Every seam takes the context, so an override can be limited to one operation."""

    #: Fractional digits of timestamps: 0, 3 or 6. Open (format.timestamp).
    timestamp_digits = 6
    #: Length of the random part of an id. Open.
    id_length = 24
    #: Maximum size of a request body in bytes, above which it is refused with 413. Open (section 8).
    body_limit = 2 * 1024 * 1024

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        """Makes the decisions and effects of a request atomic: auth.nonce-race, idempotency.race,
        wallet.race. A null context lets concurrent requests interfere."""
        return ctx.store.transaction()

    # ------------------------------------------------------------------ time and identifiers

    def instant(self, ctx: Context) -> int:
        """The current time in microseconds, truncated to the precision of timestamps, so that list.start-date
        and list.end-date hold for the shown value."""
        step: int = 10 ** (6 - self.timestamp_digits)
        return ctx.now // step * step

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        """A time as ISO 8601 in UTC with Z: format.timestamp."""
        if instant is None:
            return None
        seconds, micros = divmod(instant, 1_000_000)
        text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        fraction = f".{micros:06d}"[: 1 + self.timestamp_digits] if self.timestamp_digits else ""
        return f"{text}{fraction}Z"

    def new_id(self, ctx: Context, kind: str) -> str:
        """A new identifier: format.id, format.account-id, format.id-unique."""
        return PREFIXES.get(kind, f"{kind}_") + random_text(_BASE36, self.id_length)

    # ------------------------------------------------------------------ refusals

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        """The status of a refusal: auth.missing-header-status, auth.timestamp-window,
        tenancy.foreign-parent, tenancy.unknown-parent; open for validation (http.validation-status)."""
        return refusal.status

    def error_type(self, ctx: Context, refusal: Refusal) -> str:
        """The type of an error: authentication_error, validation_error, idempotency_error (section 7)."""
        return refusal.type

    def error_code(self, ctx: Context, refusal: Refusal) -> str:
        """The code of an error (section 7): auth.missing-header, auth.nonce-replay, auth.signature,
        idempotency.key-invalid, idempotency.conflict; open for others (auth.unspecified-codes)."""
        return refusal.code

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        """The message of an error, without anything that was sent: secrets.hidden, tenancy.no-leak."""
        return refusal.message

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        """The body of an error: error.shape."""
        error = {
            "type": self.error_type(ctx, refusal),
            "code": self.error_code(ctx, refusal),
            "message": self.error_message(ctx, refusal),
        }
        if refusal.field is not None:
            error["field"] = refusal.field
        return {"error": error}

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        """The answer to a refused request."""
        reason = f"{refusal.code} ({refusal.field})" if refusal.field else refusal.code
        response = Response.of(self.refusal_status(ctx, refusal), self.error_document(ctx, refusal), reason)
        response.headers.extend(refusal.headers)
        return response

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        """Called before a refusal is answered; does nothing: refusal.changes-nothing. An override lets a
        refused request have effects, which are committed: `ctx.values = {"name": "x"}; self.act(ctx)`."""

    def on_broken_off(self, ctx: Context) -> None:
        """Refuses a request that broke off within its body, which nobody hears: idempotency.hang-up."""
        raise Refusal("broken_off")

    # ------------------------------------------------------------------ the answer

    def common_headers(self, ctx: Context) -> list[tuple[bytes, bytes]]:
        """Headers of every answer: Date, from the server's clock (RFC 9110, 6.6.1)."""
        return [(b"date", ctx.server.date(ctx.now // 1_000_000))]

    def finish(self, ctx: Context, response: Response) -> Response:
        """Called last with every answer, including replays and refusals: http.content-type,
        http.success-json, http.no-server-error, http.lost-requests. Its changes are not stored under an
        idempotency key."""
        return response

    # ------------------------------------------------------------------ stored records

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        """The resource of a kind and id, of any owner."""
        return ctx.store.get(kind, identifier)

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        """Called last with a resource before it is shown: format.fields, format.nullable, format.enum.
        Inapplicable destination fields may be null or absent (open: format.inapplicable-fields), and
        undocumented fields are allowed (open: http.extra-fields)."""
        return document
