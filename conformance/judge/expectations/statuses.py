"""Expectations of one answer as a whole: refused, accepted, authenticated, of a certain status."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.contract.operations import response_problems, response_rules
from conformance.judge.expectations.expectation import CannotTell, Outcome, by_answer, outcome, predicate
from conformance.wire.messages import Exchange

#: The reason where no answer shows a value of the form that a rule states.
NOTHING_SHOWN = "no answer holds a value that the rule is about"


def unusable(exchange: Exchange, *, documented: bool = True) -> CannotTell | None:
    """The reason that an answer says nothing about a rule: throttled, not answered, 5xx; None if it does.

    Where the specification does not have the path or method, 501 is an answer (RFC 9110, 15.6.2)."""
    probe = exchange.purpose or f"{exchange.method} {exchange.call.target}"[:120]
    if exchange.throttled:
        return CannotTell(f"{probe} was still answered {exchange.status} after waiting")
    if exchange.status == 501 and not documented:
        return None
    if exchange.status is None or exchange.status >= 500:
        cause = "" if exchange.unsent else "http.no-server-error"
        return CannotTell(f"{probe} was answered {exchange.described()}", cause)
    return None


def _usable(exchanges: Sequence[Exchange]) -> Exchange:
    """The first exchange. Raises CannotTell where it says nothing about a rule."""
    exchange = exchanges[0]
    if reason := unusable(exchange):
        raise reason
    return exchange


def _refusal(what: str, status: int, type: str, code: str) -> str:
    if not type:
        return f"{what}: " + (str(status) if status else "a refusal (4xx)")
    return f"{what}: {status or 'any 4xx'} " + (f"{type}/{code}" if code else type)


@predicate(name="refused", sentence=_refusal)
def Refused(exchanges: Sequence[Exchange], status: int = 0, type: str = "", code: str = "") -> Outcome:
    """Refused with a status (any 4xx if 0), and with this error type and code where they are given."""
    exchange = _usable(exchanges)
    good = exchange.status == status if status else exchange.refused
    good = good and type in ("", exchange.error_type) and code in ("", exchange.error_code)
    return by_answer(good, exchange)


@predicate(name="refused-or-ignored", sentence="{what}: ignored, or refused (4xx)")
def RefusedOrIgnored(exchanges: Sequence[Exchange]) -> Outcome:
    """Refused; or accepted, where the answer alone is not to be judged."""
    exchange = _usable(exchanges)
    return by_answer(exchange.refused or exchange.succeeded, exchange)


def _statuses(what: str, statuses: Sequence[int]) -> str:
    return f"{what}: status {' or '.join(map(str, statuses))}"


@predicate(name="status", sentence=_statuses)
def Status(exchanges: Sequence[Exchange], statuses: Sequence[int] = ()) -> Outcome:
    """Answered with one of these statuses."""
    exchange = _usable(exchanges)
    return by_answer(exchange.status in statuses, exchange)


@predicate(name="authenticated", sentence="{what}: accepted by authentication")
def Authenticated(exchanges: Sequence[Exchange]) -> Outcome:
    """Passed authentication, with any answer afterwards."""
    exchange = _usable(exchanges)
    return by_answer(not exchange.refused_authentication, exchange)


@predicate(name="accepted", sentence="{what}: accepted (2xx)")
def Accepted(exchanges: Sequence[Exchange]) -> Outcome:
    """Answered 2xx."""
    exchange = _usable(exchanges)
    return by_answer(exchange.succeeded, exchange)


@predicate(name="documented")
def Documented(exchanges: Sequence[Exchange], rule: str, operation: str) -> Outcome:
    """The body of no 2xx answer breaks the part of its schema that a rule states.

    Where none of them shows a value of that part, it cannot be told."""
    for at, exchange in enumerate(exchanges):
        if not exchange.succeeded:
            raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
        problems = response_problems(operation, exchange.document)
        broken = [problem for problem in problems if problem.rule == rule]
        if broken:
            told = (f"{problem.pointer or 'the body'} {problem.message}" for problem in broken[:5])
            return outcome("; ".join(told), at)
    if not any(rule in response_rules(operation, exchange.document) for exchange in exchanges):
        raise CannotTell(NOTHING_SHOWN)
    return outcome("")


def _answer(what: str, documented: bool, also: Sequence[int]) -> str:
    return f"{what}: " + ("a 2xx or 4xx answer" if documented else "an answer with a status below 500")


@predicate(name="answered", sentence=_answer)
def Answered(exchanges: Sequence[Exchange], documented: bool = False, also: Sequence[int] = ()) -> Outcome:
    """Answered with any status below 500, or with one of `also`; 2xx or 4xx if `documented`."""
    exchange = exchanges[0]
    if exchange.throttled:
        raise CannotTell(f"{exchange.purpose} was still answered {exchange.status} after waiting")
    if exchange.unsent:
        raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
    below = exchange.status is not None and (exchange.status < 500 or exchange.status in also)
    fits = exchange.succeeded or exchange.refused
    return by_answer(fits if documented else below, exchange)
