"""Servers that go wrong in one corner: with one kind of body, after one request, at the second look."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from conformance.checks.test_races import KEYS
from conformance.contract.rules import RULES
from conformance.reference.context import Context, Record
from conformance.reference.fields import FIELDS
from conformance.reference.messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer

from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .formats import document
from .replays import do_again
from .resources import other
from .signatures import also_signed

# --------------------------------------------------------------------------- authentication


@fault("auth.nonce-replay")
class MethodsApart(Faulty):
    """Nonces are remembered for each method apart, on all operations."""

    everywhere = True

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {ctx.request.method}"


def _known_fields(self: Any, ctx: Context) -> bytes:
    """The body without what the server does not know, as a structure that it is read into has it."""
    with contextlib.suppress(ValueError):
        body = json.loads(ctx.request.body)
        known = {field.name for field in self.fields(ctx)}
        kept = {name: value for name, value in body.items() if name in known}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
    return b""


faults["auth.signed-body"] |= {
    "A signature made over the known fields of the body is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=_known_fields(self, ctx))]
    ),
    "A signature made over a part of the body is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=self.value(ctx.request.body))],
        each={
            "half": lambda body: body[: len(body) // 2],
            "all but white space behind": lambda body: body.rstrip() + b" " * 9001,
        },
    ),
    "A signature made over the body in small letters is accepted.": also_signed(
        lambda self, ctx: [self.string(ctx, body=ctx.request.body.replace(b"conformancE", b"conformance"))]
    ),
}

faults["auth.signed-query"] |= {
    "A signature made for a query that is not sent is accepted.": also_signed(
        lambda self, ctx: [
            self.string(ctx, target=ctx.request.target + b"?" + query)
            for query in (b"size=2&page=1&probe=%5F", b"second=2&first=1&probe=%5F")
            if b"?" not in ctx.request.target
        ]
    ),
    "The query is no part of the signature.": seam("signed_target", lambda self, ctx: ctx.path),
}

# --------------------------------------------------------------------------- keys


def _shared(self: Any, ctx: Context) -> str:
    return "\n".join((ctx.operation, *ctx.params.values()))


@fault("idempotency.other-organization")
class KeysBeforeOwners(Faulty):
    """A used key is answered with the stored response to whoever sends it, wherever the resource is."""

    def answer_scope(self, ctx: Context) -> str:
        return _shared(self, ctx)

    def resolve(self, ctx: Context) -> None:
        key = (ctx.header(b"idempotency-key") or "").lower()
        answer = ctx.store.answer(_shared(self, ctx), key)
        if answer is not None and answer.fingerprint == self.fingerprint(ctx):
            ctx.notes["answer"] = answer
            return
        super().resolve(ctx)

    def replay(self, ctx: Context) -> Response | None:
        if (answer := ctx.notes.get("answer")) is not None:
            return Response(answer.status, [JSON_TYPE], answer.body)
        return super().replay(ctx)


@fault("idempotency.other-organization")
class LastOwnerOnly(Faulty):
    """A key belongs to the organization that used it last: the first one's response is forgotten."""

    def remember(self, ctx: Context, response: Response) -> None:
        if ctx.first_use and ctx.organization is not None:
            ctx.store.change(
                "DELETE FROM answers WHERE key = ? AND scope NOT LIKE ?", ctx.key, f"{ctx.organization.id}%"
            )
        super().remember(ctx, response)


faults["idempotency.key-accepted"] |= {
    "A key that resembles a used one is a conflict.": seam(
        "stored_answer",
        lambda self, ctx: (
            self.usual()
            or next(
                (
                    Answer(b"", 409, b"{}")
                    for (key,) in ctx.store.query(
                        "SELECT key FROM answers WHERE scope = ?", self.answer_scope(ctx)
                    )
                    if sum(sent != kept for sent, kept in zip(key, ctx.key, strict=True)) == 1
                ),
                None,
            )
        ),
        operations=("createAccount", "createBeneficiary", "createWallet"),
    ),
}

# --------------------------------------------------------------------------- simultaneous requests


class CountsReplays(Faulty):
    """Knows how often a response has been brought again."""

    def times(self, ctx: Context) -> int:
        """How often it was, this time included."""
        known = self.__dict__.setdefault("counts", {})
        known[ctx.key] = known.get(ctx.key, 0) + 1
        return int(known[ctx.key])


def _forget(ctx: Context) -> None:
    ctx.store.change("DELETE FROM answers WHERE key = ?", ctx.key)


def _bring_some(self: Any, ctx: Context, answer: Answer) -> Any:
    if self.behaviour.times(ctx) >= KEYS - 1:
        _forget(ctx)
    return self.usual()


