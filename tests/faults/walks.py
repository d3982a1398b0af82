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

from .catalogue import Faulty, Row, fault, faults, hook, refuse, seam
from .lists import LONG_LISTS, Fetches
from .places import third, without_the_last

#: Kind -> offset of a page.
OFFSETS: dict[str, Callable[[Listing], int]] = {
    "overlap": lambda listing: max(0, (listing.page - 1) * listing.size - 1),
    "gap": lambda listing: (listing.page - 1) * (listing.size + 1),
    "from zero": lambda listing: listing.page * listing.size,
    "always the first": lambda listing: 0,
    "page for offset": lambda listing: listing.page - 1,
    "size of ten": lambda listing: (listing.page - 1) * 10,
    "third page twice": lambda listing: (min(listing.page, 2) - 1) * listing.size,
    "overlap at 10": lambda listing: max(0, (listing.page - 1) * listing.size - (listing.size == 10)),
    "overlap at 2": lambda listing: max(0, (listing.page - 1) * listing.size - (listing.size == 2)),
    "overlap at 1": lambda listing: max(
        0, (listing.page - 1) * listing.size - (listing.size == 1 and listing.page > 1)
    ),
}

#: Kind -> shown elements of a page.
PAGE: dict[str, Callable[[list[Record], Listing], list[Record]]] = {
    "one fewer": lambda records, listing: records[:-1] if len(records) == listing.size > 1 else records,
    "one fewer from the second on": lambda records, listing: records[1:] if listing.page > 1 else records,
    "at most 50": lambda records, listing: records[:50],
    "at most 20": lambda records, listing: records[:20],
    "at most 99": lambda records, listing: records[:99],
    "last page without its last": lambda records, listing: (
        records[:-1] if len(records) < listing.size else records
    ),
    "first twice": lambda records, listing: records[:1] + records[:-1] if len(records) > 1 else records,
    "none on the last": lambda records, listing: (
        [] if listing.page * listing.size >= listing.total > listing.size else records
    ),
}

page = hook(Fetches, "fetched")


@fault(
    "list.walk",
    each=lambda operation: {
        name: page for name, page in PAGE.items() if operation in LONG_LISTS or not name.startswith("at most")
    },
)
class OtherPage(Fetches):
    """A page does not hold what it should."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        fetched: list[Record] = self.value(super(Fetches, self).page_of(ctx, listing), listing)
        return fetched


@fault("list.walk", seam="list_records", each={"one more": 1, "one fewer": -1})
def _(self: Any, ctx: Context) -> None:
    """total is not the number of elements; pages goes with it."""
    self.usual()
    assert ctx.listing is not None
    ctx.listing.total = max(0, ctx.listing.total + self.value)


@fault(
    "list.walk",
    seam="list_records",
    each=lambda operation: [
        "page",
        "size",
        *(["at most 10", "at most 100"] if operation in LONG_LISTS else []),
    ],
)
def _(self: Any, ctx: Context) -> None:
    """total is the number of elements on the page, the size, or limited."""
    self.usual()
    listing = ctx.listing
    assert listing is not None
    listing.total = {
        "page": len(listing.records),
        "size": listing.size,
        "at most 10": min(10, listing.total),
        "at most 100": min(100, listing.total),
    }[self.value]


@fault("list.walk", seam="list_document")
def _(self: Any, ctx: Context) -> Any:
    """From the second page on total is another number."""
    document = self.usual()
    return {**document, "total": document["total"] + (document["page"] > 1)}


_LONG = ("listPayoutDestinations", "listVirtualAccounts")

#: Lengths beyond which long lists are wrong.
FAR = (150, 500)


@fault("list.walk", seam="list_records", operations=_LONG, each=FAR)
def _(self: Any, ctx: Context) -> None:
    """total counts no further than to a number."""
    self.usual()
    assert ctx.listing is not None
    ctx.listing.total = min(ctx.listing.total, self.value)


@fault("list.walk", operations=_LONG, each=FAR)
class ShowsSoFar(Fetches):
    """What lies further back than a number of elements is shown on no page."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        return records[: max(0, self.value - (listing.page - 1) * listing.size)]


class Growing(Faulty):
    """A server on which another client adds an account at every third read of the list."""

    def list_records(self, ctx: Context) -> None:
        if self.here(ctx):
            reads = self.state["reads"] = self.state.get("reads", 0) + 1
            if reads % 3 == 0:
                parent = self.parent(ctx)
                made = {"name": f"Another {reads}", "status": "active"}
                stamps = dict.fromkeys(("created", "updated"), ctx.now)
                owned = {"organization": parent["organization"], "parent": parent["id"]}
                ctx.store.insert("account", {**made, **stamps, **owned, "id": self.new_id(ctx, "account")})
        super().list_records(ctx)


