"""Comparison of a resource in one answer with another answer or a request, member by member.

Only documented members are compared (section 2). Open choices are no difference: the precision of timestamps,
the scale of amounts, the prefix `acc_` or `acct_`, null or no member, the order of embedded destinations.
Callers exclude members that the server's jobs change (MOVING).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from conformance._text import as_json, shared_prefix
from conformance.contract import json_text, timestamps
from conformance.contract.fields import INSTANTS, UNIQUE
from conformance.contract.operations import response_problems, response_schema
from conformance.contract.rules import RULES, Level
from conformance.contract.schemas import Problem
from conformance.contract.traits import traits_of
from conformance.judge.queries import read
from conformance.wire.messages import MISSING, Call, Exchange

#: Members that the server's jobs and other users may change at any time. A status counts only in the answer
#: to the request that sets it.
MOVING = frozenset({"status", "verified", "updated", "updated_at", "balances"})

#: Maximum bytes of a body sent that stays parsed for a while, as several rules of every response read it.
REMEMBERED = 4096


def alike(operation: str, name: str, got: Any, expected: Any) -> bool:
    """True if two values of a documented member of an operation's answer are equivalent."""
    if name == "account_id" or (name == "id" and traits_of(operation).shows_balances):
        return same_account(got, expected)
    if name in INSTANTS:
        return same_instant(got, expected)
    if name == "payout_destinations":
        ids = identifiers(got), identifiers(expected)
        return ids[0] == ids[1] if None not in ids else same(got, expected)
    return _same_documented(response_schema(operation).get("properties", {}).get(name, {}), got, expected)


def _same_documented(schema: Mapping[str, Any], got: Any, expected: Any) -> bool:
    """JSON equality of documented members, amounts by value; other members are ignored."""
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
    """Documented members of an operation's answer that differ in two documents: name, got, expected.

    A missing member counts as null; `but` names members to ignore. If either document is no object, the whole
    is the difference, with an empty name."""
    if not isinstance(got, Mapping) or not isinstance(expected, Mapping):
        return [] if same(got, expected) else [("", got, expected)]
    names = [name for name in response_schema(operation).get("properties", {}) if name not in but]
    pairs = ((name, got.get(name), expected.get(name)) for name in names)
    return [pair for pair in pairs if not same(*pair[1:]) and not alike(operation, *pair)]


#: Minimum number of characters in which long texts are alike, and of these that are shown before the rest.
_ALIKE, _BEFORE = 150, 20


def first_difference(name: str, got: Any, expected: Any) -> tuple[str, Any, Any]:
    """The name, as a path, and the values of the first part that differs in two values of a member; of long
    texts the ends that differ."""
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        parts = [(f"{name}.{each}", got.get(each, MISSING), value) for each, value in expected.items()]
    elif isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        parts = [(f"{name}.{at}", *pair) for at, pair in enumerate(zip(got, expected, strict=True))]
    different = (part for part in parts if not same(*part[1:]))
    if part := next(different, None):
        return first_difference(*part)
    texts = isinstance(got, str) and isinstance(expected, str)
    if not texts or (alike := shared_prefix(got, expected)) < _ALIKE:
        return name, got, expected
    begin = alike - _BEFORE
    return f"{name} from character {alike + 1} on", f"…{got[begin:]}", f"…{expected[begin:]}"


def same_instant(got: Any, expected: Any) -> bool:
    """True if two timestamps are equal, or one is the other truncated or rounded to its precision. Other
    values are compared as JSON."""
    if isinstance(got, str) and got == expected:
        return True
    looks = [_instant(value) for value in (got, expected)]
    if None in looks:
        return same(got, expected)
    (_, fine), (step, coarse) = sorted(look for look in looks if look is not None)
    off = fine - coarse
    return off == 0 or 0 < off < step or abs(off) * 2 <= step


def _instant(value: Any) -> tuple[Fraction, Fraction] | None:
    """Precision and instant of a timestamp, in seconds; None if it is none."""
    step, instant = timestamps.step(value), timestamps.parse(value)
    return None if step is None or instant is None else (step, instant)


def normalized(body: Mapping[str, Any]) -> dict[str, str]:
    """The e-mail address of a body in lower case and its phone number in E.164, as a server may show them
    (create.text-exact)."""
    email, phone = body.get("email"), body.get("phone")
    forms = {}
    if isinstance(email, str):
        forms["email"] = email.lower()
    if isinstance(phone, str) and phone.startswith("+"):
        forms["phone"] = "+" + "".join(character for character in phone if character.isdigit())
    return forms


def same_account(got: Any, expected: Any) -> bool:
    """True if two strings are one account's id, with the prefix `acc_` or `acct_` (section 2)."""
    if not isinstance(got, str) or not isinstance(expected, str):
        return False
    (prefix, _, own), (other, _, theirs) = got.partition("_"), expected.partition("_")
    return got == expected or ({prefix, other} <= {"acc", "acct"} and own == theirs)


