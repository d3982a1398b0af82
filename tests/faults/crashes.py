"""Servers that answer some requests with 5xx, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import FREE_TEXT
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.validation import FIELDS, TYPES
from conformance.world.corpora.headers import UNUSUAL
from conformance.world.corpora.ids import INHERITED, SHORT

from .authentication import KEYED_BY_MEMBERS
from .catalogue import Faulty, fault, faults, hook, of, refusal, refuse, seam
from .harness import NO_ANSWER
from .odd_requests import (
    BODY_CRASHES,
    CRASHES,
    FIELD_CRASHES,
    FILTER_CRASHES,
    HEADERS,
    QUERY_CRASHES,
    REFUSAL_CRASHES,
    TEXT_CRASHES,
    digits_elsewhere,
    json_of,
    times,
)
from .places import answer, succeeded

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
    document = json_of(ctx)
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
    document = json_of(ctx)
    members = document.items() if isinstance(document, dict) else ()
    return [name for name, value in members if value is None] == [self.value]


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
    document = json_of(ctx)
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
    document = json_of(ctx)
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
        lambda self, ctx: digits_elsewhere(ctx).isdecimal(), operations=list(OPERATIONS)[::2]
    ),
    "A timestamp with a superscript digit is answered with 500.": crashing(
        lambda self, ctx: "\N{SUPERSCRIPT TWO}" in digits_elsewhere(ctx), operations=list(OPERATIONS)[1::2]
    ),
    "An account number of three digits is answered with 500.": crashing(
        lambda self, ctx: re.search(rb'"account_number":"[0-9]{3}"', ctx.request.body) is not None,
        operations=["createPayoutDestination"],
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
    "A query in a notation that some frameworks take for a structure is answered with 500.": crashing(
        lambda self, ctx: self.value in ctx.query,
        operations=OPERATION_SETS["list"],
        each=(b"size[]=", b"page[a]=", b"size=5&size=5"),
    ),
    "An offset beyond 32 bits is answered with 500.": seam(
        "offset",
        lambda self, ctx, listing: (
            refuse(refusal(500, "server_error", "internal_error"))
            if self.usual() % 2**32 >= 2**31
            else self.usual()
        ),
        operations=OPERATION_SETS["list"],
    ),
    "A GET with a body is answered with 500.": crashing(
        lambda self, ctx: bool(ctx.request.body), operations=OPERATION_SETS["read"]
    ),
    "Two idempotency keys are answered with 500.": crashing(
        lambda self, ctx: times(ctx.request, b"idempotency-key") > 1, operations=OPERATION_SETS["post"]
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
