"""Whether a resource in one answer is the one of another answer, or what was sent, member by member.

Only documented members count (section 2). What the specification leaves open is no difference: the digits
of a timestamp's fraction, the scale of an amount, `acc_` or `acct_` before an account's id, null or no
member where a destination's field does not apply, the order in which embedded destinations stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from conformance.contract import timestamps
from conformance.contract.operations import response_schema
from conformance.wire.messages import MISSING, Exchange

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


def document(exchange: Exchange) -> dict[str, Any]:
    """The members of an answer; none where it is no JSON object."""
    return exchange.document if isinstance(exchange.document, dict) else {}


def same(got: Any, expected: Any) -> bool:
    """JSON equality: unlike Python's, it tells true from 1."""
    if isinstance(got, bool) is not isinstance(expected, bool):
        return False
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        return got.keys() == expected.keys() and all(same(got[key], expected[key]) for key in got)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    return (
        type(got) is type(expected)
        and got == expected
        or (isinstance(got, (int, float)) and isinstance(expected, (int, float)) and got == expected)
    )


def show(value: Any) -> str:
    """A value for a sentence: JSON where it is, shortened."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 200 else text[:197] + "..."
