"""Servers whose answers have another body, media type or form of error, or that show secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.messages import Response
from conformance.reference.refusals import Refusal

from .authentication import first_organization
from .catalogue import Faulty, fault, faults, hook
from .crashes import POSTS, Finishes, answer, succeeded

# --------------------------------------------------------------------------- bodies of answers


def _holding(literal: str) -> Callable[[Response], Response]:
    """Puts a word that JSON does not have into an answer."""
    member = b'{"load":%s,' % literal.encode()
    return lambda response: Response(response.status, response.headers, member + response.body[1:])


#: Kind -> the body of a success.
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


#: Kind -> answers that are declared otherwise.
WHICH: dict[str, Callable[[Context, Response], bool]] = {
    "successes": lambda ctx, response: succeeded(response),
    "authentication errors": lambda ctx, response: response.status == 401,
    "other errors": lambda ctx, response: response.status in (400, 403, 404, 409, 422),
}


@fault(
    "http.content-type",
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
class DeclaredOtherwise(Finishes):
    """Some answers are not declared as application/json."""

    def finished(self, ctx: Context, response: Response) -> Response:
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
    ),
}


# --------------------------------------------------------------------------- errors


def _with(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """Replaces a member of an error; the word "missing" stands for none."""

    def shape(error: dict[str, Any]) -> Any:
        changed = {**error, name: value}
        return {"error": {key: member for key, member in changed.items() if member != "missing"}}

    return shape


#: Kind -> the body of an error.
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

#: Kind -> the refusals of one family.
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


SHOWING = (
    "createPayoutDestination",
    "listPayoutDestinations",
    "getBeneficiary",
    "updateBeneficiary",
    "disableBeneficiary",
)
HIDDEN = ("account_number", "iban", "wallet_address")


class ShowsNumber(Faulty):
    """Shows a number of a payout destination that has to stay hidden, by `shown`."""

    def shown(self, text: str) -> str:
        return text

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        return document

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        document = super().resource(ctx, kind, record)
        name = self.value.split()[0]
        if self.here(ctx) and kind == "payout_destination" and record.get(name):
            return self.reveal(dict(document), name, record)
        return document


revealing = hook(ShowsNumber, "reveal")


faults["secrets.hidden"] |= {
    "A payout destination shows the full number under the name it was sent by.": revealing(
        lambda self, document, name, record: {**document, name: record[name]},
        operations=[operation for operation in SHOWING if operation != "listPayoutDestinations"],
        each=HIDDEN,
    ),
}


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


@fault(
    "secrets.hidden",
    operations=[operation for operation in SHOWING if operation != "listPayoutDestinations"],
    each=[f"{name} {how}" for name in HIDDEN[1:] for how in ("plain", "grouped", "reversed case")],
)
class NumberForMask(ShowsNumber):
    """A masked member is the full value."""

    def reveal(self, document: dict[str, Any], name: str, record: Record) -> dict[str, Any]:
        shown = {
            "plain": record[name],
            "grouped": " ".join(re.findall(".{1,4}", record[name])),
            "reversed case": record[name].swapcase(),
        }[self.value.split(maxsplit=1)[1]]
        return {**document, f"{name}_masked": shown}


faults["secrets.hidden"] |= {
    "A header shows the full number of a new payout destination.": answer(
        lambda self, ctx, response: (
            response.with_header(b"x-created", str(ctx.body[self.value]).encode())
            if succeeded(response) and ctx.body.get(self.value)
            else response
        ),
        operations=("createPayoutDestination",),
        each=HIDDEN,
    ),
}


@fault("secrets.hidden", operations=("createPayout",), each=("account_number", "iban"))
class NumberInPayout(Finishes):
    """A payout shows the full number of its destination."""

    def finished(self, ctx: Context, response: Response) -> Response:
        record = ctx.store.get("payout_destination", str((ctx.record or {}).get("payout_destination_id")))
        if record is None or not record.get(self.value):
            return response
        return response.with_document({**response.document, "paid_to": record[self.value]})


@fault("secrets.hidden", operations=("createPayoutDestination",), each=HIDDEN)
class NumberInRefusal(Faulty):
    """The refusal of an invalid payout destination repeats the number."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} {ctx.body.get(self.value)}" if refusal.kind == "invalid_field" else message


@fault(
    "secrets.hidden",
    operations=("createPayoutDestination",),
    each=("missing_headers", "invalid_signature", "unknown_parent"),
)
class BodyInRefusal(Faulty):
    """The refusal repeats the whole body that was sent."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return (
            f"{message} {ctx.request.body.decode('utf-8', 'replace')}"
            if refusal.kind == self.value
            else message
        )


@fault("secrets.hidden", operations=("createPayoutDestination",), each=("replay", "conflict"))
class NumberInRepetition(Finishes):
    """A repeated create shows the body that was first sent."""

    def finished(self, ctx: Context, response: Response) -> Response:
        document = response.document if response.body else {}
        conflict = (document.get("error") or {}).get("code") == "idempotency_key_conflict"
        if ctx.replayed if self.value == "replay" else conflict:
            return response.with_document(
                {**document, "request": ctx.request.body.decode("utf-8", "replace")}
            )
        return response
