"""Servers that break a rule of all answers: status, body, errors, secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.rules import OPERATION_SETS

from .authentication import first_organization
from .catalogue import Faulty, fault
from .harness import NO_ANSWER

BODIES = OPERATION_SETS["body"]
LISTS = OPERATION_SETS["list"]
POSTS = OPERATION_SETS["post"]


def succeeded(response: Response) -> bool:
    """Whether an answer is 2xx."""
    return 200 <= response.status < 300


class Finishes(Faulty):
    """Changes answers by `finished`, last of all."""

    def finished(self, ctx: Context, response: Response) -> Response:
        raise NotImplementedError

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        return self.finished(ctx, response) if self.here(ctx) else response


# --------------------------------------------------------------------------- http.no-server-error


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


#: Kind -> which requests with a body end in a server error.
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
    "object for a text": lambda ctx: any(
        isinstance(value, dict) for name, value in (_json(ctx) or {}).items() if name != "address"
    ) if isinstance(_json(ctx), dict) else False,
    "array for a text": lambda ctx: any(isinstance(value, list) for value in _values(_json(ctx))),
    "huge number": lambda ctx: bool(re.search(r"\d{60}|[0-9][eE]\+?\d{3}", _text(ctx))),
    "long text": lambda ctx: len(ctx.request.body) > 60_000,
    "double key": lambda ctx: _doubled(_text(ctx)),
    "no content type": lambda ctx: b"content-type" not in ctx.headers,
    "other content type": lambda ctx: not (ctx.header(b"content-type") or "application/json").startswith("application/json"),
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


#: Kind -> which requests of any operation end in a server error.
CRASHES: dict[str, Callable[[Context], bool]] = {
    "always": lambda ctx: True,
    "unsigned": lambda ctx: b"x-signature" not in ctx.headers,
    "timestamp no integer": lambda ctx: not re.fullmatch(r"-?\d*", ctx.header(b"x-timestamp") or ""),
    "signature not hexadecimal": lambda ctx: not re.fullmatch("[0-9a-fA-F]*", ctx.header(b"x-signature") or ""),
    "unknown key": lambda ctx: bool(ctx.header(b"x-api-key")) and not ctx.store.organization(ctx.header(b"x-api-key") or ""),
}

#: Kind -> which refusals end in a server error instead.
REFUSAL_CRASHES: dict[str, tuple[str, ...]] = {
    "unknown parent": ("unknown_parent",), "foreign parent": ("foreign_parent",), "used nonce": ("nonce_replay",),
}

#: Kind -> which requests of a list end in a server error.
QUERY_CRASHES: dict[str, Callable[[Context], bool]] = {
    "page no integer": lambda ctx: bool(re.search(rb"page=[^&]*[a-z]", ctx.query)),
    "page 0": lambda ctx: bool(re.search(rb"page=0(&|$)", ctx.query)),
    "negative page": lambda ctx: b"page=-" in ctx.query, "far page": lambda ctx: bool(re.search(rb"page=\d{10}", ctx.query)),
    "size 0": lambda ctx: bool(re.search(rb"size=0(&|$)", ctx.query)), "negative size": lambda ctx: b"size=-" in ctx.query,
    "large size": lambda ctx: bool(re.search(rb"size=(\d{4,}|10[1-9])", ctx.query)),
    "size no integer": lambda ctx: bool(re.search(rb"size=[^&]*[a-z]", ctx.query)),
    "empty page": lambda ctx: bool(re.search(rb"(page|size)=(&|$)", ctx.query)),
}
FILTER_CRASHES: dict[str, Callable[[Context], bool]] = {
    "malformed date": lambda ctx: bool(re.search(rb"_date=[a-z]", ctx.query)),
    "impossible date": lambda ctx: bool(re.search(rb"_date=\d{4}-(1[3-9]|\d\d-3[2-9]|02-3)", ctx.query)),
    "empty date": lambda ctx: bool(re.search(rb"_date=(&|$)", ctx.query)),
    "unknown status": lambda ctx: b"status" in ctx.query and not re.search(
        rb"=(active|suspended|disabled|inactive)", ctx.query.partition(b"status")[2]),
}


class Crashes(Faulty):
    """Ends in a server error where `crashes` says so."""

    def crashes(self, ctx: Context) -> bool:
        return self.value(ctx)  # type: ignore[no-any-return]

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        if not self.here(ctx) or not self.crashes(ctx):
            return response
        return Response.of(500, {"error": {"type": "server_error", "code": "internal_error", "message": "An error."}})


@fault("http.no-server-error", each=CRASHES)
class CrashesOnRequest(Crashes):
    """Some requests are answered with 500."""


@fault("http.no-server-error", operations=BODIES, each=BODY_CRASHES)
class CrashesOnBody(Crashes):
    """Some bodies are answered with 500."""


@fault("http.no-server-error", operations=LISTS, each=QUERY_CRASHES)
class CrashesOnQuery(Crashes):
    """Some queries are answered with 500."""


@fault("http.no-server-error", operations=OPERATION_SETS["filtered-list"], each=FILTER_CRASHES)
class CrashesOnFilter(Crashes):
    """Some filters are answered with 500."""


@fault("http.no-server-error", operations=POSTS, each={
    "no idempotency key": lambda ctx: b"idempotency-key" not in ctx.headers,
    "idempotency key no UUID": lambda ctx: len(ctx.header(b"idempotency-key") or "x" * 36) != 36})
class CrashesOnKey(Crashes):
    """Some idempotency keys are answered with 500."""


@fault("http.no-server-error", each=lambda operation: REFUSAL_CRASHES | (
    {"missing child": ("missing_child",)} if operation in OPERATION_SETS["child"] else {}))
class CrashesInsteadOfRefusing(Faulty):
    """Some refusals are answered with 500."""

    def refusal_status(self, ctx: Context, refusal: Refusal) -> int:
        return 500 if refusal.kind in self.value else super().refusal_status(ctx, refusal)


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


@fault("http.no-server-error", operations=POSTS)
class CrashesOnReplay(Finishes):
    """A repeated POST is answered with 500."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return Response(500) if ctx.replayed else response


