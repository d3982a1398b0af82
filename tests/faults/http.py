"""Servers whose answers have a wrong body, media type or error format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.support.overrides import with_header

from .catalogue import Only, faults
from .harness import NO_ANSWER
from .rows import MISSING, each_of, refusing, shown_as, succeeded, together, turn, where


def body_forms(ctx: Context) -> dict[str, bytes]:
    """Returns equivalent forms of the body by name; none if it is not JSON."""
    body = ctx.request.body
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return {
        "compact": json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(),
        "spaced": json.dumps(document, ensure_ascii=False).encode(),
        "sorted": json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(),
        "sorted and spaced": json.dumps(document, ensure_ascii=False, sort_keys=True).encode(),
        "escaped": json.dumps(document, separators=(",", ":")).encode(),
        "indented": json.dumps(document, ensure_ascii=False, indent=2).encode(),
        "stripped": body.strip(),
        "empty": b"",
    }


def _narrow(body: bytes) -> bytes:
    """Encodes a body in Latin-1 if it can, as Perl writes a string of such letters alone."""
    try:
        return body.decode().encode("latin-1")
    except UnicodeEncodeError:
        return body


faults["http.success-json"] |= {
    "A success has no JSON body.": where(
        "finish",
        succeeded,
        lambda self, usual, ctx, response: Response(
            response.status, response.headers, self.value(response.body)
        ),
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
            "Latin-1 where it has all letters": Only(
                _narrow, set(OPERATIONS) - {"getAccountBalances", "createPayin"}
            ),
            **{
                literal: lambda body, literal=literal: b'{"load":%s,' % literal.encode() + body[1:]
                for literal in ("NaN", "Infinity", "-Infinity")
            },
        },
    ),
    "A success has no body, as its status says.": where("finish", succeeded, lambda *_: Response(204)),
    "What is done is answered with 3xx.": where(
        "finish",
        succeeded,
        lambda self, usual, ctx, response: Response(self.value, response.headers, response.body),
        each=(302, 304, 303),
    ),
}


faults["http.content-type"] |= {
    "Some answers are not declared as application/json.": where(
        "finish",
        lambda self, ctx, response: self.value[1](response.status),
        lambda self, usual, ctx, response: with_header(
            response, b"content-type", self.value[0].encode() or None
        ),
        each=each_of(
            (
                *("text/html; charset=utf-8", "text/plain", "", "text/json", "application/vnd.api+json"),
                *("application/problem+json", "application/jsonp", "application/json-seq"),
            ),
            {
                "of successes": lambda status: 200 <= status < 300,
                "of authentication errors": lambda status: status == 401,
                "of other errors": lambda status: status in (400, 403, 404, 409, 422),
            },
        ),
    ),
    "A refusal of one status is not declared as application/json.": where(
        "finish",
        lambda self, ctx, response: response.status == self.value,
        lambda self, usual, ctx, response: with_header(
            response, b"content-type", b"text/html; charset=utf-8"
        ),
        each={
            "403": 403,
            "404": 404,
            "409": Only(409, OPERATION_SETS["create"]),
            "422": Only(422, OPERATION_SETS["body"]),
        },
    ),
    "The answer to a repeated POST is not declared as application/json.": where(
        "finish",
        lambda self, ctx, *_: ctx.replayed,
        lambda self, usual, ctx, response: with_header(
            response, b"content-type", b"application/octet-stream"
        ),
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

_FEW = {kind: SHAPES[kind] for kind in ("text", "message missing")}


def _of_family(self: Any, ctx: Context, refusal: Refusal) -> bool:
    return refusal.kind == self.value[0] or (self.value[0] == "authentication" and refusal.status == 401)


faults["error.shape"] |= {
    "Some errors have another body.": where(
        "error_document",
        _of_family,
        lambda self, usual, *_: self.value[1](usual()["error"]),
        each=together(
            each_of("authentication foreign_parent unknown_parent", SHAPES),
            each_of("missing_headers timestamp_too_old nonce_replay invalid_signature unknown_key", _FEW),
            each_of("missing_child", _FEW, OPERATION_SETS["child"]),
            # A conflict differs from other refusals by its type only: without it, another rule is broken.
            each_of("idempotency_key_conflict", dict([*_FEW.items()][1:]), OPERATION_SETS["create"]),
        ),
    ),
    "Some errors have no JSON body.": where(
        "render_refusal",
        _of_family,
        lambda self, usual, *_: Response((made := usual()).status, made.headers, self.value[1]),
        each={"authentication": ("authentication", b""), "unknown": ("unknown_parent", b"Not found")},
    ),
}

faults["operation.missing"] |= {
    "The operation does not exist: its path is answered like any other.": refusing("stages", "unknown_path")
}

faults["http.lost-requests"] |= {
    "One of so many requests is not answered; sent once more, it is.": where(
        "finish",
        lambda self, *_: turn(self) % self.value == 0,
        lambda self, usual, ctx, response: with_header(response, NO_ANSWER, b"1"),
        each=(8, 15),
    )
}

faults["http.charset-parameter"] |= {
    "A media type with a parameter is not supported.": refusing(
        "check_content_type",
        "415 validation_error unsupported_media_type",
        lambda self, ctx: (ctx.header(b"content-type") or "application/json").lower() != "application/json",
    ),
    "Of all parameters only a charset in upper case is known.": refusing(
        "check_content_type",
        "400 validation_error unsupported_charset",
        lambda self, ctx: "charset=utf-8" in (ctx.header(b"content-type") or ""),
    ),
}


def chunked(self: Any, ctx: Context) -> bool:
    return "chunked" in (ctx.header(b"transfer-encoding") or "").lower()


faults["http.chunked-body"] |= {
    "A chunked body is refused.": refusing("authenticate", "411 validation_error length_required", chunked),
    "A chunked body is signed as empty.": where("signed_body", chunked, lambda *_: b""),
    "A body without a length is signed as its JSON, written again.": where(
        "signed_body",
        lambda self, ctx: chunked(self, ctx) and ctx.request.body.startswith(b"{"),
        lambda self, usual, ctx: body_forms(ctx).get("compact", ctx.request.body),
    ),
}
