"""Servers that leave a part of the request out of its signature, or sign it in another form."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_to_bytes, urlencode

from conformance.contract import signing
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context

from .catalogue import Call, Only, Row, faults, kind, seam, seams
from .http import body_forms, chunked
from .rows import passing, skipping, where
from .signatures import also_signed, string, taking

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def signed_with(part: str, values: Call | None = None, **options: Any) -> Row:
    """Makes a row that accepts a signature made with other values of a part, by default those of the kind."""
    others = values or kind

    def strings(self: Any, ctx: Context) -> Iterator[bytes]:
        for value in others(self, ctx):
            if part == "query":
                yield string(self, ctx, target=ctx.path + (b"?" + value if value else b""))
            else:
                yield string(self, ctx, **{part: value})

    return also_signed(strings, **options)


faults["auth.signed-method"] |= {
    "A signature made for any method is accepted.": signed_with("method", lambda *_: METHODS),
    "A signature made for this method is accepted.": signed_with(
        "method",
        lambda self, *_: [self.value],
        each=lambda operation: [each for each in METHODS[:2] if each != OPERATIONS[operation].method],
    ),
    "A signature made for the method in lower case, or without one, is accepted.": also_signed(
        lambda self, ctx: [self.value(ctx.request.method).encode() + string(self, ctx, method="")],
        each={"in lower case": str.lower, "none": lambda method: ""},
    ),
}


def _other_paths(self: Any, ctx: Context) -> Iterator[bytes]:
    """Yields the paths of the other operations with the same ids."""
    for operation in OPERATIONS.values():
        named = {name: ctx.params.get(name, "x") for name in re.findall(r"{(\w+)}", operation.path)}
        yield operation.path.format(**named).encode()


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
    "A signature made for another path is accepted.": signed_with(
        "target",
        each={
            "without version": lambda self, ctx: [ctx.request.target.removeprefix(b"/v1")],
            "of another operation": _other_paths,
            "without its last part": lambda self, ctx: [ctx.path.rpartition(b"/")[0]],
            "none": lambda self, ctx: [b"" + (b"?" + ctx.query if ctx.query else b"")],
            "with a slash behind": lambda self, ctx: [ctx.path + b"/"],
        },
    ),
    "A signature made with the host before the path is accepted.": taking(HOSTS),
}


def _other_values(self: Any, ctx: Context) -> Iterator[bytes]:
    """Yields the query with each numeric value replaced by other numbers."""
    for found in re.finditer(rb"(?<==)\d+", ctx.query):
        for number in range(200):
            yield ctx.query[: found.start()] + b"%d" % number + ctx.query[found.end() :]


def _pairs(ctx: Context) -> list[bytes]:
    return ctx.query.split(b"&") if ctx.query else []


#: Queries with which requests that have none are signed.
UNSENT = [b"second=2&first=1&probe=%5F"] + [
    b"size=2&page=2" + filtered + b"&probe=%5F" for filtered in (b"", b"&statuses=active", b"&currency=USDC")
]

faults["auth.signed-query"] |= {
    "A signature made for another query is accepted.": signed_with(
        "query",
        each={
            "left out": lambda self, ctx: [b""],
            "sorted": lambda self, ctx: [b"&".join(sorted(_pairs(ctx)))],
            "reversed": lambda self, ctx: [b"&".join(reversed(_pairs(ctx)))],
            "decoded": lambda self, ctx: [unquote_to_bytes(ctx.query)],
            "encoded": lambda self, ctx: [
                quote(
                    unquote(ctx.query.decode("latin-1"), "latin-1"), safe="=&", encoding="latin-1"
                ).encode(),
                urlencode(parse_qsl(ctx.query.decode("latin-1"), True)).encode(),
                urlencode(parse_qsl(ctx.query.decode("latin-1"), True), quote_via=quote).encode(),
            ],
            "sorted and encoded": lambda self, ctx: [
                urlencode(sorted(parse_qsl(ctx.query.decode("latin-1"), True))).encode()
            ],
            "other values": _other_values,
            "first parameter only": Only(lambda self, ctx: _pairs(ctx)[:1], OPERATION_SETS["list"]),
        },
    ),
    "A signature made for the query, read and written again, is accepted.": taking(REWRITTEN),
    "A list with this in its query needs no signature.": passing(
        "signatures_equal",
        lambda self, ctx, *_: self.value in ctx.query,
        each={
            "a later page": Only(b"page=2", OPERATION_SETS["list"]),
            "statuses": Only(b"statuses=", ["listPayoutDestinations"]),
            "a currency": Only(b"currency=", ["listVirtualAccounts", "listWallets"]),
        },
    ),
    "A signature made for a query that is not sent is accepted.": signed_with(
        "query", lambda self, ctx: [] if b"?" in ctx.request.target else UNSENT
    ),
    "The query is no part of the signature.": seam("signed_target", lambda self, usual, ctx: ctx.path),
}


faults["auth.signed-timestamp"] |= {
    "A signature made for another timestamp, or without one, is accepted.": signed_with(
        "timestamp",
        lambda self, ctx: [
            str(int(sent) + drift) if drift else ""
            for sent in [self.signed_timestamp(ctx)]
            for drift in self.value
            if re.fullmatch("-?[0-9]+", sent)
        ],
        # Accepted offsets in seconds between the signed timestamp and the one sent.
        each={"later": range(1, 400), "earlier": range(-400, 0), "none": [0]},
    )
}


def _signed_before(self: Any, usual: Any, ctx: Context) -> None:
    """Accepts a signature that was right before."""
    presented = self.authentication_header(ctx, signing.SIGNATURE) or ""
    if presented not in self.state:
        usual()
        self.state[presented] = True


faults["auth.signed-nonce"] |= {
    "A signature made for the nonce in other letters, or without one, is accepted.": signed_with(
        "nonce",
        lambda self, ctx: [self.value(self.signed_nonce(ctx))],
        each={"none": lambda nonce: "", "upper case": str.upper},
    ),
    "A signature that was right is accepted with another nonce.": seam("check_signature", _signed_before),
}


def _known_fields(self: Any, ctx: Context) -> bytes:
    """Returns the body without unknown members, as after parsing into a structure."""
    with contextlib.suppress(ValueError):
        body = json.loads(ctx.request.body)
        known = {field.name for field in self.fields(ctx)}
        kept = {name: value for name, value in body.items() if name in known}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
    return b""


#: What becomes of bytes that are no text in UTF-8 -> a body with that in their place.
DECODED = {
    "nothing": lambda body: body.decode(errors="ignore").encode(),
    "the replacement character": lambda body: body.decode(errors="replace").encode(),
    "question marks": lambda body: body.decode(errors="replace").replace("\ufffd", "?").encode(),
    "a byte order mark left out": lambda body: body.removeprefix(codecs.BOM_UTF8),
}

faults["auth.signed-body"] |= {
    "A signature made over the body in another form, or over none, is accepted.": signed_with(
        "body",
        lambda self, ctx: [body_forms(ctx).get(self.value, ctx.request.body)],
        each=("compact", "spaced", "sorted", "empty"),
    ),
    "A signature made over a part of the body is accepted.": signed_with(
        "body",
        # Decoded, so that no character is cut in half.
        each={
            "half": lambda self, ctx: [
                ctx.request.body[: len(ctx.request.body) // 2].decode(errors="ignore").encode()
            ],
            "the first kilobyte": lambda self, ctx: [
                ctx.request.body[:1024].decode(errors="ignore").encode()
            ],
            "all but white space behind": lambda self, ctx: [ctx.request.body.rstrip() + b" " * 9001],
            "small letters": lambda self, ctx: [ctx.request.body.replace(b"conformancE", b"conformance")],
            "the known fields": lambda self, ctx: [_known_fields(self, ctx)],
        },
    ),
    "A body of some requests is no part of the signature.": signed_with(
        "body",
        each={
            "not declared as JSON": lambda self, ctx: (
                [b""] * (ctx.header(b"content-type") != "application/json")
            ),
            # A form, which is read before anything looks at the body.
            "a form": Only(
                lambda self, ctx: [b""] * ("form" in (ctx.header(b"content-type") or "")),
                {*OPERATION_SETS["body"]} - {"createAccount", "createVirtualAccount"},
            ),
            "without a length, its JSON written again": lambda self, ctx: (
                [body_forms(ctx).get("compact", b"")] if chunked(self, ctx) else []
            ),
        },
    ),
    "What is no text in UTF-8 is left out of what is signed, and the body is read as it is.": seam(
        "signed_body", lambda self, usual, *_: self.value(usual()), each=DECODED
    ),
    "What is no text in UTF-8 is left out of what is signed, and of what is read.": seams(
        {
            "signed_body": lambda self, usual, *_: self.value(usual()),
            "decode_body": lambda self, usual, ctx: self.value(ctx.request.body).decode(),
        },
        each=DECODED,
    ),
    "The signature of a body in its composed form (NFC) is accepted.": signed_with(
        "body",
        lambda self, ctx: [unicodedata.normalize("NFC", ctx.request.body.decode(errors="replace")).encode()],
    ),
    "A body without a length is taken whatever the signature covers.": where(
        "signed_body", chunked, lambda *_: b"", also=("http.chunked-body",)
    ),
    "A body without a length needs no signature.": skipping("check_signature", chunked),
}

faults["auth.signed-empty-body"] |= {
    "A signature made over an empty JSON value is accepted although no body is sent.": signed_with(
        "body", lambda self, ctx: [] if ctx.request.body else [self.value.encode()], each=("{}", "null")
    ),
    "A body need not be signed where none is taken.": signed_with(
        "body", lambda *_: [b""], operations=["disableBeneficiary"]
    ),
}


def _signed_again(quote_via: Callable[..., str]) -> Callable[[bytes], bytes]:
    """Returns what reads a query and writes it again."""
    return lambda query: urlencode(
        parse_qsl(query.decode("latin-1"), True, encoding="latin-1"), quote_via=quote_via, encoding="latin-1"
    ).encode()


def _target(path: bytes, query: bytes, mark: bool) -> bytes:
    return path + (b"?" + query if mark else b"")


faults["auth.path-as-sent"] |= {
    "The signature is computed over another form of the path than the one that was sent.": seam(
        "signed_target",
        lambda self, usual, ctx: _target(self.value(ctx.path), ctx.query, b"?" in ctx.request.target),
        each={
            "decoded": unquote_to_bytes,
            "normal form": lambda path: quote(unquote_to_bytes(path), safe="/").encode(),
        },
    )
}

faults["auth.query-as-sent"] |= {
    "The signature is computed over another form of the query than the one that was sent.": seam(
        "signed_target",
        lambda self, usual, ctx: _target(ctx.path, query := self.value(ctx.query), bool(query)),
        each={
            "left out": lambda query: b"",
            "sorted": lambda query: b"&".join(sorted(query.split(b"&"))),
            "decoded": unquote_to_bytes,
            "plus for space": _signed_again(quote_plus),
            "0 left out, which is false": lambda query: query if query != b"0" else b"",
            "up to an encoded #": lambda query: query.partition(b"%23")[0],
            "normal form": _signed_again(quote),
        },
    )
}


def _as_most_clients(ctx: Context) -> bool:
    """Returns True for the compact form without escapes that most clients send."""
    return ctx.request.body.isascii() and ctx.request.body == body_forms(ctx).get("compact")


faults["auth.body-as-sent"] |= {
    "The signature is computed over another form of the body than was sent, where it is odd.": seam(
        "signed_body",
        lambda self, usual, ctx: (
            usual() if _as_most_clients(ctx) else body_forms(ctx).get(self.value, usual())
        ),
        each=("compact", "spaced", "sorted", "escaped", "stripped"),
    ),
    "The signature is computed over no body where this is in it.": where(
        "signed_body",
        lambda self, ctx: self.value in ctx.request.body,
        lambda *_: b"",
        each={
            "a business": Only(b'"business"', ("createBeneficiary",)),
            "an IBAN": Only(b'"iban"', ("createPayoutDestination",)),
            "a wallet": Only(b'"wallet"', ("createPayoutDestination",)),
        },
    ),
    "A body with a line feed at its end is refused.": seam(
        "signatures_equal", lambda self, usual, ctx, *_: usual() and not ctx.request.body.endswith(b"\n")
    ),
    "The signature is computed over something else than the body.": seam(
        "signed_body",
        lambda self, usual, *_: self.value(usual()),
        each={
            "percent-encoding read": unquote_to_bytes,
            "ISO 8859-1, or question marks": lambda body: body.decode("utf-8", "replace").encode(
                "latin-1", "replace"
            ),
            "escapes of ASCII read": lambda body: re.sub(
                rb"\\u00([2-7][0-9a-fA-F])", lambda escape: bytes.fromhex(escape[1].decode()), body
            ),
            "4096 bytes": lambda body: body[:4096],
            "65536 bytes": lambda body: body[:65536],
            "the composed form": lambda body: unicodedata.normalize(
                "NFC", body.decode(errors="replace")
            ).encode(),
        },
    ),
}


faults["auth.body-on-get"] |= {
    "The body of a GET is left out of its signature.": seam("signed_body", lambda *_: b""),
    "Of a GET the signature is verified with or without its body.": also_signed(
        lambda self, ctx: [string(self, ctx, body=b"")]
    ),
    "The body of a GET is signed only if it has a type other than JSON.": where(
        "signed_body", lambda self, ctx: ctx.header(b"content-type") == "application/json", lambda *_: b""
    ),
}
