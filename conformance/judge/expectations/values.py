"""Expectations of single values in answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from conformance.contract import timestamps
from conformance.judge import comparison
from conformance.judge.comparison import shown
from conformance.judge.expectations.base import At, CannotTell, Expectation, Outcome, Sent, outcome, read
from conformance.target.file import Target
from conformance.wire.messages import MISSING, Exchange

__all__ = ["At", "Equal", "Later", "Member", "Sent"]


def _same_ids(got: Any, expected: Any) -> bool:
    return comparison.identifiers(got) is not None and comparison.identifiers(got) == sorted(expected)


def _shows(got: Any, sent: Any) -> bool:
    """Whether a value is shown as it was sent; objects may show more."""
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return all(comparison.same(got.get(name), value) for name, value in sent.items())
    return comparison.same(got, sent)


#: How two values are compared: as JSON, amounts, account ids, an array of resources with one of ids, or as a
#: value that was sent, of which an object may show more members.
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "json": comparison.same,
    "amount": comparison.same_amount,
    "account": comparison.same_account,
    "ids": _same_ids,
    "sent": _shows,
}


def _known(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """What a value is compared with. Raises CannotTell where the answer that should show it was refused."""
    value = read(operand, exchanges)
    if value is MISSING and isinstance(operand, At) and not exchanges[operand.of].succeeded:
        raise CannotTell(f"the other request was answered {exchanges[operand.of].described()}")
    return value


@dataclass(frozen=True)
class Equal(Expectation, kind="equal"):
    """A value is the expected one: a literal, or a member of another answer or request.

    `by` is how they are compared (see COMPARED). With `otherwise`, that value is as good.
    """

    got: Any = None
    to: Any = None
    by: str = "json"
    otherwise: Any = MISSING

    @property
    def expected(self) -> str:
        if self.by == "ids":
            return f"{self.what}: exactly the {len(self.to)} expected ones"
        return self.what if isinstance(self.to, (At, Sent)) else f"{self.what} {shown(self.to)}"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        alike = COMPARED[self.by]
        got = read(self.got, exchanges)
        good = alike(got, _known(self.to, exchanges))
        if not good and self.otherwise is not MISSING:
            good = alike(got, read(self.otherwise, exchanges))
        if self.by == "ids" and (ids := comparison.identifiers(got)) is not None:
            return outcome("" if good else f"{len(ids)}, of which {len(set(ids) & set(self.to))} are of them")
        return outcome("" if good else shown(got))


@dataclass(frozen=True)
class Member(Expectation, kind="member"):
    """A documented member of an answer means the same as a value, or as `otherwise` (section 2).

    Null and no such member are one. What is not even of the documented form is another rule's business.
    """

    name: str = ""
    to: Any = None
    otherwise: Any = MISSING

    @property
    def expected(self) -> str:
        told = "" if isinstance(self.to, (At, Sent)) else f" {shown(self.to)}"
        return f"{self.what}: {self.name}{told}"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        exchange = exchanges[0]
        operation, value = exchange.operation or "", exchange.get(self.name)
        expected, second = _known(self.to, exchanges), read(self.otherwise, exchanges)
        good = comparison.alike(operation, self.name, value, expected)
        good = good or (expected is None and value is MISSING)
        good = good or (second is not MISSING and comparison.alike(operation, self.name, value, second))
        if not good and (broken := comparison.broken_form(exchange, self.name)):
            raise CannotTell(f"{self.what}: {self.name} {broken.message}", broken.rule)
        return outcome("" if good else shown(value))


@dataclass(frozen=True)
class Later(Expectation, kind="later"):
    """A timestamp is later than another one."""

    got: Any = None
    than: Any = None

    @property
    def expected(self) -> str:
        return f"{self.what} after " + ("before" if isinstance(self.than, (At, Sent)) else shown(self.than))

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        text, before = read(self.got, exchanges), read(self.than, exchanges)
        new, old = timestamps.parse(text), timestamps.parse(before)
        if new is None or old is None:
            raise CannotTell(f"{self.what}: no timestamp", "format.timestamp")
        shows = timestamps.places(text)
        if shows < timestamps.places(before) and 0 < old - new < Fraction(1, 10**shows):
            # Cut to fewer digits than before, a later time looks like this as well.
            raise CannotTell(f"{self.what}: in fewer digits than before, which show no difference")
        return outcome("" if new > old else shown(text))
