"""Servers that accept another body with a used idempotency key (section 5.5)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer

from .catalogue import Faulty, Only, faults, seam
from .rows import always, passing, refusing, skipping

#: Returns what is compared of a body.
Part = Callable[[Context], Any]


def _texts(document: dict[str, Any], change: Callable[[str], Any]) -> dict[str, Any]:
    """Returns a document with its texts changed."""
    return {name: change(value) if isinstance(value, str) else value for name, value in document.items()}


#: Kind -> operations, and a parsed body without one kind of difference.
MEANINGS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any]], Any]]] = {
    "defaults": (
        ("createBeneficiary", "createPayoutDestination"),
        lambda document: {"beneficiary_type": "individual", "is_default": False, **document},
    ),
    "nulls": (
        ("createBeneficiary", "createPayoutDestination", "createVirtualAccount"),
        lambda document: {name: value for name, value in document.items() if value is not None},
    ),
    "numerals": (
        ("createPayout", "createPayin"),
        lambda document: (
            {**document, "amount": str(Decimal(document["amount"]).normalize())}
            if isinstance(document.get("amount"), str)
            else document
        ),
    ),
    "types": (
        ("createPayout", "createPayin"),
        lambda document: {name: str(value) for name, value in document.items()},
    ),
}


def _meanings(operation: str) -> dict[str, Callable[[dict[str, Any]], Any]]:
    known = {field.name for field in FIELDS[operation]}
    return {
        "unknown members": lambda document: {name: document[name] for name in document if name in known},
        "spaces": lambda document: _texts(document, str.strip),
        **{kind: meaning for kind, (those, meaning) in MEANINGS.items() if operation in those},
    }


def _by_meaning(self: Any, ctx: Context) -> Any:
    try:
        return json.dumps(self.value(json.loads(ctx.request.body)), sort_keys=True).encode()
    except (ValueError, ArithmeticError, AttributeError):
        return self.usual()


def _document(ctx: Context) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        document = json.loads(ctx.request.body)
        return document if isinstance(document, dict) else {}
    return {}


def _leaves(value: Any) -> list[str]:
    """Returns the leaves of a JSON value as texts."""
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in _leaves(member)]
    return [str(value)]


def _numbers(pattern: str) -> Part:
    """Returns a part with texts of a pattern as numbers."""
    return lambda ctx: sorted(
        _texts(_document(ctx), lambda text: float(text) if re.fullmatch(pattern, text) else text).items()
    )


def _without(name: str) -> Part:
    return lambda ctx: {key: value for key, value in _document(ctx).items() if key != name}


def _masked(name: str) -> Part:
    """Returns a part with one member reduced to its last four characters."""
    return lambda ctx: {
        key: str(value)[-4:] if key == name else value for key, value in sorted(_document(ctx).items())
    }


def _of_address(wanted: Callable[[str], object]) -> Part:
    """Returns a part with some members of the address."""

    def part(ctx: Context) -> Any:
        body = _document(ctx)
        address = body.get("address")
        if isinstance(address, dict):
            body["address"] = {member: address[member] for member in sorted(address) if wanted(member)}
        return body

    return part


_ADDRESSED = ("createBeneficiary", "createVirtualAccount")

#: Kind -> what is compared of two bodies.
FINGERPRINTS: dict[str, Part | Only] = {
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
    "the last 64 bytes": lambda ctx: ctx.request.body[-64:],
    "the sum of the bytes": lambda ctx: sum(ctx.request.body),
    "numerals by value": _numbers(r"[0-9]+(\.[0-9]+)?(e[0-9]+)?"),
    "decimals by value": _numbers(r"[0-9]+(\.[0-9]+)?"),
    "integers by value": _numbers(r"[0-9]+"),
    "the values without names": lambda ctx: sorted(_leaves(_document(ctx))),
    "the values, one behind the other": Only(
        lambda ctx: "".join(_leaves(_document(ctx))), ["createBeneficiary"]
    ),
    "the values by name, one behind the other": Only(
        lambda ctx: "".join(str(value) for _, value in sorted(_document(ctx).items())), ["createBeneficiary"]
    ),
    **{
        f"all of the address but {name.partition('|')[0]}": Only(
            _of_address(re.compile(f"(?!{name}$)").match), _ADDRESSED
        )
        for name in ("address_line", "city", "region|state", "postal_code", "country")
    },
    "the city of the address": Only(_of_address(lambda member: member == "city"), _ADDRESSED),
    **{
        f"the last four characters of {name}": Only(_masked(name), ["createPayoutDestination"])
        for name in ("account_number", "iban", "wallet_address")
    },
}


def _fingerprints(operation: str) -> dict[str, Part | Only]:
    return FINGERPRINTS | {f"all but {field.name}": _without(field.name) for field in FIELDS[operation]}


def _tried_before(self: Any, ctx: Context, answer: Answer) -> bool:
    tried = self.state.setdefault("tried", set())
    again = (ctx.key, ctx.request.body) in tried
    tried.add((ctx.key, ctx.request.body))
    return again


class RemembersKeys(Faulty):
    """Remembers the keys in the order of their first use, and those that were replayed."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if self.here(ctx) and ctx.first_use:
            self.state.setdefault("used", []).append(ctx.key)

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        self.state.setdefault("replayed", set()).add(ctx.key)
        return super().replayed(ctx, answer)


faults["idempotency.conflict-equivalent"] |= {
    "Bodies are the same to a server that compares what they mean.": seam(
        "fingerprint", _by_meaning, each=_meanings
    )
}

faults["idempotency.conflict"] |= {
    "A key that was answered with its stored response once brings it for any body.": passing(
        "same_body", lambda self, ctx, *_: ctx.key in self.state.get("replayed", ()), base=RemembersKeys
    ),
    "Another body is told from the first one for the last twenty keys only.": passing(
        "same_body", lambda self, ctx, *_: ctx.key not in self.state.get("used", [])[-20:], base=RemembersKeys
    ),
    "Another body under a used key is refused once, and brings the stored response the second time.": passing(
        "same_body", _tried_before
    ),
    "A used key is answered with the stored response whatever the body is.": passing("same_body", always),
    "A used key without a body is answered with the stored response.": passing(
        "same_body", lambda self, ctx, *_: not ctx.request.body
    ),
    "A used key with another body is a new request.": skipping("on_other_body"),
    "Two bodies that differ count as the same.": seam(
        "fingerprint",
        lambda self, ctx: hashlib.sha256(repr(self.value(ctx)).encode()).digest(),
        each=_fingerprints,
    ),
    "A used key with another body is refused with another type or code, or not with 4xx.": refusing(
        "on_other_body",
        each={
            "type": (409, "validation_error", "idempotency_key_conflict"),
            "code": (409, "idempotency_error", "conflict"),
            "invalid": (400, "validation_error", "invalid_idempotency_key"),
            "success": (200, "idempotency_error", "idempotency_key_conflict"),
        },
    ),
}

faults["idempotency.conflict-no-body"] |= {
    "A used key without a body is answered with the stored response when it comes with one.": passing(
        "same_body", always
    ),
    "A used key without a body is performed again when it comes with one.": skipping("on_other_body"),
}
