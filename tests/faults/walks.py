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
from .crashes import third, without_the_last
from .lists import LONG_LISTS, Fetches

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
}


@fault("list.walk", each={"one more": 1, "one fewer": -1})
class OtherTotal(Faulty):
    """total is not the number of elements; pages goes with it."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        assert ctx.listing is not None
        ctx.listing.total = max(0, ctx.listing.total + self.value)


@fault(
    "list.walk",
    each=lambda operation: [
        "page",
        "size",
        *(["at most 10", "at most 100"] if operation in LONG_LISTS else []),
    ],
)
class TotalOfThePage(Faulty):
    """total is the number of elements on the page, the size, or limited."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        listing = ctx.listing
        assert listing is not None
        listing.total = {
            "page": len(listing.records),
            "size": listing.size,
            "at most 10": min(10, listing.total),
            "at most 100": min(100, listing.total),
        }[self.value]


@fault("list.walk")
class TotalsOtherwiseLater(Faulty):
    """From the second page on total is another number."""

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        return {**document, "total": document["total"] + (document["page"] > 1)}


@fault("list.walk", operations=LONG_LISTS, each=(50, 25, 11))
class HoldsAtMost(Faulty):
    """A page holds no more than so many elements, although a larger size is echoed."""

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return super().page_of(ctx, listing)[: self.value]


_LONG = ("listPayoutDestinations", "listVirtualAccounts")

#: Lengths beyond which long lists are wrong.
FAR = (150, 500)


@fault("list.walk", operations=_LONG, each=FAR)
class CountsSoFar(Faulty):
    """total counts no further than to a number."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
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
            self.reads = self.__dict__.get("reads", 0) + 1
            if self.reads % 3 == 0:
                parent = self.parent(ctx)
                made = {"name": f"Another {self.reads}", "status": "active"}
                stamps = dict.fromkeys(("created", "updated"), ctx.now)
                owned = {"organization": parent["organization"], "parent": parent["id"]}
                ctx.store.insert("account", {**made, **stamps, **owned, "id": self.new_id(ctx, "account")})
        super().list_records(ctx)


faults["list.walk"] |= {
    "In a list that others make longer, pages of one size leave an element out.": seam(
        "items",
        lambda self, ctx, listing: self.usual()[listing.size < 100 and listing.page == 1 :],
        base=Growing,
        operations=("listAccounts",),
    ),
}


@fault("list.stable", each=("shuffled", "reversed every time", "two swapped", "rotated"))
class Unstable(Fetches):
    """The order differs from request to request."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        self.count_of_requests = self.__dict__.get("count_of_requests", 0) + 1
        odd = self.count_of_requests % 2
        match self.value:
            case "shuffled":
                random.shuffle(records)
            case "reversed every time":
                records = records[::-1] if odd else records
            case "two swapped":
                records = records[:-2] + records[-2:][::-1] if odd else records
            case "rotated":
                turn = self.count_of_requests % max(1, len(records))
                records = records[turn:] + records[:turn]
        return records


@fault("list.stable")
class UnstableOverPages(Fetches):
    """The order of the whole list is another one in every request."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        self.turn = self.__dict__.get("turn", 0) + 1
        records = self.all(ctx, listing)
        random.Random(self.turn).shuffle(records)
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

faults["list.walk"] |= {
    "An account is listed once for each resource of this kind in it.": joined(
        _held,
        each=IN_ACCOUNTS,
        operations=("listAccounts",),
    ),
    "total counts an account once for each resource of this kind in it.": counted(
        _held,
        each=IN_ACCOUNTS[:2],
        operations=("listAccounts",),
    ),
}

faults["list.stable"] |= {
    "Each third list is in the other order.": third(
        lambda self, ctx, document: {**document, "items": document["items"][::-1]}
    ),
}

faults["list.walk"] |= {
    "Each third list lacks its last element.": third(without_the_last, operations=("listAccounts",)),
}


class Counts(Faulty):
    """The total of a list includes creations that add nothing to it; they call `counted`."""

    everywhere = True

    def counted(self, ctx: Context) -> None:
        parent = (ctx.beneficiary or ctx.account or ctx.customer or {}).get("id")
        if KINDS[ctx.operation] == KINDS[self.operation] and parent:
            counts = self.__dict__.setdefault("counts", {})
            counts[parent] = counts.get(parent, 0) + 1

    def count(self, ctx: Context, listing: Listing) -> int:
        more = self.__dict__.get("counts", {}).get(self.parent(ctx)["id"], 0) if self.here(ctx) else 0
        return super().count(ctx, listing) + int(more)


@fault("list.walk")
class CountsRefused(Counts):
    """The total of a list counts creates that were refused for a field as well."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        super().refused(ctx, refusal)
        if refusal.kind == "invalid_field" and ctx.operation in OPERATION_SETS["create"]:
            self.counted(ctx)


@fault("list.walk")
class CountsReplays(Counts):
    """The total of a list counts repeated creates as well."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        self.counted(ctx)
        return super().replayed(ctx, answer)


@fault("list.walk")
class CountsConflicts(Counts):
    """The total of a list counts creates that were refused for a used key as well."""

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        self.counted(ctx)
        return super().on_other_body(ctx, answer)


@fault("list.walk", operations=("listWallets",))
class CountsDuplicates(Counts):
    """The total of wallets counts those that were refused as a second one of their pair as well."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        self.counted(ctx)
        super().on_duplicate_wallet(ctx)
