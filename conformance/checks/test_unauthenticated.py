"""Requests that fail authentication are refused before anything else and have no effect; used keys are
remembered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.checks.auth_probes import AuthProbes, earliest
from conformance.checks.check import CheckContext, check
from conformance.checks.engine import Engine
from conformance.checks.idempotent_requests import CONFLICT, own_place
from conformance.checks.side_effects import SideEffects
from conformance.contract import signing
from conformance.judge.oracle import FOREIGN, UNKNOWN
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Auth, Exchange
from conformance.world.account import parameters, renewed, unknown_like
from conformance.world.case import Case
from conformance.world.samples import other_end

#: Later keys after which the first must still be remembered: the specification sets no limit.
MANY_KEYS = 21


#: Name, authentication and rule of a request that fails authentication.
_Form = tuple[str, Auth, str]

_WRONG: _Form = ("with a wrong signature", Auth(signature_form="other middle digit"), "auth.signature")
_BARE: _Form = ("without authentication headers", Auth(omit=signing.HEADERS), "auth.missing-header")


def _replayed(used: Exchange) -> _Form:
    return "with a used nonce", Auth(nonce=used.nonce, timestamp_offset=-2), "auth.nonce-replay"


def _case(at: Engine, form: _Form, what: str, **changes: Any) -> Case:
    how, auth, rule = form
    control = at.case(rule, f"a request {how}", auth=auth)
    return at.case("auth.comes-first", f"a request {how} {what}", auth=auth, control=control, **changes)


def _otherwise_wrong(at: Engine, used: Exchange) -> Iterator[Case]:
    """Requests with unknown or foreign ids, wrong bodies, queries or Idempotency-Keys that also fail
    authentication; some reuse the nonce of `used`."""
    replayed = _replayed(used)
    places = [("an unknown top-level resource", {parameters(at.operation)[0]: UNKNOWN})]
    places += [(f"an unknown {child}", {child: UNKNOWN}) for child in parameters(at.operation)[1:]]
    if at.ctx.target.secondary is not None:
        place = {parameters(at.operation)[0]: FOREIGN}
        with contextlib.suppress(Inconclusive):
            at.target(place)
            places.append(("another organization's top-level resource", place))
    for what, whose in places:
        for form in (_WRONG, replayed):
            yield _case(at, form, f"to {what}", whose=whose)
    changes: list[tuple[str, dict[str, Any], tuple[_Form, ...]]] = []
    if at.ctx.operation.request_schema is not None:
        changes.append(("with malformed JSON", {"body": b'{"'}, (_WRONG,)))
        changes.append(("with an empty object", {"body": b"{}"}, (_BARE,)))
        changes.append(("with an empty array", {"body": b"[]"}, (replayed,)))
    if at.ctx.operation.query_parameters:
        changes.append(("for page 0 of size x", {"query": "page=0&size=x"}, (_WRONG,)))
    if at.ctx.operation.is_post:
        what = "with an idempotency key that is not a UUID"
        changes.append(("without an idempotency key", {"key": None}, (_BARE,)))
        changes.append((what, {"key": "no-uuid"}, (_WRONG, replayed)))
    for what, changed, forms in changes:
        for form in forms:
            yield _case(at, form, what, **changed)


def _used_keys(at: Engine, used: Exchange) -> Iterator[Case]:
    """Requests with a used Idempotency-Key, in the same place, that fail authentication."""
    call = used.call
    for form in (_WRONG, _BARE, _replayed(used)):
        what = "with a used idempotency key and its body"
        yield _case(at, form, what, key=call.idempotency_key, body=call.body)
    body = b"{}" if call.body is None else call.body + b" "
    what = "with a used idempotency key and another body"
    yield _case(at, _WRONG, what, key=call.idempotency_key, body=body)


@check("auth.comes-first")
def test_authentication_comes_first(ctx: CheckContext) -> None:
    """Requests that fail authentication and have another defect as well (unknown or foreign ids, bodies,
    queries, invalid or used idempotency keys) are answered with an authentication error."""
    probes = AuthProbes(ctx)
    fixture = ctx.account(fresh=ctx.operation.traits.once)
    first = fixture.call(ctx.operation.id)
    used = probes.passed(ctx.send(first, "a valid request, whose nonce and idempotency key are used again"))
    elsewhere, there = probes, Engine(ctx, lambda: fixture)
    for engine in (elsewhere, there):
        engine.nonces.add(used.nonce or "")
        engine.keys.add(first.idempotency_key or "")
    elsewhere.run(_otherwise_wrong, used)
    if ctx.operation.is_post:
        there.run(_used_keys, used)


@check("refusal.changes-nothing")
def test_failed_authentication_changes_nothing(ctx: CheckContext) -> None:
    """Valid requests that fail authentication in several ways have no effect."""
    probes = AuthProbes(ctx)
    one_off = ctx.operation.traits.once
    fixture = ctx.account(fresh=True) if one_off else probes.fixture
    forms = (
        ("with a wrong signature", Auth(signature_form="other middle digit")),
        ("without X-Signature", Auth(omit=(signing.SIGNATURE,))),
        ("with an unknown API key", Auth(api_key=unknown_like(ctx.target.primary.api_key))),
        ("with a timestamp an hour old", Auth(timestamp_offset=-3600)),
        ("with a used nonce", Auth(nonce=probes.recent.nonce)),
    )

    def attempt() -> list[Exchange]:
        # One amount for all, by which a debit is recognized.
        valid = fixture.call(probes.operation)
        return [
            ctx.send(renewed(valid).but(auth=auth), f"a request {how}, to see whether it has an effect")
            for how, auth in forms
        ]

    effects = SideEffects(ctx, fixture).start()
    answers = attempt()
    effects.judge_refused("requests that fail authentication", answers, attempt)


@check("idempotency.replay", "idempotency.conflict", last=True)
def test_keys_stay_used(ctx: CheckContext) -> None:
    """The first valid request of the run to the operation, replayed at the end, after 21 other keys or more,
    returns the original response; its key with another body is refused."""
    rule, first = "idempotency.replay", earliest(ctx) or AuthProbes(ctx).first
    what = "the first request again, with its key, many requests later"
    if not first.succeeded:
        ctx.not_exercised(rule, f"the first request was answered {first.described()}")
        return
    _use_keys(ctx, first)
    ctx.same(rule, what, first, ctx.send(first.call, what))
    what = "the key of the first request with another body, many requests later"
    if "idempotency.conflict" in ctx.rules:
        text = ctx.operation.traits.free_text
        # Of the same length, which may be the maximum.
        other = first.call.with_field(text, other_end(first.call.document.get(text) or ""))
        ctx.refused("idempotency.conflict", what, ctx.send(other, what), 0, *CONFLICT)


def _use_keys(ctx: CheckContext, since: Exchange) -> None:
    """Sends valid requests until MANY_KEYS other keys were accepted since; a full run needs none."""
    answers = [
        exchange
        for exchange in ctx.run.accepted
        if exchange.number > since.number
        and exchange.operation == since.operation
        and exchange.organization == since.organization
    ]
    used = {exchange.call.idempotency_key for exchange in answers} - {since.call.idempotency_key}
    for _ in range(MANY_KEYS - len(used)):
        # A wallet's pair is unique in its account.
        place = ctx.account(fresh=True) if ctx.operation.traits.once else own_place(ctx)
        if not ctx.send(place.call(ctx.operation.id), "a valid request with one key more").succeeded:
            break
