"""Servers whose answers have a wrong body, media type or error format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import KINDS

from .catalogue import Row, faults
from .crashes import POSTS
from .harness import NO_ANSWER
from .rows import answer, refusing, succeeded, where
from .signatures import body_forms


def successes(change: Callable[[Any, Response], Response], **options: Any) -> Row:
    """Makes a row that changes successes as the last step."""
    return where(
        "finish",
        lambda self, ctx, response: succeeded(response),
        lambda self, ctx, response: change(self, response),
        **options,
    )


#: Kind -> body of a success.
SUCCESSES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda body: b"",
    "text": lambda body: b"OK",
    "cut": lambda body: body[:-1],
    "more behind": lambda body: body + b"}",
    "page": lambda body: b"<!doctype html><title>Done</title>",
    "script": lambda body: b")]}'," + body,
    "single quotes": lambda body: body.replace(b'"', b"'"),
    "twice": lambda body: body * 2,
    "byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "UTF-16": lambda body: body.decode().encode("utf-16"),
    "Latin-1": lambda body: b'{"city":"K\xf6ln",' + body[1:],
    **{
        literal: lambda body, literal=literal: b'{"load":%s,' % literal.encode() + body[1:]  # type: ignore[misc]
        for literal in ("NaN", "Infinity", "-Infinity")
    },
}

faults["http.success-json"] |= {
    "A success has no JSON body.": successes(
        lambda self, response: Response(response.status, response.headers, self.value(response.body)),
        each=SUCCESSES,
    ),
    "A success has no body, as its status says.": successes(lambda self, response: Response(204)),
    "What is done is answered with 3xx.": successes(
        lambda self, response: Response(self.value, response.headers, response.body), each=(302, 304, 303)
    ),
}

#: Kind -> answers with a wrong declaration.
WHICH: dict[str, Callable[[int], bool]] = {
    "successes": lambda status: 200 <= status < 300,
    "authentication errors": lambda status: status == 401,
    "other errors": lambda status: status in (400, 403, 404, 409, 422),
}

DECLARED = (
    *("text/html; charset=utf-8", "text/plain", "", "text/json", "application/vnd.api+json"),
    *("application/problem+json", "application/jsonp", "application/json-seq"),
)

faults["http.content-type"] |= {
    "Some answers are not declared as application/json.": where(
        "finish",
        lambda self, ctx, response: self.value[0](response.status),
        lambda self, ctx, response: response.with_header(b"content-type", self.value[1].encode() or None),
        each={
            f"{which}: {declared}": (of_status, declared)
            for which, of_status in WHICH.items()
            for declared in DECLARED
        },
    ),
    "The answer to a repeated POST is not declared as application/json.": where(
        "finish",
        lambda self, ctx, response: ctx.replayed,
        lambda self, ctx, response: response.with_header(b"content-type", b"application/octet-stream"),
        operations=POSTS,
    ),
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
    "authentication": tuple(kind for kind, (status, *_) in KINDS.items() if status == 401),
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
    more = ["missing headers", "timestamp", "nonce", "signature", "unknown key"]
    more += ["child"] * (operation in OPERATION_SETS["child"])
    shapes = dict.fromkeys(("authentication", "foreign", "unknown"), tuple(SHAPES))
    shapes |= dict.fromkeys(more, ("text", "message missing"))
    if operation in OPERATION_SETS["create"]:
        # A conflict differs from other refusals by its type only: without it, another rule is broken.
        shapes["conflict"] = ("message missing",)
    return {f"{family}: {shape}": (family, shape) for family, those in shapes.items() for shape in those}


faults["error.shape"] |= {
    "Some errors have another body.": where(
        "error_document",
        lambda self, ctx, refusal: refusal.kind in FAMILIES[self.value[0]],
        lambda self, *_: SHAPES[self.value[1]](self.usual()["error"]),
        each=_families,
    ),
    "Some errors have no JSON body.": where(
        "render_refusal",
        lambda self, ctx, refusal: refusal.kind in FAMILIES[self.value[0]],
        lambda self, *_: Response((made := self.usual()).status, made.headers, self.value[1]),
        each={"authentication": ("authentication", b""), "unknown": ("unknown", b"Not found")},
    ),
}


def _lost(self: Any, ctx: Context, response: Response) -> Response:
    answered = self.state["answered"] = self.state.get("answered", 0) + 1
    return response.with_header(NO_ANSWER, b"1") if answered % self.value == 0 else response


faults["operation.missing"] |= {
    "The operation does not exist: its path is answered like any undocumented one.": refusing(
        "stages", "unknown_path"
    ),
}

faults["http.lost-requests"] |= {
    "One of so many requests is not answered; sent once more, it is.": answer(_lost, each=(8, 15))
}

faults["http.charset-parameter"] |= {
    "A media type with a parameter is not supported.": refusing(
        "check_content_type",
        (415, "validation_error", "unsupported_media_type"),
        lambda self, ctx: (ctx.header(b"content-type") or "application/json").lower() != "application/json",
    ),
    "Of all parameters only a charset in upper case is known.": refusing(
        "check_content_type",
        (400, "validation_error", "unsupported_charset"),
        lambda self, ctx: "charset=utf-8" in (ctx.header(b"content-type") or ""),
    ),
}


def chunked(ctx: Context) -> bool:
    return "chunked" in (ctx.header(b"transfer-encoding") or "").lower()


faults["http.chunked-body"] |= {
    "A body without a length is refused.": refusing(
        "authenticate", (411, "validation_error", "length_required"), lambda self, ctx: chunked(ctx)
    ),
    "A body without a length is signed as empty.": where(
        "signed_body", lambda self, ctx: chunked(ctx), lambda *_: b""
    ),
    "A body without a length is signed as its JSON, written again.": where(
        "signed_body",
        lambda self, ctx: chunked(ctx) and ctx.request.body.startswith(b"{"),
        lambda self, ctx: body_forms(ctx).get("compact", ctx.request.body),
    ),
}
