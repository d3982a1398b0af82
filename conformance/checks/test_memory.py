"""Retention of nonces (300 seconds, section 5.4) and of idempotency keys (at least as long, section 4.0).

In deep runs only. Each check sends its requests at once and repeats them 30, 60 and 290 s later.
"""

from __future__ import annotations

from conformance.checks.auth_probes import AuthProbes
from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.idempotent_requests import IdempotentRequest

#: Seconds from a request to its repetition.
DELAYS = (30, 60, 290)

#: Seconds of retention of a nonce, less the error of clocks of whole seconds.
_SURELY_REMEMBERED = 298.0


@check("auth.nonce-replay", deep=True, waits=True)
def test_nonces_after_a_while(ctx: CheckContext) -> None:
    """Sends the nonces of accepted requests again 30, 60 and 290 seconds later: each is refused as used."""
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
    """Replays accepted requests 30, 60 and 290 seconds later: each returns the original response."""
    originals = [(delay, IdempotentRequest(ctx)) for delay in DELAYS]
    passed = 0
    for delay, original in originals:
        ctx.run.pause(delay - passed)
        passed = delay
        original.replay("idempotency.replay", f"the same key and body again, {delay} s later")
