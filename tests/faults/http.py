"""Servers whose answers have a wrong body, media type or error format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal

from .catalogue import fault, faults, refusal, refuse, seam
from .crashes import POSTS
from .harness import NO_ANSWER
from .places import Finishes, answer, succeeded


def _holding(literal: str) -> Callable[[Response], Response]:
    """Inserts a literal that JSON does not have."""
    member = b'{"load":%s,' % literal.encode()
    return lambda response: Response(response.status, response.headers, member + response.body[1:])


#: Kind -> body of a success.
SUCCESSES: dict[str, Callable[[Response], Response]] = {
    "empty": lambda response: Response(response.status, response.headers),
    "204": lambda response: Response(204),
    "text": lambda response: Response(response.status, response.headers, b"OK"),
    "cut": lambda response: Response(response.status, response.headers, response.body[:-1]),
    "more behind": lambda response: Response(response.status, response.headers, response.body + b"}"),
    "page": lambda response: Response(
        response.status, response.headers, b"<!doctype html><title>Done</title>"
    ),
    "script": lambda response: Response(response.status, response.headers, b")]}'," + response.body),
    "single quotes": lambda response: Response(
        response.status, response.headers, response.body.replace(b'"', b"'")
    ),
    "twice": lambda response: Response(response.status, response.headers, response.body * 2),
    "byte order mark": lambda response: Response(
        response.status, response.headers, b"\xef\xbb\xbf" + response.body
    ),
    "UTF-16": lambda response: Response(
        response.status, response.headers, response.body.decode().encode("utf-16")
    ),
    "Latin-1": lambda response: Response(
        response.status, response.headers, b'{"city":"K\xf6ln",' + response.body[1:]
    ),
    **{literal: _holding(literal) for literal in ("NaN", "Infinity", "-Infinity")},
}

faults["http.success-json"] |= {
    "A success has no JSON body.": answer(
        lambda self, ctx, response: self.value(response) if succeeded(response) else response, each=SUCCESSES
    ),
    "What is done is answered with 3xx.": answer(
        lambda self, ctx, response: (
            Response(self.value, response.headers, response.body) if succeeded(response) else response
        ),
        each=(302, 304, 303),
    ),
}

#: Kind -> answers with a wrong declaration.
WHICH: dict[str, Callable[[Context, Response], bool]] = {
    "successes": lambda ctx, response: succeeded(response),
    "authentication errors": lambda ctx, response: response.status == 401,
    "other errors": lambda ctx, response: response.status in (400, 403, 404, 409, 422),
}


@fault(
    "http.content-type",
    seam="finished",
    base=Finishes,
    each=[
        f"{which}: {declared}"
        for which in WHICH
        for declared in (
            "text/html; charset=utf-8",
            "text/plain",
            "",
            "application/vnd.api+json",
            "application/problem+json",
            "text/json",
            "application/jsonp",
            "application/json-seq",
        )
    ],
)
def _(self: Any, ctx: Context, response: Response) -> Any:
    """Some answers are not declared as application/json."""
    which, _, declared = self.value.partition(": ")
    if not WHICH[which](ctx, response):
        return response
    return response.with_header(b"content-type", declared.encode() or None)


faults["http.content-type"] |= {
    "The answer to a repeated POST is not declared as application/json.": answer(
        lambda self, ctx, response: (
            response.with_header(b"content-type", b"application/octet-stream") if ctx.replayed else response
        ),
        operations=POSTS,
    )
}


def _with(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """Replaces a member of an error; "missing" removes it."""

    def shape(error: dict[str, Any]) -> Any:
        changed = {**error, name: value}
        return {"error": {key: member for key, member in changed.items() if member != "missing"}}

    return shape


#: Kind -> body of an error.
SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bare": lambda error: error,
    "text": lambda error: {"error": error["message"]},
    "list": lambda error: {"errors": [error]},
    "array": lambda error: {"error": [error]},
    "problem": lambda error: {"title": error["code"], "status": 400},
    "null": lambda error: None,
    **{
        f"{name} {how}": _with(name, value)
        for name in ("type", "code", "message")
        for how, value in (("missing", "missing"), ("null", None), ("number", 4), ("array", ["x"]))
    },
}

#: Kind -> refusals of one family.
FAMILIES: dict[str, tuple[str, ...]] = {
    "authentication": (
        "missing_headers",
        "empty_header",
        "timestamp_too_old",
        "nonce_replay",
        "invalid_signature",
        "invalid_timestamp",
        "unknown_key",
    ),
    "missing headers": ("missing_headers",),
    "timestamp": ("timestamp_too_old",),
    "nonce": ("nonce_replay",),
    "signature": ("invalid_signature",),
    "unknown key": ("unknown_key",),
    "foreign": ("foreign_parent",),
    "unknown": ("unknown_parent",),
    "child": ("missing_child",),
    "conflict": ("idempotency_key_conflict",),
}


def _families(operation: str) -> dict[str, tuple[str, str]]:
    kinds = {
        f"{family}: {shape}": (family, shape)
        for family in ("authentication", "foreign", "unknown")
        for shape in SHAPES
    }
    more = ["missing headers", "timestamp", "nonce", "signature", "unknown key"]
    more += ["child"] * (operation in OPERATION_SETS["child"]) + ["conflict"] * (
        operation in OPERATION_SETS["create"]
    )
    kinds |= {
        f"{family}: {shape}": (family, shape) for family in more for shape in ("text", "message missing")
    }
    # A conflict is told from other refusals by its type alone: without it, idempotency.conflict is broken
    # instead.
    kinds.pop("conflict: text", None)
    return kinds


@fault("error.shape", seam="error_document", each=_families)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """Some errors have another body."""
    document = self.usual()
    family, shape = self.value
    return SHAPES[shape](document["error"]) if refusal.kind in FAMILIES[family] else document


@fault("error.shape", seam="render_refusal", each=("authentication", "unknown"))
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """Some errors have no JSON body."""
    response = self.usual()
    if refusal.kind in FAMILIES[self.value]:
        response.body = b"Not found" if self.value == "unknown" else b""
    return response


@fault("http.lost-requests", seam="finished", base=Finishes, each=(8, 15))
def _(self: Any, ctx: Context, response: Response) -> Any:
    """One of so many requests is not answered; sent once more, it is."""
    answered = self.state["answered"] = self.state.get("answered", 0) + 1
    return response.with_header(NO_ANSWER, b"1") if answered % self.value == 0 else response


faults["http.charset-parameter"] |= {
    "A media type with a parameter is not supported.": seam(
        "check_content_type",
        lambda self, ctx: (
            refuse(refusal(415, "validation_error", "unsupported_media_type"))
            if (ctx.header(b"content-type") or "application/json").lower() != "application/json"
            else None
        ),
    ),
    "Of all parameters only a charset in upper case is known.": seam(
        "check_content_type",
        lambda self, ctx: (
            refuse(refusal(400, "validation_error", "unsupported_charset"))
            if "charset=utf-8" in (ctx.header(b"content-type") or "")
            else None
        ),
    ),
}


def chunked(ctx: Context) -> bool:
    return "chunked" in (ctx.header(b"transfer-encoding") or "").lower()


faults["http.chunked-body"] |= {
    "A body without a length is refused.": seam(
        "authenticate",
        lambda self, ctx: (
            refuse(refusal(411, "validation_error", "length_required")) if chunked(ctx) else self.usual()
        ),
    ),
    "A body without a length is signed as empty.": seam(
        "signed_body", lambda self, ctx: b"" if chunked(ctx) else self.usual()
    ),
}
