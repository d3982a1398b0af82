"""Verdicts and findings: conclusions of checks about one rule on one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec.structs import replace

from conformance._records import Count, Seconds, says
from conformance._text import one_line


class Verdict(StrEnum):
    """The outcomes of one rule on one operation, the most severe first."""

    FAILED = "failed"
    ERROR = "error"
    WARNING = "warning"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"
    OBSERVED = "observed"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"

    @property
    def severity(self) -> int:
        """Rank of a verdict; the highest of several decides."""
        return _SEVERITY[self]

    @property
    def is_violation(self) -> bool:
        """True if the verdict says that the rule is broken."""
        return self in VIOLATIONS

    @classmethod
    def most_severe(cls, verdicts: Iterable[Verdict]) -> Verdict | None:
        """The most severe of several verdicts; None without any."""
        return max(verdicts, key=lambda verdict: verdict.severity, default=None)


_SEVERITY = {verdict: weight for weight, verdict in enumerate(reversed(Verdict))}

#: Verdicts of a broken rule.
VIOLATIONS = (Verdict.FAILED, Verdict.WARNING)

#: Verdicts of a rule that was judged and not broken.
HELD = (Verdict.PASSED, Verdict.OBSERVED)

#: Maximum number of exchanges kept as evidence of a finding, by verdict, and of other verdicts.
EVIDENCE = {
    Verdict.FAILED: 8,
    Verdict.ERROR: 8,
    Verdict.WARNING: 8,
    Verdict.INCONCLUSIVE: 3,
    Verdict.OBSERVED: 2,
}
OTHER_EVIDENCE = 1

#: Maximum number of further violations kept of a finding.
FURTHER = 20

#: Name of the pseudo-check that judges the rules of every response.
EVERY_RESPONSE = "every response"


@dataclass(frozen=True)
class Violation:
    """A broken expectation: what was expected and got, and the exchanges that show it.

    `cause` is the rule whose violation may have caused it. `without_error_body`: what was got is a refusal
    without the documented error body."""

    expected: str
    got: str
    exchanges: tuple[int, ...] = ()
    cause: str = ""
    without_error_body: bool = False

    @property
    def sentence(self) -> str:
        """The violation in words."""
        return f"expected {self.expected}; got {self.got}"


class Finding(msgspec.Struct):
    """One check's conclusion on one rule and operation, as ledger, results.json and every page have it."""

    rule: Annotated[str, says("Id of the rule.")]
    operation: Annotated[str, says("An operationId.")]
    verdict: Annotated[Verdict, says("What the check concluded.")]
    check: Annotated[str, says("Which check; rules of every response have one of that name.")] = ""
    summary: Annotated[str, says("The conclusion in a sentence.")] = ""
    expected: Annotated[str, says("What was expected, of a violation.")] = ""
    got: Annotated[str, says("What was got, of a violation.")] = ""
    remedy: Annotated[str, says("What the user can do so that it can be judged.")] = ""
    cause: Annotated[str, says("The rule whose violation may be behind it.")] = ""
    probes: Annotated[Count, says("How often the rule was judged.")] = 0
    violations: Annotated[Count, says("How often it did not hold.")] = 0
    exchanges: Annotated[list[int], says("Exchanges that prove it, by number, the decisive one first.")] = []
    observations: Annotated[dict[str, str], says("Open question -> what the server does.")] = {}
    further: Annotated[list[str], says("Further violations, or why more was not judged.")] = []
    exercised: Annotated[
        bool, says("False where the check had no occasion to judge the rule; then other checks decide.")
    ] = True
    confirmed: Annotated[
        str,
        says("The violation, repeated alone: confirmed, or not reproduced; empty if it was not."),
    ] = ""
    without_error_body: Annotated[
        bool, says("What was got is a refusal without the documented error body.")
    ] = False
    aside: Annotated[bool, says("The check is about another rule first; such findings are shown last.")] = (
        False
    )
    seconds: Annotated[Seconds, says("How long the exchanges that prove it took.")] = 0.0
    lacks: Annotated[str, says("The operation whose absence kept the rule from being judged; or empty.")] = ""
    examples: Annotated[
        Count, says("How many examples were drawn, where generated requests showed it; 0 for any other.")
    ] = 0

    @property
    def weight(self) -> tuple[bool, int, bool]:
        """Sort key of a cell's findings: exercised first, then by severity, then by the rule's own checks."""
        return self.exercised, self.verdict.severity, not self.aside

    def bounded(self, text: Callable[[str], str]) -> Finding:
        """The finding as a ledger keeps it: bounded evidence, and `text` applied to each text."""
        return replace(
            self,
            summary=text(self.summary),
            expected=text(self.expected),
            got=text(self.got),
            remedy=text(self.remedy),
            exchanges=list(dict.fromkeys(self.exchanges))[: EVIDENCE.get(self.verdict, OTHER_EVIDENCE)],
            observations={text(question): text(answer) for question, answer in self.observations.items()},
            further=[text(one_line(each)) for each in self.further[:FURTHER]],
        )

    def merged(self, other: Finding) -> Finding:
        """Merges two findings of one check, rule and operation: numbers add up, all else is that of the more
        severe one, or of this one."""
        first, second = (other, self) if other.verdict.severity > self.verdict.severity else (self, other)
        again = [] if second.got in ("", first.got) else [second.got]
        both = replace(
            first,
            probes=self.probes + other.probes,
            violations=self.violations + other.violations,
            exchanges=list(dict.fromkeys([*first.exchanges, *second.exchanges]))[: EVIDENCE[Verdict.FAILED]],
            further=list(dict.fromkeys([*first.further, *again, *second.further]))[:FURTHER],
            seconds=self.seconds + other.seconds,
        )
        both.summary = both.sentence if both.violations else first.summary
        return both

    @property
    def sentence(self) -> str:
        """The violation in one sentence; a rule of every response with its numbers."""
        sentence = f"{self.rule} on {self.operation}: expected {self.expected}; got {self.got}"
        often = f" ({self.violations} of {self.probes} responses)" if self.check == EVERY_RESPONSE else ""
        return sentence + often


class Inconclusive(Exception):
    """A check could not judge, because of the server or the target; neither passed nor failed.

    `findings` were made before, if known.
    """

    def __init__(self, reason: str, remedy: str = "", cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.cause = reason, remedy, cause
        self.findings: list[Finding] = []


class NotApplicable(Exception):
    """The target file declares that what a check needs is absent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InternalError(Exception):
    """An error of the suite itself, never blamed on the server."""
