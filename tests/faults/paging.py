"""Servers with wrong pages and sizes of lists (section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import FILTERS, Query
from conformance.reference.seams.resources import KINDS

from .catalogue import Faulty, Row, fault, faults, refusal, refuse, seam
from .lists import LONG_LISTS, Fetches
from .places import envelope


def _named_last(self: Any, given: bool) -> int:
    """The number that the last request named that named one."""
    held = self.state
    if given:
        held["named"] = self.usual()
    return int(held.get("named") or self.usual())


faults["list.defaults"] |= {
    "Without size a page has another one.": seam(
        "requested_size",
        lambda self, ctx, query: self.usual() if "size" in query else int(self.value),
        each=(20, 100, 9, 11),
    ),
    "Without page and size the answer does not say 1 and 10.": envelope(
        lambda self, ctx, document: (
            document
            if self.value.encode() in ctx.query
            else {**document, self.value: 0 if self.value == "page" else len(document["items"])}
        ),
        each=("page", "size"),
    ),
    "Without size a page that this filter has filtered has another one.": seam(
        "requested_size",
        lambda self, ctx, query: 50 if self.value in query and "size" not in query else self.usual(),
        each=FILTERS.__getitem__,
        operations=tuple(FILTERS),
    ),
    "Without page the second one is shown and called the first.": seam(
        "offset", lambda self, ctx, listing: self.usual() + (0 if b"page" in ctx.query else listing.size)
    ),
    "Without page or size the one of the request before holds.": seam(
        "number",
        lambda self, ctx, query, name, *limits: (
            _named_last(self, name in query) if name == self.value else self.usual()
        ),
        # Accounts and wallets are too few for a second page.
        each=lambda operation: ("page", "size")[operation in ("listAccounts", "listWallets") :],
    ),
}


@fault("list.defaults", operations=LONG_LISTS)
class DefaultShowsAll(Fetches):
    """Without size all elements are shown and the size called 10."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        return (
            self.all(ctx, listing) if b"size" not in ctx.query else super(Fetches, self).page_of(ctx, listing)
        )


