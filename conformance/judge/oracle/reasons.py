"""Reasons why a request must be refused, accepted, or pass authentication."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from conformance.contract.rules import RULES, Level
from conformance.judge.expectations import Answered, Expectation, Refused, Status
from conformance.judge.expectations.expectation import Predicate


@dataclass(frozen=True)
class Reason:
    """A rule's demand on the answer to a request, described by `what`.

    `demand` is the predicate: Refused, Accepted, Authenticated (any answer but an authentication error) or
    Answered (any status below 500). `statuses` are those of a refusal (empty: any 4xx), or allowed in
    addition to those below 500; `type` and `code` are the refusal's (empty: any).
    """

    rule: str
    what: str
    statuses: tuple[int, ...] = ()
    type: str = ""
    code: str = ""
    demand: Predicate[Any] = Refused

    @property
    def level(self) -> Level:
        return RULES[self.rule].level

    @property
    def expectation(self) -> Expectation:
        """Expectation that judges the answer."""
        return _expectation(self)


@functools.lru_cache(1024)
def _expectation(reason: Reason) -> Expectation:
    what, statuses = reason.what, reason.statuses
    if reason.demand is Answered:
        return Answered(what, also=list(statuses))
    if reason.demand is not Refused:
        return reason.demand(what)
    if len(statuses) > 1:
        return Status(what, statuses)
    return Refused(what, statuses[0] if statuses else 0, reason.type, reason.code)
