"""Reasons why a request must be refused, accepted, or pass authentication."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.contract.rules import RULES, Level
from conformance.judge import outcomes
from conformance.judge.outcomes import Demand, Judgement
from conformance.wire.messages import Exchange


@dataclass(frozen=True)
class Reason:
    """A rule's demand on the answer to a request, described by `what`.

    `statuses` are those of a refusal (empty: any 4xx), or allowed in addition to those below 500; `type` and
    `code` are the refusal's (empty: any).
    """

    rule: str
    what: str
    statuses: tuple[int, ...] = ()
    type: str = ""
    code: str = ""
    demand: Demand = Demand.REFUSED

    @property
    def level(self) -> Level:
        return RULES[self.rule].level

    def judge(self, answer: Exchange) -> Judgement:
        """Judges the answer to the request."""
        match self.demand:
            case Demand.ACCEPTED:
                return outcomes.accepted(self.what, answer)
            case Demand.AUTHENTICATED:
                return outcomes.authenticated(self.what, answer)
            case Demand.ANSWERED:
                return outcomes.answered(self.what, answer, also=self.statuses)
        if len(self.statuses) > 1:
            return outcomes.with_status(self.what, answer, self.statuses)
        status = self.statuses[0] if self.statuses else 0
        return outcomes.refused(self.what, answer, status, self.type, self.code)
