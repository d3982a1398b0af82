"""A request whose caller hangs up, and its key and body again (section 4.0)."""

from __future__ import annotations

import time
from typing import Any

from conformance.checks.check import Check
from conformance.checks.idempotent_requests import refused_for_key
from conformance.wire.messages import Call, Exchange
from conformance.world.calls import renewed

RULE = "idempotency.hang-up"

#: Statuses of a request that is still under way, or comes too soon.
UNDER_WAY = (409, 423, 425, 429)

#: Repetitions of a hang-up whose key is refused, and seconds before each: servers limit payouts in less.
_RECURRENCES, _APART = 8, 0.5


def hang_up_and_ask(at: Check, request: Call, words: str, **how: Any) -> list[Exchange]:
    """Sends a request, hangs up, and sends its key and body until that is under way no more; judges that it
    is accepted then, as its body is with a fresh key, where it is refused again some time later: it may have
    been refused for what others do, and that stored. Returns the two exchanges; none where it was refused
    there."""
    sent, suspects = list[Exchange](), list[Exchange]()

    def probe(call: Call) -> Exchange:
        if suspects:
            time.sleep(_APART)
        lost = at.send(call.but(**how), words)
        again = at.eventually(
            lambda: at.send(call, f"the key and body of {words}"),
            # 429 is waited out by the client as well.
            lambda answer: answer.status not in UNDER_WAY,
        )
        sent[:] = lost, again
        return again

    def decisive(answer: Exchange) -> bool:
        if not refused_for_its_key(at, answer):
            return False
        suspects.append(answer)
        return refused_for_key(answer) or any(
            refused_for_its_key(at, probe(at.valid(fresh=True))) for _ in range(_RECURRENCES)
        )

    answer = at.accepted_as(RULE, probe, request, decisive=decisive)
    return sent if answer.succeeded and answer.call.path == request.path and not suspects else []


def refused_for_its_key(at: Check, answer: Exchange) -> bool:
    """True if a request is refused for its key: its body is accepted with a fresh one, elsewhere where it can
    succeed only once in a place."""
    # A refusal of what was too new to be found may be stored.
    if not answer.refused or answer.status == 404:
        return False
    if refused_for_key(answer):
        return True
    request = at.valid() if at.operation.traits.once else renewed(answer.call)
    return at.send(request, f"{answer.purpose}, with a fresh key").succeeded
