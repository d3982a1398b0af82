"""Retention of nonces, 300 seconds (section 5.4), and of idempotency keys, no shorter (section 4.0).

Only deep runs have these checks. Each sends its requests at once and repeats them 30, 60 and 290 s later.
"""

from __future__ import annotations

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.idempotent_requests import IdempotentRequest

#: Seconds between a request and its repetition.
DELAYS = (30, 60, 290)

#: Seconds for which a nonce is remembered (section 8), less what clocks of whole seconds are off.
_SURELY_REMEMBERED = 298.0


@check("auth.nonce-replay", deep=True, waits=True)
def test_nonces_after_a_while(ctx: CheckContext) -> None:
    """Repeats the nonces of accepted requests after 30, 60 and 290 seconds, each once."""
    rule = "auth.nonce-replay"
    probes = AuthProbes(ctx)
    used = [
        (delay, probes.passed(probes.send(probes.valid(), f"a nonce to be used again after {delay} s")))
        for delay in DELAYS
    ]
    passed = 0
    for delay, first in used:
        ctx.run.pause(delay - passed)
        passed = delay
        what = f"a nonce used {delay} s before"
        probes.nonce_replay(rule, first, probes.usual(), what, within=_SURELY_REMEMBERED)


@check("idempotency.replay", deep=True, waits=True)
def test_keys_after_a_while(ctx: CheckContext) -> None:
    """Repeats accepted requests with the same key and body after 30, 60 and 290 seconds."""
    originals = [(delay, IdempotentRequest(ctx)) for delay in DELAYS]
    passed = 0
    for delay, original in originals:
        ctx.run.pause(delay - passed)
        passed = delay
        original.replay("idempotency.replay", f"the same key and body again, {delay} s later")
