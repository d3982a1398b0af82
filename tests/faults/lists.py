"""Servers whose lists have a wrong envelope, wrong items, pages or sizes (section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing
from conformance.reference.seams.lists import FILTERS, ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Only, faults, seam, seams
from .rows import envelope, item, lacking, on_pages, where

#: Lists that can have more than ten elements; an account has one wallet for each known pair.
LONG_LISTS = [operation for operation in OPERATION_SETS["list"] if operation != "listWallets"]

FILTERED_LISTS = [name for name, filters in FILTERS.items() if filters]

MEMBERS = ("total", "page", "size", "pages")

#: Kind -> value of another type in place of a number.
VALUES: dict[str, Callable[[int], Any]] = {
    "null": lambda value: None,
    "text": str,
    "decimal": lambda value: value + 0.5,
    "whole decimal": float,
    "true": lambda value: True,
}


#: Kind -> envelope in place of the documented one.
ENVELOPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bare array": lambda document: document["items"],
    "wrapped": lambda document: {"data": document},
    "other names": lambda document: {
        "data": document["items"],
        "count": document["total"],
        **document,
        "items": None,
    },
    "negative total": lambda document: {**document, "total": -1},
}

faults["list.envelope"] |= {
    "A number of the envelope is of another type.": envelope.sets(
        lambda self, ctx, shown: {self.value[0]: self.value[1](shown[self.value[0]])},
        each={f"{name} {how}": (name, change) for name in MEMBERS for how, change in VALUES.items()},
    ),
    "A member of the envelope is missing.": envelope(lacking, each=("items", *MEMBERS)),
    "items is no array.": envelope.sets(
        lambda self, ctx, shown: {"items": self.value(shown["items"])},
        each={
            "null": lambda items: None,
            "object": lambda items: dict(enumerate(map(str, items))),
            "text": str,
            "null when empty": lambda items: items or None,
        },
    ),
    "The envelope is another one.": envelope(lambda self, ctx, shown: self.value(shown), each=ENVELOPES),
}


def _item_members(operation: str) -> list[str]:
    """Returns the required members of a list item, some of which may be null."""
    optional = {
        "listPayoutDestinations": {"label", "network", "account_number_last4"},
        "listAccounts": {"object"},
    }.get(operation, ())
    return [name for name in ITEM_FIELDS[KINDS[operation]] if name not in optional]


def _typed(operation: str) -> dict[str, dict[str, Any]]:
    """Returns members of items of another type; ids, constants, statuses and timestamps are covered by the
    format rules."""
    plain = {"name", "label", "currency", "network", "country", "payout_method", "is_default"}
    required = {
        f"{name} {how}": {name: value}
        for name in _item_members(operation)
        if name in plain
        for how, value in (("null", None), ("number", 12345))
    }
    optional = ("label", "network") if operation == "listPayoutDestinations" else ()
    return required | {f"{name} number": {name: 12345} for name in optional}


def _last_without(self: Any, ctx: Context, listing: Listing) -> list[Any]:
    """Returns the items of a page, of which the last one lacks its name or currency."""
    *items, last = self.usual() or [{}]
    name = "name" if ctx.operation == "listAccounts" else "currency"
    return [*items, *([{key: last[key] for key in last if key != name}] if last else [])]


faults["list.wallet-items"] |= {
    "A wallet in a list shows this member.": seam(
        "item_fields", lambda self, *_: [*self.usual(), self.value], each=("addresses", "updated")
    )
}

faults["list.item-fields"] |= {
    "A documented member of an item is of another type.": item.sets(lambda self, *_: self.value, each=_typed),
    "A documented member of an item is missing.": item(lacking, each=_item_members),
    "The last item of a page lacks its name or currency.": seam("items", _last_without),
    "The items are ids.": seam(
        "items", lambda self, ctx, listing: [record["id"] for record in listing.records]
    ),
    "The elements of some pages lack their created.": on_pages(
        lambda self, ctx, shown, *_: {name: shown[name] for name in shown if name != "created"}
    ),
}


# ---------------------------------------------------------------------- page and size

_FILTERED_LONG = ("listPayoutDestinations", "listVirtualAccounts")

#: Kind -> wrong page or size in the answer.
ECHOES: dict[str, Callable[[dict[str, Any]], dict[str, int]]] = {
    "page always 1": lambda document: {"page": 1},
    "page from 0": lambda document: {"page": document["page"] - 1},
    "next page": lambda document: {"page": document["page"] + 1},
    "size always 10": lambda document: {"size": 10},
    "size shown": lambda document: {"size": len(document["items"])},
    "size more": lambda document: {"size": document["size"] + 1},
    "size always 100": lambda document: {"size": 100},
    "page of pages": lambda document: {"page": max(document["pages"], 1)},
}

#: Kind -> size in place of the requested one.
SIZES: dict[str, Callable[[int], int]] = {
    **{f"at most {most}": lambda size, most=most: min(size, most) for most in (99, 50, 25)},  # type: ignore[misc]
    "10 for 11 to 49": lambda size: 10 if 10 < size < 50 else size,
    "50 for 51 to 99": lambda size: 50 if 50 < size < 100 else size,
}


def _past(self: Any, ctx: Context, shown: dict[str, Any]) -> bool:
    """Returns True for a page past the last."""
    return not shown["items"] and bool(shown["total"])


faults["list.echo"] |= {
    "page or size of the answer is not that of the request.": envelope.sets(
        lambda self, ctx, shown: self.value(shown), each=ECHOES
    ),
    "A size of up to 100 is read as another one.": where(
        "in_range",
        lambda self, ctx, name, *_: name == "size",
        lambda self, *_: self.value(self.usual()),
        each=SIZES,
    ),
    "The size of a filtered page is the number of its elements.": envelope.sets(
        lambda self, ctx, shown: {"size": len(shown["items"])},
        lambda self, ctx, shown: ctx.listing.conditions,
        operations=_FILTERED_LONG,
    ),
    "Beside a filter size is ignored where page is not named.": where(
        "requested_size",
        lambda self, ctx, query: self.conditions(ctx, query) and "page" not in query,
        lambda *_: 10,
        operations=FILTERED_LISTS,
    ),
    "A page past the last says another page or size.": envelope.sets(
        lambda self, ctx, shown: self.value(shown),
        _past,
        each={
            "the first page": lambda document: {"page": 1},
            "the last page": lambda document: {"page": document["pages"]},
            "size 0": lambda document: {"size": 0},
        },
    ),
}


def _pages_of(total: int, size: int) -> int:
    return -(-total // size)


#: Kind -> wrong number of pages.
PAGES: dict[str, Callable[[Listing], int] | Only] = {
    "rounded down": lambda listing: listing.total // listing.size,
    "one more": lambda listing: _pages_of(listing.total, listing.size) + 1,
    "rounded down and one more": lambda listing: listing.total // listing.size + 1,
    "rounded": lambda listing: round(listing.total / listing.size),
    "by ten": lambda listing: _pages_of(listing.total, 10),
    "one": lambda listing: 1,
    "always 0": lambda listing: 0,
    "always -1": lambda listing: -1,
    "total": lambda listing: listing.total,
    "items of this page": lambda listing: _pages_of(len(listing.records), listing.size),
    "current page": lambda listing: listing.page,
    "none for a single element": Only(
        lambda listing: 0 if listing.total == 1 else _pages_of(listing.total, listing.size), FILTERED_LISTS
    ),
    "one more from the second page on": lambda listing: (
        _pages_of(listing.total, listing.size) + (listing.page > 1)
    ),
}


def _counted_once(self: Any, ctx: Context, listing: Listing) -> int:
    counted: int = self.state.setdefault((ctx.path, *listing.conditions), self.usual())
    return counted


def _size_named(ctx: Context) -> bool:
    return b"size=" in ctx.query


faults["list.pages"] |= {
    "pages is not total divided by size, rounded up.": seam(
        "pages", lambda self, ctx, listing: self.value(listing), each=PAGES
    ),
    "Without size the pages are counted by another one.": where(
        "pages",
        lambda self, ctx, listing: not _size_named(ctx),
        lambda self, ctx, listing: _pages_of(listing.total, self.value),
        operations=LONG_LISTS,
        each=(100, 2),
    ),
    "Beside a filter pages is that of all elements where size is not named.": where(
        "pages",
        lambda self, ctx, listing: listing.conditions and not _size_named(ctx),
        lambda self, ctx, listing: _pages_of(
            ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx)), listing.size
        ),
        operations=_FILTERED_LONG,
    ),
    "A page past the last says nothing of the pages there are.": envelope.sets(
        lambda self, *_: self.value,
        _past,
        each={
            "pages 0": {"pages": 0},
            "total and pages 0": {"total": 0, "pages": 0},
            "total 0": {"total": 0},
        },
    ),
    "The total of a list is what it held when it was read first.": seams(
        {
            "count": _counted_once,
            "page_of": lambda self, ctx, listing: self.fetch(
                ctx, listing, limit=listing.size, offset=self.offset(ctx, listing)
            ),
        }
    ),
}
