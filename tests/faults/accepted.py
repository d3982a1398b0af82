"""Servers that refuse valid bodies: names, amounts, scripts, optional fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS

from .bodies import is_of_type, mending, required, types
from .catalogue import Row, faults, refuse, seam
from .fields import SYNTACTIC, fillable, numbered
from .kinds import in_bodies
from .rows import refusing, where


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
LISTED = {
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
