"""Nonces (section 5.4): consumed by authenticated requests, even refused ones; compared as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.checks.auth_probes import AuthProbes, replayed
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.judge.findings import Inconclusive
from conformance.judge.oracle import FOREIGN, UNKNOWN
from conformance.wire.messages import Auth, Call
from conformance.wire.provenance import derive
from conformance.world.account import parameters, unknown_like
from conformance.world.case import Case

RULE = "auth.nonce-replay"


def _refused_later(probes: AuthProbes) -> Iterator[tuple[str, Call]]:
    """Correctly signed requests that are refused later or take another code path, with their names."""
    operation = probes.ctx.operation
    if operation.request_schema is not None:
        yield "with malformed JSON", probes.usual().but(body=b'{"')
        yield "with a body that is not an object", probes.usual().but(body=b"[]")
        if operation.required_fields:
            yield "without its required fields", probes.usual().but(body=b"{}")
        elif operation.traits.subset_of:
            yield "that changes nothing", probes.usual().but(body=b"{}")
            yield "with a number for a text", probes.usual().but(body=b'{"first_name":1}')
    if operation.is_post:
        yield "with an idempotency key that is not a UUID", probes.usual().but(idempotency_key="no-uuid")
        first = probes.send(probes.usual(), "a valid request, whose key comes again")
        if first.succeeded:
            yield "that repeats another with its key", first.call
        if first.succeeded and operation.request_schema is not None:
            text = operation.traits.free_text
            other = first.call.with_field(text, f"{first.call.document[text]} other")
            yield "with a used idempotency key and another body", other
    if operation.traits.draws_on_funds:
        for member in ("beneficiary_id", "payout_destination_id"):
            usual = probes.usual()
            unknown = usual.with_field(member, unknown_like(usual.document[member]))
            yield f"for an unknown {member}", unknown
        with contextlib.suppress(Inconclusive):
            yield "from a new account, without funds", probes.ctx.run.account(fresh=True).call(operation.id)
    top, *children = parameters(operation.id)
    for child in children:
        yield f"for an unknown {child}", probes.usual({child: UNKNOWN})
    if probes.ctx.target.secondary is not None and not probes.ctx.run.read_only:
        with contextlib.suppress(Inconclusive):
            yield f"for another organization's {top}", probes.usual({top: FOREIGN})
    if operation.is_list:
        yield "for page 0 of size x", probes.usual().with_query("page=0&size=x")
        yield "for a page past the last", probes.usual().with_query("page=90000&size=100")


def _resembling_nonces(at: Engine, used: str) -> Iterator[Case]:
    """Nonces that differ from a used one in the last or the first character."""
    for which, nonce in (
        ("its last", derive(used, "other.-1")),
        ("its first", derive(used, "other.0")),
    ):
        name = f"a valid request whose nonce differs from a used one in {which} character"
        yield at.case("auth.accepts-valid", name, auth=Auth(nonce=nonce))


@check("auth.accepts-valid")
def test_resembling_nonces(ctx: CheckContext) -> None:
    """A nonce that differs from a used one in its last or its first character is accepted."""
    probes = AuthProbes(ctx)
    probes.sound.run(_resembling_nonces, probes.recent.nonce or "")


@check(RULE)
def test_nonces_of_refused_requests(ctx: CheckContext) -> None:
    """The nonce of a request refused for its body, key, query, child, payee or foreign parent, or of one that
    replayed or changed nothing, is sent again with a valid request: refused as used."""
    probes = AuthProbes(ctx)
    for what, call in ctx.only_wanted(_refused_later(probes)):
        used = probes.send(call, f"a rightly signed request {what}, whose nonce is used again")
        if used.throttled or used.status is None or used.refused_authentication:
            ctx.usable(RULE, used)
            continue
        again = f"a nonce used before in a request {what}"
        answer = probes.send(probes.usual().signed(nonce=used.nonce, timestamp_offset=-2), again)
        if not answer.refused_authentication:
            # A server that validates before it authenticates consumes no nonce.
            unsigned = probes.send(
                call.signed(signature_forms="other.32"), f"a wrongly signed request {what}"
            )
            if not unsigned.refused_authentication:
                reason = f"a request {what} is refused before authentication"
                ctx.skip_judgement(RULE, reason, answer, unsigned, cause="auth.comes-first")
                continue
        ctx.judge(RULE, replayed(again), answer, used)
