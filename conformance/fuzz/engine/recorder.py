"""Records the judgements of a property-based test by rule and operation.

Hypothesis only learns that an example failed. Expectation and exchanges are recorded at once, so that a
failure which is not reproduced is still reported.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from conformance.contract.rules import RULES
from conformance.judge.expectations import Expectation
from conformance.judge.findings import Finding, Inconclusive, Violation
from conformance.judge.invariants import INVARIANTS, LOST
from conformance.judge.ledger import Entry
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext

#: A rule on an operation.
Key = tuple[str, str]


class Falsified(AssertionError):
    """A rule was broken in the running example."""

    def __init__(self, key: Key, violation: Violation) -> None:
        super().__init__(f"{key[0]} on {key[1]}: {violation.sentence}")
        self.key = key


@dataclass
class Counterexample:
    """The smallest example that breaks a rule: the violation, and its exchanges in their order."""

    violation: Violation
    exchanges: list[int]
    size: tuple[int, int]
    seen: int = 1
    runs: int = 0
    further: list[str] = field(default_factory=list)


class Recorder:
    """Judgements of one part of an exploration by rule and operation."""

    def __init__(self, run: RunContext, check: str) -> None:
        self.run = run
        self.check = check
        self.entries: dict[Key, Entry] = {}
        self.failures: dict[Key, Counterexample] = {}
        #: Rules whose violations have been shrunk: they no longer end an example.
        self.settled: set[Key] = set()
        #: Operation -> status -> number of answers to generated cases.
        self.statuses: dict[str, dict[int | None, int]] = {}
        #: The rule whose violation is being shrunk: others do not end an example meanwhile.
        self.focus: Key | None = None
        #: Called when a violation ends an example.
        self.on_violation: Callable[[], None] | None = None
        self._example: list[Exchange] = []
        #: Violations of invariants that were counted before the running example.
        self._passive: dict[Key, int] = {}

    # ------------------------------------------------------------------ the running example

    def begin(self) -> None:
        """Starts a new example."""
        self._example = []
        self._passive = {key: self.run.invariants.tallies[key].broken for key in self.run.invariants.broken}
        for failure in self.failures.values():
            failure.runs += 1

    def keep(self, *exchanges: Exchange) -> None:
        """Adds exchanges to the running example."""
        self._example += exchanges

    def inspect(self, *exchanges: Exchange) -> None:
        """Raises Falsified if the exchanges broke an invariant; a rate of lost requests is of no example."""
        for exchange, rule in itertools.product(exchanges, INVARIANTS):
            key = (rule, exchange.operation or "")
            tally = self.run.invariants.tallies.get(key)
            if rule != LOST and tally is not None and tally.broken != self._passive.get(key, 0):
                self._passive[key] = tally.broken
                # Described as the first violation of the rule.
                first = tally.violations[0]
                self._expect(key, first.expected, first.got, exchange)

    def count(self, exchange: Exchange) -> None:
        """Counts the answer to a generated case."""
        by_status = self.statuses.setdefault(exchange.operation or "", {})
        by_status[exchange.status] = by_status.get(exchange.status, 0) + 1

    # ------------------------------------------------------------------ judging

    def judge(self, rule: str, operation: str, expectation: Expectation, *exchanges: Exchange) -> bool:
        """Judges exchanges; returns False for a violation. Raises Falsified for it, unless the rule is
        settled or a violation of another one is being shrunk."""
        outcome = expectation.judge(exchanges, self.run.target)
        if outcome.good is None or operation not in RULES[rule].operations:
            return outcome.good is not False
        proof = [exchanges[at] for at in outcome.shows] or exchanges
        return self._expect(
            (rule, operation), expectation.expected, outcome.got if not outcome.good else "", *proof
        )

    def _expect(self, key: Key, expected: str, got: str, *exchanges: Exchange) -> bool:
        """Counts a judgement, and raises Falsified as `judge` does."""
        entry = self.entries.setdefault(key, Entry(*key, self.check, aside=True))
        if entry.expect(expected, got, *exchanges):
            return True
        example = [exchange.number for exchange in self._example]
        violation = Violation(expected, got, tuple(exchange.number for exchange in exchanges))
        self._add_failure(key, Counterexample(violation, example, _size(self._example)))
        if key in self.settled or self.focus not in (None, key):
            return False
        self.focus = key
        if self.on_violation is not None:
            self.on_violation()
        raise Falsified(key, violation)

    def _add_failure(self, key: Key, new: Counterexample) -> None:
        old = self.failures.get(key)
        if old is None:
            self.failures[key] = new
            return
        got = new.violation.got
        if got != old.violation.got and len(old.further) < 5 and got not in old.further:
            old.further.append(got)
        if new.size < old.size:
            new.seen, new.runs, new.further = old.seen, old.runs, old.further
            self.failures[key] = new
        self.failures[key].seen += 1

    @contextlib.contextmanager
    def keeping(self) -> Iterator[None]:
        """Adds the findings so far to an Inconclusive that is raised within it."""
        try:
            yield
        except Inconclusive as stop:
            stop.findings += self.findings()
            raise

    def findings(self) -> list[Finding]:
        """One finding for each rule and operation that was judged."""
        return [self._finding(key, entry) for key, entry in self.entries.items()]

    def _finding(self, key: Key, entry: Entry) -> Finding:
        failure = self.failures.get(key)
        if failure is None:
            return entry.finding()
        # Reports the smallest example, not the first one.
        entry.violations = [failure.violation]
        finding = entry.finding()
        finding.exchanges += [number for number in self._rest(failure) if number not in finding.exchanges]
        finding.further = [f"also got {got}" for got in failure.further]
        if failure.seen == 1 and failure.runs:
            finding.further.append("it was seen once and did not come again")
        return finding

    def _rest(self, failure: Counterexample) -> list[int]:
        """The exchanges of the example whose resources or keys the judged requests name."""
        record = self.run.record
        example = [record[number] for number in failure.exchanges if number in record]
        decisive = [record[number] for number in failure.violation.exchanges if number in record]
        if not decisive:
            return failure.exchanges
        names = " ".join(
            f"{one.call.target} {one.call.body!r} {one.call.idempotency_key}" for one in decisive
        )
        return [
            exchange.number
            for exchange in example
            if str(exchange.get("id")) in names or (exchange.call.idempotency_key or "none") in names
        ]


def _size(exchanges: Iterable[Exchange]) -> tuple[int, int]:
    """The size of an example: number of requests, then their bytes."""
    sizes = [len(exchange.request_body) + len(exchange.call.target) for exchange in exchanges]
    return len(sizes), sum(sizes)
