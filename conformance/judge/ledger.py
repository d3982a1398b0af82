"""The ledger: judgements, violations, gaps and observations of each rule on each operation.

Checks, generated tests and the rules of every response write entries; each yields a finding. The controller
adds up the ledgers of workers; the results document is the sum with run and verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, TypeVar

import msgspec
from msgspec.structs import replace

from conformance._records import says
from conformance._text import clean
from conformance.contract.rules import ALL_RULES, CLIENT_RULES, RULES, Level, Side
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.latency import Latency
from conformance.judge.outcomes import Got, Unclear
from conformance.judge.verdicts import (
    EVERY_RESPONSE,
    Finding,
    Inconclusive,
    NotApplicable,
    Verdict,
    Violation,
)
from conformance.target.applicability import absent
from conformance.target.file import Target
from conformance.wire.messages import Exchange

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Maximum number of violations kept of an entry; further ones are counted.
KEPT_VIOLATIONS = 20

#: Approximate maximum of exchanges kept of judgements that held.
KEPT_PROOF = 8


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Groups values by key, both in order of appearance."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


#: The usual reason why a check did not judge a rule.
NO_OCCASION = Unclear("the check had no occasion to judge this rule")


@dataclass
class Entry:
    """One check's judgements of a rule on an operation. `aside`: the check is mainly about another rule."""

    rule: str
    operation: str
    check: str
    aside: bool = False
    judged: int = 0
    #: Number of violations, and the first of them.
    broken: int = 0
    violations: list[Violation] = field(default_factory=list)
    #: Numbers of exchanges of judgements that held.
    proof: list[int] = field(default_factory=list)
    unclear: list[Unclear] = field(default_factory=list)
    #: Applies if nothing was judged, nor unclear.
    no_occasion: Unclear = NO_OCCASION
    #: What the rule is about, which the target file declares absent; applies if nothing was judged.
    absent: str = ""
    observations: dict[str, str] = field(default_factory=dict)

    def expect(self, expected: str, got: Got, *exchanges: Exchange, cause: str = "") -> bool:
        """Counts a judgement; True if it holds: what was got is empty. The exchanges show it, the
        decisive one first."""
        numbers = tuple(dict.fromkeys(exchange.number for exchange in exchanges))
        if isinstance(got, Unclear):
            self.unclear.append(Unclear(got.reason, got.cause, got.remedy, numbers[:1]))
            return False
        if not got:
            self.judged += 1
            self.proof += numbers if len(self.proof) < KEPT_PROOF else ()
            return True
        bare = any(
            answer.refused and not answer.names_error and got == answer.described() for answer in exchanges
        )
        self.add_violation(Violation(expected, got, numbers, cause, bare))
        return False

    def add_violation(self, violation: Violation) -> None:
        """Counts a violation; the first ones are kept."""
        self.judged, self.broken = self.judged + 1, self.broken + 1
        if len(self.violations) < KEPT_VIOLATIONS:
            self.violations.append(violation)

    def finding(self, stop: Inconclusive | NotApplicable | None = None, sent: Sequence[int] = ()) -> Finding:
        """The conclusion; `stop` is the exception that ended the check, `sent` are its exchanges' numbers."""
        if self.violations:
            return self._violation(sent)
        finding = Finding(
            self.rule, self.operation, Verdict.INCONCLUSIVE, self.check, probes=self.judged,
            observations=dict(self.observations),
        )  # fmt: skip
        if isinstance(stop, NotApplicable) or (stop is None and not self.judged and self.absent):
            finding.verdict, finding.summary = Verdict.NOT_APPLICABLE, stop.reason if stop else self.absent
        elif stop is None and self.judged:
            of_open = ALL_RULES[self.rule].level is Level.OPEN
            finding.verdict = Verdict.OBSERVED if of_open else Verdict.PASSED
            finding.exchanges = list(self.proof)
            finding.further = [f"not judged: {each.reason}" for each in self.unclear]
        else:
            why = self.no_occasion if not self.unclear else self.unclear[0]
            if stop is not None:
                why = Unclear(stop.reason, stop.cause, stop.remedy, tuple(sent[-2:]))
            finding.summary, finding.cause, finding.remedy = why.reason, why.cause, why.remedy
            finding.exchanges, finding.exercised = list(why.exchanges), why is not self.no_occasion
        return finding

    def _violation(self, sent: Sequence[int]) -> Finding:
        first, *others = self.violations
        evidence = [number for violation in self.violations[:6] for number in violation.exchanges]
        finding = Finding(
            self.rule,
            self.operation,
            Verdict.WARNING if ALL_RULES[self.rule].level is Level.IMPLIED else Verdict.FAILED,
            self.check,
            expected=first.expected,
            got=first.got,
            cause=first.cause,
            probes=self.judged,
            violations=self.broken,
            exchanges=list(dict.fromkeys(evidence)) or list(sent[-3:]),
            observations=dict(self.observations),
            further=[other.sentence for other in others],
            without_error_body=first.without_error_body,
            aside=self.aside,
        )
        finding.summary = finding.sentence
        return finding


