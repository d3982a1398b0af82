"""Databases: ids, timestamps, order, and rows that exist already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import KINDS

from .choice import Usual, choice


@choice()
class SerialIds(Behaviour):
    """Numbers the rows of each table from 1."""

    def new_id(self, ctx: Context, kind: str) -> str:
        rows = ctx.store.query("SELECT COUNT(*) FROM resources WHERE kind = ?", kind)
        return f"{PREFIXES[kind]}{rows[0][0] + 1}"


class _DatabaseClock(Behaviour):
    """Takes timestamps from the database, whose clock differs from the web server's."""

    #: Offset in microseconds.
    ahead = 0

    def instant(self, ctx: Context) -> int:
        return super().instant(ctx) + self.ahead


@choice()
class DatabaseAhead(_DatabaseClock):
    """Sets the database's clock four minutes ahead."""

    ahead = 240_000_000


@choice()
class DatabaseBehind(_DatabaseClock):
    """Sets the database's clock four minutes behind."""

    ahead = -240_000_000


@choice()
class NanosecondsThenMicroseconds(Behaviour):
    """Answers a write in nanoseconds; the database rounds them to microseconds."""

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        new = ctx.record is not None and instant == ctx.record["created"] == self.instant(ctx)
        if text is None or len(text) != 27 or not new:
            return text
        return f"{text[:-1]}{ctx.now % 500:03d}Z"


class _Ordered(Behaviour, ABC):
    """Orders lists by a column."""

    @abstractmethod
    def order(self, record: Record) -> tuple[Any, ...]:
        """Returns the sort key of an element."""

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = sorted(super().fetch(ctx, listing), key=self.order)
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@choice("list.order")
class LastChangedFirst(_Ordered):
    """Lists the most recently updated elements first."""

    def order(self, record: Record) -> tuple[Any, ...]:
        return (-int(record["updated"]), record["id"])


@choice("list.order")
class ByName(_Ordered):
    """Orders lists by name or label."""

    def order(self, record: Record) -> tuple[Any, ...]:
        return (record.get("name") or record.get("label") or "", record["id"])


# ---------------------------------------------------------------------- existing resources


class _Found(Behaviour):
    """Returns an existing equal resource instead of creating another."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        """Returns a predicate for resources equal to the requested one, or None to create it."""
        return None

    def create(self, ctx: Context) -> None:
        same = self.same(ctx)
        for other in ctx.store.select(KINDS[ctx.operation], self.parent(ctx)["id"]) if same else ():
            assert same is not None
            if same(other):
                ctx.record = other
                return
        super().create(ctx)


def _equal(ctx: Context, *names: str) -> Callable[[Record], bool]:
    return lambda other: all(ctx.values.get(name) == other.get(name) for name in names)


@choice()
class AccountsFound(_Found):
    """Returns the customer's existing account of the same name."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        return _equal(ctx, "name") if ctx.operation == "createAccount" else super().same(ctx)


@choice()
class PeopleFound(_Found):
    """Returns the account's existing beneficiary with the same e-mail address."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        return _equal(ctx, "email") if ctx.operation == "createBeneficiary" else super().same(ctx)


@choice()
class VirtualAccountsFound(_Found):
    """Returns the existing virtual account with the same currency and label."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        created = ctx.operation == "createVirtualAccount"
        return _equal(ctx, "currency", "label") if created else super().same(ctx)


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
