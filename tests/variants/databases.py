"""Databases: ids, timestamps, order, and rows that exist already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import KINDS

from .choice import Usual, choice, stated, varied


@choice(seam="new_id")
def serial_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Numbers the rows of each table from 1."""
    rows = ctx.store.query("SELECT COUNT(*) FROM resources WHERE kind = ?", kind)
    return f"{PREFIXES[kind]}{rows[0][0] + 1}"


class _DatabaseClock(Behaviour):
    """Takes timestamps from the database, whose clock differs from the web server's."""

    #: Offset in microseconds.
    ahead = 0

    def instant(self, ctx: Context) -> int:
        return super().instant(ctx) + self.ahead


DatabaseAhead = varied(
    "DatabaseAhead", "Sets the database's clock four minutes ahead.", _DatabaseClock, ahead=240_000_000
)
DatabaseBehind = varied(
    "DatabaseBehind", "Sets the database's clock four minutes behind.", _DatabaseClock, ahead=-240_000_000
)


@choice(seam="timestamp_text")
def nanoseconds_then_microseconds(
    self: Behaviour, usual: Usual, ctx: Context, instant: int | None
) -> str | None:
    """Answers a write in nanoseconds; the database rounds them to microseconds."""
    text = usual(ctx, instant)
    new = ctx.record is not None and instant == ctx.record["created"] == self.instant(ctx)
    if text is None or len(text) != 27 or not new:
        return text
    return f"{text[:-1]}{ctx.now % 500:03d}Z"


class _Ordered(Behaviour):
    """Orders lists by a column."""

    #: Returns the sort key of an element.
    order: Callable[[Record], tuple[Any, ...]] = staticmethod(lambda record: ())

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = sorted(super().fetch(ctx, listing), key=self.order)
        return records[offset:] if limit < 0 else records[offset : offset + limit]


LastChangedFirst = varied(
    "LastChangedFirst",
    "Lists the most recently updated elements first.",
    _Ordered,
    "list.order",
    order=staticmethod(lambda record: (-int(record["updated"]), record["id"])),
)
ByName = varied(
    "ByName",
    "Orders lists by name or label.",
    _Ordered,
    "list.order",
    order=staticmethod(lambda record: (record.get("name") or record.get("label") or "", record["id"])),
)


# ---------------------------------------------------------------------- existing resources


class _Found(Behaviour):
    """Returns an existing equal resource instead of creating another."""

    #: Operation -> the fields in which equal resources are equal.
    equal: ClassVar[dict[str, tuple[str, ...]]] = {}

    def create(self, ctx: Context) -> None:
        for equal in stated(self, "equal"):
            names = equal.get(ctx.operation)
            for other in ctx.store.select(KINDS[ctx.operation], self.parent(ctx)["id"]) if names else ():
                if all(ctx.values.get(name) == other.get(name) for name in names):
                    ctx.record = other
                    return
        super().create(ctx)


AccountsFound = varied(
    "AccountsFound",
    "Returns the customer's existing account of the same name.",
    _Found,
    equal={"createAccount": ("name",)},
)
PeopleFound = varied(
    "PeopleFound",
    "Returns the account's existing beneficiary with the same e-mail address.",
    _Found,
    equal={"createBeneficiary": ("email",)},
)
VirtualAccountsFound = varied(
    "VirtualAccountsFound",
    "Returns the existing virtual account with the same currency and label.",
    _Found,
    equal={"createVirtualAccount": ("currency", "label")},
)


# ---------------------------------------------------------------------- updates without a change


@choice(seam="update_beneficiary")
def unchanged_stays(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Leaves `updated` unchanged on a PATCH with the current values."""
    assert ctx.beneficiary is not None
    if all(ctx.beneficiary.get(name) == value for name, value in ctx.values.items()):
        ctx.record = ctx.beneficiary
    else:
        usual(ctx)


@choice("beneficiary.disable-twice", seam="disable_beneficiary")
def disabled_stays(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Leaves `updated` unchanged on a second disable."""
    assert ctx.beneficiary is not None
    if ctx.beneficiary["status"] == "disabled":
        ctx.record = ctx.beneficiary
    else:
        usual(ctx)


@choice("idempotency.key-elsewhere", seam="idempotent")
def keys_everywhere(self: Behaviour, usual: Usual, ctx: Context) -> bool:
    """Replays answers to GET and PATCH by idempotency key, as for POST."""
    return usual(ctx) or ctx.header(b"idempotency-key") is not None


@choice("idempotency.key-forms", seam="parse_key")
def empty_key_is_none(self: Behaviour, usual: Usual, ctx: Context, text: str) -> str | None:
    """Treats an empty idempotency key as none, and performs the request."""
    return usual(ctx, text) if text.strip() else None
