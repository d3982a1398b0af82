"""Servers that misread page and size, or obey what is out of range (section 8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context

from .catalogue import Only, faults, refuse, seam, seams
from .rows import page, refusing, where

MOVED = "302 moved moved"


def _out_of_range(which: str) -> Callable[..., bool]:
    return lambda self, ctx, name, value, highest: (
        name == which and (value < 1 or (highest is not None and value > highest))
    )


def _obeyed(which: str) -> Callable[..., int]:
    """Returns an override that obeys a number out of range if the kind is true of it."""
    out = _out_of_range(which)
    return lambda self, usual, ctx, name, value, highest: (
        value if out(self, ctx, name, value, highest) and self.value(value) else usual()
    )


def reading(which: str, number: int, echo: Callable[[Any, str], Any]) -> dict[str, Callable[..., Any]]:
    """Returns the overrides that take a text for a number, and show something in its place."""

    def on_no_integer(self: Any, usual: Any, ctx: Context, name: str, text: str, *_: Any) -> int:
        if name != which:
            return usual()
        ctx.notes[which] = echo(self.value, text)
        return number

    def list_document(self: Any, usual: Any, ctx: Context) -> Any:
        echoed = ctx.notes.get(which, ...)
        shown = usual()
        if echoed is ...:
            return shown
        return {**shown, which: max(101, shown["total"]) if echoed is None else echoed}

    return {"on_no_integer": on_no_integer, "list_document": list_document}


_BELOW = {"0": lambda page: page == 0, "negative": lambda page: page < 0}

faults["list.size-range"] |= {
    "A size out of range is obeyed.": seams(
        {
            "in_range": _obeyed("size"),
            "page_of": lambda self, usual, ctx, listing: page(
                self, ctx, listing, offset=max(0, (listing.page - 1) * max(0, listing.size))
            ),
            "pages": lambda self, usual, ctx, listing: (
                -(-listing.total // listing.size) if listing.size else 0
            ),
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
            "parameter": lambda self, usual, ctx, query, name: (
                query[name][0] if name == "size" and "size" in query else usual()
            ),
            "page_of": lambda self, usual, ctx, listing: page(
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
        {"in_range": _obeyed("page"), "offset": lambda self, usual, *_: max(0, usual())},
        each={**_BELOW, "any": lambda page: True},
    ),
    "A page below 1 is called page 1, but its offset leaves out what is first.": seams(
        {
            "in_range": lambda self, usual, ctx, name, value, *_: (
                ctx.notes.setdefault("below", 1) if name == "page" and self.value(value) else usual()
            ),
            "offset": lambda self, usual, ctx, *_: usual() + ("below" in ctx.notes),
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
        lambda self, ctx, listing: (listing.page - 1) * listing.size >= listing.total > 0,
        lambda self, usual, ctx, listing: page(
            self, ctx, listing, offset=min(self.value(listing, (listing.page - 1) * listing.size), 10**9)
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
        "page_of",
        lambda self, usual, ctx, listing: refuse(MOVED) if not usual() and listing.total else usual(),
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
        lambda self, usual, ctx, query, name: (
            self.value(usual()) if name in ("page", "size") and usual() is not None else usual()
        ),
        each={
            "octal": _octal,
            "leading digits": Only(_leading, ("listAccounts", "listVirtualAccounts")),
            "digits only": Only(_digits_only, ("listPayoutDestinations", "listVirtualAccounts")),
        },
    ),
}
