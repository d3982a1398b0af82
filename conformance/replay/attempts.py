"""Attempts to reproduce a failure: their number, and the requests between two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from conformance.replay.format import Document
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext

#: The rule whose failures may depend on the number of earlier creates.
COUNTED = "format.id-unique"

#: Attempts, as chance or the process that answers may decide; and for the rule COUNTED.
_ATTEMPTS, _COUNTED_ATTEMPTS = 9, 5

#: Seconds of waiting and steps of further attempts, in total; races have no limit of steps.
_MOST_WAITING, _MOST_STEPS = 30.0, 200

#: A multiple of the number of processes that answer in rotation, where that is 2, 3, 4 or 6.
_TURNS = 12


def attempts(document: Document) -> int:
    """Number of attempts before a failure counts as not reproduced."""
    rule, steps = document["rule"], document["steps"]
    most = min(_ATTEMPTS, 1 + _MOST_STEPS // len(steps))
    if rule == COUNTED:
        most = _COUNTED_ATTEMPTS
    # Simultaneous requests, or elements with nearly equal times.
    elif any("together" in step or re.search(r"_date=\{\{", unquote(step["target"])) for step in steps):
        most = _ATTEMPTS
    waiting = sum(step.get("wait", 0.0) for step in steps) or 1.0
    return min(most, 1 + int(_MOST_WAITING / waiting))


def shift(answers: Sequence[Exchange], run: RunContext) -> None:
    """Repeats the last read or update until the next attempt begins at the next process of a rotation: else
    each attempt would meet the processes in the same order. `answers` are of the previous attempt."""
    if last := next((exchange for exchange in reversed(answers) if exchange.method != "POST"), None):
        sent = [exchange for number, exchange in run.record.items() if number >= answers[0].number]
        for _ in range((1 - sum(one.operation == last.operation for one in sent)) % _TURNS):
            run.send(run.client(last.organization), last.call, last.purpose)
