"""Judgements of answers: what is expected in words, what was got instead, and the exchanges that show it.

Each function returns them for `expect`:

    at.expect(rule, *same_answer("the key again", first, again))

What was got is empty if the expectation holds, and Unclear if the answers do not show it: a request was
throttled, lost or answered 5xx. The decisive exchange comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from conformance._records import says
from conformance._text import told_apart
from conformance.contract import timestamps
from conformance.contract.operations import response_problems, response_rules
from conformance.judge import comparison
from conformance.judge.comparison import differences, show
from conformance.wire.messages import MISSING, Exchange

#: Reason if no answer has a value that a rule is about.
NOTHING_SHOWN = "no answer holds a value that the rule is about"


class Demand(StrEnum):
    """The kind of answer that a rule demands; ANSWERED is any status below 500."""

    REFUSED = "refused"
    ACCEPTED = "accepted"
    AUTHENTICATED = "authenticated"
    ANSWERED = "answered"

    @property
    def acceptance(self) -> bool:
        """True if it is that the request is accepted, by authentication at least."""
        return self in (Demand.ACCEPTED, Demand.AUTHENTICATED)


class Unclear(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answers do not show whether an expectation holds: a look was spoilt, a request was not answered, or, as
    the server's `choice`, there is nothing to expect."""

    reason: Annotated[str, says("Why they do not.")]
    cause: Annotated[str, says("The rule whose violation may be behind it.")] = ""
    remedy: Annotated[str, says("What the user can do so that it can be judged.")] = ""
    exchanges: Annotated[tuple[int, ...], says("The exchanges behind it, by number.")] = ()
    choice: Annotated[
        bool,
        says("The server, or the target file, chose what the rule leaves open: no gap beside other probes."),
    ] = False

    def because(self, reason: str) -> Unclear:
        """It with another reason."""
        return replace(self, reason=reason)

    def of(self, *exchanges: Exchange) -> Unclear:
        """It with the exchanges that show it."""
        return replace(self, exchanges=tuple(exchange.number for exchange in exchanges))


#: What was got: empty if the expectation holds.
Got = str | Unclear

#: What is expected, what was got, and the exchanges that show it.
Judgement = tuple[str, Got, *tuple[Exchange, ...]]


def good(judgement: Judgement) -> bool:
    """True if a judgement holds, or is unclear."""
    return not isinstance(judgement[1], str) or not judgement[1]


def unusable(exchange: Exchange, *, documented: bool = True) -> Unclear | None:
    """Reason why an answer says nothing about a rule: throttled, lost, or 5xx; None if it does.

    For undocumented paths and methods 501 is an answer (RFC 9110, 15.6.2)."""
    probe = exchange.purpose or f"{exchange.method} {exchange.call.target}"[:120]
    if exchange.throttled:
        return Unclear(f"{probe} was still answered {exchange.status} after waiting")
    if exchange.status == 501 and not documented:
        return None
    if exchange.status is None or exchange.status >= 500:
        cause = "" if exchange.unsent else "http.no-server-error"
        verb = "got" if exchange.status is None else "was answered"
        return Unclear(f"{probe} {verb} {exchange.described()}", cause)
    return None


def memberless(exchange: Exchange) -> Unclear | None:
    """Reason why an answer shows no members: it is unusable, or 2xx without a JSON object; None if it shows
    them."""
    if exchange.succeeded and not isinstance(exchange.document, dict):
        reason = f"{exchange.purpose} was answered {exchange.described()}, without a JSON object"
        return Unclear(reason, "http.success-json")
    return unusable(exchange)


def _answer(good: bool, exchange: Exchange) -> Got:
    """The answer as what was got, where it is not good."""
    return unusable(exchange) or ("" if good else exchange.described())


def refused(what: str, exchange: Exchange, status: int = 0, type: str = "", code: str = "") -> Judgement:
    """Refused with a status (0: any 4xx), and an error type and code if given."""
    if type:
        expected = f"{what}: {status or 'any 4xx'} " + (f"{type}/{code}" if code else type)
    else:
        expected = f"{what}: " + (str(status) if status else "a refusal (4xx)")
    good = exchange.status == status if status else exchange.refused
    good = good and type in ("", exchange.error_type) and code in ("", exchange.error_code)
    return expected, _answer(good, exchange), exchange


