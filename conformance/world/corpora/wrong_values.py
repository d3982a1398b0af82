"""Builds values that break or just keep a field's limits (sections 4.1 to 4.7 and 8)."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from conformance.contract.fields import Field
from conformance.world.corpora.texts import UNLISTED
from conformance.world.samples import checked_iban, digits, marker

#: A letter of two bytes in UTF-8 and one of three, which no Unicode normal form changes.
LETTERS = "\u0436\u540d"


def wrong_types(field: Field, good: Any) -> Iterator[tuple[str, Any]]:
    """Values of every other JSON type but null, each with its name for a sentence.

    Some contain the `good` value, some are empty: servers may check only one of these.
    """
    if field.type == "object":
        yield from [("a string", "1 Main Street"), ("an empty string", "")]
        yield from [("a number", 12345), ("true", True), ("JSON in a string", json.dumps(good))]
        yield from [("an array that holds an object", [good]), ("an empty array", [])]
    else:
        yield from [("a number", 12345), ("true", True)]
        yield from [("an array that holds a string", [good]), ("an empty array", [])]
        yield "an object", {"value": good}


def wrong_optional_types(field: Field, good: Any) -> Iterator[tuple[str, Any]]:
    """Values of another type, except empty ones, which a server may treat as null."""
    if field.type == "object":
        yield from [("a string", "1 Main Street"), ("an array", [good])]
    else:
        yield from [("an array", [good]), ("an object", {"value": good})]
    # The number of a listed value, or of true.
    yield "a number", 1 if field.choices or field.type == "boolean" else 12345
    yield from [("a text", "true")] if field.type == "boolean" else [("true", True)]


def too_long(field: Field) -> Iterator[tuple[str, str]]:
    """Values longer than the field's maximum, each with its name for a sentence; syntactically valid where
    the field has a syntax. Raises ValueError for a field without a maximum."""
    over, far = _most(field) + 1, _most(field) + 1000
    yield f"{over} characters", _ascii(field.name, over)
    if not field.form:
        yield f"{over} non-ASCII letters", letters(over)
    yield f"{far} characters", _ascii(field.name, far)


def longest(field: Field) -> str | None:
    """A value of exactly the maximum length, in non-ASCII letters where the field is free text; None where
    no server is sure to take one. Raises ValueError for a field without a maximum."""
    if field.name in ("iban", "swift_code"):
        return None
    return plain(field) if field.form else letters(_most(field))


def plain(field: Field) -> str:
    """A value of exactly the maximum length in ASCII. Raises ValueError for a field without a maximum."""
    return _ascii(field.name, _most(field))


def _most(field: Field) -> int:
    if field.max_length is None:
        raise ValueError(f"{field.name} has no maximum length")
    return field.max_length


def letters(count: int) -> str:
    """A text of `count` non-ASCII letters, the last 24 of them random."""
    own = "".join(secrets.choice(LETTERS) for _ in range(24))
    return (LETTERS * count)[: max(0, count - len(own))] + own[:count]


def _ascii(name: str, count: int) -> str:
    match name:
        case "email":
            return email(count)
        case "phone":
            return f"+1{digits(count - 2)}"
        case "iban":
            return iban(count)
        case "swift_code":
            return "DEUTDEFF" + "X" * (count - 8)
        case "tax_id":
            return digits(count)
    return (marker() + "x" * count)[:count]


def email_with_long_name() -> str:
    """A random e-mail address with 65 characters before the @, one more than RFC 5321, 4.5.3.1.1 allows."""
    return f"{(marker() + 'a' * 65)[:65]}@example.com"


def email(count: int) -> str:
    """A random e-mail address of `count` (at least 80) characters.

    Its parts keep the limits of RFC 5321, 4.5.3.1: 64 characters before the @ and 63 in a label; only the
    whole may be longer than its 254.
    """
    local = (marker() + "a" * 64)[:64]
    rest = count - len(local) - len("@.example.com")
    labels = []
    while rest > 0:
        # A label that would leave room for nothing but a dot takes one character less.
        size = min(63, rest)
        size -= rest - size == 1
        labels.append("d" * size)
        rest -= size + 1
    return f"{local}@{'.'.join(labels)}.example.com"


def iban(count: int) -> str:
    """An IBAN-like text of `count` characters with valid check digits."""
    return checked_iban("DE", ("370400440532013000" * count)[: count - 4])


def wrong_choices(field: Field) -> Iterator[str]:
    """Values that the field's enumeration does not list, some similar to listed ones, one a member of all
    objects in JavaScript, one the number of the first in C#."""
    first, last = field.choices[0], field.choices[-1]
    yield from [*UNLISTED.get(field.name, ("other",)), first[:-1], last + "s", f"{first},{last}"]
    yield from ["constructor", "0"]
