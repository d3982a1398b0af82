"""Servers that answer some requests with 5xx, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Request, Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.validation import FIELDS, TYPES
from conformance.world.corpora.headers import UNUSUAL
from conformance.world.corpora.ids import INHERITED, SHORT

from .authentication import KEYED_BY_MEMBERS
from .catalogue import Faulty, fault, faults, hook, of, refusal, refuse, seam
from .harness import NO_ANSWER
from .places import answer, succeeded

BODY_OPERATIONS = OPERATION_SETS["body"]

LISTS = OPERATION_SETS["list"]

POSTS = OPERATION_SETS["post"]


def _text(ctx: Context) -> str:
    return ctx.request.body.decode("utf-8", "replace")


def _json(ctx: Context) -> Any:
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
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
    "malformed JSON": lambda ctx: bool(ctx.request.body) and _utf8(ctx.request.body) and _malformed(ctx),
    "invalid UTF-8": lambda ctx: not _utf8(ctx.request.body),
    "NUL": lambda ctx: "\\u0000" in _text(ctx),
    "surrogate": lambda ctx: bool(re.search(r"\\u[dD][89a-fA-F]", _text(ctx))),
    "deep nesting": lambda ctx: _depth(_text(ctx)) > 50,
    "array": lambda ctx: isinstance(_json(ctx), list),
    "text": lambda ctx: isinstance(_json(ctx), str),
    "null": lambda ctx: ctx.request.body.strip() == b"null",
    "number": lambda ctx: bool(re.fullmatch(rb"-?[0-9.eE+]+", ctx.request.body.strip())),
    "no field": lambda ctx: _json(ctx) == {},
    "null field": lambda ctx: None in _values(_json(ctx)),
    "number for a text": lambda ctx: any(type(value) in (int, float) for value in _values(_json(ctx))),
    "object for a text": lambda ctx: (
        any(isinstance(value, dict) for name, value in (_json(ctx) or {}).items() if name != "address")
        if isinstance(_json(ctx), dict)
        else False
    ),
    "array for a text": lambda ctx: any(isinstance(value, list) for value in _values(_json(ctx))),
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

#: Kind -> list requests that crash.
QUERY_CRASHES: dict[str, Callable[[Context], bool]] = {
    "page no integer": lambda ctx: bool(re.search(rb"page=[^&]*[a-z]", ctx.query)),
    "page 0": lambda ctx: bool(re.search(rb"page=0(&|$)", ctx.query)),
    "negative page": lambda ctx: b"page=-" in ctx.query,
    "far page": lambda ctx: bool(re.search(rb"page=\d{10}", ctx.query)),
    "page beyond 64 bits": lambda ctx: bool(re.search(rb"page=\d{20}", ctx.query)),
    "size beyond 64 bits": lambda ctx: bool(re.search(rb"size=\d{20}", ctx.query)),
    "size 0": lambda ctx: bool(re.search(rb"size=0(&|$)", ctx.query)),
    "negative size": lambda ctx: b"size=-" in ctx.query,
    "large size": lambda ctx: bool(re.search(rb"size=(\d{4,}|10[1-9])", ctx.query)),
    "size no integer": lambda ctx: bool(re.search(rb"size=[^&]*[a-z]", ctx.query)),
    "empty page": lambda ctx: bool(re.search(rb"(page|size)=(&|$)", ctx.query)),
    "size twice": lambda ctx: ctx.query.count(b"size=") > 1,
    "order": lambda ctx: b"sort=" in ctx.query,
    "array of statuses": lambda ctx: b"statuses[]=" in ctx.query,
}

FILTER_CRASHES: dict[str, Callable[[Context], bool]] = {
    "malformed date": lambda ctx: bool(re.search(rb"_date=[a-z]", ctx.query)),
    "impossible date": lambda ctx: bool(re.search(rb"_date=\d{4}-(1[3-9]|\d\d-3[2-9]|02-3)", ctx.query)),
    "empty date": lambda ctx: bool(re.search(rb"_date=(&|$)", ctx.query)),
    "date twice": lambda ctx: bool(re.search(rb"(start|end)_date=.*\1_date=", ctx.query)),
    "seconds since 1970": lambda ctx: bool(re.search(rb"_date=\d{10}(&|$)", ctx.query)),
    "hour 24": lambda ctx: bool(re.search(rb"_date=[^&]*T24", ctx.query)),
    "month 13": lambda ctx: bool(re.search(rb"_date=\d{4}-13-", ctx.query)),
    "unknown status": lambda ctx: (
        b"status" in ctx.query
        and not re.search(rb"=(active|suspended|disabled|inactive)", ctx.query.partition(b"status")[2])
    ),
}


class Crashes(Faulty):
    """Answers 500 where `crashes` is true."""

    def crashes(self, ctx: Context) -> bool:
        return self.value(ctx)  # type: ignore[no-any-return]

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if not self.here(ctx) or not self.crashes(ctx):
            return response
        return Response.of(
            500, {"error": {"type": "server_error", "code": "internal_error", "message": "An error."}}
        )


crashing = hook(Crashes, "crashes")


@fault(
    "http.no-server-error",
    seam="crashes",
    base=Crashes,
    operations=BODY_OPERATIONS,
    each=lambda operation: {
        f"{field.name} {how}": (field.name, test)
        for field in FIELDS[operation]
        for how, test in FIELD_CRASHES.items()
        if how != {dict: "object", bool: "boolean"}.get(TYPES.get(field.kind, str))
    },
)
def _(self: Any, ctx: Context) -> Any:
    """A value of this field is answered with 500."""
    name, test = self.value
    document = _json(ctx)
    return isinstance(document, dict) and name in document and test(document[name])


@fault(
    "http.no-server-error",
    seam="crashes",
    base=Crashes,
    operations=["updateBeneficiary"],
    each=("beneficiary_type", *(field.name for field in FIELDS["createBeneficiary"] if field.required)),
)
def _(self: Any, ctx: Context) -> Any:
    """A PATCH in which this field alone is null, and nothing else wrong, is answered with 500."""
    document = _json(ctx)
    members = document.items() if isinstance(document, dict) else ()
    return [name for name, value in members if value is None] == [self.value]


#: Kind -> whether a text ends in a server error.
TEXT_CRASHES: dict[str, Callable[[str], bool]] = {
    # As in a database that has none.
    "NUL": lambda text: "\0" in text,
    "letters outside ASCII": lambda text: not text.isascii(),
    "spaces only": str.isspace,
}


def _texts(operation: str) -> dict[str, tuple[str, str, Callable[[str], bool]]]:
    """Returns the texts that are sent with odd characters, as members of a body or of its address; those of
    spaces only are free texts."""
    texts = [("", field.name) for field in FIELDS[operation] if TYPES.get(field.kind, str) is str]
    address = [("address", name) for field in FIELDS[operation] for name in field.members]
    return {
        f"{name}{' of the address' if place else ''}: {kind}": (place, name, test)
        for place, name in (*texts, *address)
        for kind, test in TEXT_CRASHES.items()
        if test is not str.isspace or name in FREE_TEXT
    }


@fault("http.no-server-error", seam="crashes", base=Crashes, operations=BODY_OPERATIONS, each=_texts)
def _(self: Any, ctx: Context) -> Any:
    """A text with odd characters is answered with 500."""
    document = _json(ctx)
    place, name, test = self.value
    holder = document.get(place) if place and isinstance(document, dict) else document
    text = holder.get(name) if isinstance(holder, dict) else None
    return isinstance(text, str) and test(text)


@fault(
    "http.no-server-error",
    seam="crashes",
    base=Crashes,
    operations=[name for name in BODY_OPERATIONS if any(field.members for field in FIELDS[name])],
    each=lambda operation: {
        f"{member} {how}": (member, test)
        for field in FIELDS[operation]
        for member in field.members
        for how, test in (
            ("null", lambda address, name: address.get(name, "") is None),
            ("left out", lambda address, name: name not in address),
        )
    },
)
def _(self: Any, ctx: Context) -> Any:
    """An address without one of its texts is answered with 500."""
    document = _json(ctx)
    member, test = self.value
    address = document.get("address") if isinstance(document, dict) else None
    return isinstance(address, dict) and bool(test(address, member))


@fault("http.no-server-error")
class CrashesOnMethods(Faulty):
    """A method that the path does not have is answered with 500."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        found = match(ctx.path)
        if refusal.kind == "unknown_method" and found and self.operation in found.methods.values():
            return Response(500)
        return super().render_refusal(ctx, refusal)


