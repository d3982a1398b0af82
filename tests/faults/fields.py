"""Servers that accept values outside sections 4 and 8, or refuse values within."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer
from conformance.world.corpora.wrong_values import FORMED

from .bodies import TYPES, is_of_type, mending, required, types
from .catalogue import Faulty, fault, faults, seam, seams
from .kinds import apart, fields, in_bodies, unchecked
from .rows import always, skipping

#: Fields with a maximum length.
limited = fields(lambda field: field.max_length is not None)

#: Fields with a syntax that excludes multi-byte characters.
SYNTACTIC = ("email", "phone", "iban", "swift_code", "tax_id")


def fillable(operation: str) -> list[str]:
    """Returns the fields of which a value of exactly the maximum length is valid for certain."""
    return [name for name in limited(operation) if name not in ("email", *FORMED)]


enumerated = fields(lambda field: field.kind == "enum")


@fault("fields.enum", each=enumerated)
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
    "A value that begins with a listed one is accepted.": skipping(
        "check_enum",
        lambda self, ctx, field, value: field.name == self.value and value.startswith(field.choices),
        each=enumerated,
    ),
    "A listed value may have hyphens for underscores.": skipping(
        "check_enum",
        lambda self, ctx, field, value: value.replace("-", "_") in field.choices,
        operations=("createPayoutDestination",),
    ),
    "A listed value is not demanded in one kind of request.": unchecked(
        "check_enum", in_bodies(enumerated), operations=("updateBeneficiary",)
    ),
}

faults["fields.company-name"] |= {
    "A business needs no company name.": skipping(
        "check_company_name",
        lambda self, ctx, *_: ("company_name" in ctx.body) == (self.value == "null"),
        each=("missing", "null"),
    )
}

#: Required fields that cannot be left empty.
_NEEDED = ("beneficiary_id", "payout_destination_id", "network")


def _in_its_kind(self: Any, ctx: Context, name: str) -> bool:
    """Returns True for a request of the kind `value[1]`, or of any kind."""
    return isinstance(self.value, str) or bool(self.value[1](ctx))


def in_creates(operation: str) -> dict[str, Any]:
    """Returns the required fields, in all requests and in the kinds of bodies."""
    return {name: name for name in required(operation)} | in_bodies(required)(operation)


def _keeps_no_status(self: Any, ctx: Context, answer: Answer) -> Response | None:
    return self.usual(ctx, answer._replace(status=self.success_status(ctx)))  # type: ignore[no-any-return]


_FLAT = [
    name
    for name in OPERATION_SETS["create"]
    if not any(field.required and field.members for field in FIELDS[name])
]

faults["fields.required"] |= {
    "A missing required field is filled in.": mending(
        lambda self, ctx, body, name: name not in body and _in_its_kind(self, ctx, name), each=in_creates
    ),
    "A missing required field is left empty.": skipping(
        "check_present",
        lambda self, ctx, field: field.name == self.value,
        each=lambda operation: [
            name
            for name in required(operation)
            if name not in _NEEDED and (operation, name) != ("createWallet", "currency")
        ],
    ),
    "An empty object is taken for a create with made-up values.": skipping(
        "check_present",
        lambda self, ctx, field: not ctx.body,
        operations=("createAccount", "createBeneficiary", "createVirtualAccount", "createPayin"),
    ),
    "What was refused is answered as a success when its key and body come again: no status is stored.": seams(
        {"remembers_refusal": always, "replayed": _keeps_no_status}
    ),
    "Query and body are read as one.": seam(
        "parse_body", lambda self, ctx: {**of_the_query(ctx), **self.usual()}, operations=_FLAT
    ),
}

faults["fields.required-null"] |= {
    "A required field that is null is filled in.": mending(
        lambda self, ctx, body, name: body.get(name, "") is None and _in_its_kind(self, ctx, name),
        each=in_creates,
    )
}


def of_the_query(ctx: Context) -> dict[str, Any]:
    """Returns the parameters of a query, the last of each name."""
    return {name: texts[-1] for name, texts in parse_query(ctx.query).items()}


def numbered(self: Any, ctx: Context) -> dict[str, Any]:
    """Takes numbers for the listed values at their places."""
    body: dict[str, Any] = self.usual()
    for field in FIELDS[ctx.operation]:
        if field.choices and type(number := body.get(field.name)) is int and number < len(field.choices):
            body[field.name] = field.choices[number]
    return body


def _typed(operation: str) -> list[str]:
    # Covered by fields.address and fields.amount.
    return [name for name in required(operation) if name not in ("address", "amount")]


def _of_the_type(self: Any, ctx: Context, body: dict[str, Any], name: str) -> bool:
    return name in body and is_of_type(body[name], self.value[1])


faults["fields.type"] |= {
    "The number of a listed value is taken for it.": seam(
        "parse_body", numbered, operations=("createPayoutDestination",)
    ),
    "A required field of this wrong type is accepted.": mending(
        _of_the_type, each=types(_typed, tuple(TYPES))
    ),
    "A required field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: type(body.get(name)) in (int, list) and self.value[1](ctx),
        each=in_bodies(lambda operation: [name for name in required(operation) if name != "address"]),
    ),
    "The type of a required field is not looked at for one currency or type.": unchecked(
        "check_type",
        apart(fields(lambda field: field.required and field.kind == "text")),
        also=("format.fields", "create.echo"),
    ),
}

faults["fields.address"] |= {
    "An address that is no object is accepted.": mending(
        _of_the_type, each=types(lambda operation: ["address"], ("string", "number", "boolean", "array"))
    ),
    "An address need not be an object in one kind of body.": unchecked(
        "check_type",
        in_bodies(lambda _: ["address"]),
        operations=("createBeneficiary", "updateBeneficiary"),
    ),
}

#: Operation -> members of an address that are sent as a boolean, an array or an object.
TURNS: dict[str, dict[str, type]] = {
    "createBeneficiary": {"address_line": bool, "city": list, "region": dict, "country": bool},
    "updateBeneficiary": {"postal_code": bool, "country": list, "address_line": dict, "city": dict},
    "createVirtualAccount": {"city": bool, "state": list, "postal_code": dict},
}


def _members(operation: str) -> dict[str, tuple[str, type]]:
    """Returns patterns of the members of an address, each with a type that is accepted."""
    names = [name for field in request_fields(operation) for name in field.members]
    return {
        **{f"{name} int": (name, int) for name in names},
        **{f"any {kind.__name__}": (".*", kind) for kind in (dict, list, bool)},
        **{f"{name} {kind.__name__}": (name, kind) for name, kind in TURNS[operation].items()},
    }


faults["fields.address-types"] |= {
    "A member of an address may be of this type.": skipping(
        "check_type",
        lambda self, ctx, field, value: (
            re.fullmatch(rf"address\.{self.value[0]}", field.name) and isinstance(value, self.value[1])
        ),
        each=_members,
    )
}
