"""Tells a refusal of what a request asks for from one that every request of its operation gets."""

from __future__ import annotations

from conformance.checks.check_context import CheckContext
from conformance.wire.messages import Exchange
from conformance.world.cache import Key

#: Operation -> a valid request to it after an authentication failure.
_LOCKED_OUT = Key[Exchange]("a valid request after an authentication failure")


def locked_out(ctx: CheckContext, rule: str, answer: Exchange) -> bool:
    """True if an answer is an authentication failure that the operation's valid call gets, too: then it says
    nothing about the rule. Sends the valid call only after such a failure, once for each operation."""
    if not answer.refused_authentication:
        return False
    purpose = f"a valid {ctx.operation.id}, after an authentication failure"
    valid = ctx.run.cache.get(_LOCKED_OUT.of(ctx.operation.id), lambda: ctx.send(ctx.valid(), purpose))
    if not valid.refused_authentication:
        return False
    ctx.skip_judgement(
        rule,
        f"the valid {ctx.operation.id} was answered {valid.described()}",
        valid,
        cause="auth.accepts-valid",
    )
    return True