def same_amount(got: Any, expected: Any) -> bool:
    """True if two decimal strings have the same value."""
    try:
        return isinstance(got, str) and isinstance(expected, str) and Decimal(got) == Decimal(expected)
    except InvalidOperation:
        return False


def found_again(got: Exchange, first: Exchange) -> bool:
    """True if a create returned the resource of an earlier one with the same unique value, such as a tax id,
    as a server may that wants those unique."""
    if (
        got.organization != first.organization
        or got.call.target != first.call.target
        or got.get("id") != first.get("id")
        or not same_instant(got.get("created"), first.get("created"))
    ):
        return False
    earlier, later = sent_document(first.call), sent_document(got.call)
    # An update may have given the resource the value that the later create sends.
    changed = not same_instant(got.get("updated"), got.get("created"))
    now = document(got) if changed else {}
    if any(isinstance(now[name], str) and later.get(name) == now[name] for name in UNIQUE & now.keys()):
        return True
    values = {name: earlier[name] for name in UNIQUE if name in earlier}
    # A server may parse a body that is too deeply nested for this client.
    unread = b"" if later else got.call.body or b""
    return any(
        later.get(name, MISSING) == value or (isinstance(value, str) and value.encode() in unread)
        for name, value in values.items()
    )


def was_changed(created: Exchange) -> bool:
    """True if the answer to a create shows an existing resource: `updated` is later than the create can have
    set it, with a second for rounding."""
    first, last = (timestamps.parse(created.get(name)) for name in ("created", "updated"))
    return first is not None and last is not None and last - first > 1 + created.elapsed


def broken_form(exchange: Exchange, name: str) -> Problem | None:
    """Violation of a required format rule by a member of a 2xx answer, or one within it, named as
    `payout_destinations/0/iban`; None without one, and for other answers, which show no resource.

    Enumerations do not count: an unlisted value is wrong, but well-formed.
    """
    if not exchange.succeeded:
        return None
    for problem in response_problems(exchange.operation or "", exchange.document):
        telling = RULES[problem.rule].level is Level.REQUIRED and problem.rule != "format.enum"
        if telling and f"{problem.pointer}/".startswith(f"/{name}/"):
            return problem
    return None


def identifiers(value: Any) -> list[str] | None:
    """Sorted ids of an array of resources; None if it is not an array of objects with ids."""
    if not isinstance(value, list):
        return None
    ids = [member.get("id") if isinstance(member, dict) else None for member in value]
    texts = [identifier for identifier in ids if isinstance(identifier, str)]
    return sorted(texts) if len(texts) == len(ids) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Objects in an array; empty if it is not an array."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def document(exchange: Exchange) -> dict[str, Any]:
    """The JSON object of an answer; empty if it is none."""
    return exchange.document if isinstance(exchange.document, dict) else {}


def sent_document(call: Call) -> Mapping[str, Any]:
    """The JSON object of a request; empty if its body is none."""
    body = call.body or b""
    return (_object if len(body) <= REMEMBERED else _object.__wrapped__)(body)


@functools.lru_cache(256)
def _object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json_text.parse(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def at_pointer(value: Any, pointer: str) -> Any:
    """The part of a document at a JSON pointer without escapes; MISSING without one."""
    for step in pointer.split("/")[1:]:
        inside = isinstance(value, list) and step.isdecimal() and int(step) < len(value)
        value = (
            value[int(step)] if inside else value.get(step, MISSING) if isinstance(value, dict) else MISSING
        )
    return value


def member_at(pointer: str) -> str:
    """The member of a resource, or of a list's element, to which a JSON pointer leads; "" for none."""
    steps = pointer.split("/")[1:]
    return next(iter(steps[2:] if steps[:1] == ["items"] else steps), "")


def is_echo(exchange: Exchange, pointer: str) -> bool:
    """True if an answer shows at a JSON pointer what its request sent there, in its body or its query."""
    call, value = exchange.call, at_pointer(exchange.document, pointer)
    sent = at_pointer(sent_document(call), pointer)
    text = value if isinstance(value, str) else show(value)
    queried = any(f"/{name}" == pointer and text == each for name, each in read(call.query).pairs)
    return value is not MISSING and (queried or (sent is not MISSING and same(value, sent)))


def same(got: Any, expected: Any) -> bool:
    """JSON equality; unlike Python's, it distinguishes true from 1."""
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


def shows(got: Any, sent: Any) -> bool:
    """True if a value is shown as sent; objects may have more members."""
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return all(same(got.get(name), value) for name, value in sent.items())
    return same(got, sent)


def show(value: Any) -> str:
    """Formats a value, or MISSING, for a sentence, as JSON of at most 200 characters."""
    return "no such member" if value is MISSING else as_json(value, 200)
