"""The request fields of each operation and the documented members of its answer.

Everything is derived from the schemas, so a limit stands in one place only.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from conformance.contract.operations import OPERATIONS, response_schema

#: Text fields whose content is the client's own choice. A title may be one of a list.
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


#: Fields of which a server may want every resource to have another value.
UNIQUE = frozenset({"name", "label", "tax_id", "email", "phone", "account_number", "iban", "wallet_address"})


@dataclass(frozen=True)
class Field:
    """A request field (sections 4.1 to 4.7).

    `type` is the JSON type of its value; `required` says whether a create demands it, also where the field
    belongs to an update; `max_length` is in characters; `code` is "country", "currency" or "".
    """

    name: str
    type: str = "string"
    required: bool = False
    max_length: int | None = None
    choices: tuple[str, ...] = ()
    code: str = ""
    #: The documented members of an object, all of them strings.
    members: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of its value: country, currency, amount, enum or text; the JSON type of any other."""
        if self.type != "string":
            return self.type
        return self.code or ("amount" if self.name == "amount" else "enum" if self.choices else "text")


@functools.cache
def request_fields(operation: str) -> tuple[Field, ...]:
    """The fields of an operation's body, in the order of the contract; none where it takes no body.

    Raises KeyError for an unknown operationId.
    """
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
    """The names of the documented members of the resource an operation answers (section 2)."""
    return tuple(response_schema(operation).get("properties", ()))
