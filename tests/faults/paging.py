"""Servers whose lists have a wrong envelope, wrong items, pages or sizes (section 8)."""

from __future__ import annotations

from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context, Listing
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import FILTERS
from conformance.reference.seams.resources import RECORD_KINDS

from .catalogue import Only, faults, seam, seams
from .rows import MISSING, each_of, envelope, page, where

#: Lists that can have more than ten elements; an account has one wallet for each known pair.
LONG_LISTS = [operation for operation in OPERATION_SETS["list"] if operation != "listWallets"]
FILTERED_LONG = [operation for operation in LONG_LISTS if operation != "listAccounts"]

FILTERED_LISTS = [name for name, filters in FILTERS.items() if filters]

faults["list.envelope"] |= {
    "A member of the envelope is missing, or of another type.": envelope.changes(
        each_of("items total page size pages", {"missing": MISSING}),
        each_of(
            "total page size pages",
            {"null": None, "text": str, "decimal": lambda number: number + 0.5, "true": True},
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
            "bare array": lambda self, ctx, shown: shown["items"],
            "wrapped": lambda self, ctx, shown: {"data": shown},
            "other names": lambda self, ctx, shown: {**shown, "data": shown["items"], "items": None},
        }
    ),
}


faults["list.plain-integers"] |= {
    "A number of the envelope is written with a fraction of zeros.": envelope.changes(
        each_of("total page size pages", {"float": float}),
    ),
}


# ---------------------------------------------------------------------- page and size

#: Kind -> wrong page or size in the answer.
ECHOES: dict[str, Any] = {
    "page always 1": lambda *_: {"page": 1},
    "page from 0": lambda self, ctx, shown: {"page": shown["page"] - 1},
    "next page": lambda self, ctx, shown: {"page": shown["page"] + 1},
    "size always 10": lambda *_: {"size": 10},
    "size shown": lambda self, ctx, shown: {"size": len(shown["items"])},
    "size more": lambda self, ctx, shown: {"size": shown["size"] + 1},
    "size always 100": lambda *_: {"size": 100},
    "page of pages": lambda self, ctx, shown: {"page": max(shown["pages"], 1)},
}

#: Kind -> size in place of the requested one.
SIZES: dict[str, Any] = {
    **{f"at most {most}": lambda self, usual, *_, most=most: min(usual(), most) for most in (99, 50, 25)},
    "10 for 11 to 49": lambda self, usual, *_: 10 if 10 < usual() < 50 else usual(),
    "50 for 51 to 99": lambda self, usual, *_: 50 if 50 < usual() < 100 else usual(),
}


def _past(self: Any, ctx: Context, shown: dict[str, Any]) -> bool:
    """Returns True for a page past the last."""
    return not shown["items"] and bool(shown["total"])


faults["list.echo"] |= {
    "page or size of the answer is not that of the request.": envelope.sets(each=ECHOES),
    "A size up to 100 is read as another.": where(
        "in_range", lambda self, ctx, name, *_: name == "size", None, each=SIZES
    ),
    "The size of a filtered page is the number of its elements.": envelope.sets(
        lambda self, ctx, shown: {"size": len(shown["items"])},
        lambda self, ctx, *_: ctx.listing.conditions,
        operations=FILTERED_LONG,
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
            "the first page": lambda *_: {"page": 1},
            "the last page": lambda self, ctx, shown: {"page": shown["pages"]},
            "size 0": lambda *_: {"size": 0},
        },
    ),
}