@fault("list.stable", each=("shuffled", "reversed every time", "two swapped", "rotated"))
class Unstable(Fetches):
    """The order differs from request to request."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        turn = self.state["turn"] = self.state.get("turn", 0) + 1
        odd = turn % 2
        match self.value:
            case "shuffled":
                random.shuffle(records)
            case "reversed every time":
                records = records[::-1] if odd else records
            case "two swapped":
                records = records[:-2] + records[-2:][::-1] if odd else records
            case "rotated":
                turn %= max(1, len(records))
                records = records[turn:] + records[:turn]
        return records


@fault("list.stable", seam="fetched", base=Fetches)
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """The order of the whole list is another one in every request."""
    turn = self.state["turn"] = self.state.get("turn", 0) + 1
    records = self.all(ctx, listing)
    random.Random(turn).shuffle(records)
    offset = (listing.page - 1) * listing.size
    return records[offset : offset + listing.size]


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


class Joined(Filtered):
    """Repeats an element `times` times, as a list does that is joined with another table."""

    def times(self, ctx: Context, record: Record) -> int:
        return 1

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        return [record for record in records for _ in range(self.times(ctx, record))]


joined = hook(Joined, "times")


def counted(times: Callable[[Any, Context, Record], int], **options: Any) -> Row:
    """The fault whose total counts an element `times` times, as a count over a join does."""
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


faults["list.stable"] |= {
    "Each third list is in the other order.": third(
        lambda self, ctx, document: {**document, "items": document["items"][::-1]}
    )
}

faults["list.walk"] |= {
    "Pages overlap or leave gaps.": seam(
        "offset",
        lambda self, ctx, listing: self.value(listing),
        each=lambda operation: {
            name: offset
            for name, offset in OFFSETS.items()
            if operation in LONG_LISTS or name != "overlap at 10"
        },
    ),
    "The last page is filled with elements of the one before.": page(
        lambda self, ctx, listing: self.fetch(
            ctx,
            listing,
            limit=listing.size,
            offset=min((listing.page - 1) * listing.size, max(0, listing.total - listing.size)),
        )
    ),
    "A size from 1 to 100 is refused.": seam(
        "in_range",
        lambda self, ctx, name, value, *_: (
            refuse(self.invalid_parameter(ctx, name, "is not to my liking"))
            if name == "size" and value == self.value
            else self.usual()
        ),
        each=(1, 2, 100),
    ),
    "A page after the first is refused.": seam(
        "in_range",
        lambda self, ctx, name, value, *_: (
            refuse(self.invalid_parameter(ctx, name, "is not to my liking"))
            if name == "page" and value > 1
            else self.usual()
        ),
    ),
    "A page holds no more than so many elements, although a larger size is echoed.": seam(
        "page_of", lambda self, *_: self.usual()[: self.value], operations=LONG_LISTS, each=(50, 25, 11)
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


class Counts(Faulty):
    """The total of a list includes creations that add nothing to it; they call `counted`."""

    everywhere = True

    def counted(self, ctx: Context) -> None:
        parent = (ctx.beneficiary or ctx.account or ctx.customer or {}).get("id")
        if KINDS[ctx.operation] == KINDS[self.operation] and parent:
            counts = self.state.setdefault("counts", {})
            counts[parent] = counts.get(parent, 0) + 1

    def count(self, ctx: Context, listing: Listing) -> int:
        more = self.state.get("counts", {}).get(self.parent(ctx)["id"], 0) if self.here(ctx) else 0
        return super().count(ctx, listing) + int(more)


@fault("list.walk", seam="refused", base=Counts)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """The total of a list counts creates that were refused for a field as well."""
    self.usual()
    if refusal.kind == "invalid_field" and ctx.operation in OPERATION_SETS["create"]:
        self.counted(ctx)


@fault("list.walk")
class CountsReplays(Counts):
    """The total of a list counts repeated creates as well."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        self.counted(ctx)
        return super().replayed(ctx, answer)


@fault("list.walk", seam="on_other_body", base=Counts)
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """The total of a list counts creates that were refused for a used key as well."""
    self.counted(ctx)
    return self.usual()


@fault("list.walk", seam="on_duplicate_wallet", base=Counts, operations=("listWallets",))
def _(self: Any, ctx: Context) -> None:
    """The total of wallets counts those that were refused as a second one of their pair as well."""
    self.counted(ctx)
    self.usual()