@fault("http.no-server-error", each={
    "success": succeeded, "401": lambda response: response.status == 401, "404": lambda response: response.status == 404})
class GivesNoAnswer(Finishes):
    """The connection is closed without an answer."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return response.with_header(NO_ANSWER, b"1") if self.value(response) else response


@fault("http.no-server-error", each=(501, 502, 503, 504, 599))
class OtherServerErrors(Finishes):
    """A sound request is answered with another status of 5xx."""

    def finished(self, ctx: Context, response: Response) -> Response:
        if self.value == 501 and self.operation == "createPayin":
            return Response(500)
        return Response(self.value) if succeeded(response) else response


# --------------------------------------------------------------------------- bodies of answers

#: Kind -> the body of a success.
SUCCESSES: dict[str, Callable[[Response], Response]] = {
    "empty": lambda response: Response(response.status, response.headers),
    "204": lambda response: Response(204),
    "text": lambda response: Response(response.status, response.headers, b"OK"),
    "cut": lambda response: Response(response.status, response.headers, response.body[:-1]),
    "more behind": lambda response: Response(response.status, response.headers, response.body + b"}"),
    "page": lambda response: Response(response.status, response.headers, b"<!doctype html><title>Done</title>"),
    "script": lambda response: Response(response.status, response.headers, b")]}'," + response.body),
    "single quotes": lambda response: Response(response.status, response.headers, response.body.replace(b'"', b"'")),
    "twice": lambda response: Response(response.status, response.headers, response.body * 2),
}


@fault("http.success-json", each=SUCCESSES)
class NoJson(Finishes):
    """A success has no JSON body."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return self.value(response) if succeeded(response) else response  # type: ignore[no-any-return]