@fault("list.defaults")
class DefaultShowsFewer(Fetches):
    """Without size nine elements are shown at most and the size called 10."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        return records if b"size" in ctx.query else records[:9]


@fault("list.empty", seam="finish")
def _(self: Any, ctx: Context, response: Response) -> Any:
    """A list without matches is answered with 404."""
    if response.status == 200 and not response.document["total"]:
        return Response.of(
            404, {"error": {"type": "not_found_error", "code": "empty", "message": "Nothing there."}}
        )
    return response


@fault("list.empty")
class EmptyShowsAll(Faulty):
    """A list without matches shows all elements of the kind instead."""

    def count(self, ctx: Context, listing: Listing) -> int:
        total = super().count(ctx, listing)
        if not total:
            listing.conditions = []
            total = ctx.store.count(KINDS[ctx.operation], None)
            ctx.notes["all"] = True
        return total

    def list_parent(self, ctx: Context) -> str | None:
        return None if ctx.notes.get("all") else super().list_parent(ctx)


faults["list.empty"] |= {
    "A list without matches is answered otherwise.": envelope(
        lambda self, ctx, document: document if document["total"] else {**document, **self.value},
        each={
            "total 1": {"total": 1},
            "pages 2": {"pages": 2, "total": 11},
            "an empty item": {"items": [{}]},
        },
    ),
    "A list without matches has null in place of its elements.": seam(
        "list_document",
        lambda self, ctx: self.usual() if ctx.listing.records else {**self.usual(), "items": None},
        also=("list.envelope",),
    ),
}


@fault(
    "list.size-range",
    each={
        "0": lambda size: size == 0,
        "negative": lambda size: size < 0,
        "101": lambda size: size == 101,
        "up to 200": lambda size: 100 < size <= 200,
        "1000": lambda size: size >= 1000,
        "any": lambda size: True,
    },
)
class ObeysSize(Faulty):
    """A size out of range is obeyed."""

    def requested_size(self, ctx: Context, query: Query) -> int:
        ctx.notes["sizing"] = True
        return super().requested_size(ctx, query)

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        if name == "size" and not 1 <= value <= 100 and self.value(value):
            return value
        return super().in_range(ctx, name, value, highest)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetch(
            ctx, listing, limit=listing.size, offset=max(0, (listing.page - 1) * max(0, listing.size))
        )

    def pages(self, ctx: Context, listing: Listing) -> int:
        return -(-listing.total // listing.size) if listing.size else 0


@fault("list.size-range")
class ObeysLastSize(Faulty):
    """Of several sizes the first one is held against the range, and the last one obeyed."""

    def parameter(self, ctx: Context, query: Query, name: str) -> str | None:
        return query[name][0] if name == "size" and "size" in query else super().parameter(ctx, query, name)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        last = self.query(ctx).get("size", [""])[-1]
        limit = int(last) if last.isdigit() else listing.size
        return self.fetch(ctx, listing, limit=limit, offset=self.offset(ctx, listing))


@fault("list.size-range", each=("all", "as sent"))
class ObeysTextSize(Faulty):
    """A size that is no integer stands for all elements, or is echoed."""

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        if name != "size":
            return super().on_no_integer(ctx, name, text, default)
        ctx.notes["size"] = text
        return 10_000

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        if "size" not in ctx.notes:
            return document
        return {
            **document,
            "size": ctx.notes["size"] if self.value == "as sent" else max(101, document["total"]),
        }


@fault(
    "list.page-range",
    each={"0": lambda page: page == 0, "negative": lambda page: page < 0, "any": lambda page: True},
)
class ObeysPage(Faulty):
    """A page below 1 is obeyed."""

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        if name == "page" and value < 1 and self.value(value):
            return value
        return super().in_range(ctx, name, value, highest)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return max(0, super().offset(ctx, listing))


@fault("list.page-range", each={"0": lambda page: page == 0, "negative": lambda page: page < 0})
class CountsFromTheEnd(Faulty):
    """A page below 1 is called page 1, but its offset leaves out what is first."""

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        if name == "page" and value < 1 and self.value(value):
            ctx.notes["below"] = True
            return 1
        return super().in_range(ctx, name, value, highest)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return super().offset(ctx, listing) + ("below" in ctx.notes)


def _redirected(parameter: str) -> Row:
    """Answers a parameter out of range with a redirect, which is no refusal."""

    def in_range(self: Any, ctx: Context, name: str, value: int, highest: int | None) -> int:
        out = value < 1 or (highest is not None and value > highest)
        return refuse(refusal(302, "moved", "moved")) if out and name == parameter else int(self.usual())

    return seam("in_range", in_range)


faults["list.page-range"] |= {"A page below 1 is answered with a redirection.": _redirected("page")}

faults["list.size-range"] |= {"A size out of its range is answered with a redirection.": _redirected("size")}


@fault("list.page-range", each=("as sent", "0"))
class ObeysTextPage(Faulty):
    """A page that is no integer is echoed, or counts as 0."""

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        if name != "page":
            return super().on_no_integer(ctx, name, text, default)
        ctx.notes["page"] = text if self.value == "as sent" else 0
        return 1

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        return {**document, "page": ctx.notes["page"]} if "page" in ctx.notes else document


def _last(listing: Listing) -> int:
    return max(0, (-(-listing.total // listing.size) - 1) * listing.size)


#: Kind -> offset of a page past the last.
BEYOND: dict[str, Callable[[Listing, int], int]] = {
    "the last": lambda listing, offset: _last(listing),
    "the first": lambda listing, offset: 0,
    "around": lambda listing, offset: offset % listing.total,
    "the first, from a million on": lambda listing, offset: 0 if offset > 1_000_000 else offset,
    "32 bits": lambda listing, offset: (offset & 0x7FFFFFFF) if offset > 0x7FFFFFFF else offset,
    "the first, below 0 in 32 bits": lambda listing, offset: 0 if offset % 2**32 >= 2**31 else offset,
    "the first, beyond what is exact as a float": lambda listing, offset: (
        0 if offset >= 2**53 and listing.page < 2**54 else offset
    ),
    "the last, one past": lambda listing, offset: (
        _last(listing) if listing.page == listing.total // listing.size + 1 else offset
    ),
}

HUGE = 10**9


@fault(
    "list.page-beyond",
    seam="fetched",
    base=Fetches,
    each=[name for name in BEYOND if name not in ("32 bits", "the last, one past")],
)
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """A page past the last repeats elements."""
    offset = (listing.page - 1) * listing.size
    if offset >= listing.total > 0:
        offset = BEYOND[self.value](listing, offset)
    return self.fetch(ctx, listing, limit=listing.size, offset=min(offset, HUGE))


faults["list.page-beyond"] |= {
    "A page past the last is answered with a redirection.": seam(
        "page_of",
        lambda self, ctx, listing: (
            refuse(refusal(302, "moved", "moved")) if self.usual() == [] and listing.total else self.usual()
        ),
    )
}
