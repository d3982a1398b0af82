"""Servers that check each kind of body by a schema of its own, one of which lacks something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.fields import FIELDS, Field

from .bodies import mending, optional, required
from .catalogue import faults, seam


def _type_of(ctx: Context) -> str:
    return str((ctx.beneficiary or {}).get("beneficiary_type"))


#: Kind of body -> operations that know it, and whether a request is of it.
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Context, dict[str, Any]], bool]]] = {
    "individual": (("createBeneficiary",), lambda _, body: body.get("beneficiary_type") == "individual"),
    "business": (("createBeneficiary",), lambda _, body: body.get("beneficiary_type") == "business"),
    "existing individual": (("updateBeneficiary",), lambda ctx, _: _type_of(ctx) == "individual"),
    "wallet": (("createPayoutDestination",), lambda _, body: body.get("type") == "wallet"),
    "IBAN alone": (
        ("createPayoutDestination",),
        lambda _, body: "iban" in body and "account_number" not in body,
    ),
}

_BANK = ("account_number", "account_name", "routing_number", "account_type")

#: Fields by which a kind is told, or that need not mean anything in it.
_ASIDE = {
    "individual": ("beneficiary_type", "company_name"),
    "business": ("beneficiary_type", "company_name"),
    "existing individual": ("company_name",),
    "wallet": ("type", *_BANK, "iban", "swift_code", "network", "wallet_address"),
    "IBAN alone": ("type", *_BANK, "network", "wallet_address"),
}


def _each(wanted: Callable[[str], list[str]]) -> Callable[[str], dict[str, tuple[str, str]]]:
    """The kinds that an operation knows, each with each of the wanted fields that mean something in it; the
    field comes first."""
    return lambda operation: {
        f"{name}, {kind}": (name, kind)
        for kind, (operations, _) in KINDS.items()
        if operation in operations
        for name in wanted(operation)
        if name not in _ASIDE[kind]
    }


def _fields(wanted: Callable[[Field], bool]) -> Callable[[str], dict[str, tuple[str, str]]]:
    return _each(lambda operation: [field.name for field in FIELDS[operation] if wanted(field)])


def _here(self: Any, ctx: Context, body: dict[str, Any], name: str) -> bool:
    """Whether it is the field, in a body of the kind, that the fault is about."""
    return bool(name == self.value[0] and KINDS[self.value[1]][1](ctx, body))


def _unless(self: Any, ctx: Context, field: Field, *_: Any) -> None:
    """What the server usually checks, but not of the one field in the one kind of body."""
    if not _here(self, ctx, ctx.body, field.name):
        self.usual()


_CREATES = ("createBeneficiary", "createPayoutDestination")
_ALL = ("createBeneficiary", "updateBeneficiary", "createPayoutDestination")
_PEOPLE = ("createBeneficiary", "updateBeneficiary")


faults["fields.max-length"] |= {
    "The length of a field is not looked at in one kind of body.": seam(
        "check_length", _unless, operations=_ALL, each=_fields(lambda field: field.max_length is not None)
    ),
}
faults["fields.country-code"] |= {
    "A country code is not looked at in one kind of body.": seam(
        "check_country", _unless, operations=_ALL, each=_fields(lambda field: field.kind == "country")
    ),
}
faults["fields.unassigned-code"] |= {
    "Whether a country code is assigned is not looked at in one kind of body.": seam(
        "check_assigned", _unless, operations=_ALL, each=_fields(lambda field: field.kind == "country")
    ),
}
faults["fields.currency-code", "fields.unassigned-code"] |= {
    "A currency code is not looked at in one kind of body.": seam(
        "check_currency",
        _unless,
        operations=("createPayoutDestination",),
        each={"currency, IBAN alone": ("currency", "IBAN alone")},
    ),
}
faults["fields.enum"] |= {
    "A listed value is not demanded in one kind of body.": seam(
        "check_enum",
        _unless,
        operations=("updateBeneficiary",),
        each=_fields(lambda field: field.kind == "enum"),
    ),
}
faults["fields.address"] |= {
    "An address need not be an object in one kind of body.": seam(
        "check_type", _unless, operations=_PEOPLE, each=_each(lambda _: ["address"])
    ),
}
faults["fields.required"] |= {
    "A required field is filled in where it is missing in one kind of body.": mending(
        lambda self, ctx, body, name: _here(self, ctx, body, name) and name not in body,
        operations=_CREATES,
        each=_each(required),
    ),
}
faults["fields.required-null"] |= {
    "A required field is filled in where it is null in one kind of body.": mending(
        lambda self, ctx, body, name: _here(self, ctx, body, name) and name in body and body[name] is None,
        operations=_CREATES,
        each=_each(required),
    ),
}


def _other_type(body: dict[str, Any], name: str) -> bool:
    return isinstance(body.get(name), (int, list)) and not isinstance(body.get(name), bool)


faults["fields.type"] |= {
    "A required field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: _here(self, ctx, body, name) and _other_type(body, name),
        operations=_ALL,
        each=_each(lambda operation: [name for name in required(operation) if name != "address"]),
    ),
}
faults["fields.optional-type"] |= {
    "An optional field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: (
            _here(self, ctx, body, name) and isinstance(body.get(name), (list, dict))
        ),
        operations=_ALL,
        each=_each(lambda operation: [name for name in optional(operation) if name not in ("is_default",)]),
    ),
}
