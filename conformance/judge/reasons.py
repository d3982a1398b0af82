"""What a request must be answered: refused for certain reasons, accepted, or either."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.contract.rules import RULES, Level


@dataclass(frozen=True)
class Reason:
    """Why a request must be refused or accepted: the rule that says so and the request in a few words.

    `statuses` are those that the refusal may have (any 4xx if empty); `type` and `code` those of its error.
    """

    rule: str
    what: str
    statuses: tuple[int, ...] = ()
    type: str = ""
    code: str = ""

    @property
    def level(self) -> Level:
        return RULES[self.rule].level


@dataclass
class ExpectedAnswer:
    """What the specification says of one request's answer.

    Any of `refusals` suffices for a refusal; with none, `accepted` may say why it must succeed. With neither
    it is open. `authenticates` is the rule by which the request must pass authentication ("" if that is open,
    too)."""

    refusals: list[Reason] = field(default_factory=list)
    accepted: Reason | None = None
    authenticates: str = "auth.accepts-valid"

    @property
    def refusal(self) -> Reason | None:
        """The reason to judge a refusal by: the firmest, and the only one that may name status and error."""
        if not self.refusals:
            return None
        first = min(self.refusals, key=lambda reason: list(Level).index(reason.level))
        if len(self.refusals) == 1:
            return first
        return Reason(first.rule, first.what)
