"""Servers that leave a part of the request out of its signature, or sign it in another form."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_to_bytes, urlencode

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context

from .catalogue import fault, faults, hook, seam
from .http import chunked
from .signatures import AlsoSigned, body_forms, taking

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _other_methods(operation: str) -> list[str]:
    return [method for method in METHODS[:2] if method != OPERATIONS[operation].method]


also_signed = hook(AlsoSigned, "alternatives")

faults["auth.signed-method"] |= {
    "A signature made for any method is accepted.": also_signed(
        lambda self, ctx: (self.string(ctx, method=method) for method in METHODS)
    ),
    "A signature made for this method is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, method=self.value)], each=_other_methods
    ),
    "A signature made for the method in lower case is accepted.": also_signed(
        lambda self, ctx: [ctx.request.method.lower().encode() + self.string(ctx, method="")]
    ),
    "A signature made without a method is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, method="")]
    ),
}


def _other_paths(ctx: Context) -> Iterator[bytes]:
    """Yields the paths of the other operations with the same ids."""
    for operation in OPERATIONS.values():
        named = {name: ctx.params.get(name, "x") for name in re.findall(r"{(\w+)}", operation.path)}
        yield operation.path.format(**named).encode()


PATHS = {
    "without version": lambda ctx: [ctx.request.target.removeprefix(b"/v1")],
    "of another operation": _other_paths,
    "without its last part": lambda ctx: [ctx.path.rpartition(b"/")[0]],
    "none": lambda ctx: [b"" + (b"?" + ctx.query if ctx.query else b"")],
    "with a slash behind": lambda ctx: [ctx.path + b"/"],
}


#: Mistake -> operations that are sent requests with it.
HOSTS = {
    "host": ("listAccounts", "updateBeneficiary", "createPayout", "createWallet"),
    "scheme and host": ("createBeneficiary", "createPayoutDestination", "listVirtualAccounts", "createPayin"),
}
REWRITTEN = {
    "plus as %20": ("createAccount", "getVirtualAccount"),
    "upper-case escapes": ("getAccountBalances", "listWallets"),
    "no question mark": ("getBeneficiary",),
    "%20 as plus": ("disableBeneficiary",),
    "no empty parameters": ("listPayoutDestinations",),
    "no equals sign behind a name alone": ("createVirtualAccount",),
}


faults["auth.signed-path"] |= {
    "A signature made for another path is accepted.": also_signed(
        lambda self, ctx: (
            self.string(ctx, target=target) for target in self.value(ctx) if target != ctx.request.target
        ),
        each=PATHS,
    ),
    "A signature made with the host before the path is accepted.": taking(HOSTS),
}


def _other_values(ctx: Context) -> Iterator[bytes]:
    """Yields the query with each numeric value replaced by other numbers."""
    for found in re.finditer(rb"(?<==)\d+", ctx.query):
        for number in range(200):
            yield ctx.query[: found.start()] + b"%d" % number + ctx.query[found.end() :]


def _pairs(ctx: Context) -> list[bytes]:
    return ctx.query.split(b"&") if ctx.query else []


#: Kind -> part of a query that the signature does not cover.
PARTS = {"a later page": b"page=2", "a currency": b"currency=", "statuses": b"statuses="}


#: Kind -> queries over which a signature is accepted, beside the one sent.
QUERIES = {
    "left out": lambda ctx: [b""],
    "sorted": lambda ctx: [b"&".join(sorted(_pairs(ctx)))],
    "reversed": lambda ctx: [b"&".join(reversed(_pairs(ctx)))],
    "decoded": lambda ctx: [unquote_to_bytes(ctx.query)],
    "encoded": lambda ctx: [
        quote(unquote(ctx.query.decode("latin-1"), "latin-1"), safe="=&", encoding="latin-1").encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True)).encode(),
        urlencode(parse_qsl(ctx.query.decode("latin-1"), True), quote_via=quote).encode(),
    ],
    "sorted and encoded": lambda ctx: [
        urlencode(sorted(parse_qsl(ctx.query.decode("latin-1"), True))).encode()
    ],
    "other values": _other_values,
    "first parameter only": lambda ctx: _pairs(ctx)[:1],
}


@fault(
    "auth.signed-query",
    seam="alternatives",
    base=AlsoSigned,
    each=lambda operation: (
        QUERIES
        if OPERATIONS[operation].is_list
        else {
            name: QUERIES[name]
            for name in (
                "left out",
                "sorted",
                "reversed",
                "encoded",
                "decoded",
                "sorted and encoded",
                "other values",
            )
        }
    ),
)
def _(self: Any, ctx: Context) -> Any:
    """A signature made for another query is accepted."""
    for query in self.value(ctx):
        if query != ctx.query:
            yield self.string(ctx, target=ctx.path + (b"?" + query if query else b""))


faults["auth.signed-query"] |= {
    "A signature made for the query, read and written again, is accepted.": taking(REWRITTEN),
    "A list with this in its query needs no signature.": seam(
        "signatures_equal",
        lambda self, ctx, *_: PARTS[self.value] in ctx.query or self.usual(),
        each=lambda operation: {
            "listAccounts": ["a later page"],
            "listPayoutDestinations": ["a later page", "statuses"],
            "listVirtualAccounts": ["a later page", "a currency"],
            "listWallets": ["a later page", "a currency"],
        }.get(operation, []),
    ),
    "A signature made for a query that is not sent is accepted.": also_signed(
        lambda self, ctx: [
            self.string(ctx, target=ctx.request.target + b"?" + query)
            for query in (
                b"second=2&first=1&probe=%5F",
                *(
                    b"size=2&page=2" + filtered + b"&probe=%5F"
                    for filtered in (b"", b"&statuses=active", b"&currency=USDC")
                ),
            )
            if b"?" not in ctx.request.target
        ]
    ),
    "The query is no part of the signature.": seam("signed_target", lambda self, ctx: ctx.path),
}

#: Kind -> accepted offsets in seconds between the signed timestamp and the one sent.
DRIFTS = {"later": range(1, 400), "earlier": range(-400, 0)}


@fault("auth.signed-timestamp", seam="alternatives", base=AlsoSigned, each=("later", "earlier", "none"))
def _(self: Any, ctx: Context) -> Any:
    """A signature made for another timestamp, or without one, is accepted."""
    if self.value == "none":
        yield self.string(ctx, timestamp="")
        return
    try:
        sent = int(self.signed_timestamp(ctx))
    except ValueError:
        return
    for drift in DRIFTS[self.value]:
        yield self.string(ctx, timestamp=str(sent + drift))


@fault("auth.signed-nonce", seam="alternatives", base=AlsoSigned, each=("none", "upper case"))
def _(self: Any, ctx: Context) -> Any:
    """A signature made for the nonce in other letters, or without one, is accepted."""
    sent = self.signed_nonce(ctx)
    if self.value == "none":
        yield self.string(ctx, nonce="")
    elif sent != sent.upper():
        yield self.string(ctx, nonce=sent.upper())


@fault("auth.signed-nonce", seam="check_signature")
def _(self: Any, ctx: Context) -> None:
    """A signature that was right before is accepted with another nonce."""
    presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
    known = self.state.setdefault("known", set())
    if presented not in known:
        self.usual()
        known.add(presented)


@fault(
    "auth.signed-body", seam="alternatives", base=AlsoSigned, each=("compact", "spaced", "sorted", "empty")
)
def _(self: Any, ctx: Context) -> Any:
    """A signature made over the body in another form, or over none, is accepted."""
    for name, body in body_forms(ctx).items():
        if name == self.value and body != ctx.request.body:
            yield self.string(ctx, body=body)


def _known_fields(self: Any, ctx: Context) -> bytes:
    """Returns the body without unknown members, as after parsing into a structure."""
    with contextlib.suppress(ValueError):
        body = json.loads(ctx.request.body)
        known = {field.name for field in self.fields(ctx)}
        kept = {name: value for name, value in body.items() if name in known}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
    return b""


faults["auth.signed-body"] |= {
    "A body without a length is taken whatever the signature covers.": seam(
        "signed_body", lambda self, ctx: b"" if chunked(ctx) else self.usual(), also=("http.chunked-body",)
    ),
    "A body without a length needs no signature.": seam(
        "check_signature", lambda self, ctx: None if chunked(ctx) else self.usual()
    ),
    "A signature made over the known fields of the body is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=_known_fields(self, ctx))]
    ),
    "A signature made over a part of the body is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=self.value(ctx.request.body))],
        each={
            # Decoded, so that no character is cut in half.
            "half": lambda body: body[: len(body) // 2].decode(errors="ignore").encode(),
            "the first kilobyte": lambda body: body[:1024].decode(errors="ignore").encode(),
            "all but white space behind": lambda body: body.rstrip() + b" " * 9001,
        },
    ),
    "A signature made over the body in small letters is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=ctx.request.body.replace(b"conformancE", b"conformance"))]
    ),
    "A body that is not declared as JSON is no part of the signature.": also_signed(
        lambda self, ctx: (
            [self.string(ctx, body=b"")] if ctx.header(b"content-type") != "application/json" else []
        )
    ),
    "A form, which is read before anything looks at the body, is no part of the signature.": also_signed(
        lambda self, ctx: (
            [self.string(ctx, body=b"")] if "form" in (ctx.header(b"content-type") or "") else []
        ),
        operations=(
            "createBeneficiary",
            "updateBeneficiary",
            "createPayoutDestination",
            "createPayout",
            "createWallet",
            "createPayin",
        ),
    ),
}

faults["auth.signed-empty-body"] |= {
    "A signature made over an empty JSON value is accepted although no body is sent.": also_signed(
        lambda self, ctx: [] if ctx.request.body else [self.string(ctx, body=self.value.encode())],
        each=("{}", "null"),
    ),
    "A body need not be signed where none is taken.": also_signed(
        lambda self, ctx: [self.string(ctx, body=b"")] if ctx.request.body else [],
        operations=["disableBeneficiary"],
    ),
}


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
    )
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