class Cell(msgspec.Struct):
    """One rule on one operation: its verdict is that of the most severe of its findings.

    A rule that no check had occasion to judge is not run.
    """

    rule: Annotated[str, says("Id of the rule.")]
    operation: Annotated[str, says("An operationId.")]
    verdict: Annotated[Verdict, says("The most severe of the findings'.")] = Verdict.NOT_RUN
    summary: Annotated[str, says("The conclusion in a sentence.")] = ""
    known: Annotated[str, says("Why this violation is a known failure; empty if it is none.")] = ""
    findings: Annotated[list[Finding], says("The most severe first.")] = []

    @property
    def key(self) -> tuple[str, str]:
        """Rule and operation."""
        return self.rule, self.operation

    @property
    def decisive(self) -> Finding:
        """The weightiest finding; an empty one without any."""
        return self.findings[0] if self.findings else Finding(self.rule, self.operation, self.verdict)

    def add(self, finding: Finding) -> None:
        """Adds a finding; those of every response are merged, others kept apart."""
        at = next((at for at, known in enumerate(self.findings) if known.check == finding.check), -1)
        if finding.check == EVERY_RESPONSE and at >= 0:
            finding = self.findings.pop(at).merged(finding)
        self.findings.append(finding)
        self.findings.sort(key=lambda known: known.weight, reverse=True)
        if self.decisive.exercised:
            self.verdict, self.summary = self.decisive.verdict, self.decisive.summary
        elif self.verdict is Verdict.NOT_RUN:
            self.summary = finding.summary


class CreatedRecord(msgspec.Struct, frozen=True):
    """A resource that the run created."""

    organization: Annotated[str, says("Whose credentials created it.")]
    operation: Annotated[str, says("The operation that creates it; empty if the contract has no such path.")]
    id: Annotated[str, says("Its id.")]
    path: Annotated[str, says("The path of the request that created it.")]


