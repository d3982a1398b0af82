"""What a check concludes: a finding is the verdict on one rule for one operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from conformance.contract.rules import RULES, Level
from conformance.judge.expectations import Expectation, Outcome


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
        """How much it counts where there are several: the greater, the more."""
        return _SEVERITY[self]

    @property
    def is_violation(self) -> bool:
        """Whether the rule was seen broken."""
        return self in VIOLATIONS

    @classmethod
    def most_severe(cls, verdicts: Iterable[Verdict]) -> Verdict | None:
        """What several verdicts come to together; None where there are none."""
        return max(verdicts, key=lambda verdict: verdict.severity, default=None)


_SEVERITY = {verdict: weight for weight, verdict in enumerate(reversed(Verdict))}

#: The verdicts that say that a rule is broken.
VIOLATIONS = (Verdict.FAILED, Verdict.WARNING)

#: The verdicts that say that a rule was judged and is not broken.
HELD = (Verdict.PASSED, Verdict.OBSERVED)


def broken_verdict(rule: str) -> Verdict:
    """What the violation of a rule is: a warning of an implied one, a failure of any other."""
    return Verdict.WARNING if RULES[rule].level is Level.IMPLIED else Verdict.FAILED


@dataclass
class Finding:
    """One check's conclusion on one rule and operation, as plain data.

    `exchanges` are numbers of recorded exchanges, the decisive one first. `cause` names the rule
    whose violation kept this one from being judged. `observations` maps a question that the
    specification leaves open to what the server does. `replay` is the path of the file that repeats a
    violation, relative to the folder of the report; `confirmed` is what repeating it alone came to:
    "confirmed", "not reproduced" (still a violation), or "" when it was not repeated. `expectation` is what
    was judged of the exchanges numbered `judged`, in that order; `expected` and `got` tell it in words.
    `without_error_body` says that what was got is a refusal without the documented error body. `aside` says
    that the check is about another rule first, so that what it shows of this one takes more to follow.
    """

    rule: str
    operation: str
    verdict: Verdict
    check: str
    summary: str = ""
    expected: str = ""
    got: str = ""
    remedy: str = ""
    cause: str = ""
    probes: int = 0
    exchanges: list[int] = field(default_factory=list)
    observations: dict[str, str] = field(default_factory=dict)
    further: list[str] = field(default_factory=list)
    #: False where the check had no occasion to judge the rule: that says something only if no other check
    #: had.
    exercised: bool = True
    replay: str = ""
    confirmed: str = ""
    expectation: Expectation | None = None
    judged: list[int] = field(default_factory=list)
    without_error_body: bool = False
    aside: bool = False
    #: The operation whose absence kept the rule from being judged.
    lacks: str = ""

    @property
    def weight(self) -> tuple[int, bool]:
        """What of the findings of a case is shown first: the most severe, of these what a check of the rule
        itself found."""
        return self.verdict.severity, not self.aside

    @classmethod
    def violation(
        cls,
        rule: str,
        operation: str,
        check: str,
        expectation: Expectation,
        outcome: Outcome,
        judged: Iterable[int] = (),
    ) -> Finding:
        """The finding that a rule was seen broken: its verdict by the rule's level, and its sentences."""
        numbers = list(judged)
        answer = outcome.answer
        return cls(
            rule,
            operation,
            broken_verdict(rule),
            check,
            summary=summary(rule, operation, expectation.expected, outcome.got),
            expected=expectation.expected,
            got=outcome.got,
            exchanges=[numbers[at] for at in outcome.shows] or list(numbers),
            expectation=expectation,
            judged=numbers,
            without_error_body=answer is not None and answer.refused and not answer.names_error,
        )

    def to_plain(self) -> dict[str, Any]:
        """The finding as JSON data, without what was judged: that is in its replay file."""
        plain = {
            described.name: getattr(self, described.name)
            for described in fields(self)
            if described.name not in ("expectation", "judged")
        }
        return {**plain, "verdict": str(self.verdict)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Finding:
        """The inverse of `to_plain`."""
        return cls(**{**plain, "verdict": Verdict(plain["verdict"])})


def summary(rule: str, operation: str, expected: str, got: str) -> str:
    """A violation in one sentence."""
    return f"{rule} on {operation}: expected {expected}; got {got}"


class Inconclusive(Exception):
    """The server or the target did not let a check reach its point; never a failure, never a pass.

    `findings` are what was found before that, where the one who raises it knows.
    """

    def __init__(self, reason: str, remedy: str = "", cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.cause = reason, remedy, cause
        self.findings: list[Finding] = []


class LeftOut(Inconclusive):
    """An option of the run leaves out what a check needs: like a test that was not selected."""


class NotApplicable(Exception):
    """The target file declares absent what a check needs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InternalError(Exception):
    """The suite itself is wrong; never blamed on the server."""
