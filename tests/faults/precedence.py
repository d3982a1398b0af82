"""Servers that act before authentication (section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal
from conformance.reference.store import OrganizationRow

from .authentication import first_organization
from .catalogue import Faulty, fault, faults, hook
from .nonces import answered_key

STEPS = {
    "headers": "check_headers_present",
    "timestamp": "check_timestamp",
    "key": "check_key",
    "signature": "check_signature",
    "nonce": "check_nonce",
}


class LooksBefore(Faulty):
    """Calls `peek` before one of the steps of authentication."""

    def peek(self, ctx: Context) -> None:
        """Acts before the step."""

    def authentication_steps(self, ctx: Context) -> Sequence[Any]:
        steps = list(super().authentication_steps(ctx))
        if self.here(ctx):
            before = [step.__name__ for step in steps].index(STEPS[self.value])
            steps.insert(before, self.peek)
        return steps

    def caller(self, ctx: Context) -> OrganizationRow:
        """Returns the organization of the API key, without authentication."""
        return first_organization(ctx)


before = hook(LooksBefore, "peek")


@fault("auth.comes-first", seam="peek", base=LooksBefore, each=("headers", "key", "signature", "nonce"))
def _(self: Any, ctx: Context) -> None:
    """An unknown or foreign resource of the path is refused as such before this step."""
    mine, ctx.organization = ctx.organization, self.caller(ctx)
    self.resolve(ctx)
    ctx.organization = mine


@fault("auth.comes-first", each=("headers", "signature"))
class UnknownFirst(LooksBefore):
    """An unknown id of the path is refused as such before this step; a foreign one is not."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        self.resolve(ctx)
        ctx.organization = mine

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return record if ctx.organization is not None else super().on_foreign_parent(ctx, kind, record)


@fault("auth.comes-first", seam="peek", base=LooksBefore, each=("headers", "signature", "nonce"))
def _(self: Any, ctx: Context) -> None:
    """A foreign top-level resource is refused as such before this step; an unknown one is not."""
    mine, ctx.organization = ctx.organization, self.caller(ctx)
    try:
        self.resolve(ctx)
    except Refusal as found:
        if found.kind == "foreign_parent":
            raise
    ctx.organization = mine


@fault("auth.comes-first", operations=OPERATION_SETS["body"], each=("headers", "signature", "nonce"))
class ValidatesFirst(LooksBefore):
    """An invalid body is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        self.validate(ctx)
        ctx.values, ctx.body = {}, {}


faults["auth.comes-first"] |= {
    "A body that is not a JSON object is refused as such before this step.": before(
        lambda self, ctx: self.parse_body(ctx),
        operations=OPERATION_SETS["body"],
        each=("headers", "signature"),
    )
}


@fault("auth.comes-first", operations=OPERATION_SETS["post"], each=("headers", "signature", "nonce"))
class KeyFirst(LooksBefore):
    """An Idempotency-Key that is no UUID is refused as such before this step."""

    def peek(self, ctx: Context) -> None:
        key = ctx.header(b"idempotency-key")
        if key is not None:
            self.parse_key(ctx, key)


@fault(
    "auth.comes-first",
    operations=OPERATION_SETS["post"],
    each=("headers", "timestamp", "key", "signature", "nonce"),
)
class StoredFirst(LooksBefore):
    """A used Idempotency-Key is answered with the stored response before this step."""

    def peek(self, ctx: Context) -> None:
        mine, ctx.organization = ctx.organization, self.caller(ctx)
        ctx.notes["stored"] = answered_key(self, ctx)
        ctx.organization = mine
        if ctx.notes["stored"]:
            raise Refusal("idempotency_key_conflict")

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        stored = ctx.notes.get("stored")
        if stored:
            return Response(stored.status, [JSON_TYPE], stored.body)
        return super().render_refusal(ctx, refusal)
