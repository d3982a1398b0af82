"""Servers that take wrong idempotency keys, another organization's, or another body (section 5.5)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer

from .catalogue import Faulty, Only, by_name, faults, of, refuse, seam, seams, wrong
from .formats import PAYMENTS
from .rows import (
    MISSING,
    always,
    before,
    passing,
    refusing,
    refusing_otherwise,
    shown_as,
    skipping,
    succeeded,
    where,
)

faults["idempotency.key-required", "idempotency.payout-key-required"] |= {
    "A POST without a key is performed.": skipping("on_missing_key"),
    "A key is taken from another header where Idempotency-Key is missing.": seam(
        "on_missing_key",
        lambda ctx, value, usual: ctx.header(value) or usual(),
        each={"X-Idempotency-Key": b"x-idempotency-key", "X-Request-Id": b"x-request-id"},
    ),
}

#: Kind -> pattern of texts that are accepted as UUIDs.
KEYS = {
    "anything": r".+",
    "uuid first": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}.+",
    "uuid first, a comma": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}, *.+",
    "uuid last": r".+[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "any letters": r"[0-9a-zA-Z]{8}-(?:[0-9a-zA-Z]{4}-){3}[0-9a-zA-Z]{12}",
    "a digit short": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{11}",
    "a digit more": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{13}",
    "36 hexadecimal or hyphens": r"[0-9a-f-]{36}",
    "hyphens anywhere": r"(?:[0-9a-f]-?){32}",
    "an additional hyphen": r"(?:[0-9a-f]-?){8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "groups of any length": r"[0-9a-f]{1,12}(?:-[0-9a-f]{1,12}){4}",
    "in parentheses": r"\([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\)",
    "words": r"[A-Za-z_ -]+",
    "numbers": r"[0-9]{1,20}",
    "a ULID": r"[0-9A-HJKMNP-TV-Z]{26}",
}


def _of_this_form(self: Any, ctx: Context, text: str) -> bool:
    return re.fullmatch(self.value, text) is not None


faults["idempotency.key-invalid"] |= {
    "A key that is no UUID is accepted.": where("parse_key", _of_this_form, lambda text: text, each=KEYS),
    "A key that is no UUID is ignored.": skipping(
        "parse_key", lambda text: not re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", text, re.I)
    ),
    "A key that is no UUID is refused with another type or code.": refusing_otherwise(
        "parse_key",
        each=wrong(
            "400 validation_error invalid_idempotency_key",
            *(
                "idempotency_error",
                "invalid_key",
                "idempotency_error idempotency_key_conflict",
                "invalid_field",
            ),
        ),
    ),
}

#: Kind -> pattern of UUIDs that are refused.
REFUSED = {
    "small letters": r"[0-9a-f-]+",
    "version 4": r".{14}4.+",
    "variant 8": r".{19}8.+",
    "variant 9": r".{19}9.+",
    "variant a": r".{19}a.+",
    "variant b": r".{19}b.+",
    "hyphens": r".*-.*",
}


def _resembles_a_used_one(self: Any, ctx: Context) -> bool:
    rows = ctx.store.query("SELECT key FROM answers WHERE scope = ?", self.answer_scope(ctx))
    return any(sum(a != b for a, b in zip(key, ctx.key or "", strict=True)) == 1 for (key,) in rows)


faults["idempotency.key-accepted"] |= {
    "A lower-case UUID of version 4 is refused, or one of some form.": refusing(
        "parse_key", "invalid_idempotency_key", _of_this_form, each=REFUSED
    ),
    "Two keys that differ in some places only count as one.": seam(
        "parse_key",
        lambda value, usual: value(usual() or ""),
        operations=OPERATION_SETS["create"],
        each={
            "first 8": lambda key: key[:8],
            "first 18": lambda key: key[:18],
            "first 35": lambda key: key[:35],
            "last 12": lambda key: key[-12:],
            "last 35": lambda key: key[-35:],
            "all but the middle": lambda key: key[:8] + key[-12:],
        },
    ),
    "A request with a new key is a conflict.": refusing("stored_answer", "idempotency_key_conflict"),
    "A key that resembles a used one is a conflict.": where(
        "stored_answer",
        _resembles_a_used_one,
        lambda *_: Answer(b"", 409, b"{}"),
        operations=("createAccount", "createBeneficiary", "createWallet"),
    ),
    "Idempotency-Key is found under the documented spelling of its name and under no, or one, other.": before(
        "replay",
        lambda ctx: ctx.headers.pop(b"idempotency-key"),
        lambda ctx, value: any(
            name.lower() == b"idempotency-key" and name not in value for name, _ in ctx.request.headers
        ),
        each={
            "documented": (b"Idempotency-Key",),
            "all but capitals": (b"Idempotency-Key", b"idempotency-key"),
        },
    ),
}

faults["idempotency.key-other-uuids"] |= {
    "A UUID of another version, or in upper case, is refused.": refusing(
        "parse_key",
        "invalid_idempotency_key",
        _of_this_form,
        each={
            "version 1": r".{14}1.+",
            "version 5": r".{14}5.+",
            "version 7": r".{14}7.+",
            "upper case": r"[0-9A-F-]*[A-F][0-9A-F-]*",
            "all but 4": r".{14}[^4].+",
        },
    )
}


# ---------------------------------------------------------------------- another organization's keys


def _used_elsewhere(self: Any, ctx: Any) -> bool:
    """Returns True if another organization used the key first."""
    users = self.state.setdefault("users", {})
    return bool(users.setdefault(ctx.key, ctx.organization.id) != ctx.organization.id)


class KeysBeforeOwners(Faulty):
    """A used key is answered with the stored response to whoever sends it, wherever the resource is."""

    def answer_scope(self, ctx: Context) -> str:
        return "\n".join((ctx.operation, *ctx.params.values()))

    def resolve(self, ctx: Context) -> None:
        key = (ctx.header(b"idempotency-key") or "").lower()
        answer = ctx.store.answer(self.answer_scope(ctx), key)
        if answer is not None and answer.fingerprint == self.fingerprint(ctx):
            ctx.notes["answer"] = answer
        else:
            super().resolve(ctx)

    def replay(self, ctx: Context) -> Response | None:
        answer = ctx.notes.get("answer")
        return Response(answer.status, [JSON_TYPE], answer.body) if answer else super().replay(ctx)


faults["idempotency.other-organization"] |= {
    "A used key is answered with the stored response to whoever sends it, wherever the resource is.": of(
        KeysBeforeOwners
    ),
    "A key that another organization used is performed, but the answer has the id of its resource.": seams(
        {
            "remember": lambda self, ctx, response, usual: (
                usual(),
                self.state.setdefault(ctx.key, response.document.get("id")),
            ),
            "finish": lambda self, ctx, response: (
                response.with_document({**response.document, "id": self.state[ctx.key]})
                if ctx.key in self.state and succeeded(response) and _used_elsewhere(self, ctx)
                else response
            ),
        }
    ),
    "A key that another organization used is answered with its response.": seams(
        {
            "answer_scope": lambda ctx: ctx.operation,
            "same_body": lambda self, ctx, usual: usual() or (ctx.organization.id, ctx.key) not in self.state,
            "remember": lambda self, ctx, usual: (
                self.state.update({(ctx.organization.id, ctx.key): True} if ctx.first_use else {}) or usual()
            ),
        }
    ),
    "The refusal of another organization's request is what its path and key bring from then on.": seams(
        {
            "refused": lambda self, ctx, refusal: self.state.update(
                {(ctx.path, (ctx.header(b"idempotency-key") or "").lower()): refusal}
                if refusal.kind == "foreign_parent"
                else {}
            ),
            "stored_answer": lambda self, ctx, usual: (
                refuse(refusal) if (refusal := self.state.get((ctx.path, ctx.key))) else usual()
            ),
        }
    ),
    "A key belongs to the organization that used it last: the first one's response is forgotten.": before(
        "remember",
        lambda ctx: ctx.store.change(
            "DELETE FROM answers WHERE key = ? AND scope NOT LIKE ?", ctx.key, f"{ctx.organization.id}%"
        ),
        lambda ctx: ctx.first_use,
    ),
    "A key that another organization used is refused.": refusing(
        "stored_answer", test=_used_elsewhere, each=("idempotency_key_conflict", "foreign_parent")
    ),
    "A key is one for all organizations and accounts.": seam("answer_scope", lambda ctx: ctx.operation),
}


# ---------------------------------------------------------------------- another body


#: Returns what is compared of a body.
Part = Callable[[Context], Any]


def _texts(document: dict[str, Any], change: Callable[[str], Any]) -> dict[str, Any]:
    """Returns a document with its texts changed."""
    return {name: change(value) if isinstance(value, str) else value for name, value in document.items()}


_MEANING = by_name(None, dict.fromkeys(("ctx", "document")))


def _by_meaning(self: Any, ctx: Context) -> Any:
    try:
        return json.dumps(_MEANING(self, ctx, json.loads(ctx.request.body)), sort_keys=True).encode()
    except (ValueError, ArithmeticError, AttributeError, TypeError):
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


faults["idempotency.conflict-equivalent"] |= {
    "Bodies are one to a server that compares meanings.": seam(
        "fingerprint",
        _by_meaning,
        each={
            "unknown members": lambda ctx, document: {
                name: document[name]
                for name in document
                if name in {field.name for field in FIELDS[ctx.operation]}
            },
            "spaces": lambda document: _texts(document, str.strip),
            "defaults": Only(
                lambda document: {"beneficiary_type": "individual", "is_default": False, **document},
                ("createBeneficiary", "createPayoutDestination"),
            ),
            "nulls": Only(
                lambda document: {name: value for name, value in document.items() if value is not None},
                ("createBeneficiary", "createPayoutDestination", "createVirtualAccount"),
            ),
            "numerals": Only(
                lambda document: shown_as(document, "amount", lambda text: str(Decimal(text).normalize())),
                PAYMENTS,
            ),
            "types": Only(lambda document: {name: str(value) for name, value in document.items()}, PAYMENTS),
        },
    )
}

faults["idempotency.conflict"] |= {
    "A key that was answered with its stored response once brings it for any body.": seams(
        {
            "replayed": lambda self, ctx, usual: self.state.update({ctx.key: True}) or usual(),
            "same_body": lambda self, ctx, usual: usual() or ctx.key in self.state,
        }
    ),
    "Another body is told from the first one for the last twenty keys only.": seams(
        {
            "remember": lambda self, ctx, usual: (
                usual(),
                ctx.first_use and self.state.setdefault("used", []).append(ctx.key),
            ),
            "same_body": lambda self, ctx, usual: usual() or ctx.key not in self.state.get("used", [])[-20:],
        }
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
