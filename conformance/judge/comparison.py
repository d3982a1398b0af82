"""Comparison, member by member, of a resource in one answer with that of another answer or with a request.

Only documented members count (section 2). What the specification leaves open is no difference: the digits
of a timestamp's fraction, the scale of an amount, `acc_` or `acct_` before an account's id, null or no
member where a destination's field does not apply, the order in which embedded destinations stand. Members
that a server's own jobs move (MOVING) are for the caller to leave out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from conformance._text import as_json
from conformance.contract import timestamps
from conformance.contract.fields import UNIQUE
from conformance.contract.operations import response_problems, response_schema
from conformance.contract.rules import RULES, Level
from conformance.contract.schemas import Problem
from conformance.contract.traits import traits_of
from conformance.wire.messages import MISSING, Call, Exchange

#: Members that hold timestamps.
_INSTANTS = ("created", "updated", "initiated_at", "submitted_at", "completed_at", "failed_at")

#: Members that the server's own jobs and other users may move at any time: no read has to show them as they
#: were. A status counts only in the answer of the request that sets it.
MOVING = frozenset({"status", "verified", "updated", "updated_at", "balances"})


def alike(operation: str, name: str, got: Any, expected: Any) -> bool:
    """True if two values of a documented member of an operation's answer mean the same."""
    if name == "account_id" or (name == "id" and traits_of(operation).shows_balances):
        return same_account(got, expected)
    if name in _INSTANTS:
        return same_instant(got, expected)
    if name == "payout_destinations":
        ids = identifiers(got), identifiers(expected)
        return ids[0] == ids[1] if None not in ids else same(got, expected)
    return _same_documented(response_schema(operation).get("properties", {}).get(name, {}), got, expected)


def _same_documented(schema: Mapping[str, Any], got: Any, expected: Any) -> bool:
    """JSON equality of what a schema documents, amounts by value; further members of objects do not count."""
    if schema.get("x-rule") == "format.money":
        return same(got, expected) or same_amount(got, expected)
    members = schema.get("properties")
    if members and isinstance(got, Mapping) and isinstance(expected, Mapping):
        return all(
            _same_documented(described, got.get(name), expected.get(name))
            for name, described in members.items()
        )
    items = schema.get("items")
    if items and isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(
            _same_documented(items, *pair) for pair in zip(got, expected, strict=True)
        )
    return same(got, expected)


def differences(
    operation: str, got: Any, expected: Any, *, but: Collection[str] = frozenset()
) -> list[tuple[str, Any, Any]]:
    """The documented members of an operation's answer that two documents show differently: name, what is got,
    what is expected. A member that is missing counts as null; `but` names members that do not count. Where
    one of the documents is not an object, the whole is the difference, under an empty name."""
    if not isinstance(got, Mapping) or not isinstance(expected, Mapping):
        return [] if same(got, expected) else [("", got, expected)]
    names = [name for name in response_schema(operation).get("properties", {}) if name not in but]
    pairs = ((name, got.get(name), expected.get(name)) for name in names)
    return [pair for pair in pairs if not same(*pair[1:]) and not alike(operation, *pair)]


def same_instant(got: Any, expected: Any) -> bool:
    """True if two timestamps show one instant: the same one, or one of them is the other at its coarser
    precision, cut or rounded. Other values are compared as JSON."""
    if isinstance(got, str) and got == expected:
        return True
    looks = [_instant(value) for value in (got, expected)]
    if None in looks:
        return same(got, expected)
    (_, fine), (step, coarse) = sorted(look for look in looks if look is not None)
    off = fine - coarse
    return off == 0 or 0 < off < step or abs(off) * 2 <= step


def _instant(value: Any) -> tuple[Fraction, Fraction] | None:
    """The precision and the instant of a timestamp, in seconds; None where it is none."""
    step, instant = timestamps.step(value), timestamps.parse(value)
    return None if step is None or instant is None else (step, instant)


def normalized(body: Mapping[str, Any]) -> dict[str, str]:
    """The e-mail address of a body in lower case, and its telephone number in the form of E.164: as a server
    may show them (create.text-exact is implied for both)."""
    email, phone = body.get("email"), body.get("phone")
    forms = {}
    if isinstance(email, str):
        forms["email"] = email.lower()
    if isinstance(phone, str) and phone.startswith("+"):
        forms["phone"] = "+" + "".join(character for character in phone if character.isdigit())
    return forms


