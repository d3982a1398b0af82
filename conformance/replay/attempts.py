"""Attempts at a failure that may not come each time: their number, and the requests between two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from conformance.replay.format import Document
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext

#: The rule whose failures may depend on the number of creates before.
COUNTED = "format.id-unique"

#: Attempts at a failure, as another process may answer or chance decide, and at one that depends on the
#: number of creates.
_ATTEMPTS, _COUNTED_ATTEMPTS = 9, 5

#: Seconds of waiting that further attempts take in all, and steps, but of a race.
_MOST_WAITING, _MOST_STEPS = 30.0, 200

#: Divided by the number of processes that answer by turns, if it is 2, 3, 4 or 6.
_TURNS = 12


def attempts(document: Document) -> int:
    """The number of attempts before a failure counts as not reproduced."""
    rule, steps = document["rule"], document["steps"]
    most = min(_ATTEMPTS, 1 + _MOST_STEPS // len(steps))
    if rule == COUNTED:
        most = _COUNTED_ATTEMPTS
    # Requests that must be simultaneous, or elements whose times lie near to one another.
    elif any("together" in step or re.search(r"_date=\{\{", unquote(step["target"])) for step in steps):
        most = _ATTEMPTS
    waiting = sum(step.get("wait", 0.0) for step in steps) or 1.0
    return min(most, 1 + int(_MOST_WAITING / waiting))


def shift(answers: Sequence[Exchange], run: RunContext) -> None:
    """Repeats the last read or update until the next attempt begins one of them later: several processes that
    answer by turns would else be met in the same order each time. `answers` are of the attempt before."""
    if last := next((exchange for exchange in reversed(answers) if exchange.method != "POST"), None):
        sent = [exchange for number, exchange in run.record.items() if number >= answers[0].number]
        for _ in range((1 - sum(one.operation == last.operation for one in sent)) % _TURNS):
            run.send(run.client(last.organization), last.call, last.purpose)
