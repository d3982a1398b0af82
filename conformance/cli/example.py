"""The exchanges by which a check decides about a rule, as an example of it."""

from __future__ import annotations

from typing import Any

from conformance.checks import load_checks
from conformance.contract.operations import OPERATIONS
from conformance.harness.check import Check, run_check
from conformance.harness.context import CheckContext
from conformance.judge.expectations import Expectation
from conformance.judge.findings import Inconclusive, NotApplicable
from conformance.judge.invariants import INVARIANTS, Invariants
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext

#: Exchanges that an example shows at most.
SHOWN = 3

#: The module whose checks tell most of what must not be shown.
_TELLING = "test_secrets."


class _Watched(CheckContext):
    """Keeps the exchanges of the first judgement of one rule that turns out well."""

    watched = ""
    seen: tuple[Exchange, ...] = ()

    def judge(self, rule: str, expectation: Expectation, *exchanges: Exchange, cause: str = "") -> bool:
        good = super().judge(rule, expectation, *exchanges, cause=cause)
        if good and rule == self.watched:
            self.seen = self.seen or exchanges
        return good

    def observe(self, rule: str, question: str, answer: str, *exchanges: Exchange) -> None:
        super().observe(rule, question, answer, *exchanges)
        if rule == self.watched:
            self.seen = self.seen or exchanges


def decisive(run: RunContext, rule: str, operation: str) -> list[Exchange]:
    """The exchanges, in their order; of a rule of every response, the last that it was judged on within a
    check. Empty where no check came to judge the rule."""
    for check in sorted(load_checks().values(), key=lambda check: not check.name.startswith(_TELLING)):
        if operation not in check.operations or check.deep:
            continue
        if rule in INVARIANTS:
            found = _of_every_response(run, check, rule, operation)
        else:
            found = _judged(run, check, rule, operation) if rule in check.rules else []
        if found:
            return found
    return []


def _judged(run: RunContext, check: Check, rule: str, operation: str) -> list[Exchange]:
    ctx: Any = _Watched(run, OPERATIONS[operation], check.rules_on(operation), check.name)
    ctx.watched = rule
    stop = None
    try:
        check.function(ctx)
    except (Inconclusive, NotApplicable) as end:
        stop = end
    if ctx.seen:
        return list(ctx.seen[:SHOWN])
    numbers = [
        number for finding in ctx.findings(stop) if finding.rule == rule for number in finding.exchanges
    ]
    return [run.record[number] for number in numbers if number in run.record][:1]


def _of_every_response(run: RunContext, check: Check, rule: str, operation: str) -> list[Exchange]:
    _, numbers = run_check(check, operation, run)
    for number in reversed(numbers):
        exchange = run.record.get(number)
        if exchange is not None and exchange.operation == operation:
            alone = Invariants(run.target)
            alone.inspect(exchange)
            if alone.tallies.get((rule, operation)):
                return [exchange]
    return []
