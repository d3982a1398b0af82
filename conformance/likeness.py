"""Whether a resource in one answer is the one of another answer, or what was sent, member by member.

Only documented members count (section 2). What the specification leaves open is no difference: the digits
of a timestamp's fraction, the scale of an amount, `acc_` or `acct_` before an account's id, null or no
member where a destination's field does not apply, the order in which embedded destinations stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from conformance import timestamps
from conformance.contract import Problem, response_problems, response_schema
from conformance.exchange import MISSING, Exchange
from conformance.fields import documented
from conformance.rules import RULES, Level
from conformance.trial import Trial, same, show

#: Members that hold timestamps.
_INSTANTS = ("created", "updated", "initiated_at", "submitted_at", "completed_at", "failed_at")

#: Members whose value is an object, of which only the documented members count.
_NESTED = ("address", "bank_details")


def alike(operation: str, name: str, got: Any, expected: Any) -> bool:
    """Whether two values of a documented member of an operation's answer mean the same."""
    if name == "account_id" or (name == "id" and operation == "getAccountBalances"):
        return same_account(got, expected)
    if name in _INSTANTS:
        instants = timestamps.parse(got), timestamps.parse(expected)
        return instants[0] == instants[1] if None not in instants else same(got, expected)
    if name in _NESTED and isinstance(got, Mapping) and isinstance(expected, Mapping):
        members = response_schema(operation)["properties"][name]["properties"]
        return all(same(got.get(member), expected.get(member)) for member in members)
    if name == "payout_destinations":
        ids = identifiers(got), identifiers(expected)
        return ids[0] == ids[1] if None not in ids else same(got, expected)
    return same(got, expected)


def same_account(got: Any, expected: Any) -> bool:
    """Whether two texts are one account's id; both prefixes appear in the specification."""
    if not isinstance(got, str) or not isinstance(expected, str):
        return False
    bare = [one.removeprefix("acct_").removeprefix("acc_") for one in (got, expected)]
    return bare[0] == bare[1]


def same_amount(got: Any, expected: Any) -> bool:
    """Whether two decimal strings have the same value."""
    try:
        return isinstance(got, str) and isinstance(expected, str) and Decimal(got) == Decimal(expected)
    except InvalidOperation:
        return False


def identifiers(value: Any) -> list[str] | None:
    """The ids in an array of resources, sorted; None where it is no array of objects with ids."""
    if not isinstance(value, list):
        return None
    ids = [one.get("id") if isinstance(one, dict) else None for one in value]
    texts = [one for one in ids if isinstance(one, str)]
    return sorted(texts) if len(texts) == len(ids) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array; none where it is no array."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def shown(value: Any) -> str:
    """A member's value for a sentence."""
    return "no such member" if value is MISSING else show(value)


def judge_member(
    trial: Trial,
    rule: str,
    exchange: Exchange,
    name: str,
    expected: Any,
    what: str,
    otherwise: Any = MISSING,
) -> bool:
    """Judges one documented member of an answer by the value it should have, or `otherwise` by another one:
    where two sources disagree, a third is not to blame for agreeing with either.

    A value that is not even of the documented form is set aside: a rule of its own speaks about it.
    """
    operation = exchange.operation or ""
    value = exchange.get(name)
    good = alike(operation, name, value, expected) or (expected is None and value is MISSING)
    good = good or (otherwise is not MISSING and alike(operation, name, value, otherwise))
    if not good and (broken := broken_form(exchange, name)):
        trial.set_aside(rule, f"{what}: {name} {broken.message}", exchange, cause=broken.rule)
        return False
    return trial.judge(rule, good, f"{what}: {name} {shown(expected)}", shown(value), exchange)


def broken_form(exchange: Exchange, name: str) -> Problem | None:
    """How a member of a 2xx answer, missing or there, breaks the documented form, if a required rule says so.

    A text that is not listed is a wrong value as much as a wrong form: a payin has but one status.
    """
    for problem in response_problems(exchange.operation or "", exchange.document):
        telling = RULES[problem.rule].level is Level.REQUIRED and problem.rule != "format.enum"
        if telling and problem.pointer.split("/")[1:2] == [name]:
            return problem
    return None


def judge_members(
    trial: Trial,
    rule: str,
    exchange: Exchange,
    expected: Mapping[str, Any],
    what: str,
    *,
    but: Iterable[str] = (),
    otherwise: Mapping[str, Any] | None = None,
) -> None:
    """Judges the documented members of an answer, `but` some, by what another answer or a request had in
    them, and `otherwise` by what a second one had. That object is right is for format.object to say."""
    left_out = {"object", *but}
    for name in documented(exchange.operation or ""):
        if name in expected and name not in left_out:
            second = (otherwise or {}).get(name, MISSING)
            judge_member(trial, rule, exchange, name, expected[name], what, second)


def document(exchange: Exchange) -> dict[str, Any]:
    """The members of an answer; none where it is no JSON object."""
    return exchange.document if isinstance(exchange.document, dict) else {}