class Ledger(msgspec.Struct, dict=True, omit_defaults=True):
    """The record of a run, or of a part of it: judged, sent, created. Two ledgers add up to one."""

    cells: list[Cell] = []
    #: Side whose rules were judged.
    side: Side = Side.SERVER
    #: Exchanges that findings name, by number.
    exchanges: dict[int, ExchangeRecord] = {}
    #: Operation, or "" -> latency of its answers.
    latency: dict[str, Latency] = {}
    created: list[CreatedRecord] = []
    #: Operations that are not implemented -> the answer that says so.
    missing: dict[str, str] = {}
    errors: list[str] = []
    #: Missing operations in the list of known failures -> its reasons.
    known_missing: dict[str, str] = {}
    #: Reason why the run gave the server up; empty if it did not.
    lost: str = ""
    #: Number of requests, number of waits after 429 and 503, and seconds waited.
    sent: int = 0
    waits: int = 0
    waited: float = 0.0
    #: quick, full or deep; the options that narrowed the run, with their values.
    effort: str = "full"
    narrowed: list[str] = []

    @property
    def selection(self) -> str:
        """Options that narrowed the run, as on a command line; empty for a whole run."""
        return " ".join(self.narrowed)

    @classmethod
    def of_catalogue(cls, target: Target | None, side: Side = Side.SERVER) -> Ledger:
        """A ledger with a cell for each rule of a side on each operation; what the target file declares
        absent is not applicable."""
        ledger = cls(side=side)
        for rule in (RULES if side is Side.SERVER else CLIENT_RULES).values():
            for operation in rule.operations:
                cell = ledger.cell(rule.id, operation)
                if target is not None and (reason := absent(rule, operation, target)):
                    cell.verdict, cell.summary = Verdict.NOT_APPLICABLE, reason
        return ledger

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """Decodes a ledger."""
        return msgspec.json.decode(text, type=cls)

    def to_json(self) -> str:
        """Encodes the ledger."""
        return msgspec.json.encode(self).decode()

    def without_findings(self) -> Ledger:
        """The ledger of what was sent and created, and of errors."""
        return replace(self, cells=[], exchanges={})

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], Cell]:
        return {cell.key: cell for cell in self.cells}

    def cell(self, rule: str, operation: str) -> Cell:
        """The cell of a rule on an operation, added if missing."""
        cell = self._by_key.get((rule, operation))
        if cell is None:
            cell = self._by_key[rule, operation] = Cell(rule, operation)
            self.cells.append(cell)
        return cell

    @property
    def findings(self) -> list[Finding]:
        """Findings of all cells."""
        return [finding for cell in self.cells for finding in cell.findings]

    def add(self, finding: Finding, text: Callable[[str], str] = clean) -> None:
        """Adds a finding, with its evidence bounded and `text` (`Redactor.clean`) applied to its texts."""
        self.cell(finding.rule, finding.operation).add(finding.bounded(text))

    def measure(self, exchange: Exchange) -> None:
        """Adds an exchange to the latency of its operation."""
        operation = exchange.operation or ""
        self.latency.setdefault(operation, Latency(operation)).add(exchange)

    def merge(self, other: Ledger) -> None:
        """Adds the ledger of another part of the run."""
        for theirs in other.cells:
            mine = self.cell(*theirs.key)
            if theirs.verdict is Verdict.NOT_APPLICABLE and mine.verdict is Verdict.NOT_RUN:
                mine.verdict, mine.summary = theirs.verdict, theirs.summary
            mine.known = mine.known or theirs.known
            for finding in theirs.findings:
                mine.add(finding)
        self.exchanges |= other.exchanges
        for operation, row in other.latency.items():
            self.latency.setdefault(operation, Latency(operation)).merge(row)
        self.created += other.created
        self.lack(other.missing)
        self.known_missing |= other.known_missing
        self.errors += other.errors
        self.lost = self.lost or other.lost
        self.sent += other.sent
        self.waits += other.waits
        self.waited += other.waited

    def lack(self, missing: Mapping[str, str]) -> None:
        """Marks operations as missing, except those that have succeeded: under eventual consistency an early
        404 may mislead a worker."""
        succeeded = {name for name, row in self.latency.items() if row.succeeded}
        self.missing |= missing
        self.missing = {name: said for name, said in self.missing.items() if name not in succeeded}

    def with_verdict(self, *verdicts: Verdict, levels: Iterable[Level] = tuple(Level)) -> list[Cell]:
        """Cells with one of these verdicts, in catalogue order."""
        levels = set(levels)
        return [
            cell for cell in self.cells if cell.verdict in verdicts and ALL_RULES[cell.rule].level in levels
        ]
