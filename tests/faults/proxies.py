"""Servers that take from any caller what proxies tell: another path, prefix or method."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.routes import match
from conformance.world.corpora import headers

from .catalogue import Only, faults, seams
from .rows import where
from .signatures import also_signed, string


def _header(ctx: Context, name: str) -> bytes:
    return ctx.headers.get(name.lower().encode(), b"")


def _method(ctx: Context, place: str) -> str:
    """The method in a header, in the query, or in the body."""
    if place == "the query":
        return parse_qs(ctx.query.decode("latin-1")).get("_method", [""])[0]
    if place == "the body":
        found = re.search(rb'"_method": ?"([A-Z]+)"', ctx.request.body)
        return found[1].decode() if found else ""
    return _header(ctx, place).decode("latin-1")


def _places(*names: str) -> dict[str, Any]:
    """Returns where a server may read a method: these headers, the query, and the body if there is one."""
    everywhere = {name: name for name in (*names, "the query")}
    return {**everywhere, "the body": Only("the body", OPERATION_SETS["body"])}


def _routed(ctx: Context, path: bytes, method: str) -> None:
    """Gives a request another operation and resource."""
    found = match(path.partition(b"?")[0])
    if found is not None and method in found.methods:
        ctx.operation, ctx.params = found.methods[method], found.params


def _by_address(self: Any, usual: Any, ctx: Context) -> None:
    _routed(ctx, _header(ctx, self.value), ctx.request.method)
    usual()


def _by_method(self: Any, usual: Any, ctx: Context) -> None:
    usual()
    _routed(ctx, ctx.path, _method(ctx, self.value))


def _by_method_first(self: Any, usual: Any, ctx: Context) -> None:
    """As middleware does that other middleware follows."""
    if self.here(ctx):
        ctx.notes["method"] = _method(ctx, self.value)
        _routed(ctx, ctx.path, ctx.notes["method"])
    usual()


def _addresses(self: Any, ctx: Context) -> Iterator[bytes]:
    if address := _header(ctx, self.value):
        yield string(self, ctx, target=address)


faults["auth.signed-path"] |= {
    "The prefix that a header tells is signed before the path.": also_signed(
        lambda self, ctx: [string(self, ctx, target=_header(ctx, self.value) + ctx.request.target)],
        each=headers.PREFIXES,
    ),
    "The signature is verified over the address that a header tells.": also_signed(
        _addresses, each=headers.ADDRESSES
    ),
    "The address that a header tells takes the place of the path, signed and served.": seams(
        {
            "authenticate": _by_address,
            "signed_target": lambda self, usual, ctx: _header(ctx, self.value) or usual(),
        },
        each=("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Path"),
    ),
}

#: Operations on whose path there is another method.
_SHARED = [
    operation.id
    for operation in OPERATIONS.values()
    if operation.method != "GET"
    and any(other.path == operation.path and other.method == "GET" for other in OPERATIONS.values())
]

faults["auth.signed-method"] |= {
    "The signature is verified for the method that a header, or the query, tells.": also_signed(
        lambda self, ctx: [string(self, ctx, method=_method(ctx, self.value) or ctx.request.method)],
        each=_places(*headers.METHODS),
    ),
    "The method that a header tells takes the place of the request's, signed and served.": seams(
        {
            "authenticate": _by_method_first,
            "signed_method": lambda self, usual, ctx: ctx.notes.get("method") or usual(),
        },
        each=_places(*headers.METHODS[:2]),
        operations=_SHARED,
        everywhere=True,
    ),
}


def _deleted(self: Any, usual: Any, ctx: Context, response: Response) -> Response:
    """Deletes what a read showed."""
    if ctx.record is not None and _method(ctx, self.value) == "DELETE":
        ctx.store.change("DELETE FROM resources WHERE id = ?", ctx.record["id"])
    return response


faults["auth.request-line"] |= {
    "What is done, and where, says the address in a header; the path is signed.": seams(
        {
            "authenticate": lambda self, usual, ctx: (
                usual(),
                _routed(ctx, _header(ctx, self.value), ctx.request.method),
            )[0]
        },
        each=headers.ADDRESSES,
        operations=[name for name in OPERATIONS if name != "createPayout"],
    ),
    "What is done says the method in a header, or in the query; that of the request is signed.": seams(
        {"authenticate": _by_method},
        each=_places(*headers.METHODS),
        operations=_SHARED,
    ),
    "What has a method in a header is answered as an OPTIONS request.": where(
        "finish",
        lambda self, ctx, *_: _method(ctx, self.value),
        lambda *_: Response.of(200, {"methods": ["GET", "POST", "PATCH"]}),
        each=headers.METHODS[:2],
    ),
    "A read deletes if a header tells DELETE.": seams(
        {"finish": _deleted}, each=headers.METHODS, operations=["getBeneficiary", "getVirtualAccount"]
    ),
}
