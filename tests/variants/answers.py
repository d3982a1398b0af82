"""Variation between answers: undocumented members, timestamp precision, null and absent members."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.store import Answer

from .choice import Usual, choice, with_members


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
    return response.with_document({**response.document, **amounts}) if amounts else response
