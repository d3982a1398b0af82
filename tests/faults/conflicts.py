"""Servers that accept another body with a used idempotency key (section 5.5)."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer

from .catalogue import Faulty, fault, faults, refusal, refuse, seam


def _blindnesses(operation: str) -> list[str]:
    found = ["unknown members", "spaces"]
    if operation in ("createBeneficiary", "createPayoutDestination"):
        found.append("defaults")
    if operation in ("createBeneficiary", "createPayoutDestination", "createVirtualAccount"):
        found.append("nulls")
    return [*found, "numerals", "types"] if operation in ("createPayout", "createPayin") else found


def _meaning(operation: str, body: bytes, what: str) -> Any:
    """Returns a parsed body without one kind of difference."""
    document = json.loads(body)
    known = {field.name for field in FIELDS[operation]}
    match what:
        case "unknown members":
            return {name: value for name, value in document.items() if name in known}
        case "defaults":
            return {"beneficiary_type": "individual", "is_default": False, **document}
        case "nulls":
            return {name: value for name, value in document.items() if value is not None}
        case "numerals" if isinstance(document.get("amount"), str):
            return {**document, "amount": str(Decimal(document["amount"]).normalize())}
        case "types":
            return {name: str(value) for name, value in document.items()}
        case "spaces":
            return {
                name: value.strip() if isinstance(value, str) else value for name, value in document.items()
            }
    return document


@fault("idempotency.conflict-equivalent", seam="fingerprint", each=_blindnesses)
def _(self: Any, ctx: Context) -> Any:
    """Bodies are the same to a server that compares what they mean."""
    try:
        meaning = _meaning(self.operation, ctx.request.body, self.value)
        return json.dumps(meaning, sort_keys=True).encode()
    except (ValueError, ArithmeticError, AttributeError):
        return self.usual()


def _without_member(ctx: Context, name: str) -> Any:
    """Returns the body as sent, without one member of its address, or with that member alone."""
    body = json.loads(ctx.request.body)
    address = body.get("address")
    if isinstance(address, dict):
        kept = (
            {"city"}
            if name.startswith("all but")
            else address.keys() - {name, "state" if name == "region" else name}
        )
        body["address"] = {member: address[member] for member in sorted(kept & address.keys())}
    return body


def _document(ctx: Context) -> dict[str, Any]:
    try:
        document = json.loads(ctx.request.body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _masked(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a document with one member reduced to its last four characters."""
    return {key: str(value)[-4:] if key == name else value for key, value in sorted(document.items())}


def _numbers(pattern: str, document: dict[str, Any]) -> list[Any]:
    """Returns the members of a document, with texts of a pattern as numbers."""
    return [
        (name, float(value) if isinstance(value, str) and re.fullmatch(pattern, value) else value)
        for name, value in sorted(document.items())
    ]


#: Kind -> what is compared of two bodies.
FINGERPRINTS = {
    "length": lambda ctx: str(len(ctx.request.body)),
    "names of the fields": lambda ctx: sorted(_document(ctx)),
    "letters in any case": lambda ctx: ctx.request.body.lower().hex(),
    "letters of ASCII": lambda ctx: ctx.request.body.decode().encode("ascii", "replace"),
    "ASCII letters": lambda ctx: re.sub(rb"[^A-Za-z]", b"", ctx.request.body),
    "all but digits": lambda ctx: re.sub(rb"[0-9]", b"", ctx.request.body),
    "letters and digits": lambda ctx: re.sub(r"[\W_]", "", ctx.request.body.decode("utf-8", "replace")),
    "all but white space": lambda ctx: re.sub(rb"\s", b"", ctx.request.body),
    "the first 128 bytes": lambda ctx: ctx.request.body[:128],
    "the first 1,000 bytes": lambda ctx: ctx.request.body[:1000],
    "the values without names": lambda ctx: sorted(_leaves(_document(ctx))),
    "the last 64 bytes": lambda ctx: ctx.request.body[-64:],
    "the sum of the bytes": lambda ctx: sum(ctx.request.body),
    "numerals by value": lambda ctx: _numbers(r"[0-9]+(\.[0-9]+)?(e[0-9]+)?", _document(ctx)),
    "decimals by value": lambda ctx: _numbers(r"[0-9]+(\.[0-9]+)?", _document(ctx)),
    "integers by value": lambda ctx: _numbers(r"[0-9]+", _document(ctx)),
}


