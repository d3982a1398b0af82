"""Verdicts on one rule on one operation, and exceptions that end a check without one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.judge.outcomes import Unclear

if TYPE_CHECKING:
    from conformance.judge.cells import Cell
    from conformance.wire.messages import Exchange


class Verdict(StrEnum):
    """The outcomes of one rule on one operation, the most severe first."""

    FAILED = "failed"
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


class Inconclusive(Exception):
    """Raised where a check cannot judge, because of the server or the target; neither passed nor failed.
    `cells` are of what was judged before, if known; the `exchanges` show why."""

    def __init__(self, why: Unclear, *exchanges: Exchange) -> None:
        super().__init__(why.reason)
        self.why = why.of(*exchanges) if exchanges else why
        # Lanes forget exchanges to which nothing refers.
        self.exchanges = exchanges
        self.cells: list[Cell] = []


class NotApplicable(Exception):
    """The target file declares that what a check needs is absent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InternalError(Exception):
    """An error of the suite itself, never blamed on the server."""
