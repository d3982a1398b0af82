"""Servers that accept a nonce twice, refuse it wrongly, or act before authentication (sections 5 and 8)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

from conformance.contract import signing
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.idempotency import Idempotency
from conformance.reference.seams.validation import FIELDS
from tests.support.overrides import nonce_claimed

from .authentication import first_organization
from .catalogue import Call, Faulty, Only, Row, faults, of, refuse, seam, wrong
from .rows import after, always, passing, turn
from .tenancy import AsksForFunds, caller_is

ALSO = ("auth.nonce-replay-idempotent", "auth.nonce-race")

#: Kind -> scope within which a nonce is unique beside the organization, if it is one of several.
NONCE_SCOPES: dict[str, Callable[[Context], Any] | Only] = {
    "operation": lambda ctx: ctx.operation,
    "method": lambda ctx: ctx.request.method,
    "path": lambda ctx: ctx.path.decode(),
    "timestamp": lambda ctx: ctx.header(b"x-timestamp"),
    "signature": lambda ctx: ctx.header(b"x-signature"),
    "body": Only(lambda ctx: hashlib.sha256(ctx.request.body).hexdigest(), FIELDS),
    "key": Only(lambda ctx: ctx.header(b"idempotency-key") or "", OPERATION_SETS["post"]),
}


def forgetting(test: Call, name: str = "refused", **options: Any) -> Row:
    """Makes a row that forgets the nonce of a request, after a step, where a test holds."""
    return after(
        name,
        lambda self, ctx, *_: ctx.store.change("DELETE FROM nonces WHERE nonce = ?", ctx.header(b"x-nonce")),
        test,
        **options,
    )


def process(self: Any, ctx: Context) -> int:
    """Returns which of two processes answers a request, in turn."""
    if "process" not in ctx.notes:
        ctx.notes["process"] = turn(self) % 2
    return int(ctx.notes["process"])


def _used_with_the_method(self: Any, ctx: Context, nonce: str) -> bool:
    """Returns True for a nonce that another operation used with the method `value`."""
    known = self.state.setdefault(nonce, (ctx.operation, ctx.request.method))
    return bool(self.here(ctx) and known[0] != ctx.operation and known[1] == self.value)


def _claim_here(self: Any, ctx: Context, nonce: str) -> bool:
    return ctx.store.claim_nonce(self.operation, nonce, ctx.now, self.nonce_expiry(ctx))


def _claimed(self: Any, ctx: Context, nonce: str) -> bool:
    return nonce_claimed(ctx.store, self.nonce_scope(ctx), nonce, ctx.now)


faults["auth.nonce-replay"] |= {
    "A nonce that was used with this method, in another operation, may be used here.": seam(
        "claim_nonce",
        lambda self, usual, ctx, nonce: _used_with_the_method(self, ctx, nonce) | usual(),
        everywhere=True,
        each=lambda operation: ["POST" if OPERATIONS[operation].method == "GET" else "GET"],
    ),
    "Nonces are remembered for each method apart, on all operations.": seam(
        "nonce_scope", lambda self, usual, ctx: f"{usual()} {ctx.request.method}", everywhere=True
    ),
    "A nonce may be used here, whatever it was used for before.": passing("claim_nonce", always, also=ALSO),
    "A nonce that was used for another operation may be used here once.": seam(
        "claim_nonce", lambda self, usual, ctx, nonce: (usual(), _claim_here(self, ctx, nonce))[1]
    ),
    "A nonce that was used here may be used for other operations.": seam(
        "claim_nonce", lambda self, usual, *given: not _claimed(self, *given) and _claim_here(self, *given)
    ),
    "A nonce that was used here is not remembered.": seam(
        "claim_nonce", lambda self, usual, *given: not _claimed(self, *given), also=ALSO
    ),
    "Of the nonces used here only the last one is remembered.": seam(
        "claim_nonce",
        lambda self, usual, ctx, nonce: (self.state.get("last") != nonce, self.state.update(last=nonce))[0],
    ),
    "The nonce of some requests is not looked at.": passing(
        "claim_nonce",
        each={
            "with a long body": Only(lambda self, ctx, *_: len(ctx.request.body) > 2000, FIELDS),
            "with a filter": Only(lambda self, ctx, *_: b"status" in ctx.query, OPERATION_SETS["list"]),
            "of the second of two organizations": lambda self, ctx, *_: caller_is(ctx, "second"),
        },
    ),
    "The nonce of a request for a page past the last may be used again.": forgetting(
        lambda self, ctx: ctx.listing is not None and ctx.listing.page > 1 and not ctx.listing.records,
        "list_records",
        operations=OPERATION_SETS["list"],
    ),
    "The nonce of a request that repeats another with its key may be used again.": forgetting(
        always, "replayed", operations=OPERATION_SETS["post"]
    ),
    "The nonce of a PATCH that changes nothing may be used again.": forgetting(
        lambda self, ctx: not ctx.values, "update_beneficiary", operations=("updateBeneficiary",)
    ),
    "The nonce of a payout that is refused for lack of funds may be used again.": forgetting(
        lambda self, ctx, refusal: refusal.kind == "insufficient_funds",
        base=AsksForFunds,
        operations=("createPayout",),
    ),
    "The nonce of a request that was refused after authentication may be used again.": forgetting(
        lambda self, ctx, refusal: refusal.type != "authentication_error"
    ),
    "The nonce of a request that was refused for one thing may be used again.": forgetting(
        lambda self, ctx, refusal: refusal.kind in self.value.split(),
        each={
            "a parent": "unknown_parent",
            "a foreign parent": "foreign_parent",
            "malformed JSON": Only("malformed_body", OPERATION_SETS["body"]),
            "a field": Only("invalid_field", OPERATION_SETS["body"]),
            "a body that is no object": Only("body_not_object", OPERATION_SETS["body"]),
            "its key": Only("invalid_idempotency_key", OPERATION_SETS["post"]),
            "a conflict": Only(
                "idempotency_key_conflict", {*OPERATION_SETS["body"]} & {*OPERATION_SETS["post"]}
            ),
            "a child": Only("missing_child", OPERATION_SETS["child"]),
            "its query": Only("invalid_parameter", OPERATION_SETS["list"]),
            "its payee": Only("payout_beneficiary payout_destination", ["createPayout"]),
        },
    ),
    "A nonce is remembered together with what the request tells of its client.": seam(
        "nonce_scope",
        lambda self, usual, ctx: f"{usual()} {ctx.header(self.value)}",
        everywhere=True,
        each={
            "its program": b"user-agent",
            "its address": Only(b"x-forwarded-for", OPERATION_SETS["list"]),
        },
        also=ALSO,
    ),
    "A nonce is remembered together with something else of the request, here only.": seam(
        "nonce_scope", lambda self, usual, ctx: f"{usual()} {self.value(ctx)}", each=NONCE_SCOPES, also=ALSO
    ),
    "Each of two processes remembers the nonces of its own requests only.": seam(
        "nonce_scope", lambda self, usual, ctx: f"{usual()} {process(self, ctx)}", also=ALSO
    ),
    "A used nonce is refused with another status, type or code.": seam(
        "claim_nonce",
        lambda self, usual, *_: usual() or refuse(self.value),
        each=wrong(
            "401 authentication_error nonce_replay",
            *("403", "409", "validation_error", "invalid_nonce", "invalid_signature"),
        ),
        also=("auth.nonce-replay-idempotent",),
    ),
    "A nonce is forgotten after so many seconds.": seam(
        "nonce_expiry", lambda self, usual, ctx: ctx.now + self.value * 1_000_000, each=(5, 200)
    ),
    "A nonce is remembered until so many seconds after the timestamp beside it.": seam(
        "nonce_expiry",
        lambda self, usual, ctx: (
            (self.parse_timestamp(ctx, self.authentication_header(ctx, signing.TIMESTAMP) or "") + self.value)
            * 1_000_000
        ),
        each=(300, 305),
    ),
}


def answered_key(behaviour: Idempotency, ctx: Context) -> Any:
    """Returns the stored answer to the request's idempotency key, if there is one."""
    key = ctx.header(b"idempotency-key")
    return key and ctx.store.answer(behaviour.answer_scope(ctx), key.lower())


