"""Expectations of one answer, of single values in answers, and of several answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from conformance.contract import timestamps
from conformance.contract.operations import response_problems, response_rules
from conformance.judge import comparison
from conformance.judge.comparison import differences, show, shown
from conformance.judge.expectations.expectation import (
    HOLDS,
    At,
    CannotTell,
    Outcome,
    Sent,
    by_answer,
    outcome,
    predicate,
    read,
)
from conformance.judge.outcomes import NOTHING_SHOWN, difference, unusable
from conformance.wire.messages import MISSING, Exchange


def _usable(exchanges: Sequence[Exchange]) -> Exchange:
    """The first exchange. Raises CannotTell if it says nothing about a rule."""
    exchange = exchanges[0]
    if reason := unusable(exchange):
        raise CannotTell(reason.reason, reason.cause)
    return exchange


def _refusal(what: str, status: int, type: str, code: str) -> str:
    if not type:
        return f"{what}: " + (str(status) if status else "a refusal (4xx)")
    return f"{what}: {status or 'any 4xx'} " + (f"{type}/{code}" if code else type)


@predicate(sentence=_refusal)
def Refused(exchanges: Sequence[Exchange], status: int = 0, type: str = "", code: str = "") -> Outcome:
    """Refused with a status (0: any 4xx), and an error type and code if given."""
    exchange = _usable(exchanges)
    good = exchange.status == status if status else exchange.refused
    good = good and type in ("", exchange.error_type) and code in ("", exchange.error_code)
    return by_answer(good, exchange)


@predicate(sentence="{what}: ignored, or refused (4xx)")
def RefusedOrIgnored(exchanges: Sequence[Exchange]) -> Outcome:
    """Refused or accepted; whether the request was ignored is judged elsewhere."""
    exchange = _usable(exchanges)
    return by_answer(exchange.refused or exchange.succeeded, exchange)


def _statuses(what: str, statuses: Sequence[int]) -> str:
    return f"{what}: status {' or '.join(map(str, statuses))}"


@predicate(sentence=_statuses)
def Status(exchanges: Sequence[Exchange], statuses: Sequence[int] = ()) -> Outcome:
    """Answered with one of these statuses."""
    exchange = _usable(exchanges)
    return by_answer(exchange.status in statuses, exchange)


@predicate(sentence="{what}: accepted by authentication")
def Authenticated(exchanges: Sequence[Exchange]) -> Outcome:
    """Passed authentication, whatever the answer; a 401 of another error type cannot be told."""
    exchange = _usable(exchanges)
    if exchange.refused_otherwise:
        raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
    return by_answer(not exchange.refused_authentication, exchange)


@predicate(sentence="{what}: accepted (2xx)")
def Accepted(exchanges: Sequence[Exchange]) -> Outcome:
    """Answered 2xx."""
    exchange = _usable(exchanges)
    return by_answer(exchange.succeeded, exchange)


@predicate
def Documented(exchanges: Sequence[Exchange], rule: str, operation: str) -> Outcome:
    """The bodies of 2xx answers satisfy the parts of their schema that belong to a rule.

    It cannot be told if none of them has a value there."""
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


@predicate(sentence=_answer)
def Answered(exchanges: Sequence[Exchange], documented: bool = False, also: Sequence[int] = ()) -> Outcome:
    """Answered with a status below 500 or in `also`; if `documented`, with 2xx or 4xx."""
    exchange = exchanges[0]
    if exchange.throttled:
        raise CannotTell(f"{exchange.purpose} was still answered {exchange.status} after waiting")
    if exchange.unsent:
        raise CannotTell(f"{exchange.purpose} was answered {exchange.described()}")
    below = exchange.status is not None and (exchange.status < 500 or exchange.status in also)
    fits = exchange.succeeded or exchange.refused
    return by_answer(fits if documented else below, exchange)


# ---------------------------------------------------------------------- single values


def _shows(got: Any, sent: Any) -> bool:
    """True if a value is shown as sent; objects may have more members."""
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return all(comparison.same(got.get(name), value) for name, value in sent.items())
    return comparison.same(got, sent)


#: Comparisons of two values: JSON, amounts, account ids, an array of resources with their ids, or a value
#: with the one sent.
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "json": comparison.same,
    "amount": comparison.same_amount,
    "account": comparison.same_account,
    "ids": lambda got, expected: comparison.identifiers(got) == sorted(expected),
    "sent": _shows,
}


def _known(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """Value to compare with. Raises CannotTell if the answer that should show it did not succeed."""
    value = read(operand, exchanges)
    if value is MISSING and isinstance(operand, At) and not exchanges[operand.of].succeeded:
        raise CannotTell(f"the other request was answered {exchanges[operand.of].described()}")
    return value


def _equality(what: str, got: Any, to: Any, by: str, otherwise: Any) -> str:
    if by == "ids":
        return f"{what}: exactly the {len(to)} expected ones"
    return what if isinstance(to, (At, Sent)) else f"{what} {shown(to)}"


@predicate(sentence=_equality)
def Equal(
    exchanges: Sequence[Exchange], got: Any = None, to: Any = None, by: str = "json", otherwise: Any = MISSING
) -> str:
    """A value equals a literal, or a member of another answer or request; or equals `otherwise`.

    `by` is a key of COMPARED.
    """
    alike = COMPARED[by]
    value = read(got, exchanges)
    good = alike(value, _known(to, exchanges))
    if not good and otherwise is not MISSING:
        good = alike(value, read(otherwise, exchanges))
    if by == "ids" and (ids := comparison.identifiers(value)) is not None:
        return "" if good else f"{len(ids)}, of which {len(set(ids) & set(to))} are of them"
    return "" if good else shown(value)


def _membership(what: str, name: str, to: Any, otherwise: Any) -> str:
    return f"{what}: {name}" + ("" if isinstance(to, (At, Sent)) else f" {shown(to)}")


@predicate(sentence=_membership)
def Member(exchanges: Sequence[Exchange], name: str = "", to: Any = None, otherwise: Any = MISSING) -> str:
    """A documented member of an answer is equivalent to a value, or to `otherwise` (section 2).

    Null and a missing member are equivalent. Malformed values are judged by the format's own rule.
    """
    exchange = exchanges[0]
    operation, value = exchange.operation or "", exchange.get(name)
    expected, second = _known(to, exchanges), read(otherwise, exchanges)
    expected = None if expected is MISSING else expected
    good = comparison.alike(operation, name, value, expected)
    good = good or (expected is None and value is MISSING)
    good = good or (second is not MISSING and comparison.alike(operation, name, value, second))
    if not good and (broken := comparison.broken_form(exchange, name)):
        raise CannotTell(f"{exchange.purpose}: {name} {broken.message}", broken.rule)
    return "" if good else shown(value)


def _lateness(what: str, got: Any, than: Any) -> str:
    return f"{what} after " + ("before" if isinstance(than, (At, Sent)) else shown(than))


@predicate(sentence=_lateness)
def Later(exchanges: Sequence[Exchange], got: Any = None, than: Any = None) -> str:
    """A timestamp is later than another."""
    text, before = read(got, exchanges), read(than, exchanges)
    new, old = timestamps.parse(text), timestamps.parse(before)
    if new is None or old is None:
        raise CannotTell("an answer shows no timestamp", "format.timestamp")
    shows = timestamps.places(text)
    if shows < timestamps.places(before) and 0 < old - new < Fraction(1, 10**shows):
        # A later time truncated to fewer decimal places looks the same.
        raise CannotTell("a timestamp in fewer digits than before, which show no difference")
    return "" if new > old else shown(text)


# ---------------------------------------------------------------------- several answers


@predicate(sentence="{what}: the original response, with the same status and JSON body")
def SameAnswer(exchanges: Sequence[Exchange]) -> Outcome:
    """The second exchange has the status and JSON body of the first."""
    first, answer = exchanges[0], exchanges[1]
    if not first.succeeded:
        raise CannotTell(f"the first request was answered {first.described()}")
    if reason := unusable(answer):
        raise CannotTell(reason.reason, reason.cause)
    got = difference(first, answer)
    return Outcome(False, got, shows=(1, 0)) if got else HOLDS


@predicate(sentence="{what}: the same response for each")
def SameAmongAccepted(exchanges: Sequence[Exchange]) -> Outcome:
    """All 2xx answers to simultaneous requests with one key and body are equal."""
    accepted = [at for at, exchange in enumerate(exchanges) if exchange.succeeded]
    if not accepted:
        raise CannotTell("none of the requests was accepted")
    for at in accepted[1:]:
        first, other = exchanges[accepted[0]], exchanges[at]
        if got := difference(first, other):
            return outcome(f"{first.described()} and {got}", accepted[0], at)
    return HOLDS


@predicate(sentence="{what}: nothing changed")
def Unchanged(exchanges: Sequence[Exchange], but: Sequence[str] = ()) -> str:
    """Two reads of a resource, the earlier first, show the same documented members, except those of `but`.

    Further exchanges are evidence only.
    """
    before, after = exchanges[0], exchanges[1]
    for look in (before, after):
        if not look.succeeded:
            raise CannotTell(f"{look.operation} was answered {look.described()}")
    changed = differences(after.operation or "", after.document, before.document, but=but)
    told = (f"{name or 'the answer'} {show(was)} is now {shown(now)}" for name, now, was in changed)
    return "; ".join(told)


def _single(what: str, through: str) -> str:
    done = "passes authentication" if through == "authentication" else "is answered 2xx"
    return f"{what}: at most one {done}"


@predicate(sentence=_single)
def AtMostOne(exchanges: Sequence[Exchange], through: str = "acceptance") -> Outcome:
    """At most one of the exchanges passes "authentication", or "acceptance" (2xx).

    Unusable answers do not count; with fewer than two usable ones it cannot be told.
    """
    answered = [at for at, exchange in enumerate(exchanges) if not unusable(exchange)]
    got_through = [at for at in answered if _through(exchanges[at], through)]
    if len(answered) < 2:
        raise CannotTell("fewer than two of the requests were answered")
    return outcome(f"{len(got_through)} did" if len(got_through) > 1 else "", *got_through[:3])


def _through(exchange: Exchange, through: str) -> bool:
    if through == "acceptance":
        return exchange.succeeded
    # 425: a request with the same nonce is in progress.
    return not exchange.refused_authentication and exchange.status != 425
