"""Request fields and documented response members of each operation, derived from its schemas."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.contract.documents import unusable
from conformance.contract.field_values import UNASSIGNED_CODES
from conformance.contract.operations import OPERATIONS, item_fields, response_schema

#: Fields whose values a server may require to be unique.
UNIQUE = frozenset({"name", "label", "tax_id", "email", "phone", "account_number", "iban", "wallet_address"})


#: Least maximum length of a free text, in characters.
FREE_LENGTH = 60


@dataclass(frozen=True)
class Field:
    """A request field (sections 4.1 to 4.7).

    `type` is its JSON type; `required` tells whether a create requires it, also on fields of an update;
    `max_length` counts characters; `code` is "country", "currency" or "". `form` names the syntax of its
    text, if it has one; `shape` the row of BODIES (`conformance.world.bodies`) in which it applies, empty for
    the sample.
    """

    name: str
    type: str = "string"
    required: bool = False
    max_length: int | None = None
    choices: tuple[str, ...] = ()
    code: str = ""
    #: Documented members of an object, all of them strings.
    members: tuple[str, ...] = ()
    form: str = ""
    shape: str = ""

    @property
    def plain(self) -> bool:
        """True for a text without a form."""
        return self.kind == "text" and not self.form

    @property
    def short(self) -> bool:
        """True for a text so short that a server may keep a list of its values, or have a form of its own."""
        return self.max_length is not None and self.max_length < FREE_LENGTH

    @property
    def free(self) -> bool:
        """True for a free text: any words."""
        return self.plain and not self.short

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
    whole = OPERATIONS[operation].traits.subset_of
    required = OPERATIONS[whole or operation].required_fields
    for name, described in schema.get("properties", {}).items():
        if (code := described.get("x-code", "")) not in ("", *UNASSIGNED_CODES):
            raise unusable(f"openapi.yaml names {code} as the x-code of {name}, which is no kind of code")
    return tuple(
        Field(
            name,
            described.get("type", "string"),
            name in required,
            described.get("maxLength"),
            tuple(described.get("enum", ())),
            described.get("x-code", ""),
            tuple(described.get("properties", ())),
            described.get("x-form", ""),
            "" if whole else described.get("x-shape", ""),
        )
        for name, described in schema.get("properties", {}).items()
    )


def free_texts(operation: str) -> tuple[str, ...]:
    """Names of the free texts of an operation's sample."""
    return tuple(field.name for field in request_fields(operation) if field.free and not field.shape)


@functools.cache
def documented(operation: str) -> tuple[str, ...]:
    """Names of the documented members of an operation's response (section 2)."""
    return tuple(response_schema(operation).get("properties", ()))


def _named(wanted: Callable[[Field], bool]) -> tuple[str, ...]:
    """The names of some fields, in each operation that has them."""
    fields = [field for operation in OPERATIONS for field in request_fields(operation)]
    others = {field.name for field in fields if not wanted(field)}
    return tuple(dict.fromkeys(field.name for field in fields if field.name not in others))


#: Names of the free texts, and of all texts without a form, of all operations.
FREE_TEXT, PLAIN_TEXT = _named(lambda field: field.free), _named(lambda field: field.plain)


# ---------------------------------------------------------------------- members of answers


def _members(wanted: Callable[[str, Mapping[str, Any]], object]) -> tuple[str, ...]:
    """The names of some documented members of answers, and of items of lists, by their name and schema."""
    answers = [response_schema(name)["properties"].items() for name in OPERATIONS]
    items = [item_fields(name).items() for name, operation in OPERATIONS.items() if operation.is_list]
    members = itertools.chain.from_iterable([*answers, *items])
    return tuple(dict.fromkeys(name for name, schema in members if wanted(name, schema)))


def _of_rule(rule: str, schema: Mapping[str, Any]) -> bool:
    return any(each.get("x-rule") == rule for each in (schema, *schema.get("anyOf", ())))


def _holds_resources(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items", {})
    return any("id" in each.get("properties", ()) for each in (items, *items.get("allOf", ())))


#: Names of the parameters of paths, and of the members, with the id of a resource.
_IDS = {f"{operation.resource}_id" for operation in OPERATIONS.values()}.union(
    *(operation.path_parameters for operation in OPERATIONS.values())
)

#: Members that hold timestamps, that name a resource, and that hold resources.
INSTANTS = _members(lambda name, schema: _of_rule("format.timestamp", schema))
NAMING = _members(lambda name, schema: name in ("id", *_IDS))
HOLDING = _members(lambda name, schema: _holds_resources(schema))

#: Request fields whose values answers mask or omit (section 2.4).
HIDDEN = tuple(
    name
    for name in _named(lambda field: True)
    if _members(lambda member, schema: member in (f"{name}_last4", f"{name}_masked"))  # noqa: B023
)