faults["auth.nonce-replay-idempotent"] |= {
    "A repeated POST is answered with the stored response although its nonce was used.": passing(
        "claim_nonce", lambda self, ctx, *_: bool(answered_key(self, ctx))
    ),
    "A repeated POST with the same key and nonce is refused, but not as a used nonce.": seam(
        "claim_nonce",
        lambda self, usual, ctx, *_: usual() or (refuse(self.value) if answered_key(self, ctx) else False),
        each=wrong(
            "409 authentication_error nonce_replay",
            *("idempotency_error idempotency_key_conflict", "409", "401 duplicate_request"),
        ),
    ),
}


# ---------------------------------------------------------------------- before authentication


class LooksBefore(Faulty):
    """Does something, `value[0]`, before a step of authentication, `value[1]`."""

    def authentication_steps(self, ctx: Context) -> Sequence[Any]:
        steps = list(super().authentication_steps(ctx))
        if self.here(ctx):
            look, step = self.value
            steps.insert([each.__name__ for each in steps].index(step), lambda ctx: look(self, ctx))
        return steps

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        if stored := ctx.notes.get("stored"):
            return Response(stored.status, [JSON_TYPE], stored.body)
        return super().render_refusal(ctx, refusal)


def _as_the_caller(self: Any, ctx: Context, do: Callable[[Context], Any]) -> Any:
    """Does something for the organization of the API key, without authentication."""
    authenticated, ctx.organization = ctx.organization, first_organization(ctx)
    try:
        return do(ctx)
    finally:
        ctx.organization = authenticated