def _pages_of(total: int, size: int) -> int:
    return -(-total // size)


#: Kind -> wrong number of pages.
PAGES: dict[str, Any] = {
    "rounded down": lambda self, usual, ctx, listing: listing.total // listing.size,
    "one more": lambda self, usual, ctx, listing: _pages_of(listing.total, listing.size) + 1,
    "rounded down and one more": lambda self, usual, ctx, listing: listing.total // listing.size + 1,
    "rounded": lambda self, usual, ctx, listing: round(listing.total / listing.size),
    "by ten": lambda self, usual, ctx, listing: _pages_of(listing.total, 10),
    "one": lambda *_: 1,
    "always 0": lambda *_: 0,
    "always -1": lambda *_: -1,
    "total": lambda self, usual, ctx, listing: listing.total,
    "items of this page": lambda self, usual, ctx, listing: _pages_of(len(listing.records), listing.size),
    "current page": lambda self, usual, ctx, listing: listing.page,
    "none for a single element": Only(
        lambda self, usual, ctx, listing: 0 if listing.total == 1 else _pages_of(listing.total, listing.size),
        FILTERED_LISTS,
    ),
    "one more from the second page on": lambda self, usual, ctx, listing: (
        _pages_of(listing.total, listing.size) + (listing.page > 1)
    ),
}


faults["list.pages"] |= {
    "pages is not total divided by size, rounded up.": seam("pages", each=PAGES),
    "Without size the pages are counted by another one.": where(
        "pages",
        lambda self, ctx, *_: b"size=" not in ctx.query,
        lambda self, usual, ctx, listing: _pages_of(listing.total, self.value),
        operations=LONG_LISTS,
        each=(100, 2),
    ),
    "Beside a filter pages is that of all elements where size is not named.": where(
        "pages",
        lambda self, ctx, listing: listing.conditions and b"size=" not in ctx.query,
        lambda self, usual, ctx, listing: _pages_of(
            ctx.store.count(RECORD_KINDS[ctx.operation], self.list_parent(ctx)), listing.size
        ),
        operations=FILTERED_LONG,
    ),
    "A page past the last says nothing of the pages there are.": envelope.sets(
        None,
        _past,
        each={
            "pages 0": {"pages": 0},
            "total 0": {"total": 0},
        },
    ),
}


faults["list.walk"] |= {
    "A page past the last counts no elements.": envelope.sets({"total": 0, "pages": 0}, _past),
    "The total of a list is what it held when it was read first.": seams(
        {
            "count": lambda self, usual, ctx, listing: self.state.setdefault(
                (ctx.path, str(listing.conditions)), usual()
            ),
            "page_of": lambda self, usual, *given: page(self, *given),
        }
    ),
}


# ---------------------------------------------------------------------- numbers and pages


def _named_last(self: Any, usual: Any, given: bool) -> int:
    """Returns the number that the last request named that named one."""
    if given:
        self.state["named"] = usual()
    return int(self.state.get("named") or usual())


def _without_size(self: Any, ctx: Context, *_: Any) -> bool:
    return b"size" not in ctx.query


faults["list.defaults"] |= {
    "Without size a page has another one.": where(
        "requested_size",
        lambda self, ctx, query: "size" not in query,
        lambda self, *_: self.value,
        each=(20, 100, 9, 11),
    ),
    "Without size a page that this filter has filtered has another one.": where(
        "requested_size",
        lambda self, ctx, query: self.value in query and "size" not in query,
        lambda *_: 50,
        each=FILTERS.__getitem__,
        operations=tuple(FILTERS),
    ),
    "Without size all elements are shown and the size called 10.": where(
        "page_of",
        _without_size,
        lambda self, usual, ctx, listing: self.fetch(ctx, listing),
        operations=LONG_LISTS,
    ),
    "Without size nine elements are shown at most and the size called 10.": where(
        "page_of", _without_size, lambda self, usual, *_: usual()[:9]
    ),
    "Without page and size the answer does not say 1 and 10.": envelope.sets(
        lambda self, ctx, shown: {self.value: 0 if self.value == "page" else len(shown["items"])},
        lambda self, ctx, *_: self.value.encode() not in ctx.query,
        each=("page", "size"),
    ),
    "Without page the second one is shown and called the first.": where(
        "offset",
        lambda self, ctx, *_: b"page" not in ctx.query,
        lambda self, usual, ctx, listing: usual() + listing.size,
    ),
    "Without page or size the one of the request before holds.": where(
        "number",
        lambda self, ctx, query, name, *_: name == self.value,
        lambda self, usual, ctx, query, name, *_: _named_last(self, usual, name in query),
        # Accounts and wallets are too few for a second page.
        each={"page": Only("page", {*FILTERS} - {"listAccounts", "listWallets"}), "size": "size"},
    ),
}


# ---------------------------------------------------------------------- lists without matches


def _count_all(self: Any, usual: Any, ctx: Context, listing: Listing) -> int:
    total = usual()
    if not total:
        listing.conditions = []
        total = ctx.store.count(RECORD_KINDS[ctx.operation], None)
        ctx.notes["all"] = True
    return int(total)


faults["list.empty"] |= {
    "A list without matches is answered with 404.": where(
        "finish",
        lambda self, ctx, response: response.status == 200 and not response.document["total"],
        lambda *_: Response.of(
            404, {"error": {"type": "not_found_error", "code": "empty", "message": "None."}}
        ),
    ),
    "A list without matches shows all elements of the kind instead.": seams(
        {
            "count": _count_all,
            "list_parent": lambda self, usual, ctx: None if ctx.notes.get("all") else usual(),
        }
    ),
    "A list without matches is answered otherwise.": envelope.sets(
        None,
        lambda self, ctx, shown: not shown["total"],
        each={
            "total 1": {"total": 1},
            "pages 2": {"pages": 2, "total": 11},
            "an empty item": {"items": [{}]},
        },
    ),
    "A list without matches has null in place of its elements.": envelope.sets(
        {"items": None}, lambda self, ctx, shown: not shown["items"], also=("list.envelope",)
    ),
}
