"""Servers whose lists repeat or lack elements, or have no stable order (section 8)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Answer

from .catalogue import Faulty, Only, Row, faults, hook, refuse, seam
from .lists import LONG_LISTS
from .rows import after, before, envelope, third, where, without_the_last


def _offset(listing: Listing) -> int:
    return (listing.page - 1) * listing.size


def _overlap(size: int) -> Callable[[Listing], int]:
    """Returns the offset of pages that overlap at one size."""
    return lambda listing: max(0, _offset(listing) - (listing.size == size and listing.page > 1))


#: Kind -> offset of a page.
OFFSETS: dict[str, Callable[[Listing], int] | Only] = {
    "overlap": lambda listing: max(0, _offset(listing) - 1),
    "gap": lambda listing: (listing.page - 1) * (listing.size + 1),
    "from zero": lambda listing: listing.page * listing.size,
    "always the first": lambda listing: 0,
    "page for offset": lambda listing: listing.page - 1,
    "size of ten": lambda listing: (listing.page - 1) * 10,
    "third page twice": lambda listing: (min(listing.page, 2) - 1) * listing.size,
    "overlap at 10": Only(_overlap(10), LONG_LISTS),
    "overlap at 2": _overlap(2),
    "overlap at 1": _overlap(1),
    "last page filled": lambda listing: min(_offset(listing), max(0, listing.total - listing.size)),
}


def _at_most(length: int) -> Only:
    return Only(lambda records, listing: records[:length], LONG_LISTS)


_LONG = ("listPayoutDestinations", "listVirtualAccounts")

#: Lengths beyond which long lists are wrong.
FAR = (150, 500)

#: Kind -> shown elements of a page.
PAGES: dict[str, Callable[[list[Record], Listing], list[Record]] | Only] = {
    "one fewer": lambda records, listing: records[:-1] if len(records) == listing.size > 1 else records,
    "one fewer from the second on": lambda records, listing: records[1:] if listing.page > 1 else records,
    **{f"at most {length}": _at_most(length) for length in (99, 50, 25, 20, 11)},
    "last page without its last": lambda records, listing: (
        records[:-1] if len(records) < listing.size else records
    ),
    "first twice": lambda records, listing: records[:1] + records[:-1] if len(records) > 1 else records,
    "none on the last": lambda records, listing: (
        [] if listing.page * listing.size >= listing.total > listing.size else records
    ),
    **{
        f"none further back than {length}": Only(
            lambda records, listing, length=length: records[: max(0, length - _offset(listing))], _LONG
        )
        for length in FAR
    },
}

#: Kind -> total in place of the right one.
TOTALS: dict[str, Callable[[Listing], int] | Only] = {
    "one more": lambda listing: listing.total + 1,
    "one fewer": lambda listing: max(0, listing.total - 1),
    "page": lambda listing: len(listing.records),
    "size": lambda listing: listing.size,
    **{
        f"at most {most}": Only(lambda listing, most=most: min(listing.total, most), those)
        for most, those in {10: LONG_LISTS, 100: LONG_LISTS, **dict.fromkeys(FAR, _LONG)}.items()
    },
}


def _another_total(self: Any, ctx: Context) -> None:
    assert ctx.listing is not None
    ctx.listing.total = self.value(ctx.listing)


def _turn(self: Any) -> int:
    """Returns the number of the request to the operation."""
    self.state["turn"] = turn = self.state.get("turn", 0) + 1
    return int(turn)


class Growing(Faulty):
    """A server on which another client adds an account at every third read of the list."""

    def list_records(self, ctx: Context) -> None:
        reads = _turn(self) if self.here(ctx) else 1
        if reads % 3 == 0:
            parent = self.parent(ctx)
            made = {"name": f"Another {reads}", "status": "active", "id": self.new_id(ctx, "account")}
            stamps = dict.fromkeys(("created", "updated"), ctx.now)
            owned = {"organization": parent["organization"], "parent": parent["id"]}
            ctx.store.insert("account", {**made, **stamps, **owned})
        super().list_records(ctx)


class Filtered(Faulty):
    """Lists only the elements that `listed` returns."""

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        return records

    def count(self, ctx: Context, listing: Listing) -> int:
        if not self.here(ctx):
            return super().count(ctx, listing)
        return len(self.listed(ctx, self.fetch(ctx, listing)))

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        if not self.here(ctx):
            return super().page_of(ctx, listing)
        offset = self.offset(ctx, listing)
        return self.listed(ctx, self.fetch(ctx, listing))[offset : offset + listing.size]


listing = hook(Filtered, "listed")


def joined(times: Callable[[Any, Context, Record], int], **options: Any) -> Row:
    """Makes a row that repeats an element so many times, as a list does that is joined with another table."""
    return listing(
        lambda self, ctx, records: [record for record in records for _ in range(times(self, ctx, record))],
        **options,
    )


def counted(times: Callable[[Any, Context, Record], int], **options: Any) -> Row:
    """Makes a row whose total counts an element so many times, as a count over a join does."""
    return seam(
        "count",
        lambda self, ctx, listing: sum(times(self, ctx, record) for record in self.fetch(ctx, listing)),
        **options,
    )


def _held(self: Any, ctx: Context, record: Record) -> int:
    """Counts the resources of one kind in an account; one without any counts once, as in an outer join."""
    return max(1, ctx.store.count(self.value, record["id"]))


#: Types of resources in an account over which a customer's accounts are joined or counted.
IN_ACCOUNTS = ("beneficiary", "virtual_account", "wallet")

faults["list.walk"] |= {
    "Pages overlap or leave gaps.": seam(
        "offset", lambda self, ctx, listing: self.value(listing), each=OFFSETS
    ),
    "A page does not hold what it should.": seam(
        "page_of", lambda self, ctx, listing: self.value(self.usual(), listing), each=PAGES
    ),
    "total is not the number of elements; pages goes with it.": after(
        "list_records", _another_total, each=TOTALS
    ),
    "From the second page on total is another number.": envelope.sets(
        lambda self, ctx, shown: {"total": shown["total"] + (shown["page"] > 1)}
    ),
    "A page or size of the range is refused.": where(
        "in_range",
        lambda self, ctx, name, value, *_: self.value(name, value),
        lambda self, ctx, name, *_: refuse(self.invalid_parameter(ctx, name, "is not to my liking")),
        each={
            **{
                f"size {size}": lambda name, value, size=size: (name, value) == ("size", size)
                for size in (1, 2, 100)
            },
            "a page after the first": lambda name, value: name == "page" and value > 1,
        },
    ),
    "In a list that others make longer, pages of one size leave an element out.": seam(
        "items",
        lambda self, ctx, listing: self.usual()[listing.size < 100 and listing.page == 1 :],
        base=Growing,
        operations=("listAccounts",),
    ),
    "An account is listed once for each resource of this kind in it.": joined(
        _held, each=IN_ACCOUNTS, operations=("listAccounts",)
    ),
    "total counts an account once for each resource of this kind in it.": counted(
        _held, each=IN_ACCOUNTS[:2], operations=("listAccounts",)
    ),
    "Each third list lacks its last element.": third(without_the_last, operations=("listAccounts",)),
}


# ---------------------------------------------------------------------- order

#: Kind -> order of a page, by the number of the request.
ORDERS: dict[str, Callable[[list[Record], int], list[Record]]] = {
    "shuffled": lambda records, turn: random.sample(records, len(records)),
    "reversed every time": lambda records, turn: records[::-1] if turn % 2 else records,
    "two swapped": lambda records, turn: records[:-2] + records[-2:][::-1] if turn % 2 else records,
    "rotated": lambda records, turn: (
        records[turn % max(1, len(records)) :] + records[: turn % max(1, len(records))]
    ),
}


def _shuffled(self: Any, ctx: Context, listing: Listing) -> list[Record]:
    records: list[Record] = self.fetch(ctx, listing)
    random.Random(_turn(self)).shuffle(records)
    return records[_offset(listing) : _offset(listing) + listing.size]


faults["list.stable"] |= {
    "The order differs from request to request.": seam(
        "page_of", lambda self, *_: self.value(self.usual(), _turn(self)), each=ORDERS
    ),
    "The order of the whole list is another one in every request.": seam("page_of", _shuffled),
    "Each third list is in the other order.": third(
        lambda self, ctx, document: {**document, "items": document["items"][::-1]}
    ),
}


# ---------------------------------------------------------------------- creations that add nothing


class Counts(Faulty):
    """The total of a list includes creations that add nothing to it; they call `counted`."""

    everywhere = True

    def counted(self, ctx: Context) -> None:
        parent = (ctx.beneficiary or ctx.account or ctx.customer or {}).get("id")
        if KINDS[ctx.operation] == KINDS[self.operation] and parent:
            self.state[parent] = self.state.get(parent, 0) + 1

    def count(self, ctx: Context, listing: Listing) -> int:
        more = self.state.get(self.parent(ctx)["id"], 0) if self.here(ctx) else 0
        return super().count(ctx, listing) + int(more)


def _of_a_field(self: Any, ctx: Context, refusal: Refusal) -> None:
    if refusal.kind == "invalid_field" and ctx.operation in OPERATION_SETS["create"]:
        self.counted(ctx)


def _count(self: Any, ctx: Context, *_: Response | Answer) -> None:
    self.counted(ctx)


faults["list.walk"] |= {
    "The total of a list counts creates that were refused for a field as well.": after(
        "refused", _of_a_field, base=Counts
    ),
    "The total of a list counts repeated creates as well.": before("replayed", _count, base=Counts),
    "The total of a list counts creates that were refused for a used key as well.": before(
        "on_other_body", _count, base=Counts
    ),
    "The total of wallets counts those that were refused as a second one of their pair as well.": before(
        "on_duplicate_wallet", _count, base=Counts, operations=("listWallets",)
    ),
}
