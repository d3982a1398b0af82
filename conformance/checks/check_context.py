"""The context of a check: it sends calls, judges answers by rule, and ends in findings.

A check never decides about the run: it says what it expected and what it got, which its context writes into
one entry of the ledger for each rule it cites. An answer that says nothing about the rule at
hand (no answer, 5xx, still rate limited) is set aside, because another rule speaks about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, TypeVarTuple

from conformance.contract.operations import Operation
from conformance.contract.rules import Rule
from conformance.judge import ledger
from conformance.judge.expectations import Expectation, unusable
from conformance.judge.findings import Finding, Inconclusive, LeftOut, NotApplicable, Verdict
from conformance.judge.ledger import Entry, Gap
from conformance.target.file import Target
from conformance.wire.client import NOT_SIMULTANEOUS, RATE_REMEDY, SLOWER, simultaneous
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture
from conformance.world.accounts import purpose_of
from conformance.world.habits import describe_delay, eventually
from conformance.world.read_only import NOT_SENT, withheld
from conformance.world.run_context import RunContext

R = TypeVar("R")
T = TypeVarTuple("T")


class CheckContext:
    """One check on one operation."""

    def __init__(self, run: RunContext, operation: Operation, rules: Iterable[Rule], check: str) -> None:
        self.run = run
        self.operation = operation
        self.check = check
        self.rules = {rule.id: rule for rule in rules}
        self.exchanges: list[int] = []
        self.entries = {
            rule: Entry(rule, operation.id, check, aside=at > 0) for at, rule in enumerate(self.rules)
        }
        #: Of each race, whether at least two of its requests were under way at one moment.
        self._races: list[bool] = []

    @property
    def target(self) -> Target:
        return self.run.target

    # ------------------------------------------------------------------ making

    def account(
        self, purpose: str = "shared", owner: str = "primary", *, fresh: bool = False
    ) -> AccountFixture:
        """The fixture of a purpose for this check's operation: payouts have an account with funds."""
        below = "beneficiary_id" in self.operation.path_parameters
        return self.run.account(purpose_of(self.operation.id, purpose), owner, fresh=fresh, below=below)

    def valid(self) -> Call:
        """A valid call of this check's operation; where that can be done only once in an account (a wallet of
        one pair), each in an account of its own."""
        fresh = self.operation.traits.once and not self.run.read_only
        return self.account(fresh=fresh).call(self.operation.id)

    def wanted(self, what: str) -> bool:
        """True if a probe of this name is to be sent: a quick run leaves out those that catch least. The
        requests from here on, until the next call, count as those of this probe."""
        return self.run.wanted(self.check, self.operation.id, what)

    def only_wanted(self, probes: Iterable[tuple[str, *T]]) -> Iterator[tuple[str, *T]]:
        """Those of some probes that the run wants; the first of each is its name."""
        return (probe for probe in probes if self.wanted(probe[0]))

    # ------------------------------------------------------------------ sending

    def send(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a call; whatever comes back is for the check to judge."""
        exchange = self.run.send(self.run.client(organization), call, purpose)
        self.exchanges.append(exchange.number)
        return exchange

    def shown(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a call; a GET of what was made a moment ago until it is there."""
        exchange = self.run.shown(self.run.client(organization), call, purpose)
        self.exchanges.append(exchange.number)
        return exchange

    def accept(self, call: Call, purpose: str, organization: str = "primary") -> Exchange:
        """Sends a valid call that must be answered 2xx for the check to go on; raises Inconclusive
        otherwise."""
        exchange = self.run.accept(self.run.client(organization), call, purpose)
        self.exchanges.append(exchange.number)
        return exchange

    def eventually(self, look: Callable[[], R], good: Callable[[R], bool], operation: str = "") -> R:
        """The result of the first look that is good, or the last result: see `habits.eventually`. The
        operation is that of the check unless given."""
        return eventually(self.run.cache, operation or self.operation.id, look, good)

    def race(self, calls: list[Call], purpose: str) -> list[Exchange]:
        """Sends calls simultaneously. Where no two of a check's races overlapped, it does not pass."""
        self.run.answering()
        exchanges = self.run.client().race(calls, purpose)
        self.run.sent_all(exchanges)
        self.exchanges += [exchange.number for exchange in exchanges]
        self._races.append(simultaneous(exchanges) > 1)
        return exchanges

    # ------------------------------------------------------------------ judging

    def judge(self, rule: str, expectation: Expectation, *exchanges: Exchange, cause: str = "") -> bool:
        """Judges exchanges by an expectation (see conformance.judge.expectations), which knows them by
        their positions; returns whether it holds. Where that cannot be told, it is noted why."""
        judged = ledger.judge(expectation, exchanges, self.target, cause)
        if judged.outcome.good is None:
            stop = LeftOut(NOT_SENT) if any(map(withheld, exchanges)) else None
            self.skip_judgement(
                rule, judged.outcome.got, *exchanges[:1], cause=judged.outcome.cause, stop=stop
            )
            return False
        return self.entries[rule].take(judged)

    def skip_judgement(
        self,
        rule: str,
        reason: str,
        *exchanges: Exchange,
        cause: str = "",
        remedy: str = "",
        stop: Inconclusive | None = None,
    ) -> None:
        """Notes that a probe could not be judged. `remedy` is what the user can do about it; `stop` is what
        kept the check from it, with a cause and remedy of its own."""
        numbers = tuple(exchange.number for exchange in exchanges)
        gap = Gap(reason, cause, remedy, numbers)
        if isinstance(stop, LeftOut):
            gap = Gap.of(stop, numbers)
        elif stop is not None:
            gap = Gap(reason, stop.cause, stop.remedy, numbers)
        self.entries[rule].gaps.append(gap)

    def not_exercised(self, rule: str, reason: str, remedy: str = "") -> None:
        """Notes why this check cannot judge a rule on this server, which other checks may."""
        self.entries[rule].unless_judged = Gap(reason, remedy=remedy, left_out=True)

    def not_applicable(self, rule: str, reason: str) -> None:
        """Notes that the target file declares absent what a rule is about, unless it is judged all the
        same."""
        self.entries[rule].unless_judged = Gap(reason, declared=True)

    def usable(self, rule: str, exchange: Exchange) -> bool:
        """True if an answer can be judged by this rule; if not, it is set aside."""
        if reason := unusable(exchange):
            self.skip_judgement(rule, reason.reason, exchange, cause=reason.cause)
        return reason is None

    def observe(self, rule: str, question: str, answer: str, *exchanges: Exchange) -> None:
        """Records what the server does where the specification leaves it open."""
        entry = self.entries[rule]
        entry.judged += 1
        entry.observations[question] = answer
        entry.proof += [exchange.number for exchange in exchanges]

    def observe_delay(self, question: str) -> None:
        """Records when a write has shown in the answers of the check's operation."""
        self.observe("read.delay", question, describe_delay(self.run.cache, self.operation.id))

    def record(self, rule: str, question: str, answer: Exchange, seen: str = "") -> None:
        """Observes an answer by its status and error, or as `seen`, unless it says nothing about the rule."""
        if self.usable(rule, answer):
            self.observe(rule, question, seen or answer.described(), answer)

    # ------------------------------------------------------------------ concluding

    @property
    def violations(self) -> list[tuple[int, ...]]:
        """The numbers of the exchanges of each judgement that did not hold."""
        return [violation.exchanges for entry in self.entries.values() for violation in entry.violations]

    def findings(self, stop: Inconclusive | NotApplicable | None = None) -> list[Finding]:
        """One finding for each rule the check cites on this operation; `stop` is what ended the check
        early."""
        raced = not self._races or any(self._races)
        unraced = None if raced else Inconclusive(NOT_SIMULTANEOUS, RATE_REMEDY)
        findings = [
            entry.finding(stop or (unraced if entry.judged else None), self.exchanges)
            for entry in self.entries.values()
        ]
        if any(self.run.record[number].throttled for number in self.exchanges):
            for finding in findings:
                if finding.verdict is Verdict.INCONCLUSIVE:
                    finding.remedy = finding.remedy or SLOWER
        return findings
