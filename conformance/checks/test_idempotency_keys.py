"""Idempotency keys that differ in one character (section 4.0): keys are compared as a whole."""

from __future__ import annotations

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.idempotent_requests import IdempotentRequest
from conformance.checks.usual_form import judge_as_usual
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.wire.forms import other_digit
from conformance.wire.messages import Call
from conformance.world.account import AccountFixture, call

RULE = "idempotency.key-accepted"


@check(RULE, operations=RULES["idempotency.conflict"].operations)
def test_resembling_keys(ctx: CheckContext) -> None:
    """Keys that differ from a used one in the last, the first or the seventeenth character are accepted with
    other bodies."""
    operation = ctx.operation.id
    used: IdempotentRequest | None = None
    for place, named in ((-1, "last"), (0, "first"), (16, "seventeenth")):
        what = f"a key that differs from a used one in its {named} character"
        if used is None or TRAITS[operation].unique_pair:
            # Samples may have two pairs only, so each wallet key gets another account.
            used = IdempotentRequest(ctx)
        usual, key = _another(ctx, used.fixture), str(used.call.idempotency_key)
        answer = ctx.send(usual.but(idempotency_key=other_digit(key, place)), what)
        judge_as_usual(ctx, RULE, answer, usual)


def _another(ctx: CheckContext, fixture: AccountFixture) -> Call:
    """A valid call in the same place with another body."""
    operation = ctx.operation.id
    if not TRAITS[operation].unique_pair:
        return fixture.call(operation)
    index = min(1, len(ctx.run.samples.wallet_pairs) - 1)
    return call(operation, fixture.ids(operation), ctx.run.samples.wallet(index))