def same_account(got: Any, expected: Any) -> bool:
    """True if two texts are one account's id; both prefixes appear in the specification."""
    if not isinstance(got, str) or not isinstance(expected, str):
        return False
    bare = [identifier.removeprefix("acct_").removeprefix("acc_") for identifier in (got, expected)]
    return bare[0] == bare[1]


def same_amount(got: Any, expected: Any) -> bool:
    """True if two decimal strings have the same value."""
    try:
        return isinstance(got, str) and isinstance(expected, str) and Decimal(got) == Decimal(expected)
    except InvalidOperation:
        return False


def found_again(got: Exchange, first: Exchange) -> bool:
    """True if a create shows the resource of an earlier one that named the same bank account, tax id, ...: a
    server that wants such values unique may answer with the existing resource."""
    if (
        got.organization != first.organization
        or got.call.target != first.call.target
        or got.get("id") != first.get("id")
        or not same_instant(got.get("created"), first.get("created"))
    ):
        return False
    earlier, later = sent_document(first.call), sent_document(got.call)
    # What was created may have been changed since, to what is named now.
    changed = not same_instant(got.get("updated"), got.get("created"))
    now = document(got) if changed else {}
    if any(isinstance(now[name], str) and later.get(name) == now[name] for name in UNIQUE & now.keys()):
        return True
    values = {name: earlier[name] for name in UNIQUE if name in earlier}
    # A server may read a body that is nested too deeply for this client.
    unread = b"" if later else got.call.body or b""
    return any(
        later.get(name, MISSING) == value or (isinstance(value, str) and value.encode() in unread)
        for name, value in values.items()
    )


def was_changed(created: Exchange) -> bool:
    """True if the answer to a create shows a resource that was changed later than the create can have: one
    that was there already, also where another lane or process made it. A second is left for rounding."""
    first, last = (timestamps.parse(created.get(name)) for name in ("created", "updated"))
    return first is not None and last is not None and last - first > 1 + created.elapsed


def broken_form(exchange: Exchange, name: str) -> Problem | None:
    """Violation of the documented form by a member of a 2xx answer, missing or there, if a required rule says
    so.

    A text that is not listed is a wrong value as much as a wrong form: a payin has but one status.
    """
    for problem in response_problems(exchange.operation or "", exchange.document):
        telling = RULES[problem.rule].level is Level.REQUIRED and problem.rule != "format.enum"
        if telling and problem.pointer.split("/")[1:2] == [name]:
            return problem
    return None


def identifiers(value: Any) -> list[str] | None:
    """The ids in an array of resources, sorted; None where it is not an array of objects with ids."""
    if not isinstance(value, list):
        return None
    ids = [member.get("id") if isinstance(member, dict) else None for member in value]
    texts = [identifier for identifier in ids if isinstance(identifier, str)]
    return sorted(texts) if len(texts) == len(ids) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array; none where it is not an array."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def shown(value: Any) -> str:
    """A member's value for a sentence."""
    return "no such member" if value is MISSING else show(value)


def document(exchange: Exchange) -> dict[str, Any]:
    """The members of an answer; none where it is not a JSON object."""
    return exchange.document if isinstance(exchange.document, dict) else {}


def sent_document(call: Call) -> dict[str, Any]:
    """The JSON object that a request sends; empty where its body is none."""
    try:
        body = call.document if call.body else {}
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def same(got: Any, expected: Any) -> bool:
    """JSON equality: unlike Python's, it tells true from 1."""
    if isinstance(got, str):
        return bool(got == expected)
    if isinstance(got, bool) is not isinstance(expected, bool):
        return False
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        return got.keys() == expected.keys() and all(same(got[key], expected[key]) for key in got)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    return (type(got) is type(expected) and got == expected) or (
        isinstance(got, (int, float)) and isinstance(expected, (int, float)) and got == expected
    )


def show(value: Any) -> str:
    """A value for a sentence: JSON where it is, shortened."""
    return as_json(value, 200)
