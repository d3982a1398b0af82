"""Expectations of several answers together: the same again, unchanged, at most one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.judge.comparison import differences, show, shown
from conformance.judge.expectations.answers import unusable
from conformance.judge.expectations.base import HOLDS, CannotTell, Expectation, Outcome, outcome
from conformance.target.file import Target
from conformance.wire.messages import Exchange


def difference(first: Exchange, answer: Exchange) -> str:
    """How an answer differs from an earlier one to the same request, in a few words; "" where its status and
    its documented members are the same."""
    if answer.status != first.status:
        return answer.described()
    different = differences(first.operation or "", answer.document, first.document)
    if not different:
        return ""
    names = [name for name, _, _ in different[:3]]
    if names == [""]:
        return f"{answer.described()}, another one"
    return f"{answer.status} with another {', '.join(names)}: {shown(different[0][1])}"


@dataclass(frozen=True)
class SameAnswer(Expectation, kind="same-answer"):
    """The second exchange is answered as the first one was: its status and the same JSON body."""

    @property
    def expected(self) -> str:
        return f"{self.what}: the original response, with the same status and JSON body"

    @property
    def of_effects(self) -> bool:
        return True

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        first, answer = exchanges[:2]
        if not first.succeeded:
            raise CannotTell(f"the first request was answered {first.described()}")
        if reason := unusable(answer):
            raise reason
        got = difference(first, answer)
        whole = answer if answer.status != first.status else None
        return Outcome(not got, got, answer=whole) if got else HOLDS


@dataclass(frozen=True)
class SameAmongAccepted(Expectation, kind="same-among-accepted"):
    """Of simultaneous requests with one key and body, all that are answered 2xx have one answer."""

    @property
    def expected(self) -> str:
        return f"{self.what}: the same response for each"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        accepted = [at for at, exchange in enumerate(exchanges) if exchange.succeeded]
        if not accepted:
            raise CannotTell("none of the requests was accepted")
        for at in accepted[1:]:
            first, other = exchanges[accepted[0]], exchanges[at]
            if got := difference(first, other):
                return outcome(f"{first.described()} and {got}", accepted[0], at)
        return HOLDS


@dataclass(frozen=True)
class Unchanged(Expectation, kind="unchanged"):
    """Two looks at one resource, the earlier one first, show the same documented members.

    `but` names members that may have changed. Further exchanges are evidence only.
    """

    but: Sequence[str] = ()

    @property
    def expected(self) -> str:
        return f"{self.what}: nothing changed"

    @property
    def of_effects(self) -> bool:
        return True

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        before, after = exchanges[:2]
        for look in (before, after):
            if not look.succeeded:
                raise CannotTell(f"{look.operation} was answered {look.described()}")
        changed = differences(after.operation or "", after.document, before.document, but=self.but)
        told = (f"{name or 'the answer'} {show(was)} is now {shown(now)}" for name, now, was in changed)
        return outcome("; ".join(told))


@dataclass(frozen=True)
class AtMostOne(Expectation, kind="at-most-one"):
    """Of the exchanges at most one gets through, whichever it is.

    `through` is "authentication" (not refused by it) or "acceptance" (2xx). Answers that say nothing do not
    count; with fewer than two that do, it cannot be told.
    """

    through: str = "acceptance"

    @property
    def expected(self) -> str:
        done = "passes authentication" if self.through == "authentication" else "is answered 2xx"
        return f"{self.what}: at most one {done}"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        answered = [at for at, exchange in enumerate(exchanges) if not unusable(exchange)]
        through = [at for at in answered if self._through(exchanges[at])]
        if len(answered) < 2:
            raise CannotTell("fewer than two of the requests were answered")
        return outcome(f"{len(through)} did" if len(through) > 1 else "", *through[:3])

    def _through(self, exchange: Exchange) -> bool:
        if self.through == "acceptance":
            return exchange.succeeded
        # 425: one with the same nonce is still under way.
        return not exchange.refused_authentication and exchange.status != 425
