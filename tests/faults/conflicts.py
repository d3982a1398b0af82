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

from .catalogue import Faulty, Only, faults, seam, wrong
from .rows import MISSING, always, passing, refusing, shown_as, skipping

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
}


def _as(path: str, way: Any) -> Part:
    """Returns a part with the member at a path in another way."""
    return lambda ctx: shown_as(_document(ctx), path, way)


def _fingerprints(operation: str) -> dict[str, Part | Only]:
    fields = FIELDS[operation]
    paths = [field.name for field in fields] + [
        f"address.{name}" for field in fields for name in field.members
    ]
    numbers = {"account_number", "iban", "wallet_address"} & {*paths}
    city = {"the city of the address": _as("address", lambda sent: sent["city"])}
    return {
        **FINGERPRINTS,
        **{f"all but {path}": _as(path, MISSING) for path in paths},
        **{f"the last four characters of {name}": _as(name, lambda text: str(text)[-4:]) for name in numbers},
        **(city if "address" in paths else {}),
    }


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
    "Bodies are one to a server that compares meanings.": seam("fingerprint", _by_meaning, each=_meanings)
}

faults["idempotency.conflict"] |= {
    "A key that was answered with its stored response once brings it for any body.": passing(
        "same_body", lambda self, ctx: ctx.key in self.state.get("replayed", ()), base=RemembersKeys
    ),
    "Another body is told from the first one for the last twenty keys only.": passing(
        "same_body", lambda self, ctx: ctx.key not in self.state.get("used", [])[-20:], base=RemembersKeys
    ),
    "Another body under a used key is refused once, and brings the stored response the second time.": passing(
        "same_body",
        lambda self, ctx: self.state.get(ctx.request.body) or self.state.update({ctx.request.body: True}),
    ),
    "A used key is answered with the stored response whatever the body is.": passing("same_body", always),
    "A used key without a body brings its response.": passing("same_body", lambda ctx: not ctx.request.body),
    "A used key with another body is a new request.": skipping("on_other_body"),
    "Two bodies that differ count as the same.": seam(
        "fingerprint",
        lambda ctx, value: hashlib.sha256(repr(value(ctx)).encode()).digest(),
        each=_fingerprints,
    ),
    "A used key with another body is refused with another type or code, or not with 4xx.": refusing(
        "on_other_body",
        each=wrong(
            "409 idempotency_error idempotency_key_conflict",
            *("validation_error", "conflict", "400 validation_error invalid_idempotency_key", "200"),
        ),
    ),
}

faults["idempotency.conflict-no-body"] |= {
    "A used key without a body brings its response when it comes with one.": passing("same_body", always),
    "A used key without a body is performed again when it comes with one.": skipping("on_other_body"),
}
