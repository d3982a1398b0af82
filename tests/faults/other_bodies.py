"""Servers that take another body under a used idempotency key for the same (section 4.0)."""

from __future__ import annotations

import binascii
import contextlib
import functools
import hashlib
import json
import operator
import random
import re
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS
from tests.specification import HIDDEN

from .catalogue import Only, faults, kind, seam, seams, wrong
from .formats import PAYMENTS
from .rows import MISSING, always, passing, refusing, shown_as, skipping

#: Returns what is compared of a body.
Part = Callable[[Context], Any]


def _texts(document: dict[str, Any], change: Callable[[str], Any]) -> dict[str, Any]:
    """Returns a document with its texts changed."""
    return {name: change(value) if isinstance(value, str) else value for name, value in document.items()}


def _by_meaning(self: Any, usual: Any, ctx: Context) -> Any:
    try:
        return json.dumps(kind(self, ctx, json.loads(ctx.request.body)), sort_keys=True).encode()
    except (ValueError, ArithmeticError, AttributeError, TypeError):
        return usual()


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


def _hash(text: str, factor: int) -> int:
    """Returns a hash code of 32 bits, as many languages have it of a text."""
    return functools.reduce(lambda code, sign: (code * factor + ord(sign)) % 2**32, text, 0)


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
    "the last 1,000 bytes": lambda ctx: ctx.request.body[-1000:],
    "the first and the last 1,000 bytes": lambda ctx: ctx.request.body[:1000] + ctx.request.body[-1000:],
    "the sum of the bytes": lambda ctx: sum(ctx.request.body),
    "the XOR of the bytes": lambda ctx: functools.reduce(operator.xor, ctx.request.body, 0),
    "the bytes in any order": lambda ctx: sorted(ctx.request.body),
    "the bytes in any order, of each value": lambda ctx: [
        (name, sorted(str(value))) for name, value in _document(ctx).items()
    ],
    "Adler-32": lambda ctx: zlib.adler32(ctx.request.body),
    "CRC-32": lambda ctx: zlib.crc32(ctx.request.body),
    "CRC-16": lambda ctx: binascii.crc_hqx(ctx.request.body, 0),
    "hashCode, as Java has it": lambda ctx: _hash(ctx.request.body.decode(), 31),
    "the sum of the values' hash codes": lambda ctx: sum(
        _hash(f"{name}={value}", 31) for name, value in _document(ctx).items()
    ),
    "DJB2": lambda ctx: _hash(ctx.request.body.decode(), 33),
    "the beginning and the end of each value": Only(
        lambda ctx: [(name, str(value)[:1000], str(value)[-1000:]) for name, value in _document(ctx).items()],
        ("createBeneficiary", "createPayoutDestination", "createPayin"),
    ),
    "whole units of the amount": Only(
        lambda ctx: shown_as(_document(ctx), "amount", lambda text: text.partition(".")[0]), PAYMENTS
    ),
    "names of the fields in any letter case": lambda ctx: {
        name.lower(): value for name, value in _document(ctx).items()
    },
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
    numbers = sorted({*HIDDEN} & {*paths})
    city = {"the city of the address": _as("address", lambda sent: sent["city"])}
    return {
        **FINGERPRINTS,
        **{f"all but {path}": _as(path, MISSING) for path in paths},
        **{f"the last four characters of {name}": _as(name, lambda text: str(text)[-4:]) for name in numbers},
        **{
            f"all but the last four characters of {name}": _as(name, lambda text: str(text)[:-4])
            for name in numbers
        },
        **(
            {
                "account_number without leading zeros": _as(
                    "account_number", lambda text: str(text).lstrip("0")
                )
            }
            if numbers
            else {}
        ),
        **(city if "address" in paths else {}),
    }


faults["idempotency.conflict-equivalent"] |= {
    "Bodies are one to a server that compares meanings.": seam(
        "fingerprint",
        _by_meaning,
        each={
            "unknown members": lambda self, ctx, document: {
                name: document[name]
                for name in document
                if name in {field.name for field in FIELDS[ctx.operation]}
            },
            "spaces": lambda self, ctx, document: _texts(document, str.strip),
            "defaults": Only(
                lambda self, ctx, document: {
                    "beneficiary_type": "individual",
                    "is_default": False,
                    **document,
                },
                ("createBeneficiary", "createPayoutDestination"),
            ),
            "nulls": Only(
                lambda self, ctx, document: {
                    name: value for name, value in document.items() if value is not None
                },
                ("createBeneficiary", "createPayoutDestination", "createVirtualAccount"),
            ),
            "numerals": Only(
                lambda self, ctx, document: shown_as(
                    document, "amount", lambda text: str(Decimal(text).normalize())
                ),
                PAYMENTS,
            ),
            "types": Only(
                lambda self, ctx, document: {name: str(value) for name, value in document.items()}, PAYMENTS
            ),
        },
    )
}

faults["idempotency.conflict"] |= {
    "A key that was answered with its stored response once brings it for any body.": seams(
        {
            "replayed": lambda self, usual, ctx, *_: self.state.update({ctx.key: True}) or usual(),
            "same_body": lambda self, usual, ctx, *_: usual() or ctx.key in self.state,
        }
    ),
    "Another body is told from the first one for the last twenty keys only.": seams(
        {
            "remember": lambda self, usual, ctx, *_: (
                usual(),
                ctx.first_use and self.state.setdefault("used", []).append(ctx.key),
            ),
            "same_body": lambda self, usual, ctx, *_: (
                usual() or ctx.key not in self.state.get("used", [])[-20:]
            ),
        }
    ),
    "Another body under a used key is refused once, and brings the stored response the second time.": passing(
        "same_body",
        lambda self, ctx, *_: self.state.get(ctx.request.body) or self.state.update({ctx.request.body: True}),
    ),
    "A used key is answered with the stored response whatever the body is.": passing("same_body", always),
    "A used key without a body brings its response.": passing(
        "same_body", lambda self, ctx, *_: not ctx.request.body
    ),
    "A used key with another body is a new request.": skipping("on_other_body"),
    "Two bodies that differ count as the same.": seam(
        "fingerprint",
        lambda self, usual, ctx: hashlib.sha256(repr(self.value(ctx)).encode()).digest(),
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


def _in_any_order(value: Any, of_all: bool) -> Any:
    """Returns a document whose objects, or those in it, begin with a random member, as a map of Go does."""
    if not isinstance(value, dict):
        return value
    members = [(name, _in_any_order(each, True)) for name, each in value.items()]
    start = random.randrange(8) if of_all else 0
    return dict(members[start:] + members[:start])


faults["idempotency.replay"] |= {
    "Bodies are compared with the members of objects in the order of a hash table.": seam(
        "fingerprint",
        lambda self, usual, ctx: hashlib.sha256(
            json.dumps(_in_any_order(_document(ctx), self.value)).encode()
        ).digest(),
        each={
            "all": Only(True, ("createBeneficiary", "createPayoutDestination", "createPayin")),
            "addresses": Only(False, ("createBeneficiary", "createVirtualAccount")),
        },
    )
}
