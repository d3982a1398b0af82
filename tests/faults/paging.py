"""Servers whose lists have a wrong envelope, wrong items, pages or sizes (section 8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context, Listing
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import FILTERS
from conformance.reference.seams.resources import KINDS

from .catalogue import Only, faults, refuse, seam, seams
from .rows import MISSING, each_of, envelope, page, refusing, where

#: Lists that can have more than ten elements; an account has one wallet for each known pair.
LONG_LISTS = [operation for operation in OPERATION_SETS["list"] if operation != "listWallets"]

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
            "bare array": lambda shown: shown["items"],
            "wrapped": lambda shown: {"data": shown},
            "other names": lambda shown: {**shown, "data": shown["items"], "items": None},
        }
    ),
}


faults["list.plain-integers"] |= {
    "A number of the envelope is written with a fraction of zeros.": envelope.changes(
        each_of("total page size pages", {"float": float}),
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


# ---------------------------------------------------------------------- numbers and pages


MOVED = "302 moved moved"


def _named_last(self: Any, given: bool) -> int:
    """Returns the number that the last request named that named one."""
    if given:
        self.state["named"] = self.usual()
    return int(self.state.get("named") or self.usual())


def _without_size(self: Any, ctx: Context, *_: Any) -> bool:
    return b"size" not in ctx.query


faults["list.defaults"] |= {
    "Without size a page has another one.": where(
        "requested_size", lambda query: "size" not in query, lambda value: value, each=(20, 100, 9, 11)
    ),
    "Without size a page that this filter has filtered has another one.": where(
        "requested_size",
        lambda query, value: value in query and "size" not in query,
        lambda *_: 50,
        each=FILTERS.__getitem__,
        operations=tuple(FILTERS),
    ),
    "Without size all elements are shown and the size called 10.": where(
        "page_of", _without_size, lambda self, ctx, listing: self.fetch(ctx, listing), operations=LONG_LISTS
    ),
    "Without size nine elements are shown at most and the size called 10.": where(
        "page_of", _without_size, lambda usual: usual()[:9]
    ),
    "Without page and size the answer does not say 1 and 10.": envelope.sets(
        lambda shown, value: {value: 0 if value == "page" else len(shown["items"])},
        lambda ctx, value: value.encode() not in ctx.query,
        each=("page", "size"),
    ),
    "Without page the second one is shown and called the first.": where(
        "offset", lambda ctx: b"page" not in ctx.query, lambda listing, usual: usual() + listing.size
    ),
    "Without page or size the one of the request before holds.": where(
        "number",
        lambda name, value: name == value,
        lambda self, query, name: _named_last(self, name in query),
        # Accounts and wallets are too few for a second page.
        each={"page": Only("page", {*FILTERS} - {"listAccounts", "listWallets"}), "size": "size"},
    ),
}


# ---------------------------------------------------------------------- lists without matches


def _count_all(self: Any, ctx: Context, listing: Listing) -> int:
    total = self.usual()
    if not total:
        listing.conditions = []
        total = ctx.store.count(KINDS[ctx.operation], None)
        ctx.notes["all"] = True
    return int(total)


faults["list.empty"] |= {
    "A list without matches is answered with 404.": where(
        "finish",
        lambda response: response.status == 200 and not response.document["total"],
        lambda: Response.of(404, {"error": {"type": "not_found_error", "code": "empty", "message": "None."}}),
    ),
    "A list without matches shows all elements of the kind instead.": seams(
        {"count": _count_all, "list_parent": lambda ctx, usual: None if ctx.notes.get("all") else usual()}
    ),
    "A list without matches is answered otherwise.": envelope.sets(
        None,
        lambda shown: not shown["total"],
        each={
            "total 1": {"total": 1},
            "pages 2": {"pages": 2, "total": 11},
            "an empty item": {"items": [{}]},
        },
    ),
    "A list without matches has null in place of its elements.": envelope.sets(
        {"items": None}, lambda shown: not shown["items"], also=("list.envelope",)
    ),
}


# ---------------------------------------------------------------------- numbers out of range


def _out_of_range(which: str) -> Callable[..., bool]:
    return lambda name, value, highest: (
        name == which and (value < 1 or (highest is not None and value > highest))
    )


def _obeyed(which: str) -> Callable[..., int]:
    """Returns an override that obeys a number out of range if the kind is true of it."""
    out = _out_of_range(which)
    return lambda self, name, value, highest, usual: (
        value if out(name, value, highest) and self.value(value) else usual()
    )


def reading(which: str, number: int, echo: Callable[[Any, str], Any]) -> dict[str, Callable[..., Any]]:
    """Returns the overrides that take a text for a number, and show something in its place."""

    def on_no_integer(self: Any, ctx: Context, name: str, text: str) -> int:
        if name != which:
            return self.usual()
        ctx.notes[which] = echo(self.value, text)
        return number

    def list_document(self: Any, ctx: Context) -> Any:
        echoed = ctx.notes.get(which, ...)
        shown = self.usual()
        if echoed is ...:
            return shown
        return {**shown, which: max(101, shown["total"]) if echoed is None else echoed}

    return {"on_no_integer": on_no_integer, "list_document": list_document}


_BELOW = {"0": lambda page: page == 0, "negative": lambda page: page < 0}

faults["list.size-range"] |= {
    "A size out of range is obeyed.": seams(
        {
            "in_range": _obeyed("size"),
            "page_of": lambda self, ctx, listing: page(
                self, ctx, listing, offset=max(0, (listing.page - 1) * max(0, listing.size))
            ),
            "pages": lambda listing: -(-listing.total // listing.size) if listing.size else 0,
        },
        each={
            **_BELOW,
            "101": lambda size: size == 101,
            "up to 200": lambda size: 100 < size <= 200,
            "1000": lambda size: size >= 1000,
            "any": lambda size: True,
        },
    ),
    "Of several sizes the first one is held against the range, and the last one obeyed.": seams(
        {
            "parameter": lambda query, name, usual: (
                query[name][0] if name == "size" and "size" in query else usual()
            ),
            "page_of": lambda self, ctx, listing: page(
                self,
                ctx,
                listing,
                limit=int(last)
                if (last := self.query(ctx).get("size", [""])[-1]).isdigit()
                else listing.size,
            ),
        }
    ),
    "A size that is no integer stands for all elements, or is echoed.": seams(
        reading("size", 10_000, lambda how, text: text if how == "as sent" else None), each=("all", "as sent")
    ),
    "A size out of range is answered by a redirection.": refusing("in_range", MOVED, _out_of_range("size")),
}

faults["list.page-range"] |= {
    "A page below 1 is obeyed.": seams(
        {"in_range": _obeyed("page"), "offset": lambda usual: max(0, usual())},
        each={**_BELOW, "any": lambda page: True},
    ),
    "A page below 1 is called page 1, but its offset leaves out what is first.": seams(
        {
            "in_range": lambda self, ctx, name, value, usual: (
                ctx.notes.setdefault("below", 1) if name == "page" and self.value(value) else usual()
            ),
            "offset": lambda ctx, usual: usual() + ("below" in ctx.notes),
        },
        each=_BELOW,
    ),
    "A page that is no integer is echoed, or counts as 0.": seams(
        reading("page", 1, lambda how, text: text if how == "as sent" else 0), each=("as sent", "0")
    ),
    "A page below 1 is answered by a redirection.": refusing("in_range", MOVED, _out_of_range("page")),
}


# ---------------------------------------------------------------------- pages past the last


faults["list.page-beyond"] |= {
    "A page past the last repeats elements.": where(
        "page_of",
        lambda listing: (listing.page - 1) * listing.size >= listing.total > 0,
        lambda self, ctx, listing, value: page(
            self, ctx, listing, offset=min(value(listing, (listing.page - 1) * listing.size), 10**9)
        ),
        each={
            "the last": lambda listing, offset: (listing.total - 1) // listing.size * listing.size,
            "the first": lambda listing, offset: 0,
            "around": lambda listing, offset: offset % listing.total,
            "the first, from a million on": lambda listing, offset: 0 if offset > 1_000_000 else offset,
            "the first, below 0 in 32 bits": lambda listing, offset: 0 if offset % 2**32 >= 2**31 else offset,
            "the first, beyond what is exact as a float": lambda listing, offset: (
                0 if offset >= 2**53 and listing.page < 2**54 else offset
            ),
        },
    ),
    "A page past the last is answered with a redirection.": seam(
        "page_of", lambda listing, usual: refuse(MOVED) if not usual() and listing.total else usual()
    ),
}


# ---------------------------------------------------------------------- integers in other forms


def _octal(text: str) -> str:
    return str(int(text, 8)) if re.fullmatch("0[0-7]+", text) else text


def _leading(text: str) -> str:
    """The digits in front, as parseInt reads them."""
    return digits[0] if (digits := re.match("[0-9]+", text)) else text


def _digits_only(text: str) -> str:
    """All signs but digits left out, as input masks do."""
    return re.sub("[^0-9]", "", text, flags=re.ASCII) or text


faults["list.echo"] |= {
    "An integer in another form is read as another number.": seam(
        "parameter",
        lambda name, usual, value: (
            value(usual()) if name in ("page", "size") and usual() is not None else usual()
        ),
        each={
            "octal": _octal,
            "leading digits": Only(_leading, ("listAccounts", "listVirtualAccounts")),
            "digits only": Only(_digits_only, ("listPayoutDestinations", "listVirtualAccounts")),
        },
    ),
}
