"""Servers that accept a nonce twice, or refuse it wrongly (sections 5.4 and 8)."""

from __future__ import annotations

import hashlib
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.idempotency import Idempotency
from conformance.reference.seams.validation import FIELDS
from tests.variants.resources import FundsDemanded

from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .tenancy import caller_is


@fault("auth.nonce-replay", seam="claim_nonce", also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
def _(self: Any, ctx: Context, nonce: str) -> Any:
    """A nonce may be used here, whatever it was used for before."""
    self.usual()
    return True


#: Kind -> scope within which a nonce is unique, beside the organization.
NONCE_SCOPES = {
    "operation": lambda ctx: ctx.operation,
    "method": lambda ctx: ctx.request.method,
    "path": lambda ctx: ctx.path.decode(),
    "timestamp": lambda ctx: ctx.header(b"x-timestamp"),
    "signature": lambda ctx: ctx.header(b"x-signature"),
    "body": lambda ctx: (ctx.operation in FIELDS and hashlib.sha256(ctx.request.body).hexdigest()) or "",
    "key": lambda ctx: ctx.header(b"idempotency-key") or "",
}


def _scopes(operation: str) -> dict[str, Any]:
    # A scope that is equal for all requests of the operation and of others is no restriction.
    unlike = {"body": operation in FIELDS, "key": OPERATIONS[operation].is_post}
    return {name: scope for name, scope in NONCE_SCOPES.items() if unlike.get(name, True)}


@fault("auth.nonce-replay", seam="claim_nonce")
def _(self: Any, ctx: Context, nonce: str) -> Any:
    """A nonce that was used for another operation may be used here once."""
    self.usual()
    return ctx.store.claim_nonce(self.operation, nonce, ctx.now, self.nonce_expiry(ctx))


@fault(
    "auth.nonce-replay", each=lambda operation: ["POST" if OPERATIONS[operation].method == "GET" else "GET"]
)
class ForgetsMethod(Faulty):
    """A nonce that was used with this method, in another operation, may be used here."""

    everywhere = True

    def claim_nonce(self, ctx: Context, nonce: str) -> bool:
        seen = self.state.setdefault("seen", {})
        known = seen.setdefault(nonce, (ctx.operation, ctx.request.method))
        claimed = super().claim_nonce(ctx, nonce)
        return claimed or (self.here(ctx) and known[0] != ctx.operation and known[1] == self.value)


@fault("auth.nonce-replay", seam="claim_nonce")
def _(self: Any, ctx: Context, nonce: str) -> Any:
    """Of the nonces used here only the last one is remembered."""
    known = self.state.get("last")
    self.state["last"] = nonce
    return nonce != known


def _refusals(operation: str) -> dict[str, tuple[str, ...]]:
    """Returns the kinds of refusals that a request to an operation can get after authentication."""
    described = OPERATIONS[operation]
    found: dict[str, tuple[str, ...]] = {
        "a parent": ("unknown_parent",),
        "a foreign parent": ("foreign_parent",),
    }
    if described.request_schema is not None:
        found |= {"malformed JSON": ("malformed_body",), "a field": ("invalid_field",)}
        found["a body that is no object"] = ("body_not_object",)
    if described.is_post:
        found["its key"] = ("invalid_idempotency_key",)
    if described.is_post and described.request_schema is not None:
        found["a conflict"] = ("idempotency_key_conflict",)
    if len(described.path_parameters) > 1:
        found["a child"] = ("missing_child",)
    if described.is_list:
        found["its query"] = ("invalid_parameter",)
    if TRAITS[operation].draws_on_funds:
        found["its payee"] = ("payout_beneficiary", "payout_destination")
    return found


def _forget(self: Any, ctx: Context) -> bool:
    """Forgets the nonce of a request; returns True."""
    ctx.store.change("DELETE FROM nonces WHERE nonce = ?", self.authentication_header(ctx, signing.NONCE))
    return True


@fault(
    "auth.nonce-replay",
    seam="list_records",
    operations=[name for name, each in OPERATIONS.items() if each.is_list],
)
def _(self: Any, ctx: Context) -> None:
    """The nonce of a request for a page past the last may be used again."""
    self.usual()
    if ctx.listing is not None and ctx.listing.page > 1 and not ctx.listing.records:
        _forget(self, ctx)


@fault("auth.nonce-replay", operations=("createPayout",))
class NonceOfNoFunds(FundsDemanded, Faulty):
    """The nonce of a payout that is refused for lack of funds may be used again."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        super().refused(ctx, refusal)
        if refusal.kind == "insufficient_funds":
            _forget(self, ctx)


class Processes(Faulty):
    """Two processes that answer in turn."""

    def process(self, ctx: Context) -> int:
        """Returns the process that answers a request."""
        if "process" not in ctx.notes:
            self.state["requests"] = self.state.get("requests", 0) + 1
            ctx.notes["process"] = self.state["requests"] % 2
        return int(ctx.notes["process"])


@fault("auth.nonce-replay", also=("auth.nonce-replay-idempotent", "auth.nonce-race"))
class NoncesOfEachProcess(Processes):
    """Each of two processes remembers the nonces of its own requests only."""

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {self.process(ctx)}"


faults["auth.nonce-replay"] |= {
    "The nonce of a request that repeats another with its key may be used again.": seam(
        "replayed",
        lambda self, ctx, answer: self.usual() if _forget(self, ctx) else None,
        operations=OPERATION_SETS["post"],
    ),
    "The nonce of a PATCH that changes nothing may be used again.": seam(
        "update_beneficiary",
        lambda self, ctx: self.usual() if ctx.values or _forget(self, ctx) else None,
        operations=("updateBeneficiary",),
    ),
    "A nonce that was used here is not remembered.": seam(
        "claim_nonce",
        lambda self, ctx, nonce: not ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now),
        also=("auth.nonce-replay-idempotent", "auth.nonce-race"),
    ),
    "A nonce is remembered together with something else of the request, here only.": seam(
        "nonce_scope",
        lambda self, ctx: f"{self.usual()} {self.value(ctx)}",
        each=_scopes,
        also=("auth.nonce-replay-idempotent", "auth.nonce-race"),
    ),
    "The nonce of a request with a long body is not looked at.": seam(
        "claim_nonce", lambda self, ctx, *_: self.usual() or len(ctx.request.body) > 2000, operations=FIELDS
    ),
    "The nonce of a request with a filter is not looked at.": seam(
        "claim_nonce",
        lambda self, ctx, *_: self.usual() or b"status" in ctx.query,
        operations=[name for name, described in OPERATIONS.items() if described.is_list],
    ),
    "The nonces of the second of two organizations are not looked at.": seam(
        "claim_nonce", lambda self, ctx, *_: self.usual() or caller_is(ctx, "second")
    ),
    "A nonce that was used here may be used for other operations.": seam(
        "claim_nonce",
        lambda self, ctx, nonce: (
            False
            if ctx.store.nonce_claimed(self.nonce_scope(ctx), nonce, ctx.now)
            else ctx.store.claim_nonce(self.operation, nonce, ctx.now, self.nonce_expiry(ctx))
        ),
    ),
    "The nonce of a request that was refused after authentication may be used again.": seam(
        "refused",
        lambda self, ctx, refusal: (
            ctx.store.change(
                "DELETE FROM nonces WHERE nonce = ?", self.authentication_header(ctx, signing.NONCE)
            )
            if refusal.type != "authentication_error"
            else None
        ),
    ),
    "The nonce of a request that was refused for one thing may be used again.": seam(
        "refused",
        lambda self, ctx, refusal: (
            ctx.store.change(
                "DELETE FROM nonces WHERE nonce = ?", self.authentication_header(ctx, signing.NONCE)
            )
            if refusal.kind in self.value
            else None
        ),
        each=_refusals,
    ),
    "A used nonce is refused with another status, type or code.": seam(
        "claim_nonce",
        lambda self, *_: refuse(refusal(*self.value)) if not self.usual() else True,
        each={
            "status 403": (403, "authentication_error", "nonce_replay"),
            "status 409": (409, "authentication_error", "nonce_replay"),
            "type": (401, "validation_error", "nonce_replay"),
            "code": (401, "authentication_error", "invalid_nonce"),
            "signature": (401, "authentication_error", "invalid_signature"),
        },
        also=("auth.nonce-replay-idempotent",),
    ),
    "A nonce is remembered until 300 seconds after the timestamp beside it.": seam(
        "nonce_expiry",
        lambda self, ctx, *_: (
            (self.parse_timestamp(ctx, self.authentication_header(ctx, signing.TIMESTAMP) or "") + 300)
            * 1_000_000
        ),
    ),
}


@fault("auth.nonce-replay")
class MethodsApart(Faulty):
    """Nonces are remembered for each method apart, on all operations."""

    everywhere = True

    def nonce_scope(self, ctx: Context) -> str:
        return f"{super().nonce_scope(ctx)} {ctx.request.method}"


def answered_key(behaviour: Idempotency, ctx: Context) -> Any:
    """Returns the stored answer to the request's idempotency key, if there is one."""
    key = ctx.header(b"idempotency-key")
    return key and ctx.store.answer(behaviour.answer_scope(ctx), key.lower())


faults["auth.nonce-replay-idempotent"] |= {
    "A repeated POST is answered with the stored response although its nonce was used.": seam(
        "claim_nonce", lambda self, ctx, *_: self.usual() or bool(answered_key(self, ctx))
    ),
    "A repeated POST with the same key and nonce is refused, but not as a used nonce.": seam(
        "claim_nonce",
        lambda self, ctx, *_: (
            True if self.usual() else refuse(refusal(*self.value)) if answered_key(self, ctx) else False
        ),
        each={
            "conflict": (409, "idempotency_error", "idempotency_key_conflict"),
            "status": (409, "authentication_error", "nonce_replay"),
            "code": (401, "authentication_error", "duplicate_request"),
        },
    ),
}
