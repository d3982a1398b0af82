"""Bodies with unusual Content-Type or transfer coding (sections 4 and 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.engine import Engine
from conformance.checks.usual_form import judge_as_usual
from conformance.wire.messages import Auth, Exchange, to_json
from conformance.world.case import Case

CHARSET = "application/json; charset=utf-8"


def _judge_accepted(ctx: CheckContext, rule: str, what: str, **changes: Any) -> None:
    """Judges that a valid request is accepted with changes to its form, if it is without them."""
    usual = ctx.valid()
    answer = ctx.send(usual.but(**changes), what)
    judge_as_usual(ctx, rule, answer, usual)


@check("http.charset-parameter")
def test_charset_parameter(ctx: CheckContext) -> None:
    """A valid body declared as application/json; charset=utf-8 is accepted."""
    what = f"a valid body declared as {CHARSET}"
    _judge_accepted(ctx, "http.charset-parameter", what, content_type=CHARSET)


_CHUNKED = (("Transfer-Encoding", "chunked"),)


class _Chunks(AuthProbes):
    """Engine of chunked bodies. Without its body, an update is signed as empty, and may be accepted."""

    def judge(self, case: Case, answer: Exchange) -> None:
        text = self.ctx.operation.traits.free_text
        taken = answer.get(text) == answer.call.document.get(text)
        if taken or not (answer.succeeded and answer.method == "PATCH"):
            super().judge(case, answer)


def _chunked(at: Engine) -> Iterator[Case]:
    """Chunked bodies that are signed as empty, or over another byte more."""
    body = to_json(at.document())
    for how, signed in (("signed as empty", b""), ("signed with a byte more", body + b" ")):
        name, auth = f"a valid body sent in chunks, {how}", Auth(signed_body=signed)
        yield at.case("auth.signed-body", name, headers=_CHUNKED, body=body, auth=auth)


@check("http.chunked-body", "auth.signed-body")
def test_chunked_body(ctx: CheckContext) -> None:
    """A chunked body, signed over its bytes, is accepted; signed as empty or over a byte more, refused."""
    what = "a valid body sent in chunks"
    _judge_accepted(ctx, "http.chunked-body", what, headers=_CHUNKED)
    _Chunks(ctx).run(_chunked)
