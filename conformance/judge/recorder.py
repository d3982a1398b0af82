"""Judgements of rules on operations, from the first to the finding: what every part of the suite shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.judge.expectations import Expectation, Outcome
from conformance.judge.findings import Finding
from conformance.target.file import Target
from conformance.wire.messages import Exchange


@dataclass(frozen=True)
class Judgement:
    """An expectation, the numbers of the exchanges that it judged, and what that came to.

    `cause` is the rule whose violation may be behind it."""

    expectation: Expectation
    exchanges: tuple[int, ...]
    outcome: Outcome
    cause: str = ""

    @property
    def sentence(self) -> str:
        """What was expected and what was got, for a list of further violations."""
        return f"expected {self.expectation.expected}; got {self.outcome.got}"

    @property
    def evidence(self) -> list[int]:
        """The numbers of the exchanges that show it."""
        return [self.exchanges[at] for at in self.outcome.shows] or list(self.exchanges)

    def finding(self, rule: str, operation: str, check: str) -> Finding:
        """The violation as a finding."""
        finding = Finding.violation(rule, operation, check, self.expectation, self.outcome, self.exchanges)
        finding.cause = self.cause
        return finding


def judge(
    expectation: Expectation, exchanges: Sequence[Exchange], target: Target | None = None, cause: str = ""
) -> Judgement:
    """Judges exchanges by an expectation."""
    numbers = tuple(exchange.number for exchange in exchanges)
    return Judgement(expectation, numbers, expectation.judge(exchanges, target), cause)