@fault("idempotency.conflict")
class AnyBodyAfterReplay(Faulty):
    """A key that was answered with its stored response once brings it for any body."""

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        self.state.setdefault("known", set()).add(ctx.key)
        return super().replayed(ctx, answer)

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        return super().same_body(ctx, answer) or ctx.key in self.state.get("known", ())


@fault("idempotency.conflict", seam="same_body")
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """Another body under a used key is refused once, and brings the stored response the second time."""
    tried = self.state.setdefault("tried", set())
    again = (ctx.key, ctx.request.body) in tried
    tried.add((ctx.key, ctx.request.body))
    return self.usual() or again


def _leaves(value: Any) -> list[str]:
    """Returns the leaves of a JSON value as texts."""
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in _leaves(member)]
    return [str(value)]


faults["idempotency.conflict"] |= {
    "A used key is answered with the stored response whatever the body is.": seam(
        "same_body", lambda *_: True
    ),
    "A used key without a body is answered with the stored response.": seam(
        "same_body", lambda self, ctx, *_: self.usual() if ctx.request.body else True
    ),
    "A used key with another body is a new request.": seam("on_other_body", lambda *_: None),
    "Two bodies that differ count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(self.value(ctx)).encode()).digest(),
        each=FINGERPRINTS,
    ),
    "Two bodies with the same values, one behind the other, count as the same.": seam(
        "fingerprint",
        lambda self, ctx: "".join(str(value) for _, value in sorted(_document(ctx).items())).encode(),
        operations=("createBeneficiary",),
    ),
    "Two bodies that differ in this member of the address only count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(_without_member(ctx, self.value)).encode()).digest(),
        operations=("createBeneficiary", "createVirtualAccount"),
        each=("address_line", "city", "region", "postal_code", "country", "all but the city"),
    ),
    "Two bodies that differ in this field only count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(
            json.dumps({name: value for name, value in _document(ctx).items() if name != self.value}).encode()
        ).digest(),
        each=lambda operation: [field.name for field in FIELDS[operation]],
    ),
    "Two bodies that differ in what masks hide of this number only count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(_masked(_document(ctx), self.value)).encode()).digest(),
        operations=("createPayoutDestination",),
        each=("account_number", "iban", "wallet_address"),
    ),
    "A used key with another body is refused with another type or code, or not with 4xx.": seam(
        "on_other_body",
        lambda self, *_: refuse(refusal(*self.value)),
        each={
            "type": (409, "validation_error", "idempotency_key_conflict"),
            "code": (409, "idempotency_error", "conflict"),
            "invalid": (400, "validation_error", "invalid_idempotency_key"),
            "success": (200, "idempotency_error", "idempotency_key_conflict"),
        },
    ),
    "Two people whose names are made of the same words or letters count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(self.value(_leaves(_document(ctx))).encode()).digest(),
        operations=("createBeneficiary",),
        each={"values in any order": lambda values: repr(sorted(values)), "joined": "".join},
    ),
}

faults["idempotency.conflict-no-body"] |= {
    "A used key without a body is answered with the stored response when it comes with one.": seam(
        "same_body", lambda *_: True
    ),
    "A used key without a body is performed again when it comes with one.": seam(
        "on_other_body", lambda *_: None
    ),
}


@fault("idempotency.conflict")
class ComparesBodiesOfFewKeys(Faulty):
    """Another body is told from the first one for the last twenty keys only."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if ctx.first_use:
            self.state.setdefault("known", []).append(ctx.key)

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        return ctx.key not in self.state.get("known", [])[-20:] or super().same_body(ctx, answer)
