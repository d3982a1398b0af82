"""Reasons why a request must be refused, accepted or let through authentication: what the oracle answers
in."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum

from conformance.contract.rules import RULES, Level
from conformance.judge.expectations import Accepted, Answered, Authenticated, Expectation, Refused, Status


class Disagreement(AssertionError):
    """A row of a table names a rule that the oracle does not: one of the two is wrong, not the server."""


class Kind(Enum):
    """Demand of a reason on the answer: a refusal (4xx), a 2xx status, anything but an authentication error,
    or any status below 500."""

    REFUSED = "refused"
    ACCEPTED = "accepted"
    AUTHENTICATED = "authenticated"
    ANSWERED = "answered"


@dataclass(frozen=True)
class Reason:
    """A rule that says something of a request's answer, and the request in a few words.

    `statuses` are those that a refusal may have (any 4xx if empty), or that an answer may have beside those
    below 500; `type` and `code` are those of the refusal's error (any if empty).
    """

    rule: str
    what: str
    statuses: tuple[int, ...] = ()
    type: str = ""
    code: str = ""
    kind: Kind = Kind.REFUSED

    @property
    def level(self) -> Level:
        return RULES[self.rule].level

    @property
    def section(self) -> tuple[str, ...]:
        """The sections of the specification that state the rule."""
        return RULES[self.rule].section

    @property
    def expectation(self) -> Expectation:
        """The expectation that judges the answer."""
        return _expectation(self)

    @property
    def sentence(self) -> str:
        """Sentence for people about the expected answer."""
        return self.expectation.expected


@functools.lru_cache(1024)
def _expectation(reason: Reason) -> Expectation:
    what, statuses = reason.what, reason.statuses
    if reason.kind is Kind.ACCEPTED:
        return Accepted(what)
    if reason.kind is Kind.AUTHENTICATED:
        return Authenticated(what)
    if reason.kind is Kind.ANSWERED:
        return Answered(what, also=list(statuses))
    if len(statuses) > 1:
        return Status(what, statuses)
    return Refused(what, statuses[0] if statuses else 0, reason.type, reason.code)
