"""Servers that take wrong idempotency keys, or another organization's (section 4.0)."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.store import Answer
from tests.support.overrides import with_document

from .catalogue import Faulty, faults, of, refuse, seam, seams, wrong
from .rows import (
    before,
    refusing,
    refusing_otherwise,
    skipping,
    succeeded,
    where,
)

for rule in ("idempotency.key-required", "idempotency.payout-key-required"):
    faults[rule] |= {
        "A POST without a key is performed.": skipping("on_missing_key"),
        "A key is taken from another header where Idempotency-Key is missing.": seam(
            "on_missing_key",
            lambda self, usual, ctx: ctx.header(self.value) or usual(),
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
    "a digit more in a group between": r"[0-9a-f]{8}-(?:[0-9a-f]{4,5}-){3}[0-9a-f]{12}",
    "a group more": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){4}[0-9a-f]{12}",
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
    "A key that is no UUID is accepted.": where(
        "parse_key", _of_this_form, lambda self, usual, ctx, text: text, each=KEYS
    ),
    "A key that is no UUID is ignored.": skipping(
        "parse_key",
        lambda self, ctx, text: not re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", text, re.I),
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
        lambda self, usual, *_: self.value(usual() or ""),
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
        lambda self, ctx: ctx.headers.pop(b"idempotency-key"),
        lambda self, ctx: any(
            name.lower() == b"idempotency-key" and name not in self.value for name, _ in ctx.request.headers
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
            "remember": lambda self, usual, ctx, response: (
                usual(),
                self.state.setdefault(ctx.key, response.document.get("id")),
            ),
            "finish": lambda self, usual, ctx, response: (
                with_document(response, {**response.document, "id": self.state[ctx.key]})
                if ctx.key in self.state and succeeded(response) and _used_elsewhere(self, ctx)
                else response
            ),
        }
    ),
    "A key that another organization used is answered with its response.": seams(
        {
            "answer_scope": lambda self, usual, ctx: ctx.operation,
            "same_body": lambda self, usual, ctx, *_: (
                usual() or (ctx.organization.id, ctx.key) not in self.state
            ),
            "remember": lambda self, usual, ctx, *_: (
                self.state.update({(ctx.organization.id, ctx.key): True} if ctx.first_use else {}) or usual()
            ),
        }
    ),
    "The refusal of another organization's request is what its path and key bring from then on.": seams(
        {
            "refused": lambda self, usual, ctx, refusal: self.state.update(
                {(ctx.path, (ctx.header(b"idempotency-key") or "").lower()): refusal}
                if refusal.kind == "foreign_parent"
                else {}
            ),
            "stored_answer": lambda self, usual, ctx: (
                refuse(refusal) if (refusal := self.state.get((ctx.path, ctx.key))) else usual()
            ),
        }
    ),
    "A key belongs to the organization that used it last: the first one's response is forgotten.": before(
        "remember",
        lambda self, ctx, *_: ctx.store.change(
            "DELETE FROM answers WHERE key = ? AND scope NOT LIKE ?", ctx.key, f"{ctx.organization.id}%"
        ),
        lambda self, ctx, *_: ctx.first_use,
    ),
    "A key that another organization used is refused.": refusing(
        "stored_answer", test=_used_elsewhere, each=("idempotency_key_conflict", "foreign_parent")
    ),
    "A key is one for all organizations and accounts.": seam(
        "answer_scope", lambda self, usual, ctx: ctx.operation
    ),
}