@fault("http.no-server-error", operations=("createPayout",))
class CrashesOnPaths(Faulty):
    """A path that is not documented, but looks like that of a payout, is answered with 500."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        if refusal.kind == "unknown_path" and b"payouts" in ctx.path:
            return Response(500)
        return super().render_refusal(ctx, refusal)


def _digits_elsewhere(ctx: Context) -> str:
    """The timestamp of a request if it has digits only, not all of ASCII; else empty."""
    text = ctx.header(b"x-timestamp") or ""
    return text if text.isdigit() and not text.isascii() else ""


def _times(request: Request, name: bytes) -> int:
    return sum(key.lower() == name for key, _ in request.headers)


#: Kind -> requests of any operation that crash.
HEADERS: dict[str, Callable[[Context], bool]] = {
    "signature twice": lambda ctx: _times(ctx.request, b"x-signature") > 1,
    "nonce twice": lambda ctx: _times(ctx.request, b"x-nonce") > 1,
    "key twice": lambda ctx: _times(ctx.request, b"x-api-key") > 1,
    "cookie": lambda ctx: b"cookie" in ctx.headers,
    "forwarded": lambda ctx: b"x-forwarded-for" in ctx.headers,
    "forwarded, the later name": lambda ctx: b"forwarded" in ctx.headers,
    "an origin": lambda ctx: b"origin" in ctx.headers,
    "a trace": lambda ctx: b"traceparent" in ctx.headers,
    "a charset": lambda ctx: b"accept-charset" in ctx.headers,
    "language": lambda ctx: b"accept-language" in ctx.headers,
    "media types": lambda ctx: "image/" in (ctx.header(b"accept") or ""),
    "compression": lambda ctx: "br" in (ctx.header(b"accept-encoding") or ""),
    "a range": lambda ctx: b"range" in ctx.headers,
    "expectations": lambda ctx: b"expect" in ctx.headers,
    "an entity tag": lambda ctx: b"if-none-match" in ctx.headers,
    "a date": lambda ctx: b"if-modified-since" in ctx.headers,
    "a precondition": lambda ctx: b"if-match" in ctx.headers,
    "preferences": lambda ctx: b"prefer" in ctx.headers,
    "the language of the body": lambda ctx: b"content-language" in ctx.headers,
    "the host before a proxy": lambda ctx: b"x-forwarded-host" in ctx.headers,
    "the scheme before a proxy": lambda ctx: b"x-forwarded-proto" in ctx.headers,
    "a token that is missing": lambda ctx: ctx.header(b"authorization") == "Bearer",
    "a compressed body": lambda ctx: b"content-encoding" in ctx.headers,
}


def paid_to(ctx: Context, name: str) -> Any:
    """Returns a member of a payout's destination."""
    paid = ctx.store.get("payout_destination", str(ctx.values["payout_destination_id"])) or {}
    return paid.get(name)


