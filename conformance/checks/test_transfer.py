"""Bodies that are declared or sent otherwise than most clients do it (sections 4 and 5.3)."""

from __future__ import annotations

from conformance.harness.authentication import AuthProbes
from conformance.harness.check import check
from conformance.harness.context import CheckContext
from conformance.wire.messages import Call, Exchange

CHARSET = "application/json; charset=utf-8"

CHUNKED = (("Transfer-Encoding", "chunked"),)


def _judge_accepted(ctx: CheckContext, rule: str, call: Call, what: str) -> None:
    """Judges that a valid request is accepted, unless one of the usual kind is not."""
    answer = ctx.send(call, what)
    if not answer.succeeded and ctx.usable(rule, answer):
        usual: Exchange = ctx.send(ctx.valid(), "a valid request of the usual kind")
        if not usual.succeeded:
            reason = f"the usual request was answered {usual.described()}, too"
            ctx.skip_judgement(rule, reason, answer, usual)
            return
    ctx.succeeded(rule, answer, what)


@check("http.charset-parameter")
def test_charset_parameter(ctx: CheckContext) -> None:
    """A valid body is declared as application/json with charset=utf-8."""
    what = f"a valid body declared as {CHARSET}"
    _judge_accepted(ctx, "http.charset-parameter", ctx.valid().but(content_type=CHARSET), what)


@check("http.chunked-body", "auth.signed-body")
def test_chunked_body(ctx: CheckContext) -> None:
    """A valid body is sent in chunks, without a length: signed over its bytes, signed as empty, and with a
    byte changed after signing."""
    what = "a valid body sent in chunks"
    _judge_accepted(ctx, "http.chunked-body", ctx.valid().but(headers=CHUNKED), what)
    probes = AuthProbes(ctx)
    for how, change in (
        ("signed as empty", lambda body: b""),
        ("signed with a byte more", lambda body: body + b" "),
    ):
        call = probes.call().but(headers=CHUNKED)
        probes.refused(
            "auth.signed-body", call.signed(signed_body=change(call.body or b"")), f"{what}, {how}"
        )
