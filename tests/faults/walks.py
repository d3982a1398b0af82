"""Servers whose lists repeat or lack elements, or have no stable order (section 8)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.resources import RECORD_KINDS

from .catalogue import Call, Faulty, Only, Row, faults, kind, refuse, seam, seams
from .paging import FILTERED_LONG, LONG_LISTS
from .rows import after, before, envelope, third, turn, where


def _offset(listing: Listing) -> int:
    return (listing.page - 1) * listing.size


#: Kind -> offset of a page.
OFFSETS: dict[str, Any] = {
    "overlap": lambda listing: max(0, _offset(listing) - 1),
    "gap": lambda listing: (listing.page - 1) * (listing.size + 1),
    "from zero": lambda listing: listing.page * listing.size,
    "always the first": lambda listing: 0,
    "page for offset": lambda listing: listing.page - 1,
    "size of ten": lambda listing: (listing.page - 1) * 10,
    "third page twice": lambda listing: (min(listing.page, 2) - 1) * listing.size,
    **{
        f"overlap at {size}": Only(
            lambda listing, size=size: max(0, _offset(listing) - (listing.size == size and listing.page > 1)),
            LONG_LISTS if size == 10 else OPERATION_SETS["list"],
        )
        for size in (1, 2, 10)
    },
    "last page filled": lambda listing: min(_offset(listing), max(0, listing.total - listing.size)),
}


#: Lengths beyond which long lists are wrong.
FAR = (150, 500)

#: Kind -> shown elements of a page.
PAGES: dict[str, Any] = {
    "one fewer": lambda self, usual, ctx, listing: (
        usual()[:-1] if len(usual()) == listing.size > 1 else usual()
    ),
    "one fewer from the second on": lambda self, usual, ctx, listing: (
        usual()[1:] if listing.page > 1 else usual()
    ),
    **{
        f"at most {length}": Only(lambda self, usual, *_, length=length: usual()[:length], LONG_LISTS)
        for length in (99, 50, 25, 20, 11)
    },
    "last page without its last": lambda self, usual, ctx, listing: (
        usual()[:-1] if len(usual()) < listing.size else usual()
    ),
    "first twice": lambda self, usual, *_: usual()[:1] + usual()[:-1] if len(usual()) > 1 else usual(),
    "none on the last": lambda self, usual, ctx, listing: (
        [] if listing.page * listing.size >= listing.total > listing.size else usual()
    ),
    **{
        f"none further back than {length}": Only(
            lambda self, usual, ctx, listing, length=length: usual()[: max(0, length - _offset(listing))],
            FILTERED_LONG,
        )
        for length in FAR
    },
}


def _grow(self: Any, ctx: Context) -> None:
    """Adds an account, as another client does."""
    parent = self.parent(ctx)
    made = {"name": f"Another {ctx.now}", "status": "active", "id": self.new_id(ctx, "account")}
    stamps = dict.fromkeys(("created", "updated"), ctx.now)
    owned = {"organization": parent["organization"], "parent": parent["id"]}
    ctx.store.insert("account", {**made, **stamps, **owned})


def listing(listed: Call | None = None, more: Mapping[str, Call] | None = None, **options: Any) -> Row:
    """Makes a row that lists what `listed`, or the kind, returns of all elements; with more overrides."""
    those = listed or kind

    def page_of(self: Any, usual: Any, ctx: Context, listing: Listing) -> list[Record]:
        offset = self.offset(ctx, listing)
        return those(self, ctx, self.fetch(ctx, listing))[offset : offset + listing.size]

    def count(self: Any, usual: Any, ctx: Context, listing: Listing) -> int:
        return len(those(self, ctx, self.fetch(ctx, listing)))

    return seams({"count": count, "page_of": page_of, **(more or {})}, **options)


def joined(times: Call | None = None, **options: Any) -> Row:
    """Makes a row that lists an element so many times, by default as the kind says: as a list does that is
    joined with another table, or whose condition lets some out."""
    often = times or kind
    return listing(
        lambda self, ctx, records: [record for record in records for _ in range(often(self, ctx, record))],
        **options,
    )


def counted(times: Call, **options: Any) -> Row:
    """Makes a row whose total counts an element so many times, as a count over a join does."""
    return seam(
        "count",
        lambda self, usual, ctx, listing: sum(
            times(self, ctx, record) for record in self.fetch(ctx, listing)
        ),
        **options,
    )


def _held(self: Any, ctx: Context, record: Record) -> int:
    """Counts the resources of one kind in an account; one without any counts once, as in an outer join."""
    return max(1, ctx.store.count(self.value, record["id"]))


#: Types of resources in an account over which a customer's accounts are joined or counted.
IN_ACCOUNTS = ("beneficiary", "virtual_account", "wallet")

faults["list.walk"] |= {
    "Pages overlap or leave gaps.": seam(
        "offset", lambda self, usual, ctx, listing: self.value(listing), each=OFFSETS
    ),
    "A page does not hold what it should.": seam("page_of", each=PAGES),
    "total is not the number of elements; pages goes with it.": after(
        "list_records",
        lambda self, ctx: setattr(ctx.listing, "total", self.value(ctx.listing)),
        each={
            "one more": lambda listing: listing.total + 1,
            "one fewer": lambda listing: max(0, listing.total - 1),
            "page": lambda listing: len(listing.records),
            "size": lambda listing: listing.size,
            **{
                f"at most {most}": Only(lambda listing, most=most: min(listing.total, most), those)
                for most, those in {
                    10: LONG_LISTS,
                    100: LONG_LISTS,
                    **dict.fromkeys(FAR, FILTERED_LONG),
                }.items()
            },
        },
    ),
    "From the second page on total is another number.": envelope.sets(
        lambda self, ctx, shown: {"total": shown["total"] + (shown["page"] > 1)}
    ),
    "A page or size of the range is refused.": where(
        "in_range",
        None,
        lambda self, usual, ctx, name, *_: refuse(self.invalid_parameter(ctx, name, "is not to my liking")),
        each={
            "size 1": lambda self, ctx, name, value, *_: (name, value) == ("size", 1),
            "size 2": lambda self, ctx, name, value, *_: (name, value) == ("size", 2),
            "size 100": lambda self, ctx, name, value, *_: (name, value) == ("size", 100),
            "a page after the first": lambda self, ctx, name, value, *_: name == "page" and value > 1,
        },
    ),
    "In a list that others make longer, pages of one size leave an element out.": seams(
        {
            "list_records": lambda self, usual, ctx: (turn(self) % 3 or _grow(self, ctx), usual())[1],
            "items": lambda self, usual, ctx, listing: usual()[listing.size < 100 and listing.page == 1 :],
        },
        operations=("listAccounts",),
    ),
    "An account is listed once for each resource of this kind in it.": joined(
        _held, each=IN_ACCOUNTS, operations=("listAccounts",)
    ),
    "total counts an account once for each resource of this kind in it.": counted(
        _held, each=IN_ACCOUNTS, operations=("listAccounts",)
    ),
    "total counts the accounts of all customers.": seam(
        "count",
        lambda self, usual, ctx, listing: self.value(ctx),
        each={
            "of the organization": lambda ctx: len(
                [
                    one
                    for one in ctx.store.select("account", None)
                    if one["organization"] == ctx.organization.id
                ]
            ),
            "of all organizations": lambda ctx: ctx.store.count("account", None),
        },
        operations=("listAccounts",),
    ),
    "Each third list lacks its last element.": third(
        lambda self, ctx, shown: {**shown, "items": shown["items"][:-1]}, operations=("listAccounts",)
    ),
}


# ---------------------------------------------------------------------- order


def _shuffled(self: Any, usual: Any, ctx: Context, listing: Listing) -> list[Record]:
    records: list[Record] = self.fetch(ctx, listing)
    random.Random(turn(self)).shuffle(records)
    return records[_offset(listing) : _offset(listing) + listing.size]


faults["list.stable"] |= {
    "The order differs from request to request.": seam(
        "page_of",
        lambda self, usual, *_: self.value(usual(), turn(self)),
        each={
            "shuffled": lambda records, turn: random.sample(records, len(records)),
            "reversed every time": lambda records, turn: records[::-1] if turn % 2 else records,
            "two swapped": lambda records, turn: records[:-2] + records[-2:][::-1] if turn % 2 else records,
            "rotated": lambda records, turn: (
                records[turn % max(1, len(records)) :] + records[: turn % max(1, len(records))]
            ),
        },
    ),
    "The order of the whole list is another one in every request.": seam("page_of", _shuffled),
    "Each third list is in the other order.": third(
        lambda self, ctx, shown: {**shown, "items": shown["items"][::-1]}
    ),
}


# ---------------------------------------------------------------------- creations that add nothing


class Counts(Faulty):
    """The total of a list includes creations that add nothing to it; they call `counted`."""

    everywhere = True

    def counted(self, ctx: Context) -> None:
        parent = (ctx.beneficiary or ctx.account or ctx.customer or {}).get("id")
        if RECORD_KINDS[ctx.operation] == RECORD_KINDS[self.operation] and parent:
            self.state[parent] = self.state.get(parent, 0) + 1

    def count(self, ctx: Context, listing: Listing) -> int:
        more = self.state.get(self.parent(ctx)["id"], 0) if self.here(ctx) else 0
        return super().count(ctx, listing) + int(more)


def _count(self: Any, ctx: Context, *_: Any) -> None:
    self.counted(ctx)


faults["list.walk"] |= {
    "total counts creates that were refused for a field.": after(
        "refused",
        _count,
        lambda self, ctx, refusal: (
            refusal.kind == "invalid_field" and ctx.operation in OPERATION_SETS["create"]
        ),
        base=Counts,
    ),
    "total counts repeated creates.": before("replayed", _count, base=Counts),
    "total counts creates refused for a used key.": before("on_other_body", _count, base=Counts),
    "total counts wallets refused as second ones of their pair.": before(
        "on_duplicate_wallet", _count, base=Counts, operations=("listWallets",)
    ),
}