def paid_to_wallet(ctx: Context) -> bool:
    return bool(paid_to(ctx, "type") == "wallet")


def _unlimited(operation: str) -> list[str]:
    """Returns the texts without a maximum length, including members of an address."""
    fields = FIELDS[operation]
    members = [f"{field.name}.{member}" for field in fields for member in field.members]
    return [field.name for field in fields if field.kind == "text" and field.max_length is None] + members


faults["http.no-server-error"] |= {
    "An id with two underscores crashes.": seam(
        "resolve",
        lambda self, ctx: (
            refuse(refusal(500, "api_error", "internal_error"))
            if any(identifier.count("_") == 2 for identifier in ctx.params.values())
            else self.usual()
        ),
    ),
    "Some requests are answered with 500.": of(Crashes, each=CRASHES),
    "An API key that is the name of a member of all objects is answered with 500.": crashing(
        lambda self, ctx: ctx.header(b"x-api-key") in INHERITED, operations=KEYED_BY_MEMBERS
    ),
    "A timestamp of digits that are not those of ASCII is answered with 500.": crashing(
        lambda self, ctx: _digits_elsewhere(ctx).isdecimal(), operations=list(OPERATIONS)[::2]
    ),
    "A timestamp with a superscript digit is answered with 500.": crashing(
        lambda self, ctx: "\N{SUPERSCRIPT TWO}" in _digits_elsewhere(ctx), operations=list(OPERATIONS)[1::2]
    ),
    "Some bodies are answered with 500.": of(Crashes, operations=BODY_OPERATIONS, each=BODY_CRASHES),
    "Some queries are answered with 500.": of(Crashes, operations=LISTS, each=QUERY_CRASHES),
    "Some filters are answered with 500.": of(
        Crashes, operations=OPERATION_SETS["filtered-list"], each=FILTER_CRASHES
    ),
    "Some idempotency keys are answered with 500.": of(
        Crashes,
        operations=POSTS,
        each={
            "no idempotency key": lambda ctx: b"idempotency-key" not in ctx.headers,
            "idempotency key no UUID": lambda ctx: len(ctx.header(b"idempotency-key") or "x" * 36) != 36,
        },
    ),
    "Some refusals are answered with 500.": seam(
        "refusal_status",
        lambda self, ctx, refusal: 500 if refusal.kind in self.value else self.usual(),
        each=lambda operation: (
            REFUSAL_CRASHES
            | ({"missing child": ("missing_child",)} if operation in OPERATION_SETS["child"] else {})
        ),
    ),
    "A repeated POST is answered with 500.": answer(
        lambda self, ctx, response: Response(500) if ctx.replayed else response, operations=POSTS
    ),
    "The connection is closed without an answer.": answer(
        lambda self, ctx, response: (
            response.with_header(NO_ANSWER, b"1") if self.value(response) else response
        ),
        each={
            "success": succeeded,
            "401": lambda response: response.status == 401,
            "404": lambda response: response.status == 404,
        },
    ),
    "A valid request is answered with another status of 5xx.": answer(
        lambda self, ctx, response: (
            Response(500)
            if self.value == 501 and self.operation == "createPayin"
            else Response(self.value)
            if succeeded(response)
            else response
        ),
        each=(501, 502, 503, 504, 599),
    ),
    "A header that the operation does not need is answered with 500.": of(Crashes, each=HEADERS),
    "An id of more than 64 bits is answered with 500.": crashing(
        lambda self, ctx: any(each.isdigit() and int(each) >= 2**64 for each in ctx.params.values()),
        operations=[
            name
            for at, name in enumerate(OPERATIONS)
            if at % len(SHORT) == 1 or len(OPERATIONS[name].path_parameters) > 1
        ],
    ),
    "An unusual type of body is answered with 500.": crashing(
        lambda self, ctx: ctx.header(b"content-type") == self.value,
        operations=BODY_OPERATIONS,
        each=lambda operation: UNUSUAL[list(OPERATIONS).index(operation) % len(UNUSUAL) :][:1],
    ),
    "A GET with a body is answered with 500.": crashing(
        lambda self, ctx: bool(ctx.request.body), operations=OPERATION_SETS["read"]
    ),
    "Two idempotency keys are answered with 500.": crashing(
        lambda self, ctx: _times(ctx.request, b"idempotency-key") > 1, operations=OPERATION_SETS["post"]
    ),
    "A payout to a wallet is answered with 500.": seam(
        "check_funds",
        lambda self, ctx: (
            refuse(refusal(500, "server_error", "internal_error")) if paid_to_wallet(ctx) else self.usual()
        ),
        operations=("createPayout",),
    ),
    "A text that does not fit its column is answered with 500.": seam(
        "check_characters",
        lambda self, ctx, field, value: (
            refuse(refusal(500, "api_error", "internal_error"))
            if field.name == self.value and len(value) > 255
            else self.usual()
        ),
        operations=[name for name in FIELDS if _unlimited(name)],
        each=_unlimited,
    ),
    "A PATCH to what another beneficiary of the account has in this field is answered with 500.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(refusal(500, "server_error", "internal_error"))
            if any(
                other.get(self.value) == ctx.values.get(self.value, "") and other["id"] != record["id"]
                for other in ctx.store.select("beneficiary", record["parent"])
            )
            else self.usual()
        ),
        operations=("updateBeneficiary",),
        each=("email", "phone", "tax_id"),
    ),
}
