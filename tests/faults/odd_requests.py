"""Odd requests by kind, which some servers answer with 5xx."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.core_messages import Request
from conformance.world.corpora.ids import INHERITED


def _text(ctx: Context) -> str:
    return ctx.request.body.decode("utf-8", "replace")


def json_of(ctx: Context) -> Any:
    try:
        return json.loads(ctx.request.body)
    except (ValueError, RecursionError):
        return None


def _malformed(ctx: Context) -> bool:
    try:
        json.loads(ctx.request.body)
    except (ValueError, RecursionError):
        return True
    return False


def _utf8(raw: bytes) -> bool:
    return raw.decode("utf-8", "ignore").encode() == raw


def _values(document: Any) -> list[Any]:
    return list(document.values()) if isinstance(document, dict) else []


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest


#: Kind -> requests with a body that crash.
BODY_CRASHES: dict[str, Callable[[Context], bool]] = {
    "empty body": lambda ctx: not ctx.request.body,
    "empty body declared as JSON": lambda ctx: not ctx.request.body and b"content-type" in ctx.headers,
    "thousands of arrays": lambda ctx: ctx.request.body.startswith(b"[" * 5000),
    "malformed JSON": lambda ctx: bool(ctx.request.body) and _utf8(ctx.request.body) and _malformed(ctx),
    "invalid UTF-8": lambda ctx: not _utf8(ctx.request.body),
    "NUL": lambda ctx: "\\u0000" in _text(ctx),
    "surrogate": lambda ctx: bool(re.search(r"\\u[dD][89a-fA-F]", _text(ctx))),
    "deep nesting": lambda ctx: _depth(_text(ctx)) > 50,
    "array": lambda ctx: isinstance(json_of(ctx), list),
    "text": lambda ctx: isinstance(json_of(ctx), str),
    "null": lambda ctx: ctx.request.body.strip() == b"null",
    "number": lambda ctx: bool(re.fullmatch(rb"-?[0-9.eE+]+", ctx.request.body.strip())),
    "no field": lambda ctx: json_of(ctx) == {},
    "null field": lambda ctx: None in _values(json_of(ctx)),
    "number for a text": lambda ctx: any(type(value) in (int, float) for value in _values(json_of(ctx))),
    "object for a text": lambda ctx: (
        any(isinstance(value, dict) for name, value in (json_of(ctx) or {}).items() if name != "address")
        if isinstance(json_of(ctx), dict)
        else False
    ),
    "array for a text": lambda ctx: any(isinstance(value, list) for value in _values(json_of(ctx))),
    # Outside texts, whose random parts may look like an exponent.
    "huge number": lambda ctx: bool(
        re.search(r"\d{60}|[0-9][eE]\+?\d{3}", re.sub('"[^"]*"', "", _text(ctx)))
    ),
    "long text": lambda ctx: len(ctx.request.body) > 60_000,
    "double key": lambda ctx: _doubled(_text(ctx)),
    "no content type": lambda ctx: b"content-type" not in ctx.headers,
    "unknown charset": lambda ctx: bool(
        re.search("charset=(?!utf-?8)", (ctx.header(b"content-type") or "").lower())
    ),
    "other content type": lambda ctx: (
        not (ctx.header(b"content-type") or "application/json").startswith("application/json")
    ),
}


def _doubled(text: str) -> bool:
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len({name for name, _ in members}) < len(members)
        return dict(members)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return False
    return found


#: Kind -> field values that crash.
FIELD_CRASHES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value == "",
}

#: Kind -> requests of any operation that crash.
CRASHES: dict[str, Callable[[Context], bool]] = {
    "always": lambda ctx: True,
    "unsigned": lambda ctx: b"x-signature" not in ctx.headers,
    "timestamp no integer": lambda ctx: not re.fullmatch(r"-?\d*", ctx.header(b"x-timestamp") or ""),
    "signature not hexadecimal": lambda ctx: (
        not re.fullmatch("[0-9a-fA-F]*", ctx.header(b"x-signature") or "")
    ),
    "escape in the path": lambda ctx: b"%" in ctx.path,
    "NUL in the path": lambda ctx: b"%00" in ctx.path,
    "a member of all objects in the path": lambda ctx: any(
        part in INHERITED for part in ctx.path.decode("latin-1").split("/")
    ),
    "negative timestamp": lambda ctx: (ctx.header(b"x-timestamp") or "").startswith("-"),
    "invalid UTF-8 in the path": lambda ctx: bool(re.search(rb"%[89A-Fa-f][0-9A-Fa-f]", ctx.path)),
    "unknown parameter": lambda ctx: bool(
        re.search(rb"(^|&)(?!page|size|status|start_date|end_date|currency)\w", ctx.query)
    ),
    "unknown key": lambda ctx: (
        bool(ctx.header(b"x-api-key")) and not ctx.store.organization(ctx.header(b"x-api-key") or "")
    ),
    "broken escape in the query": lambda ctx: bool(re.search(rb"%(?![0-9A-Fa-f]{2})", ctx.query)),
    "invalid UTF-8 in the query": lambda ctx: b"%ff" in ctx.query.lower(),
    "NUL in the query": lambda ctx: b"%00" in ctx.query,
    "semicolon in an id": lambda ctx: any(";" in each for each in ctx.params.values()),
    "percent sign in an id": lambda ctx: any("%" in each for each in ctx.params.values()),
    "brace in an id": lambda ctx: any("{" in each for each in ctx.params.values()),
}

#: Kind -> refusals that crash instead.
REFUSAL_CRASHES: dict[str, tuple[str, ...]] = {
    "unknown parent": ("unknown_parent",),
    "foreign parent": ("foreign_parent",),
    "used nonce": ("nonce_replay",),
}

#: Kind -> pattern of queries that crash.
QUERY_CRASHES: dict[str, bytes] = {
    "page no integer": rb"page=[^&]*[a-z]",
    "page 0": rb"page=0(&|$)",
    "negative page": rb"page=-",
    "far page": rb"page=\d{10}",
    "page beyond 64 bits": rb"page=\d{20}",
    "size beyond 64 bits": rb"size=\d{20}",
    "size 0": rb"size=0(&|$)",
    "negative size": rb"size=-",
    "large size": rb"size=(\d{4,}|10[1-9])",
    "size infinite": rb"size=Infinity",
    "page beyond a double": rb"page=1e309",
    "size no integer": rb"size=[^&]*[a-z]",
    "empty page": rb"(page|size)=(&|$)",
    "size twice": rb"size=.*size=",
    "size=5 twice": rb"size=5&size=5",
    "order": rb"sort=",
    "array of statuses": rb"statuses\[\]=",
    "array of sizes": rb"size\[\]=",
    "map of pages": rb"page\[a\]=",
}

FILTER_CRASHES: dict[str, bytes] = {
    "malformed date": rb"_date=[a-z]",
    "impossible date": rb"_date=\d{4}-(1[3-9]|\d\d-3[2-9]|02-3)",
    "empty date": rb"_date=(&|$)",
    "date twice": rb"(start|end)_date=.*\1_date=",
    "seconds since 1970": rb"_date=\d{10}(&|$)",
    "hour 24": rb"_date=[^&]*T24",
    "month 13": rb"_date=\d{4}-13-",
    "unknown status": rb"status(?!.*=(active|suspended|disabled|inactive))",
}

#: Kind -> whether a text ends in a server error.
TEXT_CRASHES: dict[str, Callable[[str], bool]] = {
    # As in a database that has none.
    "NUL": lambda text: "\0" in text,
    "letters outside ASCII": lambda text: not text.isascii(),
    "spaces only": str.isspace,
}


def digits_elsewhere(ctx: Context) -> str:
    """The timestamp of a request if it has digits only, not all of ASCII; else empty."""
    text = ctx.header(b"x-timestamp") or ""
    return text if text.isdigit() and not text.isascii() else ""


def times(request: Request, name: bytes) -> int:
    return sum(key.lower() == name for key, _ in request.headers)


#: Headers that an operation does not need.
HEADERS = (
    *("cookie", "x-forwarded-for", "forwarded", "origin", "traceparent", "accept-charset", "accept-language"),
    *("range", "expect", "if-none-match", "if-modified-since", "if-match", "prefer", "content-language"),
    *("x-forwarded-host", "x-forwarded-proto", "content-encoding"),
)

#: Kind -> requests of any operation whose headers crash.
HEADER_CRASHES: dict[str, Callable[[Context], bool]] = {
    **{name: lambda ctx, name=name: name.encode() in ctx.headers for name in HEADERS},  # type: ignore[misc]
    "signature twice": lambda ctx: times(ctx.request, b"x-signature") > 1,
    "nonce twice": lambda ctx: times(ctx.request, b"x-nonce") > 1,
    "key twice": lambda ctx: times(ctx.request, b"x-api-key") > 1,
    "media types": lambda ctx: "image/" in (ctx.header(b"accept") or ""),
    "compression": lambda ctx: "br" in (ctx.header(b"accept-encoding") or ""),
    "a token that is missing": lambda ctx: ctx.header(b"authorization") == "Bearer",
}
