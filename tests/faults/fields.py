"""Servers that accept values outside sections 4 and 8, or refuse values within."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from conformance.contract.fields import request_fields
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.validation import FIELDS
from conformance.world.corpora.ids import INHERITED

from .bodies import TYPES, apart, asks, fields, in_bodies, is_of_type, mending, required, types, unchecked
from .catalogue import Only, faults, seam, seams
from .rows import always, each_of, skipping

#: Fields with a maximum length.
limited = fields(lambda field: field.max_length is not None)

#: Fields of which a value of exactly the maximum length is valid for certain.
fillable = fields(lambda field: field.free and field.max_length is not None)


#: Required texts of any words.
def needed_texts(operation: str) -> list[str]:
    return [field.name for field in request_fields(operation) if field.required and field.free]


enumerated = fields(lambda field: field.kind == "enum")

_OF_BENEFICIARIES, _OF_DESTINATIONS = ("createBeneficiary", "updateBeneficiary"), ("createPayoutDestination",)


faults["fields.enum"] |= {
    "A value outside the enumeration is accepted.": seams(
        {
            "check_enum": lambda self, usual, ctx, field, value: (
                ctx.body.update({field.name: field.choices[0]})
                if field.name == self.value and value not in field.choices
                else usual()
            ),
            "kept_value": lambda self, usual, ctx, field, *_: ctx.body[field.name],
        },
        each=enumerated,
    ),
    "A value that begins with a listed one is accepted.": skipping(
        "check_enum",
        lambda self, ctx, field, value: field.name == self.value and value.startswith(field.choices),
        each=enumerated,
    ),
    "A value that is written otherwise is accepted, and shown as it came.": skipping(
        "check_enum",
        lambda self, ctx, field, value: (
            field.name == self.value[0]
            and value not in field.choices
            and self.value[1](value) in field.choices
        ),
        each=each_of(
            enumerated, {"with a line feed": lambda text: text.removesuffix("\n"), "in capitals": str.lower}
        ),
        also=("format.enum",),
    ),
    "Another word, or a number in a text, is taken for a listed value.": seam(
        "parse_body",
        lambda self, usual, ctx: {
            name: self.value[2] if (name, value) == self.value[:2] else value
            for name, value in usual().items()
        },
        each={
            f"{word} for {listed}": Only((name, word, listed), operations)
            for operations, name, words in (
                (_OF_BENEFICIARIES, "beneficiary_type", {"company": "business", "0": "individual"}),
                (_OF_DESTINATIONS, "type", {"crypto": "wallet", "0": "bank_account"}),
                (_OF_DESTINATIONS, "account_type", {"current": "checking", "0": "checking"}),
            )
            for word, listed in words.items()
        },
        operations=(*_OF_BENEFICIARIES, *_OF_DESTINATIONS),
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
    return isinstance(self.value, str) or bool(asks(ctx, self.value[1]))


def in_creates(operation: str) -> dict[str, Any]:
    """Returns the required fields, in all requests and in the kinds of bodies."""
    return {name: name for name in required(operation)} | in_bodies(required)(operation)


def _inheriting(self: Any, usual: Any, *_: Any) -> dict[str, Any]:
    body = usual()
    return {**((isinstance(body.get("__proto__"), dict) and body["__proto__"]) or {}), **body}


#: Members under which frameworks look for the fields: the name of the resource as {}.
WRAPPERS = {
    "the name of the resource": "{}",
    **{name: name for name in ("data", "data.attributes", "attributes", "payload", "params")},
    **{name: name for name in ("body", "input")},
}


def under(ctx: Context, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The object at a path of names; empty without one."""
    value: Any = body
    for name in path.format(TRAITS[ctx.operation].creates or "beneficiary").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


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
        lambda self, ctx, *_: not ctx.body,
        operations=("createAccount", "createBeneficiary", "createVirtualAccount", "createPayin"),
    ),
    "What was refused is answered as a success when its key and body come again: no status is stored.": seams(
        {
            "remembers_refusal": always,
            "replayed": lambda self, usual, ctx, answer: usual(
                ctx, answer._replace(status=self.success_status(ctx))
            ),
        }
    ),
    "What a body has in place of its prototype counts as its own.": seam("parse_body", _inheriting),
    "The fields may stand under a member of the body.": seam(
        "parse_body",
        lambda self, usual, ctx: {**under(ctx, self.value, body := usual()), **body},
        each=WRAPPERS,
        operations=OPERATION_SETS["create"],
    ),
    "Query and body are read as one.": seam(
        "parse_body", lambda self, usual, ctx: {**of_the_query(ctx), **usual()}, operations=_FLAT
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


def _numbered(self: Any, usual: Any, ctx: Context) -> dict[str, Any]:
    """Takes numbers for the listed values at their places."""
    body: dict[str, Any] = usual()
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
    "A required field of this type is accepted.": mending(
        _of_the_type, each=types(_typed, tuple(TYPES)), by_field=True
    ),
    "A required field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: type(body.get(name)) in (int, list) and asks(ctx, self.value[1]),
        each=in_bodies(lambda operation: [name for name in required(operation) if name != "address"]),
    ),
    "The type of a required field is not looked at for one currency or type.": unchecked(
        "check_type",
        apart(fields(lambda field: field.required and field.kind == "text")),
        also=("format.fields", "create.echo"),
    ),
}

for rule in ("fields.type", "fields.optional-type"):
    faults[rule] |= {
        "Numbers stand for listed values.": seam(
            "parse_body", _numbered, operations=("createPayoutDestination",)
        )
    }


def _parsed(body: dict[str, Any], name: str) -> dict[str, Any]:
    """The body with JSON in the text under a name read."""
    text = body.get(name)
    if isinstance(text, str):
        with contextlib.suppress(ValueError):
            return {**body, name: json.loads(text)}
    return body


faults["fields.address"] |= {
    "An address that is no object is accepted.": mending(
        _of_the_type, each=types(lambda operation: ["address"], ("string", "number", "boolean", "array"))
    ),
    "An address may be JSON in a string.": seam(
        "parse_body",
        lambda self, usual, *_: _parsed(usual(), "address"),
        operations=("createBeneficiary", "updateBeneficiary", "createVirtualAccount"),
    ),
    "An address need not be an object in one kind of body.": unchecked(
        "check_type", in_bodies(lambda _: ["address"]), operations=("createBeneficiary", "updateBeneficiary")
    ),
}

#: Operation -> members of an address that are sent as a boolean, an array or an object.
TURNS: dict[str, dict[str, type]] = {
    "createBeneficiary": {"address_line": bool, "city": list, "region": dict, "country": bool},
    "updateBeneficiary": {"postal_code": bool, "country": list, "address_line": dict, "city": dict},
    "createVirtualAccount": {"city": bool, "state": list, "postal_code": dict},
}


def _members(operation: str) -> dict[str, Any]:
    """Returns patterns of the members of an address, each with a type that is accepted."""
    names = [name for field in request_fields(operation) for name in field.members]
    accepted: list[tuple[str, type]] = [
        *((name, int) for name in names),
        *((".*", kind) for kind in (dict, list, bool)),
    ]
    accepted += TURNS[operation].items()
    return {f"{name} {kind.__name__}": (name, kind) for name, kind in accepted}


faults["fields.address-types"] |= {
    "A member of an address may be of this type.": skipping(
        "check_type",
        lambda self, ctx, field, value: (
            re.fullmatch(rf"address\.{self.value[0]}", field.name) and isinstance(value, self.value[1])
        ),
        each=_members,
    )
}
