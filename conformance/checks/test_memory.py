"""How long a server remembers: nonces for 300 seconds (section 5.4), idempotency keys no shorter (section
4.0).

Only deep runs have these checks. Each sends what is to be remembered at once, and asks for it after some
time.
"""

from __future__ import annotations

from conformance.harness.authentication import AuthProbes
from conformance.harness.check import Waits, check
from conformance.harness.context import CheckContext
from conformance.harness.idempotency import IdempotentRequest
from conformance.judge.expectations import Refused
from conformance.wire.messages import Exchange

#: Seconds after which a server is asked for what it was told.
DELAYS = (30, 60, 290)

#: Seconds for which a nonce is remembered (section 8), less what clocks of whole seconds are off.
REMEMBERED = 298.0


@check("auth.nonce-replay", deep=True)
def test_nonces_after_a_while(ctx: CheckContext) -> Waits:
    """Nonces of accepted requests come again after 30, 60 and 290 seconds, each of them once."""
    rule = "auth.nonce-replay"
    probes = AuthProbes(ctx)
    used = [
        (delay, probes.passed(probes.send(probes.valid(), f"a nonce to be used again after {delay} s")))
        for delay in DELAYS
    ]
    passed = 0
    for delay, first in used:
        yield delay - passed
        passed = delay
        what = f"a nonce used {delay} s before"
        answer = probes.send(probes.call().signed(nonce=first.nonce), what)
        if _age(first, answer) > REMEMBERED:
            ctx.skip_judgement(rule, f"{what} came too late for it to be remembered", answer)
        else:
            ctx.judge(rule, Refused(what, 401, "authentication_error", "nonce_replay"), answer, first)


def _age(first: Exchange, answer: Exchange) -> float:
    """How many seconds ago, at most, the server saw the first of two requests when it had the second."""
    return answer.started + answer.elapsed - first.started


@check("idempotency.replay", deep=True)
def test_keys_after_a_while(ctx: CheckContext) -> Waits:
    """The key and body of an accepted request bring the original response after 30, 60 and 290 seconds,
    too."""
    originals = [(delay, IdempotentRequest(ctx)) for delay in DELAYS]
    passed = 0
    for delay, original in originals:
        yield delay - passed
        passed = delay
        original.replay("idempotency.replay", f"the same key and body again, {delay} s later")
