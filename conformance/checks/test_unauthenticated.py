"""Requests that fail authentication: nothing else is looked at before, nothing is done; nonces and
idempotency keys stay used."""

from __future__ import annotations

import time

from conformance.checks.auth_probes import AGED, AGED_NONCE, REMEMBERED, AuthProbes, earliest
from conformance.checks.cases import unauthenticated as cases
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.checks.idempotent_requests import own_place
from conformance.checks.places import defective
from conformance.checks.side_effects import SideEffects
from conformance.contract import signing
from conformance.judge.expectations import SameAnswer
from conformance.wire.messages import Auth, Exchange
from conformance.wire.provenance import new_key
from conformance.world.account import unknown_like

#: Idempotency keys that a server must remember at the least, which sets no number.
MANY_KEYS = 21


@check("auth.comes-first")
def test_authentication_comes_first(ctx: CheckContext) -> None:
    """Requests that fail authentication and are wrong in another way as well (unknown or foreign resources,
    bodies, queries, idempotency keys, used ones included) are answered with an authentication error."""
    probes = AuthProbes(ctx)
    fixture = ctx.account(fresh=ctx.operation.traits.once and not ctx.run.read_only)
    first = fixture.call(ctx.operation.id)
    used = probes.passed(ctx.send(first, "a valid request, whose nonce and idempotency key are used again"))
    elsewhere, there = defective(probes), Engine(ctx, lambda: fixture)
    for engine in (elsewhere, there):
        engine.nonces.add(used.nonce or "")
        engine.keys.add(first.idempotency_key or "")
    elsewhere.run(cases.otherwise_wrong, used)
    if ctx.operation.is_post:
        there.run(cases.used_keys, used)


@check("refusal.changes-nothing")
def test_failed_authentication_changes_nothing(ctx: CheckContext) -> None:
    """Valid requests that fail authentication in one way or another leave everything as it was."""
    probes = AuthProbes(ctx)
    one_off = ctx.operation.traits.once
    fixture = ctx.account(fresh=True) if one_off else probes.fixture
    used = ctx.send(fixture.call("listAccounts"), "a valid request, whose nonce is used again").nonce
    forms = (
        ("with a wrong signature", Auth(mangle="flip")),
        ("without X-Signature", Auth(omit=(signing.SIGNATURE,))),
        ("with an unknown API key", Auth(api_key=unknown_like(ctx.target.primary.api_key))),
        ("with a timestamp an hour old", Auth(timestamp_offset=-3600)),
        ("with a used nonce", Auth(nonce=used)),
    )

    def attempt() -> list[Exchange]:
        # One amount for all: money that moves is known by it.
        valid = fixture.call(probes.operation)
        return [
            ctx.send(
                valid.but(auth=auth, idempotency_key=valid.idempotency_key and new_key()),
                f"a request {how}, to see whether it has an effect",
            )
            for how, auth in forms
        ]

    with SideEffects(ctx, fixture) as effects:
        answers = attempt()
        effects.judge_refused("requests that fail authentication", answers, "auth.signature", attempt)


@check("auth.nonce-replay", last=True)
def test_nonces_stay_used(ctx: CheckContext) -> None:
    """The first nonce that this run used on the operation comes again, after all that was sent since then."""
    probes = AuthProbes(ctx)
    first = earliest(ctx) or probes.first
    if ctx.run.clock.now() - int(first.timestamp or 0) > REMEMBERED:
        first = probes.passed(ctx.send(probes.valid(), "a valid request, whose nonce is used again"))
    probes.nonce_replay("auth.nonce-replay", first, probes.call(), "a nonce used before, many requests ago")
    aged = ctx.run.cache.find(AGED_NONCE.of(ctx.operation.id))
    # A server that forgets it 300 seconds after the timestamp beside it has done so by now.
    if aged is not None and not aged.refused_authentication and time.time() - aged.started > 300 + AGED + 2:
        what = "a nonce used seconds ago beside a timestamp that was almost too old"
        probes.nonce_replay("auth.nonce-replay", aged, probes.call(), what)


@check("idempotency.replay", last=True)
def test_keys_stay_used(ctx: CheckContext) -> None:
    """The first valid request of this run to the operation comes again with its key, after all that was sent
    since, with so many other keys at least."""
    rule, first = "idempotency.replay", earliest(ctx) or AuthProbes(ctx).first
    what = "the first request again, with its key, many requests later"
    if not first.succeeded:
        ctx.not_exercised(rule, f"the first request was answered {first.described()}")
        return
    _use_keys(ctx, first)
    ctx.judge(rule, SameAnswer(what), first, ctx.send(first.call, what))


def _use_keys(ctx: CheckContext, since: Exchange) -> None:
    """Makes sure that the operation was accepted with MANY_KEYS other keys since; where it was, in a whole
    run, nothing is sent."""
    answers = [
        exchange
        for exchange in ctx.run.accepted
        if exchange.number > since.number
        and exchange.operation == since.operation
        and exchange.organization == since.organization
    ]
    used = {exchange.call.idempotency_key for exchange in answers} - {since.call.idempotency_key}
    for _ in range(MANY_KEYS - len(used)):
        # One pair can be had only once in an account.
        place = ctx.account(fresh=True) if ctx.operation.traits.once else own_place(ctx)
        if not ctx.send(place.call(ctx.operation.id), "a valid request with one key more").succeeded:
            break
