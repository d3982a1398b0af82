"""Idempotency keys of different organizations have nothing to do with one another (sections 1 and 4.0)."""

from __future__ import annotations

from conformance.fixtures.account import AccountFixture, new_key
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.harness.idempotency import IdempotentRequest
from conformance.wire.messages import Call, Exchange

RULE = "idempotency.other-organization"


@check(RULE)
def test_key_of_another_organization(ctx: CheckContext) -> None:
    """Another organization's request with the same key and body is treated as new: it makes a resource of its
    own, or is refused as with a fresh key; and sent to the first one's path it never brings the first one's
    response.

    A payout's body names its beneficiary, so the other organization's necessarily differs.
    """
    original = IdempotentRequest(ctx)
    fixture = _place(ctx)
    own = _own_call(ctx, fixture, original)
    answer = ctx.send(own, "another organization's key, in the own account", "secondary")
    _judge_new(ctx, fixture, original, own, answer)
    _judge_first_path(ctx, original)
    _judge_still_there(ctx, original)


def _place(ctx: CheckContext) -> AccountFixture:
    run, operation = ctx.run, ctx.operation.id
    if operation == "createWallet":
        return run.fresh("secondary")
    if operation == "createPayout":
        return run.payouts("secondary")
    return AccountFixture(run, "secondary", account_id=run.shared("secondary").account_id)


def _own_call(ctx: CheckContext, fixture: AccountFixture, original: IdempotentRequest) -> Call:
    """The original's key and bytes in the other organization's scene."""
    own = fixture.call(ctx.operation.id).but(idempotency_key=original.call.idempotency_key)
    if ctx.operation.id == "createPayout":
        named = {name: own.document[name] for name in ("beneficiary_id", "payout_destination_id")}
        return own.with_json({**original.call.document, **named})
    return own.but(body=original.call.body)


def _judge_new(
    ctx: CheckContext, fixture: AccountFixture, original: IdempotentRequest, own: Call, answer: Exchange
) -> None:
    what = "another organization's request with the same key"
    if not ctx.usable(RULE, answer):
        return
    ctx.judge(
        RULE,
        not _shows(answer, original),
        f"{what}: nothing of the first organization's resource",
        f"{answer.status} with its id",
        original.exchange,
        answer,
    )
    if answer.succeeded:
        expected = f"{what}: a resource of its own"
        if ctx.operation.id == "disableBeneficiary":
            ctx.judge(
                RULE,
                answer.get("id") == fixture.beneficiary_id,
                expected,
                "the answer of another request",
                original.exchange,
                answer,
            )
        else:
            ctx.judge(
                RULE,
                not _of_the_first(answer, original),
                expected,
                "a resource of the first's",
                original.exchange,
                answer,
            )
        return
    again = own.but(idempotency_key=new_key())
    fresh = ctx.send(again, "the same request of the other organization with a fresh key", "secondary")
    if fresh.succeeded or _differs(answer, fresh):
        expected = f"{what}: the answer that a fresh key brings, {fresh.described()}"
        ctx.judge(RULE, False, expected, answer.described(), original.exchange, answer, fresh)
    else:
        expected = f"{what}: the refusal that a fresh key brings"
        ctx.judge(RULE, True, expected, answer.described(), answer, fresh)


def _differs(answer: Exchange, fresh: Exchange) -> bool:
    return fresh.refused and _kind(answer) != _kind(fresh)


def _kind(answer: Exchange) -> tuple[object, object, object]:
    return answer.status, answer.error_type, answer.error_code


def _of_the_first(answer: Exchange, original: IdempotentRequest) -> bool:
    """Whether a created resource names a parent of the first organization's."""
    named = [answer.get(name) for name in ("customer_id", "account_id", "beneficiary_id")]
    return any(isinstance(one, str) and one in original.call.target.split("/") for one in named)


def _judge_first_path(ctx: CheckContext, original: IdempotentRequest) -> None:
    """The other organization repeats the original request itself."""
    what = "another organization's repetition of the very request"
    answer = ctx.send(original.call, what, "secondary")
    if not ctx.usable(RULE, answer):
        return
    ctx.refused(RULE, answer, what)
    ctx.judge(
        RULE,
        not _body_repeats(answer, original),
        f"{what}: nothing of the original response",
        "parts of it",
        original.exchange,
        answer,
    )


def _judge_still_there(ctx: CheckContext, original: IdempotentRequest) -> None:
    """The first organization's key still brings its own response, where a used key does so at all."""
    what = "the first organization's key and body, after the other organization used them"
    answer = ctx.send(original.call, what)
    if not ctx.usable(RULE, answer):
        return
    if not original.brings(answer):
        alone = IdempotentRequest(ctx)
        if not alone.brings(ctx.send(alone.call, "a key that no other organization used, again")):
            reason = "no used key brings the original response"
            ctx.skip_judgement(RULE, reason, answer, cause="idempotency.replay")
            return
    ctx.judge(
        RULE,
        original.brings(answer),
        f"{what}: the original response",
        original.difference(answer),
        original.exchange,
        answer,
    )


def _shows(answer: Exchange, original: IdempotentRequest) -> bool:
    return bool(answer.get("id") == original.id)


def _body_repeats(answer: Exchange, original: IdempotentRequest) -> bool:
    """Whether an answer holds the original resource's id although the request did not name it."""
    if original.id in original.call.target:
        return _shows(answer, original)
    return original.id.encode() in answer.response_body
