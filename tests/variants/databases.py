"""Databases: ids, instants, order, and rows that are there already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import KINDS

from .choice import choice


@choice()
class SerialIds(Behaviour):
    """Each table numbers its rows from 1."""

    def new_id(self, ctx: Context, kind: str) -> str:
        rows = ctx.store.query("SELECT COUNT(*) FROM resources WHERE kind = ?", kind)
        return f"{PREFIXES[kind]}{rows[0][0] + 1}"


class _DatabaseClock(Behaviour):
    """Instants come from the database, whose clock is not that of the web server."""

    #: Microseconds.
    ahead = 0

    def instant(self, ctx: Context) -> int:
        return super().instant(ctx) + self.ahead


@choice()
class DatabaseAhead(_DatabaseClock):
    """The database's clock is four minutes ahead."""

    ahead = 240_000_000


@choice()
class DatabaseBehind(_DatabaseClock):
    """The database's clock is four minutes slow."""

    ahead = -240_000_000


@choice()
class NanosecondsThenMicroseconds(Behaviour):
    """The answer of a write shows nanoseconds, which the database rounds."""

    def timestamp_text(self, ctx: Context, instant: int | None) -> str | None:
        text = super().timestamp_text(ctx, instant)
        new = ctx.record is not None and instant == ctx.record["created"] == self.instant(ctx)
        if text is None or len(text) != 27 or not new:
            return text
        return f"{text[:-1]}{ctx.now % 500:03d}Z"


class _Ordered(Behaviour, ABC):
    """Lists have an order of their own."""

    @abstractmethod
    def order(self, record: Record) -> tuple[Any, ...]:
        """Column by which the elements are ordered."""

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = sorted(super().fetch(ctx, listing), key=self.order)
        return records[offset:] if limit < 0 else records[offset : offset + limit]


@choice("list.order")
class LastChangedFirst(_Ordered):
    """Lists begin with what was changed last."""

    def order(self, record: Record) -> tuple[Any, ...]:
        return (-int(record["updated"]), record["id"])


@choice("list.order")
class ByName(_Ordered):
    """Lists are in the order of names and labels."""

    def order(self, record: Record) -> tuple[Any, ...]:
        return (record.get("name") or record.get("label") or "", record["id"])


# ---------------------------------------------------------------------- what is there already


class _Found(Behaviour):
    """What is there already is answered again and not created."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        """Tells what is the same as the request asks for; None where everything is new."""
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
    """An account of a name that the customer has already is answered with the account that is there."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        return _equal(ctx, "name") if ctx.operation == "createAccount" else super().same(ctx)


@choice()
class PeopleFound(_Found):
    """A beneficiary of an e-mail address that the account knows is answered with the one that is there."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        return _equal(ctx, "email") if ctx.operation == "createBeneficiary" else super().same(ctx)


@choice()
class VirtualAccountsFound(_Found):
    """A virtual account of the same currency and label is answered with the one that is there."""

    def same(self, ctx: Context) -> Callable[[Record], bool] | None:
        created = ctx.operation == "createVirtualAccount"
        return _equal(ctx, "currency", "label") if created else super().same(ctx)


# ---------------------------------------------------------------------- changes that change nothing


@choice()
class UnchangedStays(Behaviour):
    """A PATCH that sends the values there are writes nothing: `updated` stays."""

    def update_beneficiary(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        if all(ctx.beneficiary.get(name) == value for name, value in ctx.values.items()):
            ctx.record = ctx.beneficiary
        else:
            super().update_beneficiary(ctx)


@choice("beneficiary.disable-twice")
class DisabledStays(Behaviour):
    """Disabling what is disabled writes nothing: `updated` stays."""

    def disable_beneficiary(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        if ctx.beneficiary["status"] == "disabled":
            ctx.record = ctx.beneficiary
        else:
            super().disable_beneficiary(ctx)


@choice("idempotency.key-elsewhere")
class KeysEverywhere(Behaviour):
    """A key on GET or PATCH is remembered as that of a POST is: its answer comes again."""

    def idempotent(self, ctx: Context) -> bool:
        return super().idempotent(ctx) or ctx.header(b"idempotency-key") is not None


@choice("idempotency.key-forms")
class EmptyKeyIsNone(Behaviour):
    """An empty key counts as none, and a request that carries one is performed."""

    def parse_key(self, ctx: Context, text: str) -> str | None:
        return super().parse_key(ctx, text) if text.strip() else None
