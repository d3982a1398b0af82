"""Servers that accept invalid idempotency keys, or share keys between organizations (section 4.0)."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import Answer

from .catalogue import Faulty, fault, faults, refusal, refuse, seam

faults["idempotency.key-required", "idempotency.payout-key-required"] |= {
    "A POST without a key is performed.": seam("on_missing_key", lambda *_: None),
    "A key is taken from another header where Idempotency-Key is missing.": seam(
        "on_missing_key",
        lambda self, ctx: ctx.header(self.value) or self.usual(),
        each={"X-Idempotency-Key": b"x-idempotency-key", "X-Request-Id": b"x-request-id"},
    ),
}

#: Kind -> pattern of texts that are accepted as UUIDs.
KEYS = {
    "anything": r".+",
    "uuid first": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}.+",
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

faults["idempotency.key-invalid"] |= {
    "A key that is no UUID is accepted.": seam(
        "parse_key",
        lambda self, ctx, text: text if text and re.fullmatch(self.value, text) else self.usual(),
        each=KEYS,
    )
}


@fault("idempotency.key-invalid", seam="parse_key")
def _(self: Any, ctx: Context, text: str) -> Any:
    """A key that is no UUID is ignored: the request is performed as without a key."""
    try:
        return self.usual()
    except Refusal:
        return None


@fault(
    "idempotency.key-invalid",
    seam="parse_key",
    each={
        "type": ("idempotency_error", "invalid_idempotency_key"),
        "code": ("validation_error", "invalid_key"),
        "conflict": ("idempotency_error", "idempotency_key_conflict"),
        "neither": ("validation_error", "invalid_field"),
    },
)
def _(self: Any, ctx: Context, text: str) -> Any:
    """A key that is no UUID is refused with another type or code."""
    try:
        return self.usual()
    except Refusal:
        raise refusal(400, *self.value) from None


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


faults["idempotency.key-accepted"] |= {
    "A lower-case UUID of version 4 is refused, or one of some form.": seam(
        "parse_key",
        lambda self, ctx, text: (
            refuse(Refusal("invalid_idempotency_key")) if re.fullmatch(self.value, text) else self.usual()
        ),
        each=REFUSED,
    ),
    "Two keys that differ in some places only count as one.": seam(
        "parse_key",
        lambda self, *_: (self.usual() or "")[self.value],
        operations=OPERATION_SETS["create"],
        each={
            "first 8": slice(0, 8),
            "first 18": slice(0, 18),
            "first 35": slice(0, 35),
            "last 12": slice(-12, None),
            "last 35": slice(-35, None),
        },
    ),
    "Two keys that differ in their middle only count as one.": seam(
        "parse_key",
        lambda self, *_: (key := self.usual() or "")[:8] + key[-12:],
        operations=OPERATION_SETS["create"],
    ),
    "A request with a valid key is refused as a conflict.": seam(
        "stored_answer", lambda *_: refuse(Refusal("idempotency_key_conflict"))
    ),
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

faults["idempotency.key-other-uuids"] |= {
    "A UUID of another version, or in upper case, is refused.": seam(
        "parse_key",
        lambda self, ctx, text: (
            refuse(Refusal("invalid_idempotency_key")) if re.fullmatch(self.value, text) else self.usual()
        ),
        each={
            "version 1": r".{14}1.+",
            "version 5": r".{14}5.+",
            "version 7": r".{14}7.+",
            "upper case": r"[0-9A-F-]*[A-F][0-9A-F-]*",
            "all but 4": r".{14}[^4].+",
        },
    )
}


@fault("idempotency.other-organization")
class SharesAnswers(Faulty):
    """A key that another organization used is answered with its response."""

    def answer_scope(self, ctx: Context) -> str:
        return ctx.operation

    def same_body(self, ctx: Context, answer: Answer) -> bool:
        return super().same_body(ctx, answer) or (
            ctx.organization is not None and (ctx.store.answer(self._own_scope(ctx), ctx.key or "") is None)
        )

    def _own_scope(self, ctx: Context) -> str:
        assert ctx.organization is not None
        return f"{ctx.organization.id} used"

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        if ctx.key is not None and ctx.first_use:
            ctx.store.keep_answer(self._own_scope(ctx), ctx.key, Answer(b"", 200, b""))


class SharesKeys(Faulty):
    """Detects keys that another organization used."""

    def used_elsewhere(self, ctx: Context) -> bool:
        """Returns True if another organization used the key first."""
        assert ctx.organization is not None
        users = self.state.setdefault("users", {})
        return bool(users.setdefault(ctx.key, ctx.organization.id) != ctx.organization.id)


@fault("idempotency.other-organization")
class MixesInTheOther(SharesKeys):
    """A key that another organization used is performed, but the answer has the id of its resource."""

    def remember(self, ctx: Context, response: Response) -> None:
        super().remember(ctx, response)
        ids = self.state.setdefault("ids", {})
        ids.setdefault(ctx.key, response.document.get("id"))

    def finish(self, ctx: Context, response: Response) -> Response:
        if (
            ctx.key is None
            or ctx.organization is None
            or not self.used_elsewhere(ctx)
            or response.status >= 300
        ):
            return response
        document = response.document
        return response.with_document({**document, "id": self.state["ids"].get(ctx.key, document["id"])})


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
class KeepsRefusals(Faulty):
    """The refusal of another organization's request is what its path and key bring from then on."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        super().refused(ctx, refusal)
        if refusal.kind == "foreign_parent":
            key = (ctx.header(b"idempotency-key") or "").lower()
            self.state.setdefault("kept", {})[ctx.path, key] = refusal

    def stored_answer(self, ctx: Context) -> Answer | None:
        kept = self.state.get("kept", {}).get((ctx.path, ctx.key))
        return refuse(kept) if kept else super().stored_answer(ctx)


@fault("idempotency.other-organization", seam="remember")
def _(self: Any, ctx: Context, response: Response) -> None:
    """A key belongs to the organization that used it last: the first one's response is forgotten."""
    if ctx.first_use and ctx.organization is not None:
        ctx.store.change(
            "DELETE FROM answers WHERE key = ? AND scope NOT LIKE ?", ctx.key, f"{ctx.organization.id}%"
        )
    self.usual()


faults["idempotency.other-organization"] |= {
    "A key that another organization used is refused.": seam(
        "stored_answer",
        lambda self, ctx: refuse(Refusal(self.value)) if self.used_elsewhere(ctx) else self.usual(),
        each=("idempotency_key_conflict", "foreign_parent"),
        base=SharesKeys,
    ),
    "A key is one for all organizations and accounts.": seam("answer_scope", lambda self, ctx: ctx.operation),
}


@fault(
    "idempotency.key-accepted",
    seam="replay",
    each={"documented": (b"Idempotency-Key",), "all but capitals": (b"Idempotency-Key", b"idempotency-key")},
)
def _(self: Any, ctx: Context) -> Any:
    """Idempotency-Key is found under the documented spelling of its name and under no, or one, other."""
    named = [name for name, _ in ctx.request.headers if name.lower() == b"idempotency-key"]
    if named and named[0] not in self.value:
        ctx.headers.pop(b"idempotency-key")
    return self.usual()
