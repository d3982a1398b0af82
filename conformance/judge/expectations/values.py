"""Expectations of single values in answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from conformance.contract import timestamps
from conformance.judge import comparison
from conformance.judge.comparison import shown
from conformance.judge.expectations.expectation import At, CannotTell, Sent, predicate, read
from conformance.wire.messages import MISSING, Exchange

__all__ = ["At", "Equal", "Later", "Member", "Sent"]


def _same_ids(got: Any, expected: Any) -> bool:
    return comparison.identifiers(got) is not None and comparison.identifiers(got) == sorted(expected)


def _shows(got: Any, sent: Any) -> bool:
    """True if a value is shown as it was sent; objects may show more."""
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return all(comparison.same(got.get(name), value) for name, value in sent.items())
    return comparison.same(got, sent)


#: Comparisons of two values: as JSON, amounts, account ids, an array of resources with one of ids, or as a
#: value that was sent, of which an object may show more members.
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "json": comparison.same,
    "amount": comparison.same_amount,
    "account": comparison.same_account,
    "ids": _same_ids,
    "sent": _shows,
}


def _known(operand: Any, exchanges: Sequence[Exchange]) -> Any:
    """Value to compare with. Raises CannotTell where the answer that should show it was refused."""
    value = read(operand, exchanges)
    if value is MISSING and isinstance(operand, At) and not exchanges[operand.of].succeeded:
        raise CannotTell(f"the other request was answered {exchanges[operand.of].described()}")
    return value


def _equality(what: str, got: Any, to: Any, by: str, otherwise: Any) -> str:
    if by == "ids":
        return f"{what}: exactly the {len(to)} expected ones"
    return what if isinstance(to, (At, Sent)) else f"{what} {shown(to)}"


@predicate(name="equal", sentence=_equality)
def Equal(
    exchanges: Sequence[Exchange], got: Any = None, to: Any = None, by: str = "json", otherwise: Any = MISSING
) -> str:
    """A value is the expected one: a literal, or a member of another answer or request.

    `by` is a comparison (see COMPARED). With `otherwise`, that value is as good.
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


@predicate(name="member", sentence=_membership)
def Member(exchanges: Sequence[Exchange], name: str = "", to: Any = None, otherwise: Any = MISSING) -> str:
    """A documented member of an answer means the same as a value, or as `otherwise` (section 2).

    Null and no such member are one. A value that is not of the documented form is judged by another rule.
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


@predicate(name="later", sentence=_lateness)
def Later(exchanges: Sequence[Exchange], got: Any = None, than: Any = None) -> str:
    """A timestamp is later than another one."""
    text, before = read(got, exchanges), read(than, exchanges)
    new, old = timestamps.parse(text), timestamps.parse(before)
    if new is None or old is None:
        raise CannotTell("an answer shows no timestamp", "format.timestamp")
    shows = timestamps.places(text)
    if shows < timestamps.places(before) and 0 < old - new < Fraction(1, 10**shows):
        # Cut to fewer digits than before, a later time looks like this as well.
        raise CannotTell("a timestamp in fewer digits than before, which show no difference")
    return "" if new > old else shown(text)
