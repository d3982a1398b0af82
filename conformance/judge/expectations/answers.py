"""Expectations of one answer as a whole: refused, accepted, authenticated, of a certain status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.contract.operations import response_problems, response_rules
from conformance.judge.expectations.base import CannotTell, Expectation, Outcome, by_answer, outcome
from conformance.target.file import Target
from conformance.wire.messages import Exchange

#: What an expectation of a form comes to where there is nothing that has it.
NOTHING_SHOWN = "no answer holds a value that the rule is about"


def unusable(exchange: Exchange) -> CannotTell | None:
    """Why an answer says nothing about the rule at hand; None where it does."""
    probe = exchange.purpose or f"{exchange.method} {exchange.call.target}"[:120]
    if exchange.throttled:
        return CannotTell(f"{probe} was still answered {exchange.status} after waiting")
    if exchange.status is None or exchange.status >= 500:
        cause = "" if exchange.unsent else "http.no-server-error"
        return CannotTell(f"{probe} was answered {exchange.described()}", cause)
    return None


@dataclass(frozen=True)
class _Answer(Expectation):
    """An expectation of one answer, which is left alone where it says nothing."""

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        exchange = exchanges[0]
        if reason := unusable(exchange):
            raise reason
        return by_answer(self._fits(exchange), exchange)

    def _fits(self, exchange: Exchange) -> bool:
        raise TypeError(f"{type(self).__name__} does not say how it judges")


@dataclass(frozen=True)
class Refused(_Answer, kind="refused"):
    """Refused with a status (any 4xx if 0), and with this error type and code where they are given."""

    status: int = 0
    type: str = ""
    code: str = ""

    @property
    def expected(self) -> str:
        if not self.type:
            return f"{self.what}: " + (str(self.status) if self.status else "a refusal (4xx)")
        named = f"{self.type}/{self.code}" if self.code else self.type
        return f"{self.what}: {self.status or 'any 4xx'} {named}"

    def _fits(self, exchange: Exchange) -> bool:
        good = exchange.status == self.status if self.status else exchange.refused
        good = good and self.type in ("", exchange.error_type)
        return good and self.code in ("", exchange.error_code)


@dataclass(frozen=True)
class RefusedOrIgnored(_Answer, kind="refused-or-ignored"):
    """Refused; or accepted, where the expectation is not to be judged by the answer alone."""

    @property
    def expected(self) -> str:
        return f"{self.what}: ignored, or refused (4xx)"

    def _fits(self, exchange: Exchange) -> bool:
        return exchange.refused or exchange.succeeded


@dataclass(frozen=True)
class Status(_Answer, kind="status"):
    """Answered with one of these statuses."""

    statuses: Sequence[int] = ()

    @property
    def expected(self) -> str:
        return f"{self.what}: status {' or '.join(map(str, self.statuses))}"

    def _fits(self, exchange: Exchange) -> bool:
        return exchange.status in self.statuses


@dataclass(frozen=True)
class Authenticated(_Answer, kind="authenticated"):
    """Passed authentication, whatever it was answered afterwards."""

    @property
    def expected(self) -> str:
        return f"{self.what}: accepted by authentication"

    def _fits(self, exchange: Exchange) -> bool:
        return not exchange.refused_authentication


@dataclass(frozen=True)
class Accepted(_Answer, kind="accepted"):
    """Answered 2xx."""

    @property
    def expected(self) -> str:
        return f"{self.what}: accepted (2xx)"

    def _fits(self, exchange: Exchange) -> bool:
        return exchange.succeeded


@dataclass(frozen=True)
class Documented(Expectation, kind="documented"):
    """The body of no 2xx answer breaks a part of its schema that a rule states; `what` is the sentence.

    Where none of them shows a value of that part, it cannot be told."""

    rule: str = ""
    operation: str = ""

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        for at, exchange in enumerate(exchanges):
            if not exchange.succeeded:
                raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
            problems = response_problems(self.operation, exchange.document)
            broken = [problem for problem in problems if problem.rule == self.rule]
            if broken:
                told = (f"{problem.pointer or 'the body'} {problem.message}" for problem in broken[:5])
                return outcome("; ".join(told), at)
        if not any(self.rule in response_rules(self.operation, exchange.document) for exchange in exchanges):
            raise CannotTell(NOTHING_SHOWN)
        return outcome("")


@dataclass(frozen=True)
class Answered(Expectation, kind="answered"):
    """Answered with a status below 500, whatever it is, or with one of `also`; 2xx or 4xx if `documented`."""

    documented: bool = False
    also: Sequence[int] = ()

    @property
    def expected(self) -> str:
        return f"{self.what}: " + (
            "a 2xx or 4xx answer" if self.documented else "an answer with a status below 500"
        )

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        exchange = exchanges[0]
        if exchange.throttled:
            raise CannotTell(f"{exchange.purpose} was still answered {exchange.status} after waiting")
        if exchange.unsent:
            raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
        below = exchange.status is not None and (exchange.status < 500 or exchange.status in self.also)
        fits = exchange.succeeded or exchange.refused
        return by_answer(fits if self.documented else below, exchange)
