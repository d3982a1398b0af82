"""Isolation of idempotency keys between organizations (sections 1 and 4.0)."""

from __future__ import annotations

from conformance.checks.check import CheckContext, check
from conformance.checks.idempotent_requests import IdempotentRequest, own_place
from conformance.contract.traits import TRAITS
from conformance.wire.messages import Call, Exchange
from conformance.world.account import Account, renewed

RULE, REPLAY = "idempotency.other-organization", "idempotency.replay"


@check(RULE, REPLAY)
def test_key_of_another_organization(ctx: CheckContext) -> None:
    """Another organization's request with a used key and its body is treated as new: it creates a resource of
    its own, or is refused as with a fresh key; repeated, it gets that answer again. Sent to the first
    organization's path, it is refused and shows nothing of the original response; the first organization's
    replay is unaffected.

    A payout names its beneficiary, so the other organization's body differs.
    """
    if ctx.target.secondary is None:
        ctx.not_exercised(REPLAY, "no second organization is configured, whose keys to use again")
        return
    original = IdempotentRequest(ctx)
    fixture = _place(ctx)
    own = _own_call(ctx, fixture, original)
    answer = ctx.send(own, "another organization's key, in the own account", "secondary")
    _judge_new(ctx, fixture, original, own, answer)
    _judge_replay(ctx, own, answer)
    # A key with which the other organization created nothing: else its own response may be replayed.
    _judge_first_path(ctx, _another(ctx))
    _judge_still_there(ctx, original)


def _another(ctx: CheckContext) -> IdempotentRequest:
    """An accepted request whose key the other organization sent to the same path first; judges that it is
    answered as with a fresh key."""
    fixture, what = own_place(ctx), "a key that another organization sent to the same path before"
    request = fixture.call(ctx.operation.id)
    ctx.send(request, "another organization's request, before the first one's", "secondary")
    answer = ctx.send(request, what)
    if answer.succeeded:
        return IdempotentRequest(ctx, fixture, made=answer)
    if ctx.usable(RULE, answer):
        fresh = ctx.send(renewed(request), "the same request with a fresh key")
        if fresh.succeeded:
            # A lagging replica may not have known the path yet.
            answer = ctx.send(request, f"{what}, once more")
        expected = f"{what}: the answer that a fresh key brings, {fresh.described()}"
        ctx.expect(RULE, expected, _unlike_fresh(answer, fresh), answer, fresh)
    return IdempotentRequest(ctx)


def _place(ctx: CheckContext) -> Account:
    run, operation = ctx.run, ctx.operation.id
    if TRAITS[operation].unique_pair:
        return run.account(owner="secondary", fresh=True)
    if TRAITS[operation].draws_on_funds:
        return run.account("payouts", "secondary")
    return Account(run, "secondary", account_id=run.account(owner="secondary").account_id)


def _own_call(ctx: CheckContext, fixture: Account, original: IdempotentRequest) -> Call:
    """The original's key and body in the other organization's fixture."""
    own = fixture.call(ctx.operation.id).but(idempotency_key=original.call.idempotency_key)
    if ctx.operation.traits.draws_on_funds:
        named = {name: own.document[name] for name in ("beneficiary_id", "payout_destination_id")}
        return own.with_json({**original.call.document, **named})
    return own.but(body=original.call.body)


def _judge_new(
    ctx: CheckContext, fixture: Account, original: IdempotentRequest, own: Call, answer: Exchange
) -> None:
    what = "another organization's request with the same key"
    if not ctx.usable(RULE, answer):
        return
    got = f"{answer.status} with its id" if answer.get("id") == original.exchange.get("id") else ""
    nothing = f"{what}: nothing of the first organization's resource"
    ctx.expect(RULE, nothing, got, answer, original.exchange)
    if answer.succeeded:
        expected = f"{what}: a resource of its own"
        if ctx.operation.traits.disables:
            ctx.equal(RULE, expected, answer.get("id"), fixture.beneficiary_id, answer, original.exchange)
        else:
            named = [answer.get(name) for name in ("customer_id", "account_id", "beneficiary_id")]
            parents = original.call.target.split("/")
            theirs = any(isinstance(each, str) and each in parents for each in named)
            got = "a resource of the first's" if theirs else ""
            ctx.expect(RULE, expected, got, answer, original.exchange)
        return
    fresh = ctx.send(renewed(own), "the same request of the other organization with a fresh key", "secondary")
    expected = f"{what}: the answer that a fresh key brings, {fresh.described()}"
    ctx.expect(RULE, expected, _unlike_fresh(answer, fresh), answer, fresh, original.exchange)


def _judge_replay(ctx: CheckContext, own: Call, answer: Exchange) -> None:
    """Judges that the other organization's request, where it was accepted, brings its answer again."""
    what = "another organization's key and body again"
    if not answer.succeeded:
        ctx.not_exercised(REPLAY, f"another organization's request was answered {answer.described()}")
    else:
        ctx.same(REPLAY, what, answer, ctx.send(own, what, "secondary"))


def _unlike_fresh(answer: Exchange, fresh: Exchange) -> str:
    """A refusal that differs from the answer to the same request with a fresh key."""
    unlike = not answer.succeeded and (fresh.succeeded or (fresh.refused and _kind(answer) != _kind(fresh)))
    return answer.described() if unlike else ""


def _kind(answer: Exchange) -> tuple[object, object, object]:
    # The other 4xx statuses are open (section 7) and may differ from one refusal to the next.
    fixed = answer.status if answer.status in (401, 403, 404) or not answer.error_type else None
    return fixed, answer.error_type, answer.error_code


def _judge_first_path(ctx: CheckContext, original: IdempotentRequest) -> None:
    """Judges the original request repeated by the other organization, to the first one's path."""
    what = "another organization's repetition of the very request"
    answer = ctx.send(original.call, what, "secondary")
    if not ctx.usable(RULE, answer):
        return
    ctx.refused(RULE, what, answer)
    own = str(original.exchange.get("id"))
    repeated = own.encode() in answer.response_body
    if own in original.call.target:
        repeated = answer.get("id") == own
    nothing = f"{what}: nothing of the original response"
    ctx.expect(RULE, nothing, "parts of it" if repeated else "", answer, original.exchange)


def _judge_still_there(ctx: CheckContext, original: IdempotentRequest) -> None:
    """Judges that the first organization's replay is unaffected, if replays work at all."""
    what = "the first organization's key and body, after the other organization used them"
    answer = ctx.send(original.call, what)
    if not ctx.usable(RULE, answer):
        return
    if not original.brings(answer):
        alone = IdempotentRequest(ctx)
        if not alone.brings(ctx.send(alone.call, "a key that no other organization used, again")):
            reason = "no used key brings the original response"
            ctx.unclear(RULE, reason, answer, cause="idempotency.replay")
            return
    ctx.same(RULE, what, original.exchange, answer)
