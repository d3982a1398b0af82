"""Servers that accept values outside sections 4 and 8, or refuse values within."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer
from conformance.world.corpora.wrong_values import FORMED

from .bodies import TYPES, is_of_type, mending, required, types
from .catalogue import Faulty, fault, faults, seam
from .kinds import (
    ALL,
    CHECKED_APART,
    CREATES,
    PEOPLE,
    each_apart,
    each_field,
    each_field_like,
    is_in_kind,
    other_type,
    unless_apart,
    unless_in_kind,
)


def limited(operation: str) -> list[str]:
    """Returns the fields with a maximum length."""
    return [field.name for field in FIELDS[operation] if field.max_length is not None]


#: Fields with a syntax that excludes multi-byte characters.
SYNTACTIC = ("email", "phone", "iban", "swift_code", "tax_id")


def fillable(operation: str) -> list[str]:
    """Returns the fields of which a value of exactly the maximum length is valid for certain."""
    return [name for name in limited(operation) if name not in ("email", *FORMED)]


def of_kind(*kinds: str) -> Callable[[str], list[str]]:
    """Returns a function that gives the fields of these kinds."""
    return lambda operation: [field.name for field in FIELDS[operation] if field.kind in kinds]


@fault("fields.enum", each=of_kind("enum"))
class AnyChoice(Faulty):
    """A value outside the enumeration is accepted."""

    def check_enum(self, ctx: Context, field: Field, value: str) -> None:
        if field.name == self.value and value not in field.choices:
            ctx.body[field.name] = field.choices[0]
        else:
            super().check_enum(ctx, field, value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return ctx.body[field.name]


faults["fields.enum"] |= {
    "A value that begins with a listed one is accepted.": seam(
        "check_enum",
        lambda self, ctx, field, value: (
            self.usual() if field.name != self.value or not value.startswith(field.choices) else None
        ),
        each=of_kind("enum"),
    ),
    "A listed value may have hyphens for underscores.": seam(
        "check_enum",
        lambda self, ctx, field, value: None if value.replace("-", "_") in field.choices else self.usual(),
        operations=("createPayoutDestination",),
    ),
    "A listed value is not demanded in one kind of body.": seam(
        "check_enum",
        unless_in_kind,
        operations=("updateBeneficiary",),
        each=each_field_like(lambda field: field.kind == "enum"),
    ),
}

faults["fields.company-name"] |= {
    "A business needs no company name.": seam(
        "check_company_name",
        lambda self, ctx, *_: (
            self.usual() if ("company_name" in ctx.body) != (self.value == "null") else None
        ),
        each=("missing", "null"),
    )
}


faults["fields.required"] |= {
    "A missing required field is filled in.": mending(
        lambda self, ctx, body, name: name not in body, each=required
    ),
    "A missing required field is left empty.": seam(
        "check_present",
        lambda self, ctx, field: self.usual() if field.name != self.value else None,
        each=lambda operation: [
            name
            for name in required(operation)
            if name not in ("beneficiary_id", "payout_destination_id", "network")
            and (operation, name) != ("createWallet", "currency")
        ],
    ),
    "A required field is filled in where it is missing in one kind of body.": mending(
        lambda self, ctx, body, name: is_in_kind(self, ctx, body, name) and name not in body,
        operations=CREATES,
        each=each_field(required),
    ),
}


@fault(
    "fields.required",
    seam="check_present",
    operations=("createAccount", "createBeneficiary", "createVirtualAccount", "createPayin"),
)
def _(self: Any, ctx: Context, field: Any) -> None:
    """An empty object is taken for a create with made-up values."""
    if ctx.body:
        self.usual()


@fault("fields.required")
class KeepsNoStatus(Faulty):
    """What was refused is answered as a success when its key and body come again: no status is stored."""

    def remembers_refusal(self, ctx: Context, refusal: Refusal) -> bool:
        return True

    def replayed(self, ctx: Context, answer: Answer) -> Response | None:
        return super().replayed(ctx, answer._replace(status=self.success_status(ctx)))


faults["fields.required-null"] |= {
    "A required field that is null is filled in.": mending(
        lambda self, ctx, body, name: name in body and body[name] is None, each=required
    ),
    "A required field is filled in where it is null in one kind of body.": mending(
        lambda self, ctx, body, name: (
            is_in_kind(self, ctx, body, name) and name in body and body[name] is None
        ),
        operations=CREATES,
        each=each_field(required),
    ),
}


def _typed(operation: str) -> list[str]:
    # Covered by fields.address and fields.amount.
    return [name for name in required(operation) if name not in ("address", "amount")]


def numbered(self: Any, ctx: Context) -> dict[str, Any]:
    """Takes numbers for the listed values at their places."""
    body: dict[str, Any] = self.usual()
    for field in FIELDS[ctx.operation]:
        if field.choices and type(number := body.get(field.name)) is int and number < len(field.choices):
            body[field.name] = field.choices[number]
    return body


faults["fields.type"] |= {
    "The number of a listed value is taken for it.": seam(
        "parse_body", numbered, operations=("createPayoutDestination",)
    ),
    "A required field of this wrong type is accepted.": mending(
        lambda self, ctx, body, name: name in body and is_of_type(body[name], self.value[1]),
        each=types(_typed, tuple(TYPES)),
    ),
    "A required field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: is_in_kind(self, ctx, body, name) and other_type(body, name),
        operations=ALL,
        each=each_field(lambda operation: [name for name in required(operation) if name != "address"]),
    ),
    "The type of a required field is not looked at for one currency or type.": seam(
        "check_type",
        unless_apart,
        operations=tuple(CHECKED_APART),
        each=each_apart(lambda field: field.required and field.kind == "text"),
        also=("format.fields", "create.echo"),
    ),
}


faults["fields.address"] |= {
    "An address that is no object is accepted.": mending(
        lambda self, ctx, body, name: name in body and is_of_type(body[name], self.value[1]),
        each=types(lambda operation: ["address"], ("string", "number", "boolean", "array")),
    ),
    "An address need not be an object in one kind of body.": seam(
        "check_type", unless_in_kind, operations=PEOPLE, each=each_field(lambda _: ["address"])
    ),
}

#: Operation -> members of an address that are sent as a boolean, an array or an object.
TURNS = {
    "createBeneficiary": (("address_line", bool), ("city", list), ("region", dict), ("country", bool)),
    "updateBeneficiary": (("postal_code", bool), ("country", list), ("address_line", dict), ("city", dict)),
    "createVirtualAccount": (("city", bool), ("state", list), ("postal_code", dict)),
}

faults["fields.address-types"] |= {
    "A member of an address may be a number.": seam(
        "check_type",
        lambda self, ctx, field, value: None if field.name == self.value and value == 5 else self.usual(),
        each=lambda operation: [
            f"address.{name}" for field in request_fields(operation) for name in field.members
        ],
    ),
    "A member of an address may be of this type.": seam(
        "check_type",
        lambda self, ctx, field, value: (
            None if field.name.startswith("address.") and isinstance(value, self.value) else self.usual()
        ),
        each={"object": dict, "array": list, "boolean": bool},
    ),
    "One member of an address may be of this type.": seam(
        "check_type",
        lambda self, ctx, field, value: (
            None
            if field.name == f"address.{self.value[0]}" and isinstance(value, self.value[1])
            else self.usual()
        ),
        each=lambda operation: {f"{name} {kind.__name__}": (name, kind) for name, kind in TURNS[operation]},
    ),
}


def of_the_query(ctx: Context) -> dict[str, Any]:
    """Returns the parameters of a query, the last of each name."""
    return {name: texts[-1] for name, texts in parse_query(ctx.query).items()}


_FLAT = [
    name
    for name in OPERATION_SETS["create"]
    if not any(field.required and field.members for field in FIELDS[name])
]
faults["fields.required"] |= {
    "Query and body are read as one.": seam(
        "parse_body", lambda self, ctx: {**of_the_query(ctx), **self.usual()}, operations=_FLAT
    )
}
