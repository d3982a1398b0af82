"""Servers whose answers have a wrong body, media type or error format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import KINDS

from .catalogue import faults
from .harness import NO_ANSWER
from .rows import MISSING, each_of, refusing, shown_as, succeeded, turn, where
from .signatures import body_forms

faults["http.success-json"] |= {
    "A success has no JSON body.": where(
        "finish",
        succeeded,
        lambda response, value: Response(response.status, response.headers, value(response.body)),
        each={
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
                literal: lambda body, literal=literal: b'{"load":%s,' % literal.encode() + body[1:]
                for literal in ("NaN", "Infinity", "-Infinity")
            },
        },
    ),
    "A success has no body, as its status says.": where("finish", succeeded, lambda: Response(204)),
    "What is done is answered with 3xx.": where(
        "finish",
        succeeded,
        lambda response, value: Response(value, response.headers, response.body),
        each=(302, 304, 303),
    ),
}


faults["http.content-type"] |= {
    "Some answers are not declared as application/json.": where(
        "finish",
        lambda response, value: value[0](response.status),
        lambda response, value: response.with_header(b"content-type", value[1].encode() or None),
        each={
            f"{which}: {declared}": (of_status, declared)
            for which, of_status in {
                "successes": lambda status: 200 <= status < 300,
                "authentication errors": lambda status: status == 401,
                "other errors": lambda status: status in (400, 403, 404, 409, 422),
            }.items()
            for declared in (
                *("text/html; charset=utf-8", "text/plain", "", "text/json", "application/vnd.api+json"),
                *("application/problem+json", "application/jsonp", "application/json-seq"),
            )
        },
    ),
    "The answer to a repeated POST is not declared as application/json.": where(
        "finish",
        lambda ctx: ctx.replayed,
        lambda response: response.with_header(b"content-type", b"application/octet-stream"),
        operations=OPERATION_SETS["post"],
    ),
}


#: Kind -> body of an error.
SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bare": lambda error: error,
    "text": lambda error: {"error": error["message"]},
    "list": lambda error: {"errors": [error]},
    "array": lambda error: {"error": [error]},
    "problem": lambda error: {"title": error["code"], "status": 400},
    "null": lambda error: None,
    **{
        kind: lambda error, changed=changed: {"error": shown_as(error, *changed)}  # type: ignore[misc]
        for kind, changed in each_of(
            "type code message", {"missing": MISSING, "null": None, "number": 4, "array": ["x"]}
        )("createAccount").items()
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
        lambda refusal, value: refusal.kind in FAMILIES[value[0]],
        lambda value, usual: SHAPES[value[1]](usual()["error"]),
        each=_families,
    ),
    "Some errors have no JSON body.": where(
        "render_refusal",
        lambda refusal, value: refusal.kind in FAMILIES[value[0]],
        lambda value, usual: Response((made := usual()).status, made.headers, value[1]),
        each={"authentication": ("authentication", b""), "unknown": ("unknown", b"Not found")},
    ),
}


faults["operation.missing"] |= {
    "The operation does not exist: its path is answered like any other.": refusing("stages", "unknown_path")
}

faults["http.lost-requests"] |= {
    "One of so many requests is not answered; sent once more, it is.": where(
        "finish",
        lambda self: turn(self) % self.value == 0,
        lambda response: response.with_header(NO_ANSWER, b"1"),
        each=(8, 15),
    )
}

faults["http.charset-parameter"] |= {
    "A media type with a parameter is not supported.": refusing(
        "check_content_type",
        "415 validation_error unsupported_media_type",
        lambda ctx: (ctx.header(b"content-type") or "application/json").lower() != "application/json",
    ),
    "Of all parameters only a charset in upper case is known.": refusing(
        "check_content_type",
        "400 validation_error unsupported_charset",
        lambda ctx: "charset=utf-8" in (ctx.header(b"content-type") or ""),
    ),
}


def chunked(ctx: Context) -> bool:
    return "chunked" in (ctx.header(b"transfer-encoding") or "").lower()


faults["http.chunked-body"] |= {
    "A chunked body is refused.": refusing("authenticate", "411 validation_error length_required", chunked),
    "A chunked body is signed as empty.": where("signed_body", chunked, lambda *_: b""),
    "A body without a length is signed as its JSON, written again.": where(
        "signed_body",
        lambda ctx: chunked(ctx) and ctx.request.body.startswith(b"{"),
        lambda ctx: body_forms(ctx).get("compact", ctx.request.body),
    ),
}
