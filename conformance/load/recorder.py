"""Records the judgements of a session by rule and operation."""

from __future__ import annotations

from conformance.contract.rules import RULES
from conformance.judge.ledger import Entry
from conformance.judge.outcomes import Got, Unclear
from conformance.wire.messages import Exchange
from conformance.world.run import Run


class Recorder:
    """Judgements by rule and operation. `check` is the name in their findings."""

    def __init__(self, run: Run, check: str) -> None:
        self.run = run
        self.check = check
        self.entries: dict[tuple[str, str], Entry] = {}

    def expect(self, rule: str, operation: str, expected: str, got: Got, *exchanges: Exchange) -> bool:
        """Judges exchanges; returns False for a violation."""
        if isinstance(got, Unclear) or operation not in RULES[rule].operations:
            return True
        return self.entry(rule, operation).expect(expected, got, *exchanges)

    def entry(self, rule: str, operation: str) -> Entry:
        """The judgements of a rule on an operation."""
        return self.entries.setdefault((rule, operation), Entry(rule, operation, self.check, aside=True))
