"""Expectations of several answers together: the same again, unchanged, at most one."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judge.comparison import differences, show, shown
from conformance.judge.expectations.expectation import HOLDS, CannotTell, Outcome, outcome, predicate
from conformance.judge.expectations.statuses import unusable
from conformance.wire.messages import Exchange


def difference(first: Exchange, answer: Exchange) -> str:
    """The difference of an answer from an earlier one to the same request, in a few words; "" where status
    and documented members are the same."""
    if answer.status != first.status:
        return answer.described()
    different = differences(first.operation or "", answer.document, first.document)
    if not different:
        return ""
    names = [name for name, _, _ in different[:3]]
    if names == [""]:
        return f"{answer.described()}, another one"
    return f"{answer.status} with another {', '.join(names)}: {shown(different[0][1])}"


@predicate(
    name="same-answer",
    sentence="{what}: the original response, with the same status and JSON body",
    effects=True,
)
def SameAnswer(exchanges: Sequence[Exchange]) -> Outcome:
    """The second exchange is answered as the first one was: its status and the same JSON body."""
    first, answer = exchanges[0], exchanges[1]
    if not first.succeeded:
        raise CannotTell(f"the first request was answered {first.described()}")
    if reason := unusable(answer):
        raise reason
    got = difference(first, answer)
    whole = answer if answer.status != first.status else None
    return Outcome(False, got, answer=whole) if got else HOLDS


@predicate(name="same-among-accepted", sentence="{what}: the same response for each")
def SameAmongAccepted(exchanges: Sequence[Exchange]) -> Outcome:
    """Of simultaneous requests with one key and body, all that are answered 2xx have one answer."""
    accepted = [at for at, exchange in enumerate(exchanges) if exchange.succeeded]
    if not accepted:
        raise CannotTell("none of the requests was accepted")
    for at in accepted[1:]:
        first, other = exchanges[accepted[0]], exchanges[at]
        if got := difference(first, other):
            return outcome(f"{first.described()} and {got}", accepted[0], at)
    return HOLDS


@predicate(name="unchanged", sentence="{what}: nothing changed", effects=True)
def Unchanged(exchanges: Sequence[Exchange], but: Sequence[str] = ()) -> str:
    """Two looks at one resource, the earlier one first, show the same documented members.

    `but` names members that may have changed. Further exchanges are evidence only.
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


@predicate(name="at-most-one", sentence=_single)
def AtMostOne(exchanges: Sequence[Exchange], through: str = "acceptance") -> Outcome:
    """At most one of the exchanges gets through.

    `through` is "authentication" (not refused by it) or "acceptance" (2xx). Answers that say nothing do not
    count; with fewer than two that do, it cannot be told.
    """
    answered = [at for at, exchange in enumerate(exchanges) if not unusable(exchange)]
    got_through = [at for at in answered if _through(exchanges[at], through)]
    if len(answered) < 2:
        raise CannotTell("fewer than two of the requests were answered")
    return outcome(f"{len(got_through)} did" if len(got_through) > 1 else "", *got_through[:3])


def _through(exchange: Exchange, through: str) -> bool:
    if through == "acceptance":
        return exchange.succeeded
    # 425: one with the same nonce is still under way.
    return not exchange.refused_authentication and exchange.status != 425