@fault("http.success-json", each=(302, 304, 303))
class Redirects(Finishes):
    """What is done is answered with 3xx."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return Response(self.value, response.headers, response.body) if succeeded(response) else response


#: Kind -> answers that are declared otherwise.
WHICH: dict[str, Callable[[Context, Response], bool]] = {
    "successes": lambda ctx, response: succeeded(response),
    "authentication errors": lambda ctx, response: response.status == 401,
    "other errors": lambda ctx, response: response.status in (400, 403, 404, 409, 422),
}


@fault("http.content-type", each=[f"{which}: {declared}" for which in WHICH for declared in (
    "text/html; charset=utf-8", "text/plain", "", "application/vnd.api+json", "application/problem+json", "text/json",
    "application/jsonp", "application/json-seq")])
class DeclaredOtherwise(Finishes):
    """Some answers are not declared as application/json."""

    def finished(self, ctx: Context, response: Response) -> Response:
        which, _, declared = self.value.partition(": ")
        if not WHICH[which](ctx, response):
            return response
        return response.with_header(b"content-type", declared.encode() or None)


@fault("http.content-type", operations=POSTS)
class ReplayDeclaredOtherwise(Finishes):
    """The answer to a repeated POST is not declared as application/json."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return response.with_header(b"content-type", b"application/octet-stream") if ctx.replayed else response


# --------------------------------------------------------------------------- errors

#: Kind -> the body of an error.
SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bare": lambda error: error, "text": lambda error: {"error": error["message"]}, "list": lambda error: {"errors": [error]},
    "array": lambda error: {"error": [error]}, "problem": lambda error: {"title": error["code"], "status": 400}, "null": lambda error: None,
    **{f"{name} {how}": lambda error, name=name, value=value: {"error": {
        key: one for key, one in {**error, name: value}.items() if one != "missing"}}
       for name in ("type", "code", "message") for how, value in (("missing", "missing"), ("null", None), ("number", 4), ("array", ["x"]))},
}

#: Kind -> the refusals of one family.
FAMILIES: dict[str, tuple[str, ...]] = {
    "authentication": ("missing_headers", "empty_header", "timestamp_too_old", "nonce_replay", "invalid_signature",
                       "invalid_timestamp", "unknown_key"),
    "missing headers": ("missing_headers",), "timestamp": ("timestamp_too_old",), "nonce": ("nonce_replay",),
    "signature": ("invalid_signature",), "unknown key": ("unknown_key",),
    "foreign": ("foreign_parent",), "unknown": ("unknown_parent",), "child": ("missing_child",),
    "conflict": ("idempotency_key_conflict",),
}


def _families(operation: str) -> dict[str, tuple[str, str]]:
    kinds = {f"{family}: {shape}": (family, shape) for family in ("authentication", "foreign", "unknown") for shape in SHAPES}
    more = ["missing headers", "timestamp", "nonce", "signature", "unknown key"]
    more += ["child"] * (operation in OPERATION_SETS["child"]) + ["conflict"] * (operation in OPERATION_SETS["create"])
    kinds |= {f"{family}: {shape}": (family, shape) for family in more for shape in ("text", "message missing")}
    # Only its type tells a conflict from other refusals: without one, idempotency.conflict is broken instead.
    kinds.pop("conflict: text", None)
    return kinds


@fault("error.shape", each=_families)
class OtherErrors(Faulty):
    """Some errors have another body."""

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        family, shape = self.value
        return SHAPES[shape](document["error"]) if refusal.kind in FAMILIES[family] else document


@fault("error.shape", each=("authentication", "unknown"))
class ErrorsWithoutBody(Faulty):
    """Some errors have no JSON body."""

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        response = super().render_refusal(ctx, refusal)
        if refusal.kind in FAMILIES[self.value]:
            response.body = b"Not found" if self.value == "unknown" else b""
        return response


# --------------------------------------------------------------------------- secrets


