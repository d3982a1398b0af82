"""What a check concludes: a finding is the verdict on one rule for one operation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """The outcomes of one rule on one operation, the gravest first."""

    FAILED = "failed"
    ERROR = "error"
    WARNING = "warning"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"
    PASSED = "passed"
    OBSERVED = "observed"
    NOT_APPLICABLE = "not applicable"

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)


@dataclass
class Finding:
    """One check's conclusion on one rule and operation, as plain data.

    `exchanges` are numbers of recorded exchanges, the decisive one first. `cause` names the rule
    whose violation kept this one from being judged. `observations` maps a question that the
    specification leaves open to what the server does. `replay` is the path of the file that repeats a
    violation, relative to the folder of the report; `confirmed` is what repeating it alone came to:
    "confirmed", "not reproduced" (still a violation), or "" when it was not repeated.
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
    #: False where the check had no occasion to judge the rule: that says something only if no other check had.
    exercised: bool = True
    replay: str = ""
    confirmed: str = ""

    def to_plain(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return {**asdict(self), "verdict": str(self.verdict)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Finding:
        """The inverse of `to_plain`."""
        return cls(**{**plain, "verdict": Verdict(plain["verdict"])})


class Inconclusive(Exception):
    """The server or the target did not let a check reach its point; never a failure, never a pass."""

    def __init__(self, reason: str, remedy: str = "", cause: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.cause = reason, remedy, cause


class NotApplicable(Exception):
    """The target file declares absent what a check needs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InternalError(Exception):
    """The suite itself is wrong; never blamed on the server."""
