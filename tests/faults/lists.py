"""Servers whose lists have a wrong envelope, wrong items, pages or sizes (section 8)."""

from __future__ import annotations

from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Listing
from conformance.reference.seams.lists import FILTERS, ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Only, faults, seam, seams
from .rows import MISSING, each_of, envelope, item, on_pages, page, where

#: Lists that can have more than ten elements; an account has one wallet for each known pair.
LONG_LISTS = [operation for operation in OPERATION_SETS["list"] if operation != "listWallets"]

FILTERED_LISTS = [name for name, filters in FILTERS.items() if filters]

faults["list.envelope"] |= {
    "A member of the envelope is missing, or of another type.": envelope.changes(
        each_of("items total page size pages", {"missing": MISSING}),
        each_of(
            "total page size pages",
            {"null": None, "text": str, "decimal": lambda number: number + 0.5, "float": float, "true": True},
        ),
        each_of("total", {"negative": -1}),
        each_of(
            "items",
            {
                "null": None,
                "object": lambda items: dict(enumerate(map(str, items))),
                "text": str,
                "null when empty": lambda items: items or None,
            },
        ),
    ),
    "The envelope is another one.": envelope(
        each={
            "bare array": lambda shown: shown["items"],
            "wrapped": lambda shown: {"data": shown},
            "other names": lambda shown: {**shown, "data": shown["items"], "items": None},
        }
    ),
}


_PLAIN = ("name", "label", "currency", "network", "country", "payout_method", "is_default")


def _item_members(operation: str) -> list[str]:
    """Returns the required members of a list item, some of which may be null."""
    optional = {
        "listPayoutDestinations": {"label", "network", "account_number_last4"},
        "listAccounts": {"object"},
    }.get(operation, ())
    return [name for name in ITEM_FIELDS[KINDS[operation]] if name not in optional]


def _last_without(self: Any, ctx: Context, listing: Listing) -> list[Any]:
    """Returns the items of a page, of which the last one lacks its name or currency."""
    *items, last = self.usual() or [{}]
    name = "name" if ctx.operation == "listAccounts" else "currency"
    return [*items, *([{key: last[key] for key in last if key != name}] if last else [])]


faults["list.wallet-items"] |= {
    "A wallet in a list shows this member.": seam(
        "item_fields", lambda value, usual: [*usual(), value], each=("addresses", "updated")
    )
}

faults["list.item-fields"] |= {
    # Ids, constants, statuses and timestamps are covered by the format rules.
    "A documented member of an item is missing, or of another type.": item.changes(
        each_of(_item_members, {"missing": MISSING}),
        each_of(
            lambda operation: [name for name in _item_members(operation) if name in _PLAIN], (None, 12345)
        ),
        each_of("label network", [12345], ["listPayoutDestinations"]),
        nulls=True,
    ),
    "The last item of a page lacks its name or currency.": seam("items", _last_without),
    "The items are ids.": seam("items", lambda listing: [record["id"] for record in listing.records]),
    "The elements of some pages lack their created.": on_pages(
        lambda shown: {name: shown[name] for name in shown if name != "created"}
    ),
}


# ---------------------------------------------------------------------- page and size

_FILTERED_LONG = ("listPayoutDestinations", "listVirtualAccounts")

#: Kind -> wrong page or size in the answer.
ECHOES: dict[str, Any] = {
    "page always 1": lambda: {"page": 1},
    "page from 0": lambda shown: {"page": shown["page"] - 1},
    "next page": lambda shown: {"page": shown["page"] + 1},
    "size always 10": lambda: {"size": 10},
    "size shown": lambda shown: {"size": len(shown["items"])},
    "size more": lambda shown: {"size": shown["size"] + 1},
    "size always 100": lambda: {"size": 100},
    "page of pages": lambda shown: {"page": max(shown["pages"], 1)},
}

#: Kind -> size in place of the requested one.
SIZES: dict[str, Any] = {
    **{f"at most {most}": lambda usual, most=most: min(usual(), most) for most in (99, 50, 25)},
    "10 for 11 to 49": lambda usual: 10 if 10 < usual() < 50 else usual(),
    "50 for 51 to 99": lambda usual: 50 if 50 < usual() < 100 else usual(),
}


def _past(self: Any, ctx: Context, shown: dict[str, Any]) -> bool:
    """Returns True for a page past the last."""
    return not shown["items"] and bool(shown["total"])


faults["list.echo"] |= {
    "page or size of the answer is not that of the request.": envelope.sets(each=ECHOES),
    "A size up to 100 is read as another.": where("in_range", lambda name: name == "size", None, each=SIZES),
    "The size of a filtered page is the number of its elements.": envelope.sets(
        lambda shown: {"size": len(shown["items"])},
        lambda ctx: ctx.listing.conditions,
        operations=_FILTERED_LONG,
    ),
    "Beside a filter size is ignored where page is not named.": where(
        "requested_size",
        lambda self, ctx, query: self.conditions(ctx, query) and "page" not in query,
        lambda *_: 10,
        operations=FILTERED_LISTS,
    ),
    "A page past the last says another page or size.": envelope.sets(
        None,
        _past,
        each={
            "the first page": lambda: {"page": 1},
            "the last page": lambda shown: {"page": shown["pages"]},
            "size 0": lambda: {"size": 0},
        },
    ),
}


def _pages_of(total: int, size: int) -> int:
    return -(-total // size)


#: Kind -> wrong number of pages.
PAGES: dict[str, Any] = {
    "rounded down": lambda listing: listing.total // listing.size,
    "one more": lambda listing: _pages_of(listing.total, listing.size) + 1,
    "rounded down and one more": lambda listing: listing.total // listing.size + 1,
    "rounded": lambda listing: round(listing.total / listing.size),
    "by ten": lambda listing: _pages_of(listing.total, 10),
    "one": lambda: 1,
    "always 0": lambda: 0,
    "always -1": lambda: -1,
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


faults["list.pages"] |= {
    "pages is not total divided by size, rounded up.": seam("pages", each=PAGES),
    "Without size the pages are counted by another one.": where(
        "pages",
        lambda ctx: b"size=" not in ctx.query,
        lambda listing, value: _pages_of(listing.total, value),
        operations=LONG_LISTS,
        each=(100, 2),
    ),
    "Beside a filter pages is that of all elements where size is not named.": where(
        "pages",
        lambda ctx, listing: listing.conditions and b"size=" not in ctx.query,
        lambda self, ctx, listing: _pages_of(
            ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx)), listing.size
        ),
        operations=_FILTERED_LONG,
    ),
    "A page past the last says nothing of the pages there are.": envelope.sets(
        None,
        _past,
        each={
            "pages 0": {"pages": 0},
            "total and pages 0": {"total": 0, "pages": 0},
            "total 0": {"total": 0},
        },
    ),
    "The total of a list is what it held when it was read first.": seams(
        {
            "count": lambda self, ctx, listing, usual: self.state.setdefault(
                (ctx.path, *listing.conditions), usual()
            ),
            "page_of": page,
        }
    ),
}