def accepted(what: str, exchange: Exchange) -> Judgement:
    """Answered 2xx."""
    return f"{what}: accepted (2xx)", _answer(exchange.succeeded, exchange), exchange


def refused_or_ignored(what: str, exchange: Exchange) -> Judgement:
    """Refused or accepted; whether the request was ignored is judged elsewhere."""
    expected = f"{what}: ignored, or refused (4xx)"
    return expected, _answer(exchange.refused or exchange.succeeded, exchange), exchange


def with_status(what: str, exchange: Exchange, statuses: Sequence[int]) -> Judgement:
    """Answered with one of these statuses."""
    expected = f"{what}: status {' or '.join(map(str, statuses))}"
    return expected, _answer(exchange.status in statuses, exchange), exchange


def authenticated(what: str, exchange: Exchange) -> Judgement:
    """Passed authentication, whatever the answer; a 401 of another error type is unclear."""
    expected = f"{what}: accepted by authentication"
    if exchange.refused_otherwise and not unusable(exchange):
        reason = f"{exchange.purpose} was answered {exchange.described()}"
        return expected, Unclear(reason, choice=True), exchange
    return expected, _answer(not exchange.refused_authentication, exchange), exchange


def answered(
    what: str, exchange: Exchange, *, documented: bool = False, also: Sequence[int] = ()
) -> Judgement:
    """Answered with a status below 500 or in `also`; if `documented`, with 2xx or 4xx."""
    expected = f"{what}: " + ("a 2xx or 4xx answer" if documented else "an answer with a status below 500")
    if exchange.throttled:
        return (
            expected,
            Unclear(f"{exchange.purpose} was still answered {exchange.status} after waiting"),
            exchange,
        )
    if exchange.unsent:
        return expected, Unclear(f"{exchange.purpose} was answered {exchange.described()}"), exchange
    below = exchange.status is not None and (exchange.status < 500 or exchange.status in also)
    good = exchange.succeeded or exchange.refused if documented else below
    return expected, "" if good else exchange.described(), exchange


def documented(what: str, rule: str, operation: str, exchanges: Sequence[Exchange]) -> Judgement:
    """The bodies of 2xx answers satisfy the parts of their schema that belong to a rule; unclear if none of
    them has a value there."""
    for exchange in exchanges:
        if not exchange.succeeded:
            return what, Unclear(f"{exchange.purpose} was answered {exchange.described()}"), exchange
        problems = response_problems(operation, exchange.document)
        if broken := [problem for problem in problems if problem.rule == rule]:
            got = "; ".join(f"{each.pointer or 'the body'}: {each.message}" for each in broken[:5])
            return what, got, exchange
    if not any(rule in response_rules(operation, exchange.document) for exchange in exchanges):
        return what, Unclear(NOTHING_SHOWN, choice=True), *exchanges
    return what, "", *exchanges


# ---------------------------------------------------------------------- single values


def equal(
    what: str,
    value: Any,
    expected: Any,
    *exchanges: Exchange,
    alike: Callable[[Any, Any], bool] = comparison.same,
) -> Judgement:
    """A value in the first exchange's answer equals another one, by a comparison."""
    got = memberless(exchanges[0]) or ("" if alike(value, expected) else show(value))
    return f"{what} {show(expected)}", got, *exchanges


def member(what: str, exchange: Exchange, name: str, value: Any, otherwise: Any = MISSING) -> Judgement:
    """A documented member of an answer is equivalent to a value, or to `otherwise` (section 2).

    Null and a missing member are equivalent. Malformed values are judged by the format's own rule.
    """
    expected, shows = f"{what}: {name} {show(value)}", exchange.get(name)
    wanted = [None if value is MISSING else value, *([] if otherwise is MISSING else [otherwise])]
    if reason := memberless(exchange):
        return expected, reason, exchange
    if (shows is MISSING and None in wanted) or any(
        comparison.alike(exchange.operation or "", name, shows, each) for each in wanted
    ):
        return expected, "", exchange
    if broken := comparison.broken_form(exchange, name):
        return expected, Unclear(f"{exchange.purpose}: {name} {broken.message}", broken.rule), exchange
    part, got, sent = comparison.first_difference(name, shows, value)
    return f"{what}: {part} {show(sent)}", show(got), exchange


