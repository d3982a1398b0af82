"""The request fields of each operation, and values that break or just keep their limits.

Everything is derived from the request schemas in spec/openapi.yaml, so a limit stands in one place only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.contract import OPERATIONS, response_schema
from conformance.samples import marker

#: An operation whose body is any subset of another operation's.
_SUBSETS = {"updateBeneficiary": "createBeneficiary"}

#: Letters of the basic plane: one of two bytes in UTF-8 and one of three; no normal form changes either.
LETTERS = "\u0436\u540d"

#: Fields of a fixed syntax: a value that is longer or that just fits has to be built, not filled up.
SYNTACTIC = ("email", "phone", "iban", "swift_code", "tax_id")


@dataclass(frozen=True)
class Field:
    """A request field (sections 4.1 to 4.7).

    `type` is the JSON type of its value; `required` says whether a create demands it, also where the field
    belongs to an update; `max_length` is in characters; `code` is "country", "currency" or "".
    """

    name: str
    type: str
    required: bool
    max_length: int | None
    choices: tuple[str, ...]
    code: str


@functools.cache
def request_fields(operation: str) -> tuple[Field, ...]:
    """The fields of an operation's body, in the order of the contract; none where it takes no body.

    Raises KeyError for an unknown operationId.
    """
    schema = OPERATIONS[operation].request_schema or {}
    required = OPERATIONS[_SUBSETS.get(operation, operation)].required_fields
    return tuple(
        Field(
            name,
            described.get("type", "string"),
            name in required,
            described.get("maxLength"),
            tuple(described.get("enum", ())),
            described.get("x-code", ""),
        )
        for name, described in schema.get("properties", {}).items()
    )


def request_field(operation: str, name: str) -> Field:
    """One field of an operation's body; raises KeyError where it has no such field."""
    for field in request_fields(operation):
        if field.name == name:
            return field
    raise KeyError(f"{operation} has no field {name}")


@functools.cache
def documented(operation: str) -> tuple[str, ...]:
    """The names of the documented members of the resource an operation answers (section 2)."""
    return tuple(response_schema(operation).get("properties", ()))


# ---------------------------------------------------------------------- values of another type


def wrong_types(field: Field, good: Any) -> Iterator[tuple[str, Any]]:
    """Values of every other JSON type but null, each with its name for a sentence.

    They stay close to a `good` value, and some are empty, for servers that look only at what they expect.
    """
    if field.type == "object":
        yield from [("a string", "1 Main Street"), ("an empty string", "")]
        yield from [("a number", 12345), ("true", True)]
        yield from [("an array that holds an object", [good]), ("an empty array", [])]
    else:
        yield from [("a number", 12345), ("true", True), ("false", False)]
        yield from [("an array that holds a string", [good]), ("an empty array", [])]
        yield "an object", {"value": good}


def wrong_optional_types(field: Field, good: Any) -> Iterator[tuple[str, Any]]:
    """Values of another type that no coercion turns into the right one."""
    if field.type == "object":
        yield from [("a string", "1 Main Street"), ("an array", [good])]
    else:
        yield from [("an array", [good]), ("an object", {"value": good})]


# ---------------------------------------------------------------------- lengths


def too_long(field: Field) -> Iterator[tuple[str, str]]:
    """Values longer than the field's maximum, each with its name for a sentence; syntactically valid where
    the field has a syntax. Raises ValueError for a field without a maximum."""
    if field.max_length is None:
        raise ValueError(f"{field.name} has no maximum length")
    over, far = field.max_length + 1, field.max_length + 1000
    yield f"{over} characters", _ascii(field.name, over)
    if field.name not in SYNTACTIC:
        yield f"{over} non-ASCII letters", letters(over)
    yield f"{far} characters", _ascii(field.name, far)


def longest(field: Field) -> str | None:
    """A value of exactly the maximum length, in non-ASCII letters where the field is free text; None where
    no such value is certain to be valid. Raises ValueError for a field without a maximum."""
    if field.max_length is None:
        raise ValueError(f"{field.name} has no maximum length")
    if field.name in ("phone", "iban", "swift_code"):
        return None
    return _ascii(field.name, field.max_length) if field.name in SYNTACTIC else letters(field.max_length)


def letters(count: int) -> str:
    """A text of `count` non-ASCII letters of the basic plane."""
    return (LETTERS * count)[:count]


def _ascii(name: str, count: int) -> str:
    match name:
        case "email":
            return email(count)
        case "phone":
            return "+" + ("12025550123" * count)[: count - 1]
        case "iban":
            return iban(count)
        case "swift_code":
            return "DEUTDEFF" + "X" * (count - 8)
        case "tax_id":
            return ("1234567890" * count)[:count]
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
    """An IBAN-like text of `count` characters with valid check digits (ISO 13616)."""
    account = ("370400440532013000" * count)[: count - 4]
    check = 98 - int(account + "131400") % 97  # DE is 1314 in the check's alphabet
    return f"DE{check:02d}{account}"


# ---------------------------------------------------------------------- choices, codes and amounts

#: Words of the same field of life that the enumerations do not list.
_UNLISTED = {
    "beneficiary_type": ("partnership", "company"),
    "type": ("cash", "crypto"),
    "account_type": ("current",),
}


def wrong_choices(field: Field) -> Iterator[str]:
    """Values that the field's enumeration does not list, some of which resemble those it does."""
    first, last = field.choices[0], field.choices[-1]
    yield from [*_UNLISTED.get(field.name, ("other",)), first[:-1], last + "s", f"{first},{last}"]


#: Texts that are no country code of two letters, and no currency code of three (ISO 3166-1, ISO 4217).
WRONG_CODES = {
    "country": ("USA", "U", "U1", "12", "840", "U-", "Germany"),
    "currency": ("US", "USDD", "U5D", "123", "US$", "U", "US Dollar"),
}

#: Codes of the right form that no country and no currency has: user-assigned and never assigned.
UNASSIGNED_CODES = {"country": "ZZ", "currency": "ZZZ"}

#: Amounts that are no positive decimal in a string, each with its name for a sentence.
WRONG_AMOUNTS: tuple[tuple[str, Any], ...] = (
    *(
        (f'"{text}"', text)
        for text in (
            "0",
            "0.00",
            "00",
            "-0",
            "-5.00",
            "-0.01",
            "abc",
            "1.00abc",
            "$1.00",
            "NaN",
            "Infinity",
            "-Infinity",
            "inf",
            "1.2.3",
            "1,00",
            "1,000.00",
            "1_000.00",
            "0x10",
            "1/2",
            "\u0661.\u0660\u0660",
            "\uff11.\uff10\uff10",
        )
    ),
    ("an empty string", ""),
    ("a space", " "),
    ("the number 1", 1),
    ("the number 1.5", 1.5),
)

#: Amounts that may be accepted or refused, by what is odd about them.
ODD_AMOUNTS = {
    "an exponent": "1e2",
    "a leading plus sign": "+1.00",
    "401 digits": "1" + "0" * 400,
    "60 decimals": "1." + "0" * 59 + "1",
}

#: Amounts that fewer decimals, whole cents or a binary floating-point number would change.
EXACT_AMOUNTS = (
    "1.10",
    "0.07",
    "0.29",
    "19.99",
    "100",
    "1.005",
    "0.00000001",
    "1.0000000000000000001",
    "123456789.123456789",
    "100000000000000.01",
    "9007199254740993.01",
)
