"""Servers whose lists have a wrong envelope, wrong items, pages or sizes (section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.lists import FILTERS, ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Faulty, fault, faults, seam
from .places import Envelope, Items, envelope, item, lacking, number, on_pages

#: Lists that can have more than ten elements; an account has one wallet for each known pair.
LONG_LISTS = [operation for operation in OPERATION_SETS["list"] if operation != "listWallets"]


class Fetches(Faulty):
    """Changes the elements of a page by `fetched`."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        return super().page_of(ctx, listing)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetched(ctx, listing) if self.here(ctx) else super().page_of(ctx, listing)

    def all(self, ctx: Context, listing: Listing) -> list[Record]:
        """Returns all matching elements."""
        return self.fetch(ctx, listing)


MEMBERS = ("total", "page", "size", "pages")

VALUES: dict[str, Any] = {
    "null": lambda value: None,
    "text": str,
    "decimal": lambda value: value + 0.5,
    "whole decimal": float,
    "true": lambda value: True,
}


@fault(
    "list.envelope",
    seam="changed",
    base=Envelope,
    each=[f"{name} {how}" for name in MEMBERS for how in VALUES],
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """A number of the envelope is of another type."""
    name, how = self.value.split(maxsplit=1)
    return {**document, name: VALUES[how](document[name])}


faults["list.envelope"] |= {
    "A member of the envelope is missing.": envelope(lacking, each=("items", *MEMBERS)),
    "items is no array.": envelope(
        lambda self, ctx, document: {**document, "items": self.value(document["items"])},
        each={
            "null": lambda items: None,
            "object": lambda items: dict(enumerate(map(str, items))),
            "text": str,
            "null when empty": lambda items: items or None,
        },
    ),
    "The envelope is another one.": envelope(
        lambda self, ctx, document: self.value(document),
        each={
            "bare array": lambda document: document["items"],
            "wrapped": lambda document: {"data": document},
            "other names": lambda document: {
                "data": document["items"],
                "count": document["total"],
                **document,
                "items": None,
            },
            "negative total": lambda document: {**document, "total": -1},
        },
    ),
}


#: Required members of a list item, some of which may be null.
def _item_members(operation: str) -> list[str]:
    optional = {
        "listPayoutDestinations": {"label", "network", "account_number_last4"},
        "listAccounts": {"object"},
    }.get(operation, ())
    return [name for name in ITEM_FIELDS[KINDS[operation]] if name not in optional]


def _typed(operation: str) -> list[str]:
    # Ids, constants, statuses and timestamps are covered by the format rules.
    plain = {"name", "label", "currency", "network", "country", "payout_method", "is_default"}
    return [name for name in _item_members(operation) if name in plain]


@fault(
    "list.item-fields",
    seam="changed",
    base=Items,
    each=lambda operation: [f"{name} {how}" for name in _typed(operation) for how in ("null", "number")],
)
def _(self: Any, ctx: Context, document: dict[str, Any], *_: Any) -> Any:
    """A documented member of an item is of another type."""
    name, how = self.value.split()
    return {**document, name: None if how == "null" else 12345}


@fault("list.item-fields", seam="items")
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """The last item of a page lacks its name or currency."""
    items = self.usual()
    name = "name" if ctx.operation == "listAccounts" else "currency"
    return [*items[:-1], *({key: value for key, value in item.items() if key != name} for item in items[-1:])]


faults["list.wallet-items"] |= {
    "A wallet in a list shows this member.": seam(
        "item_fields", lambda self, *_: [*self.usual(), self.value], each=("addresses", "updated")
    )
}

faults["list.item-fields"] |= {
    "A documented member of an item is missing.": item(lacking, each=_item_members),
    "An optional member of an item is neither a text nor null.": item(
        number, operations=("listPayoutDestinations",), each=("label", "network")
    ),
    "The items are ids.": seam(
        "items", lambda self, ctx, listing: [record["id"] for record in listing.records]
    ),
    "The elements of some pages lack their created.": on_pages(
        lambda self, ctx, item: {name: value for name, value in item.items() if name != "created"}
    ),
}


#: Kind -> wrong page or size in the answer.
ECHOES: dict[str, tuple[str, Callable[[dict[str, Any]], int]]] = {
    "page always 1": ("page", lambda document: 1),
    "page from 0": ("page", lambda document: document["page"] - 1),
    "next page": ("page", lambda document: document["page"] + 1),
    "size always 10": ("size", lambda document: 10),
    "size shown": ("size", lambda document: len(document["items"])),
    "size more": ("size", lambda document: document["size"] + 1),
    "size always 100": ("size", lambda document: 100),
    "page of pages": ("page", lambda document: max(document["pages"], 1)),
    "page at most pages": ("page", lambda document: min(document["page"], max(document["pages"], 1))),
}


@fault(
    "list.echo", seam="changed", base=Envelope, each=[name for name in ECHOES if name != "page at most pages"]
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """page or size of the answer is not that of the request."""
    name, value = ECHOES[self.value]
    return {**document, name: value(document)}


@fault("list.echo", seam="in_range", each=(99, 50, 25))
def _(self: Any, ctx: Context, name: str, value: int, highest: int | None) -> Any:
    """A size of up to 100 is brought down to another."""
    made = self.usual()
    return min(made, self.value) if name == "size" else made


def _past(document: dict[str, Any]) -> bool:
    return not document["items"] and bool(document["total"])


faults["list.echo"] |= {
    "The size of a filtered page is the number of its elements.": seam(
        "list_document",
        lambda self, ctx: (
            {**self.usual(), "size": len(ctx.listing.records)} if ctx.listing.conditions else self.usual()
        ),
        operations=("listPayoutDestinations", "listVirtualAccounts"),
    ),
    "Beside a filter size is ignored where page is not named.": seam(
        "requested_size",
        lambda self, ctx, query: 10 if self.conditions(ctx, query) and "page" not in query else self.usual(),
        operations=[name for name, filters in FILTERS.items() if filters],
    ),
    "A size of 11 to 49 is read as 10.": seam(
        "in_range",
        lambda self, ctx, name, value, highest: 10 if name == "size" and 10 < value < 50 else self.usual(),
    ),
    "A size of 51 to 99 is read as 50.": seam(
        "in_range",
        lambda self, ctx, name, value, highest: 50 if name == "size" and 50 < value < 100 else self.usual(),
    ),
    "A page past the last says another page or size.": envelope(
        lambda self, ctx, document: {**document, **self.value(document)} if _past(document) else document,
        each={
            "the first page": lambda document: {"page": 1},
            "the last page": lambda document: {"page": document["pages"]},
            "size 0": lambda document: {"size": 0},
        },
    ),
}


#: Kind -> wrong number of pages.
PAGE_NUMBERS: dict[str, Callable[[Listing], int]] = {
    "rounded down": lambda listing: listing.total // listing.size,
    "one more": lambda listing: -(-listing.total // listing.size) + 1,
    "rounded down and one more": lambda listing: listing.total // listing.size + 1,
    "rounded": lambda listing: round(listing.total / listing.size),
    "by ten": lambda listing: -(-listing.total // 10),
    "one": lambda listing: 1,
    "total": lambda listing: listing.total,
    "items of this page": lambda listing: -(-len(listing.records) // listing.size),
    "current page": lambda listing: listing.page,
}


faults["list.pages"] |= {
    "Without size the pages are counted by another one.": seam(
        "pages",
        lambda self, ctx, listing: self.usual() if b"size=" in ctx.query else -(-listing.total // self.value),
        operations=LONG_LISTS,
        each=(100, 2),
    ),
    "Beside a filter pages is that of all elements where size is not named.": seam(
        "pages",
        lambda self, ctx, listing: (
            self.usual()
            if b"size=" in ctx.query or not listing.conditions
            else -(-ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx)) // listing.size)
        ),
        operations=("listPayoutDestinations", "listVirtualAccounts"),
    ),
    "A single element fills no page.": seam(
        "pages",
        lambda self, ctx, listing: 0 if listing.total == 1 else self.usual(),
        operations=[name for name, filters in FILTERS.items() if filters],
    ),
    "pages is not total divided by size, rounded up.": seam(
        "pages", lambda self, ctx, listing: self.value(listing), each=PAGE_NUMBERS
    ),
    "pages is a constant.": seam(
        "pages", lambda self, *_: int(self.value.split()[1]), each=("always 0", "always -1")
    ),
    "From the second page on pages is another number.": seam(
        "pages", lambda self, ctx, listing: self.usual() + (listing.page > 1)
    ),
    "A page past the last says nothing of the pages there are.": envelope(
        lambda self, ctx, document: {**document, **self.value} if _past(document) else document,
        each={
            "pages 0": {"pages": 0},
            "total and pages 0": {"total": 0, "pages": 0},
            "total 0": {"total": 0},
        },
    ),
}


@fault("list.pages")
class CountsOnce(Faulty):
    """The total of a list is what it held when it was read first."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known = self.state.setdefault("known", {})
        counted: int = known.setdefault((ctx.path, *listing.conditions), super().count(ctx, listing))
        return counted

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetch(ctx, listing, limit=listing.size, offset=self.offset(ctx, listing))