def unless_malformed(judgement: Judgement, *values: tuple[Exchange, str]) -> Judgement:
    """A judgement; unclear where it does not hold and a value that it rests on, the member of an answer, has
    a broken form, which the form's own rule judges."""
    expected, got, *exchanges = judgement
    for source, name in values if isinstance(got, str) and got else ():
        if broken := comparison.broken_form(source, name):
            return expected, Unclear(f"{source.purpose}: {name} {broken.message}", broken.rule), source
    return expected, got, *exchanges


def later(what: str, exchange: Exchange, name: str, earlier: Exchange) -> Judgement:
    """A timestamp in an answer is later than that in an earlier one."""
    text, before = exchange.get(name), earlier.get(name)
    expected, new, old = f"{what} after {show(before)}", timestamps.parse(text), timestamps.parse(before)
    if new is None or old is None:
        shapeless = exchange if new is None else earlier
        return expected, Unclear("an answer shows no timestamp", "format.timestamp"), shapeless
    places = timestamps.places(text)
    if places < timestamps.places(before) and 0 < old - new < Fraction(1, 10**places):
        # A later time truncated to fewer decimal places looks the same.
        reason = "a timestamp in fewer digits than before, which show no difference"
        return expected, Unclear(reason), exchange
    return expected, "" if new > old else show(text), exchange


# ---------------------------------------------------------------------- several answers


def difference(first: Exchange, answer: Exchange) -> str:
    """Describes how an answer differs from an earlier one to the same request; "" if status and documented
    members are equal."""
    if answer.status != first.status:
        return answer.described()
    different = differences(first.operation or "", answer.document, first.document)
    if not different:
        return ""
    names = [name for name, _, _ in different[:3]]
    if names == [""]:
        return f"{answer.described()}, another one"
    part, *values = comparison.first_difference(*different[0])
    now, before = told_apart(*map(show, values))
    return f"{answer.status} with another {', '.join(names)}: {part} {now}, not {before}"


def same_answer(what: str, first: Exchange, again: Exchange) -> Judgement:
    """An answer has the status and JSON body of an earlier one."""
    expected = f"{what}: the original response, {first.described()}"
    if not first.succeeded:
        return expected, Unclear(f"the first request was answered {first.described()}"), first
    return expected, unusable(again) or difference(first, again), again, first


def same_among_accepted(what: str, exchanges: Sequence[Exchange]) -> Judgement:
    """All 2xx answers to simultaneous requests with one key are equal."""
    expected = f"{what}: the same response for each"
    accepted = [exchange for exchange in exchanges if exchange.succeeded]
    if not accepted:
        return expected, Unclear("none of the requests was accepted"), *exchanges
    for other in accepted[1:]:
        if got := difference(accepted[0], other):
            return expected, f"{accepted[0].status} and {got}", accepted[0], other
    return expected, "", *exchanges


def at_most_one(what: str, exchanges: Sequence[Exchange], *, authentication: bool = False) -> Judgement:
    """At most one of the exchanges is answered 2xx, or passes authentication.

    Unusable answers do not count; with fewer than two usable ones it is unclear.
    """
    expected = f"{what}: at most one {'passes authentication' if authentication else 'is answered 2xx'}"
    usable = [exchange for exchange in exchanges if not unusable(exchange)]
    if len(usable) < 2:
        return expected, Unclear("fewer than two of the requests were answered"), *exchanges
    # 425: a request with the same nonce is in progress.
    passed = [
        each
        for each in usable
        if (not each.refused_authentication and each.status != 425 if authentication else each.succeeded)
    ]
    if len(passed) > 1:
        return expected, f"{len(passed)} {'passed it' if authentication else 'were'}", *passed[:3]
    return expected, "", *exchanges