def resolving(*kinds: str) -> Callable[[Any, Context], None]:
    """Returns what refuses a resource of the path, if it is a refusal of these kinds."""

    def look(self: Any, ctx: Context) -> None:
        try:
            _as_the_caller(self, ctx, self.resolve)
        except Refusal as found:
            if not kinds or found.kind in kinds:
                raise

    return look


def _validate(self: Any, ctx: Context) -> None:
    self.validate(ctx)
    ctx.values, ctx.body = {}, {}


def _bring_stored(self: Any, ctx: Context) -> None:
    ctx.notes["stored"] = _as_the_caller(self, ctx, lambda ctx: answered_key(self, ctx))
    if ctx.notes["stored"]:
        raise Refusal("idempotency_key_conflict")


STEPS = {
    "headers": "check_headers_present",
    "timestamp": "check_timestamp",
    "key": "check_key",
    "signature": "check_signature",
    "nonce": "check_nonce",
}

#: What is done, the steps before which, and the operations.
LOOKS: dict[str, tuple[Callable[[Any, Context], Any], str, Collection[str]]] = {
    "an unknown or foreign resource": (resolving(), "headers key signature nonce", OPERATIONS),
    "an unknown resource": (resolving("unknown_parent", "missing_child"), "headers signature", OPERATIONS),
    "a foreign parent": (resolving("foreign_parent"), "headers signature nonce", OPERATIONS),
    "an invalid body": (_validate, "headers signature nonce", OPERATION_SETS["body"]),
    "a body that is no object": (
        lambda self, ctx: self.parse_body(ctx),
        "headers signature",
        OPERATION_SETS["body"],
    ),
    "an invalid idempotency key": (
        lambda self, ctx: (
            ctx.header(b"idempotency-key") and self.parse_key(ctx, ctx.header(b"idempotency-key"))
        ),
        "headers signature nonce",
        OPERATION_SETS["post"],
    ),
    "a used idempotency key, by its answer": (_bring_stored, " ".join(STEPS), OPERATION_SETS["post"]),
}

faults["auth.comes-first"] |= {
    "Something else is met before this step of authentication.": of(
        LooksBefore,
        each={
            f"{what}, {step}": Only((look, STEPS[step]), operations)
            for what, (look, steps, operations) in LOOKS.items()
            for step in steps.split()
        },
    ),
    "The timestamp of a request whose idempotency key was used is not looked at.": passing(
        "timestamp_in_window",
        lambda self, ctx, age: _as_the_caller(self, ctx, lambda ctx: bool(answered_key(self, ctx))),
        operations=OPERATION_SETS["post"],
    ),
}
