"""Request fields and documented response members of each operation, derived from its schemas."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS, response_schema

#: Free-text fields. Not `title`, which a server may restrict to a list.
FREE_TEXT = (
    "name",
    "first_name",
    "middle_name",
    "last_name",
    "display_name",
    "company_name",
    "note",
    "label",
    "description",
)

#: Fields whose values a server may require to be unique.
UNIQUE = frozenset({"name", "label", "tax_id", "email", "phone", "account_number", "iban", "wallet_address"})


@dataclass(frozen=True)
class Field:
    """A request field (sections 4.1 to 4.7).

    `type` is its JSON type; `required` tells whether a create requires it, also on fields of an update;
    `max_length` counts characters; `code` is "country", "currency" or "".
    """

    name: str
    type: str = "string"
    required: bool = False
    max_length: int | None = None
    choices: tuple[str, ...] = ()
    code: str = ""
    #: Documented members of an object, all of them strings.
    members: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Kind of value: country, currency, amount, enum or text; the JSON type if it is not a string."""
        if self.type != "string":
            return self.type
        return self.code or ("amount" if self.name == "amount" else "enum" if self.choices else "text")


@functools.cache
def request_fields(operation: str) -> tuple[Field, ...]:
    """Fields of an operation's request body, in schema order. Raises KeyError for an unknown operationId."""
    schema = OPERATIONS[operation].request_schema or {}
    required = OPERATIONS[OPERATIONS[operation].traits.subset_of or operation].required_fields
    return tuple(
        Field(
            name,
            described.get("type", "string"),
            name in required,
            described.get("maxLength"),
            tuple(described.get("enum", ())),
            described.get("x-code", ""),
            tuple(described.get("properties", ())),
        )
        for name, described in schema.get("properties", {}).items()
    )


@functools.cache
def documented(operation: str) -> tuple[str, ...]:
    """Names of the documented members of an operation's response (section 2)."""
    return tuple(response_schema(operation).get("properties", ()))
