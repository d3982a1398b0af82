"""The results of a run: one cell for each rule and operation, and the exchanges that prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.contract.needs import waiting
from conformance.contract.rules import RULES, Level
from conformance.judge.exchanges import ExchangeRecord
from conformance.judge.findings import VIOLATIONS, Finding, Verdict
from conformance.report.document import MadeRecord
from conformance.target.applicability import absent
from conformance.target.file import Target
from conformance.wire.messages import Exchange

#: Names of how much a run does.
QUICK, FULL, DEEP = "quick", "full", "deep"


@dataclass
class CaseResult:
    """One rule on one operation; its verdict is the most severe of its findings.

    `known` is why a list of known failures has this violation, which then does not fail the run.
    """

    rule: str
    operation: str
    verdict: Verdict = Verdict.NOT_RUN
    summary: str = ""
    findings: list[Finding] = field(default_factory=list)
    known: str = ""

    @property
    def decisive(self) -> Finding | None:
        """The first of the weightiest findings of checks that had occasion to judge the rule."""
        telling = [finding for finding in self.findings if finding.exercised]
        return max(telling, key=lambda finding: finding.weight, default=None)

    def add(self, finding: Finding) -> None:
        """Takes in a finding; a rule that no check had occasion to judge counts as not run."""
        self.findings.append(finding)
        if most_severe := self.decisive:
            self.verdict, self.summary = most_severe.verdict, most_severe.summary
        elif self.verdict is Verdict.NOT_RUN:
            self.summary = finding.summary


@dataclass(frozen=True, slots=True)
class Timing:
    """When an exchange was sent (Unix seconds), how long its answer took (seconds), its status, and how often
    it was sent."""

    operation: str | None
    status: int | None
    started: float
    elapsed: float
    attempts: int = 1

    @classmethod
    def of(cls, exchange: Exchange) -> Timing:
        """The timing of an exchange."""
        return cls(exchange.operation, exchange.status, exchange.started, exchange.elapsed, exchange.attempts)


class Results:
    """Collects findings from all workers.

    `exchanges` has the exchanges that workers handed on, by number; reports keep those that are evidence.
    `timings` has every exchange of the run, by number. `lost` says how the server was lost during the run.
    `selection` says how the user narrowed the run (`-k auth`, say, or `-x`): with it rules that were not run
    are the user's choice, without it they make the run incomplete.
    """

    def __init__(self, target: Target | None) -> None:
        self.cells: dict[tuple[str, str], CaseResult] = {}
        self.exchanges: dict[int, ExchangeRecord] = {}
        self.sent = 0
        #: How often, and for how many seconds in all, 429 and 503 were waited out.
        self.waits, self.waited = 0, 0.0
        #: The requests, created resources and payouts that the run was said to take.
        self.announced: tuple[int, int, int] = (0, 0, 0)
        #: What was created, in no order.
        self.made: list[MadeRecord] = []
        self.errors: list[str] = []
        self.lost = ""
        #: Operations that do not exist, and how the server says so.
        self.missing: dict[str, str] = {}
        #: Those of them that a list of known failures has, and its reasons.
        self.known_missing: dict[str, str] = {}
        self.selection = ""
        #: How much the run did: quick, full or deep.
        self.effort = FULL
        #: Of a quick run, the cases that only some of their checks judged.
        self.judged_in_part: set[tuple[str, str]] = set()
        self.timings: dict[int, Timing] = {}
        self._succeeded: set[str] = set()
        for rule in RULES.values():
            for operation in rule.operations:
                cell = self.cells[rule.id, operation] = CaseResult(rule.id, operation)
                if target is not None and (reason := absent(rule, operation, target)):
                    cell.verdict, cell.summary = Verdict.NOT_APPLICABLE, reason

    def add(self, finding: Finding) -> None:
        """Takes a finding into its cell."""
        self.cells[finding.rule, finding.operation].add(finding)

    def sent_at(self, number: int, timing: Timing) -> None:
        """Takes the timing of an exchange."""
        self.timings[number] = timing
        if timing.operation and 200 <= (timing.status or 0) < 300:
            self._succeeded.add(timing.operation)
            self.missing.pop(timing.operation, None)

    def lack(self, missing: Mapping[str, str]) -> None:
        """Takes what was taken for missing, and how the server says so. What has succeeded is there: another
        worker may have met what a server shows late."""
        self.missing |= {name: said for name, said in missing.items() if name not in self._succeeded}

    def counts(self) -> dict[Level, Counter[Verdict]]:
        """Cells by level and verdict."""
        counts: dict[Level, Counter[Verdict]] = {level: Counter() for level in Level}
        for cell in self.cells.values():
            counts[RULES[cell.rule].level][cell.verdict] += 1
        return counts

    def with_verdict(self, *verdicts: Verdict, levels: Iterable[Level] = tuple(Level)) -> list[CaseResult]:
        """The cells with one of these verdicts, in the catalogue's order."""
        levels = set(levels)
        return [
            cell
            for cell in self.cells.values()
            if cell.verdict in verdicts and RULES[cell.rule].level in levels
        ]

    def gating(self, fail_on: Level) -> tuple[Level, ...]:
        """The levels that decide the run."""
        return (Level.REQUIRED, Level.IMPLIED) if fail_on is Level.IMPLIED else (Level.REQUIRED,)

    def violations(self, fail_on: Level) -> list[CaseResult]:
        """The cells that fail the run: violated, and not known to be."""
        cells = self.with_verdict(*VIOLATIONS, levels=self.gating(fail_on))
        return [cell for cell in cells if not cell.known]

    def incomplete(self, fail_on: Level) -> list[CaseResult]:
        """The cells that make the run incomplete: inconclusive, or not run in a run that was not narrowed;
        none that waits for an operation which is known to be missing."""
        missing = [Verdict.INCONCLUSIVE] if self.selection else [Verdict.INCONCLUSIVE, Verdict.NOT_RUN]
        cells = self.with_verdict(*missing, levels=self.gating(fail_on))
        return [cell for cell in cells if not self.excuses(cell)]

    def excuses(self, cell: CaseResult) -> bool:
        """Whether a case could not be judged for want of an operation that is known to be missing."""
        if cell.verdict is Verdict.NOT_RUN:
            needed = {name for missing in self.known_missing for name in (missing, *waiting(missing))}
            return cell.operation in needed
        unclear = [
            finding
            for finding in cell.findings
            if finding.exercised and finding.verdict is Verdict.INCONCLUSIVE
        ]
        return cell.verdict is Verdict.INCONCLUSIVE and all(
            finding.lacks in self.known_missing for finding in unclear
        )
