"""Servers that answer some requests with 5xx, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.validation import FIELDS, TYPES
from conformance.world.corpora.headers import UNUSUAL
from conformance.world.corpora.ids import INHERITED, SHORT

from .authentication import KEYED_BY_MEMBERS
from .catalogue import Faulty, Only, Row, faults, hook, of
from .harness import NO_ANSWER
from .odd_requests import (
    BODY_CRASHES,
    CRASHES,
    FIELD_CRASHES,
    FILTER_CRASHES,
    HEADER_CRASHES,
    QUERY_CRASHES,
    REFUSAL_CRASHES,
    TEXT_CRASHES,
    digits_elsewhere,
    json_of,
    times,
)
from .rows import refusing, succeeded, where

BODY_OPERATIONS = OPERATION_SETS["body"]

LISTS = OPERATION_SETS["list"]

POSTS = OPERATION_SETS["post"]


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


#: Kind -> requests of some operations that crash.
TURNS: dict[str, Only] = {
    "an API key that is a member of all objects": Only(
        lambda ctx: ctx.header(b"x-api-key") in INHERITED, KEYED_BY_MEMBERS
    ),
    "a timestamp of digits that are not those of ASCII": Only(
        lambda ctx: digits_elsewhere(ctx).isdecimal(), list(OPERATIONS)[::2]
    ),
    "a timestamp with a superscript digit": Only(
        lambda ctx: "\N{SUPERSCRIPT TWO}" in digits_elsewhere(ctx), list(OPERATIONS)[1::2]
    ),
    "an account number of three digits": Only(
        lambda ctx: re.search(rb'"account_number":"[0-9]{3}"', ctx.request.body) is not None,
        ["createPayoutDestination"],
    ),
    "no idempotency key": Only(lambda ctx: b"idempotency-key" not in ctx.headers, POSTS),
    "an idempotency key that is no UUID": Only(
        lambda ctx: len(ctx.header(b"idempotency-key") or "x" * 36) != 36, POSTS
    ),
    "two idempotency keys": Only(lambda ctx: times(ctx.request, b"idempotency-key") > 1, POSTS),
    "an id of more than 64 bits": Only(
        lambda ctx: any(each.isdigit() and int(each) >= 2**64 for each in ctx.params.values()),
        [
            name
            for at, name in enumerate(OPERATIONS)
            if at % len(SHORT) == 1 or len(OPERATIONS[name].path_parameters) > 1
        ],
    ),
    "a GET with a body": Only(lambda ctx: bool(ctx.request.body), OPERATION_SETS["read"]),
}


def _fields(operation: str) -> dict[str, tuple[str, Callable[[Any], bool]]]:
    return {
        f"{field.name} {how}": (field.name, test)
        for field in FIELDS[operation]
        for how, test in FIELD_CRASHES.items()
        if how != {dict: "object", bool: "boolean"}.get(TYPES.get(field.kind, str))
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


def _members(operation: str) -> list[str]:
    """Returns the members of an address."""
    return [member for field in FIELDS[operation] for member in field.members]


def _unlimited(operation: str) -> list[str]:
    """Returns the texts without a maximum length, including members of an address."""
    texts = [field for field in FIELDS[operation] if field.kind == "text" and field.max_length is None]
    return [field.name for field in texts] + [f"address.{member}" for member in _members(operation)]


def _document(ctx: Context, place: str = "") -> dict[str, Any]:
    """Returns a body, or one of its members, if it is an object."""
    document = json_of(ctx)
    document = document.get(place) if place and isinstance(document, dict) else document
    return document if isinstance(document, dict) else {}


def _text(self: Any, ctx: Context) -> bool:
    place, name, test = self.value
    text = _document(ctx, place).get(name)
    return isinstance(text, str) and test(text)


def unknown(test: Callable[[Any, Context, Refusal], Any], **options: Any) -> Row:
    """Makes a row that answers 500 to an unknown path or method for which a test holds."""
    return where("render_refusal", test, lambda *_: Response(500), base=Everywhere, **options)


class Everywhere(Faulty):
    """A server that is broken on all operations, and where there is none."""

    everywhere = True


def _method_of_the_path(self: Any, ctx: Context, refusal: Refusal) -> bool:
    found = match(ctx.path) if refusal.kind == "unknown_method" else None
    return found is not None and self.operation in found.methods.values()


def _of_another(self: Any, ctx: Context, record: Record) -> bool:
    """Returns True if another beneficiary has what a PATCH names."""
    return any(
        other.get(self.value) == ctx.values.get(self.value, "") and other["id"] != record["id"]
        for other in ctx.store.select("beneficiary", record["parent"])
    )


def paid_to(ctx: Context, name: str) -> Any:
    """Returns a member of a payout's destination."""
    paid = ctx.store.get("payout_destination", str(ctx.values["payout_destination_id"])) or {}
    return paid.get(name)


