"""Databases: ids, instants, order, replicas, and rows that are there already."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Condition

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


@choice("read.delay")
class GetsFromReplica(Behaviour):
    """Every GET is answered from a replica that is 1.5 seconds behind: what is newer, parents too, is not
    there yet."""

    behind = 1_500_000

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        record = super().find(ctx, kind, identifier)
        return None if record is not None and self._too_new(ctx, record) else record

    def _too_new(self, ctx: Context, record: Record) -> bool:
        return ctx.request.method == "GET" and bool(record["created"] > ctx.now - self.behind)

    def count(self, ctx: Context, listing: Listing) -> int:
        listing.conditions.append(Condition("created", "<=", ctx.now - self.behind))
        return super().count(ctx, listing)

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        shown = super().destinations(ctx, record)
        rows = ctx.store.select("payout_destination", record["id"])
        return [each for each, row in zip(shown, rows, strict=True) if not self._too_new(ctx, row)]


@choice("read.delay")
class GetsUneven(GetsFromReplica):
    """Every GET is answered from one of five replicas, each behind by another time of less than a second."""

    def __init__(self) -> None:
        super().__init__()
        self._delays = itertools.cycle((900_000, 0, 300_000, 600_000, 50_000))

    def resolve(self, ctx: Context) -> Any:
        self.behind = next(self._delays)
        return super().resolve(ctx)


@choice("read.delay")
class DestinationsFromReplica(Behaviour):
    """Every answer that shows a beneficiary, that of a change too, has its destinations from a replica which
    is 1.5 seconds behind."""

    behind = 1_500_000

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        shown = super().destinations(ctx, record)
        rows = ctx.store.select("payout_destination", record["id"])
        there = {row["id"] for row in rows if row["created"] <= ctx.now - self.behind}
        return [each for each in shown if each["id"] in there]


@choice("read.delay")
class DestinationsInTurn(DestinationsFromReplica):
    """Every other answer that shows a beneficiary has its destinations from such a replica."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = itertools.count(1)

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        late = next(self._shown) % 2
        return super().destinations(ctx, record) if late else Behaviour.destinations(self, ctx, record)


@choice("read.delay")
class DestinationsUneven(DestinationsFromReplica):
    """Every answer that shows a beneficiary has its destinations from one of five replicas, each behind by
    another time of less than a second."""

    def __init__(self) -> None:
        super().__init__()
        self._delays = itertools.cycle((900_000, 0, 300_000, 600_000, 50_000))

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        self.behind = next(self._delays)
        return super().destinations(ctx, record)


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
