"""Sends the steps of a replay file anew, signed afresh, and says whether the failure came again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.fixtures.run_context import RunContext
from conformance.judging.findings import Inconclusive, NotApplicable
from conformance.replay import verify
from conformance.replay.document import Document, ReplayError, Step, call_of
from conformance.replay.symbols import new_value
from conformance.wire.client import race
from conformance.wire.messages import MISSING, Exchange

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"


@dataclass
class Replayed:
    """What came of a replay: the verdict, what was got or why it is undecided, and the exchanges by step."""

    verdict: str
    got: str = ""
    answers: dict[str, Exchange] = field(default_factory=dict)


class _Values:
    """What the symbols of a file stand for in this replay."""

    def __init__(self, document: Document, run: RunContext) -> None:
        self.run = run
        self.known = {name: new_value(form) for name, form in document.get("fresh", {}).items()}

    def __call__(self, symbol: str) -> str | None:
        if symbol in self.known:
            return self.known[symbol]
        if symbol in ("now", "now_ms"):
            return str(self.run.clock.now() * (1000 if symbol == "now_ms" else 1))
        organization, _, member = symbol.partition(".")
        if organization in ("primary", "secondary"):
            value = getattr(getattr(self.run.target, organization), member, None)
            return value if isinstance(value, str) else None
        return None

    def sent(self, step: Step, exchange: Exchange) -> None:
        """Takes how a step was signed."""
        for name in ("signature", "timestamp", "nonce"):
            self.known[f"sent_{step['id']}.{name}"] = exchange.request_header(f"X-{name}") or ""

    def capture(self, step: Step, exchange: Exchange) -> None:
        """Takes what a step's answer is named for. Raises Inconclusive where it is not there."""
        for symbol, place in step.get("captures", {}).items():
            value = exchange.get(*place)
            if value is MISSING or not isinstance(value, str):
                where = ".".join(map(str, place))
                raise Inconclusive(f"step {step['id']} was answered {exchange.described()} without {where}")
            self.known[symbol] = value


def perform(
    document: Document, run: RunContext, shown: Callable[[Step, Exchange], None] = lambda step, exchange: None
) -> Replayed:
    """Sends every step and judges the answers; `shown` sees each exchange as it comes.

    Raises ReplayError for a step that cannot be sent, or whose organization the target does not have.
    """
    values, answers = _Values(document, run), {}
    try:
        for _, group in itertools.groupby(
            document["steps"], key=lambda step: step.get("together", f"alone {step['id']}")
        ):
            steps = list(group)
            for step, exchange in zip(steps, _send(steps, values, run), strict=True):
                answers[step["id"]] = exchange
                shown(step, exchange)
                values.sent(step, exchange)
                _as_recorded(step, exchange, document["judgement"])
                values.capture(step, exchange)
    except Inconclusive as stop:
        return Replayed(UNDECIDED, stop.reason, answers)
    decisive = [step["id"] for step in document["steps"] if step.get("decisive")] or [
        document["steps"][-1]["id"]
    ]
    case = verify.Case(
        document["rule"],
        document["operation"],
        run.target,
        answers,
        decisive,
        values.known | _target_values(run),
    )
    got = verify.broken(case, document["judgement"])
    return Replayed(REPRODUCED if got else NOT_REPRODUCED, got, answers)


def _target_values(run: RunContext) -> dict[str, str]:
    target = run.target
    return {
        f"{name}.{member}": value
        for name in ("primary", "secondary")
        if (organization := getattr(target, name))
        for member in ("customer_id", "other_customer_id", "funded_account_id")
        if (value := getattr(organization, member))
    }


def _send(steps: list[Step], values: _Values, run: RunContext) -> list[Exchange]:
    if wait := max(step.get("wait", 0.0) for step in steps):
        time.sleep(wait)
    calls = []
    for step in steps:
        try:
            client = run.client(step["organization"])
        except (Inconclusive, NotApplicable) as missing:
            raise ReplayError(
                f"step {step['id']} is sent by another organization, but {missing.reason}."
            ) from None
        calls.append((client, call_of(step, values), step.get("purpose", "")))
    if len(calls) == 1:
        return [run.send(*calls[0])]
    return race([(client, client.prepare(call, purpose)) for client, call, purpose in calls])


def _as_recorded(step: Step, exchange: Exchange, judgement: dict[str, Any]) -> None:
    """A step that only prepares the ground must be answered as it was then, or nothing can be said."""
    recorded = step["answered"]["status"]
    if step.get("decisive") or recorded is None or not 200 <= recorded < 300 or exchange.succeeded:
        return
    if judgement.get("error") == [exchange.error_type, exchange.error_code]:
        return  # the refusal that was missed then comes earlier now
    raise Inconclusive(
        f"step {step['id']} was answered {exchange.described()}, not {recorded} as when it was recorded"
    )