def paid_to_wallet(ctx: Context) -> bool:
    return bool(paid_to(ctx, "type") == "wallet")


INTERNAL = (500, "server_error", "internal_error")

faults["http.no-server-error"] |= {
    "Some requests are answered with 500.": of(Crashes, each=CRASHES),
    "Some bodies are answered with 500.": of(Crashes, operations=BODY_OPERATIONS, each=BODY_CRASHES),
    "A header that the operation does not need is answered with 500.": of(Crashes, each=HEADER_CRASHES),
    "Some queries are answered with 500.": crashing(
        lambda self, ctx: re.search(self.value, ctx.query), operations=LISTS, each=QUERY_CRASHES
    ),
    "Some filters are answered with 500.": crashing(
        lambda self, ctx: re.search(self.value, ctx.query),
        operations=OPERATION_SETS["filtered-list"],
        each=FILTER_CRASHES,
    ),
    "Some requests that not every operation is sent are answered with 500.": of(Crashes, each=TURNS),
    "A value of this field is answered with 500.": crashing(
        lambda self, ctx: self.value[0] in _document(ctx) and self.value[1](_document(ctx)[self.value[0]]),
        operations=BODY_OPERATIONS,
        each=_fields,
    ),
    "A PATCH in which this field alone is null, and nothing else wrong, is answered with 500.": crashing(
        lambda self, ctx: [name for name, value in _document(ctx).items() if value is None] == [self.value],
        operations=["updateBeneficiary"],
        each=("beneficiary_type", *(field.name for field in FIELDS["createBeneficiary"] if field.required)),
    ),
    "A text with odd characters is answered with 500.": crashing(
        _text, operations=BODY_OPERATIONS, each=_texts
    ),
    "An address without one of its texts is answered with 500.": crashing(
        lambda self, ctx: (
            isinstance(address := _document(ctx).get("address"), dict)
            and self.value[1](address, self.value[0])
        ),
        operations=BODY_OPERATIONS,
        each=lambda operation: {
            f"{member} {how}": (member, test)
            for member in _members(operation)
            for how, test in (
                ("null", lambda address, name: address.get(name, "") is None),
                ("left out", lambda address, name: name not in address),
            )
        },
    ),
    "An unusual type of body is answered with 500.": crashing(
        lambda self, ctx: ctx.header(b"content-type") == self.value,
        operations=BODY_OPERATIONS,
        each=lambda operation: UNUSUAL[list(OPERATIONS).index(operation) % len(UNUSUAL) :][:1],
    ),
    "A text that does not fit its column is answered with 500.": refusing(
        "check_characters",
        INTERNAL,
        lambda self, ctx, field, value: field.name == self.value and len(value) > 255,
        operations=BODY_OPERATIONS,
        each=_unlimited,
    ),
    "A PATCH to what another beneficiary of the account has in this field is answered with 500.": refusing(
        "patched",
        INTERNAL,
        _of_another,
        operations=("updateBeneficiary",),
        each=("email", "phone", "tax_id"),
    ),
    "An id with two underscores crashes.": refusing(
        "resolve", INTERNAL, lambda self, ctx: any(name.count("_") == 2 for name in ctx.params.values())
    ),
    "An offset beyond 32 bits is answered with 500.": refusing(
        "offset", INTERNAL, lambda self, *_: self.usual() % 2**32 >= 2**31, operations=LISTS
    ),
    "A payout to a wallet is answered with 500.": refusing(
        "check_funds", INTERNAL, lambda self, ctx: paid_to_wallet(ctx), operations=("createPayout",)
    ),
    "A method that the path does not have is answered with 500.": unknown(_method_of_the_path),
    "A path that is not documented, but looks like that of a payout, is answered with 500.": unknown(
        lambda self, ctx, refusal: refusal.kind == "unknown_path" and b"payouts" in ctx.path,
        operations=("createPayout",),
    ),
    "Some refusals are answered with 500.": where(
        "refusal_status",
        lambda self, ctx, refusal: refusal.kind in self.value,
        lambda *_: 500,
        each={**REFUSAL_CRASHES, "missing child": Only(("missing_child",), OPERATION_SETS["child"])},
    ),
    "A repeated POST is answered with 500.": where(
        "finish", lambda self, ctx, response: ctx.replayed, lambda *_: Response(500), operations=POSTS
    ),
    "The connection is closed without an answer.": where(
        "finish",
        lambda self, ctx, response: response.status in self.value,
        lambda self, ctx, response: response.with_header(NO_ANSWER, b"1"),
        each={"success": range(200, 300), "401": (401,), "404": (404,)},
    ),
    "A valid request is answered with another status of 5xx.": where(
        "finish",
        lambda self, ctx, response: succeeded(response),
        lambda self, *_: Response(self.value),
        each={
            "501": Only(501, {*OPERATIONS} - {"createPayin"}),
            "502": 502,
            "503": 503,
            "504": 504,
            "599": 599,
        },
    ),
}
