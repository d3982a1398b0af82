"""Servers that verify the signature over another spelling of the request than the one sent (section 5.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote_to_bytes, urlencode

from conformance.reference.context import Context

from .catalogue import fault, faults, seam
from .signatures import body_forms


def _split(ctx: Context, path: bytes) -> bytes:
    return path + (b"?" + ctx.query if b"?" in ctx.request.target else b"")


#: Kind -> signed path, instead of the one sent.
PATH_FORMS = {
    "decoded": lambda path: unquote_to_bytes(path),
    "capital escapes": lambda path: re.sub(rb"%[0-9a-fA-F]{2}", lambda found: found[0].upper(), path),
    "small escapes": lambda path: re.sub(rb"%[0-9a-fA-F]{2}", lambda found: found[0].lower(), path),
    "normal form": lambda path: quote(unquote_to_bytes(path), safe="/").encode(),
}

faults["auth.path-as-sent"] |= {
    "The signature is computed over another form of the path than the one that was sent.": seam(
        "signed_target",
        lambda self, ctx: _split(ctx, PATH_FORMS[self.value](ctx.path)),
        each=("decoded", "normal form"),
    ),
}

#: Kind -> signed query, instead of the one sent.
QUERY_FORMS: dict[str, Callable[[bytes], bytes]] = {
    "left out": lambda query: b"",
    "sorted": lambda query: b"&".join(sorted(query.split(b"&"))),
    "decoded": lambda query: unquote_to_bytes(query),
    "plus for space": lambda query: urlencode(
        parse_qsl(query.decode("latin-1"), True, encoding="latin-1"), quote_via=quote_plus, encoding="latin-1"
    ).encode(),
    "normal form": lambda query: urlencode(
        parse_qsl(query.decode("latin-1"), True, encoding="latin-1"), quote_via=quote, encoding="latin-1"
    ).encode(),
    "without repeats": lambda query: b"&".join(
        {pair.partition(b"=")[0]: pair for pair in query.split(b"&")}.values()
    ),
    "known parameters only": lambda query: b"&".join(
        pair for pair in query.split(b"&") if pair.partition(b"=")[0] in (b"page", b"size")
    ),
    "small escapes": PATH_FORMS["small escapes"],
    "capital escapes": PATH_FORMS["capital escapes"],
}


@fault(
    "auth.query-as-sent",
    seam="signed_target",
    each=("left out", "sorted", "decoded", "plus for space", "normal form"),
)
def _(self: Any, ctx: Context) -> Any:
    """The signature is computed over another form of the query than the one that was sent."""
    query = QUERY_FORMS[self.value](ctx.query)
    return ctx.path + (b"?" + query if query else b"")


@fault("auth.body-as-sent", seam="signed_body", each=("compact", "spaced", "sorted", "escaped", "stripped"))
def _(self: Any, ctx: Context) -> Any:
    """The signature is computed over another form of the body than the one that was sent, where it is odd.

    The compact form without escapes that most clients send is taken as it is.
    """
    bodies = body_forms(ctx)
    if ctx.request.body == bodies.get("compact") and ctx.request.body.isascii():
        return self.usual()
    return bodies.get(self.value, self.usual())


faults["auth.body-as-sent"] |= {
    "A body with a line feed at its end is refused.": seam(
        "signatures_equal", lambda self, ctx, *_: self.usual() and not ctx.request.body.endswith(b"\n")
    ),
    "Percent-encoding in a body is read before it is signed.": seam(
        "signed_body", lambda self, *_: unquote_to_bytes(self.usual())
    ),
    "The signature is computed over the body in ISO 8859-1, or over question marks.": seam(
        "signed_body", lambda self, *_: self.usual().decode("utf-8", "replace").encode("latin-1", "replace")
    ),
    "Only so many bytes of a body are part of the signature.": seam(
        "signed_body", lambda self, ctx: self.usual()[: self.value], each=(4096, 65536)
    ),
}