def _do_and_bring(self: Any, ctx: Context, answer: Answer) -> Any:
    if self.behaviour.times(ctx) < KEYS:
        do_again(self.behaviour, ctx)
    return self.usual()


faults["idempotency.race"] |= {
    "After as many repetitions as met, the key is forgotten.": seam(
        "replayed", _bring_some, base=CountsReplays
    ),
    "Those of simultaneous requests that are late are answered with a redirection.": seam(
        "replayed",
        lambda self, ctx, answer: (
            refuse(refusal(303, "moved", "moved")) if self.behaviour.times(ctx) < KEYS else self.usual()
        ),
        base=CountsReplays,
    ),
    "Simultaneous requests with one key are answered as one, and each is performed.": seam(
        "replayed", _do_and_bring, base=CountsReplays, operations=("createPayout", "createVirtualAccount")
    ),
}

# --------------------------------------------------------------------------- beneficiaries


def _destinations(ctx: Context) -> list[Record]:
    return ctx.store.select("payout_destination", (ctx.beneficiary or {})["id"])


faults["beneficiary.disable"] |= {
    "A beneficiary of some kind cannot be disabled.": seam(
        "disabled",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field")) if self.value(ctx, record) else self.usual()
        ),
        each={
            "with a destination": lambda ctx, record: bool(_destinations(ctx)),
            "a business": lambda ctx, record: record["beneficiary_type"] == "business",
            "changed before": lambda ctx, record: record["updated"] != record["created"],
        },
    ),
}


@fault("beneficiary.disable")
class HidesDisabled(Faulty):
    """A disabled beneficiary can no longer be read."""

    everywhere = True

    def show_beneficiary(self, ctx: Context) -> None:
        if (ctx.beneficiary or {}).get("status") == "disabled":
            raise Refusal("missing_child")
        super().show_beneficiary(ctx)


faults["beneficiary.update"] |= {
    "A PATCH makes a disabled beneficiary active.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "status": "active"}
    ),
    "A PATCH of a business is refused.": seam(
        "patched",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field")) if record["beneficiary_type"] == "business" else self.usual()
        ),
    ),
}


def _embedded(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """A beneficiary with one member of its destinations changed."""
    changed = [
        {**element, self.value: other(self.value, element[self.value])}
        if element.get(self.value) is not None
        else element
        for element in shown["payout_destinations"]
    ]
    return {**shown, "payout_destinations": changed}


faults["beneficiary.destinations"] |= {
    "A destination of a beneficiary shows another member than its create answered.": document(
        _embedded,
        each=(
            *("country", "currency", "label", "account_number_last4", "type", "created", "payout_method"),
            "is_default",
        ),
    ),
}

faults["read.equals-create"] |= {
    "A resource of some kind cannot be read.": seam(
        "success_document",
        lambda self, ctx: refuse(Refusal("missing_child")) if self.value(ctx.record) else self.usual(),
        operations=("getBeneficiary",),
        each={
            "a business": lambda record: record["beneficiary_type"] == "business",
            "without optional fields": lambda record: record.get("note") is None,
        },
    ),
}

# --------------------------------------------------------------------------- destinations and fields

faults["destination.last4"] |= {
    "clabe_last4 is not the last four digits of the CLABE.": seam(
        "clabe_last4",
        lambda self, ctx, record: self.usual() and str(record["account_number"])[self.value],
        each={"the first": slice(0, 4), "without the control digit": slice(-5, -1)},
    ),
}


def _limited(operation: str) -> list[str]:
    kinds = ("name", "label", "display_name", "note", "first_name", "title", "company_name")
    return [field.name for field in FIELDS[operation] if field.max_length and field.name in kinds]


@fault(
    "fields.max-length-accepted",
    operations=[
        name for name in RULES["fields.max-length-accepted"].operations if name != "updateBeneficiary"
    ],
    each=_limited,
)
class KeepsOneLess(Faulty):
    """A value of the maximum length comes back without its last character."""

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        most = {field.name: field.max_length for field in self.fields(ctx)}
        return {
            name: value[:-1] if name == self.value and len(value) == most[name] else value
            for name, value in super().kept_fields(ctx).items()
        }


@fault(
    "fields.required",
    operations=("createAccount", "createBeneficiary", "createVirtualAccount", "createPayin"),
)
class EmptyObjectIsAnExample(Faulty):
    """An empty object is taken for a create with made-up values."""

    def check_present(self, ctx: Context, field: Any) -> None:
        if ctx.body:
            super().check_present(ctx, field)
