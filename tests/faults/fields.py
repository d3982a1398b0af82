"""Servers that accept values outside sections 4 and 8, or refuse values within."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field, request_fields
from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Answer
from conformance.world.corpora.ids import INHERITED
from conformance.world.corpora.wrong_values import FORMED

from .bodies import TYPES, apart, fields, in_bodies, is_of_type, mending, required, types, unchecked
from .catalogue import Faulty, Row, fault, faults, refuse, seam, seams
from .rows import always, refusing, skipping, where

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
    "The name of a member of all objects is accepted.": skipping(
        "check_enum",
        lambda self, ctx, field, value: field.name == self.value and value in INHERITED,
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


def _inheriting(self: Any, ctx: Context) -> dict[str, Any]:
    body = self.usual()
    return {**((isinstance(body.get("__proto__"), dict) and body["__proto__"]) or {}), **body}


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
    "What a body has in place of its prototype counts as its own.": seam("parse_body", _inheriting),
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


# ---------------------------------------------------------------------- valid bodies


def optional(operation: str) -> list[str]:
    """Returns the optional fields."""
    return [field.name for field in FIELDS[operation] if field.name not in required(operation)]


def _left_out(self: Any, ctx: Context) -> Any:
    body, (name, kind) = self.usual(), self.value
    return {key: value for key, value in body.items() if key != name or not is_of_type(value, kind)}


faults["fields.optional-type"] |= {
    "An optional field of this wrong type is left out.": seam(
        "parse_body", _left_out, each=types(optional, ("array", "object", "number", "boolean"))
    ),
    "The number of a listed value is taken for it.": seam(
        "parse_body", numbered, operations=("createPayoutDestination",)
    ),
    "An optional field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: isinstance(body.get(name), (list, dict)) and self.value[1](ctx),
        each=in_bodies(lambda operation: [name for name in optional(operation) if name != "is_default"]),
    ),
}


def refusing_field(name: str, test: Callable[..., Any], error: tuple[str, str], **options: Any) -> Row:
    """Makes a row that refuses a valid value of a field, with a code and a problem."""
    return where(
        name, test, lambda self, ctx, field, value: refuse(self.invalid(ctx, field, *error)), **options
    )


faults["fields.other-scripts"] |= {
    "A text in letters outside ASCII is refused.": refusing_field(
        "check_value",
        lambda self, ctx, field, value: field.name == self.value and not value.isascii(),
        ("invalid_characters", "holds characters outside ASCII"),
        each=lambda operation: [name for name in fillable(operation) if name not in SYNTACTIC],
    )
}


def refusing_bodies(test: Callable[[Any, dict[str, Any]], Any], *operations: str, **options: Any) -> Row:
    """Makes a row that refuses the valid bodies for which a test holds."""
    return refusing(
        "parse_body",
        "invalid_field",
        lambda self, ctx: test(self, self.usual()),
        operations=operations,
        **options,
    )


#: Optional fields on which nothing open depends: neither bank details nor fields of some shapes only.
FREE = {
    "createBeneficiary": ("beneficiary_type", "title", "middle_name", "tax_id", "note"),
    "createPayoutDestination": ("label", "is_default"),
    "createPayout": ("note",),
    "createVirtualAccount": ("address",),
    "createPayin": ("description",),
}


#: Kind -> pattern of accepted amounts.
AMOUNTS = {
    "two decimals": r"\d+\.\d\d",
    "some decimals": r"\d+\.\d+",
    "none or two decimals": r"\d+(\.\d\d)?",
}

#: Kind -> pattern of accepted names.
NAMES = {
    "two letters or more": r".{2,}",
    "letters only": r"[^\W\d_]+",
    "no hyphen": r"[^-]+",
    "one word": r"\S+",
    "capitals first": r"[A-Z].*",
}

#: Kind -> a PATCH that is refused.
PATCHES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "without a required field": lambda body: not {*required("createBeneficiary")} <= {*body},
    "of one field": lambda body: len(body) == 1,
    "of several fields": lambda body: len(body) > 1,
    **{
        f"of {field.name}": lambda body, name=field.name: name in body  # type: ignore[misc]
        for field in FIELDS["updateBeneficiary"]
    },
}

#: Field -> listed values that are refused.
LISTED: dict[str, dict[str, tuple[Any, ...]]] = {
    "createBeneficiary": {"beneficiary_type": ("individual", "business")},
    "updateBeneficiary": {"beneficiary_type": ("individual", "business")},
    "createPayoutDestination": {"is_default": (True, False), "account_type": ("savings",)},
}

faults["fields.accepts-valid"] |= {
    "A listed value is refused.": refusing_bodies(
        lambda self, body: body.get(self.value[0]) == self.value[1],
        *LISTED,
        each=lambda operation: {
            f"{name} {value}": (name, value) for name, values in LISTED[operation].items() for value in values
        },
    ),
    "A request without this optional field is refused.": refusing_bodies(
        lambda self, body: self.value not in body, *FREE, each=FREE.__getitem__
    ),
    "A request with this optional field is refused.": refusing_bodies(
        lambda self, body: body.get(self.value) is not None, *FREE, each=FREE.__getitem__
    ),
    "A PATCH of some kind is refused.": refusing_bodies(
        lambda self, body: self.value(body), "updateBeneficiary", each=PATCHES
    ),
    "A name or label that does not begin with a certain word is refused.": refusing_bodies(
        lambda self, body: not str(body.get("name", body.get("label", ""))).lower().startswith("conformance"),
        *("createAccount", "createVirtualAccount", "createWallet"),
    ),
    "A name of a person is refused that is not of this form.": refusing_field(
        "check_length",
        lambda self, ctx, field, value: (
            field.name in ("first_name", "middle_name", "last_name") and not re.fullmatch(self.value, value)
        ),
        ("invalid_name", "is no name"),
        operations=("createBeneficiary",),
        each=NAMES,
    ),
    "An amount is refused that is not of this form.": refusing_field(
        "check_amount",
        lambda self, ctx, field, value: not re.fullmatch(self.value, value),
        ("invalid_amount", "has the wrong number of decimals"),
        operations=("createPayout", "createPayin"),
        each=AMOUNTS,
    ),
}