class ShowsSecret(Faulty):
    """Shows the caller's signing secret somewhere."""

    def secret(self, ctx: Context) -> str:
        return (ctx.organization or first_organization(ctx)).secret


@fault("secrets.hidden", each=("invalid_signature", "nonce_replay", "timestamp_too_old", "unknown_parent"))
class SecretInError(ShowsSecret):
    """The message of an error shows the secret."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} ({self.secret(ctx)})" if refusal.kind == self.value else message


@fault("secrets.hidden", each=("member", "header"))
class SecretInSuccess(ShowsSecret):
    """A success shows the secret."""

    def finish(self, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        if self.value == "header":
            return response.with_header(b"x-debug", self.secret(ctx).encode())
        return response.with_document({**response.document, "debug": {"key": [self.secret(ctx)]}})


SHOWING = ("createPayoutDestination", "listPayoutDestinations", "getBeneficiary", "updateBeneficiary", "disableBeneficiary")
HIDDEN = ("account_number", "iban", "wallet_address")


class ShowsNumber(Faulty):
    """Shows a number of a payout destination that has to stay hidden, by `shown`."""

    def shown(self, text: str) -> str:
        return text

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        raise NotImplementedError

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        document = super().resource(ctx, kind, record)
        name = self.value.split()[0]
        if self.here(ctx) and kind == "payout_destination" and record.get(name):
            return self.reveal(dict(document), name, record)
        return document


@fault("secrets.hidden", operations=[one for one in SHOWING if one != "listPayoutDestinations"], each=HIDDEN)
class NumberUnderItsName(ShowsNumber):
    """A payout destination shows the full number under the name it was sent by."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        return {**document, name: record[name]}


@fault("secrets.hidden", operations=("listPayoutDestinations",), each=HIDDEN)
class NumberInItem(ShowsNumber):
    """An item shows the full number under the name it was sent by."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        return {**document, name: record[name]}

    def item_fields(self, ctx: Context, kind: str) -> list[str]:
        return [*super().item_fields(ctx, kind), *HIDDEN]


@fault("secrets.hidden", operations=SHOWING, each=("account_number", "account_number grouped"))
class NumberForLastFour(ShowsNumber):
    """account_number_last4 is the full number."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        number = record[name]
        shown = "-".join(re.findall(".{1,4}", number)) if "grouped" in self.value else number
        return {**document, "account_number_last4": shown}


@fault("secrets.hidden", operations=[one for one in SHOWING if one != "listPayoutDestinations"],
       each=[f"{name} {how}" for name in HIDDEN[1:] for how in ("plain", "grouped", "reversed case")])
class NumberForMask(ShowsNumber):
    """A masked member is the full value."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        shown = {"plain": record[name], "grouped": " ".join(re.findall(".{1,4}", record[name])),
                 "reversed case": record[name].swapcase()}[self.value.split(maxsplit=1)[1]]
        return {**document, f"{name}_masked": shown}


@fault("secrets.hidden", operations=("createPayoutDestination",), each=HIDDEN)
class NumberInRefusal(Faulty):
    """The refusal of an invalid payout destination repeats the number."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} {ctx.body.get(self.value)}" if refusal.kind == "invalid_field" else message


@fault("secrets.hidden", operations=("createPayoutDestination",), each=("missing_headers", "invalid_signature", "unknown_parent"))
class BodyInRefusal(Faulty):
    """The refusal repeats the whole body that was sent."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} {ctx.request.body.decode('utf-8', 'replace')}" if refusal.kind == self.value else message


@fault("secrets.hidden", operations=("createPayoutDestination",), each=("replay", "conflict"))
class NumberInRepetition(Finishes):
    """A repeated create shows the body that was first sent."""

    def finished(self, ctx: Context, response: Response) -> Response:
        document = response.document if response.body else {}
        conflict = (document.get("error") or {}).get("code") == "idempotency_key_conflict"
        if ctx.replayed if self.value == "replay" else conflict:
            return response.with_document({**document, "request": ctx.request.body.decode("utf-8", "replace")})
        return response
