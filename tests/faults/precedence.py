"""Servers that act before authentication (section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.refusals import Refusal

from .authentication import first_organization
from .catalogue import Faulty, Only, faults, of
from .nonces import answered_key


class LooksBefore(Faulty):
    """Does something, `value[0]`, before a step of authentication, `value[1]`."""

    def authentication_steps(self, ctx: Context) -> Sequence[Any]:
        steps = list(super().authentication_steps(ctx))
        if self.here(ctx):
            look, step = self.value
            steps.insert([each.__name__ for each in steps].index(step), lambda ctx: look(self, ctx))
        return steps

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        stored = ctx.notes.get("stored")
        return (
            Response(stored.status, [JSON_TYPE], stored.body)
            if stored
            else super().render_refusal(ctx, refusal)
        )


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


def _parse_key(self: Any, ctx: Context) -> None:
    key = ctx.header(b"idempotency-key")
    if key is not None:
        self.parse_key(ctx, key)


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
LOOKS: dict[str, tuple[Callable[[Any, Context], Any], str, Iterable[str]]] = {
    "an unknown or foreign resource": (resolving(), "headers key signature nonce", OPERATIONS),
    "an unknown resource": (resolving("unknown_parent", "missing_child"), "headers signature", OPERATIONS),
    "a foreign parent": (resolving("foreign_parent"), "headers signature nonce", OPERATIONS),
    "an invalid body": (_validate, "headers signature nonce", OPERATION_SETS["body"]),
    "a body that is no object": (
        lambda self, ctx: self.parse_body(ctx),
        "headers signature",
        OPERATION_SETS["body"],
    ),
    "an invalid idempotency key": (_parse_key, "headers signature nonce", OPERATION_SETS["post"]),
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
    )
}
