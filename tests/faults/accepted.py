"""Servers that refuse valid bodies: names, amounts, scripts, optional fields."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .bodies import is_of_type, mending, required, types
from .catalogue import Faulty, fault, faults, hook, refuse, seam
from .fields import SYNTACTIC, fillable, numbered
from .kinds import ALL, each_field, is_in_kind


def optional(operation: str) -> list[str]:
    """Returns the optional fields."""
    return [field.name for field in FIELDS[operation] if field.name not in required(operation)]


@fault(
    "fields.optional-type", seam="parse_body", each=types(optional, ("array", "object", "number", "boolean"))
)
def _(self: Any, ctx: Context) -> Any:
    """An optional field of this wrong type is left out."""
    body, (name, kind) = self.usual(), self.value
    return {key: value for key, value in body.items() if key != name or not is_of_type(value, kind)}


faults["fields.optional-type"] |= {
    "The number of a listed value is taken for it.": seam(
        "parse_body", numbered, operations=("createPayoutDestination",)
    ),
    "An optional field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: (
            is_in_kind(self, ctx, body, name) and isinstance(body.get(name), (list, dict))
        ),
        operations=ALL,
        each=each_field(
            lambda operation: [name for name in optional(operation) if name not in ("is_default",)]
        ),
    ),
}


@fault(
    "fields.other-scripts",
    seam="check_value",
    each=lambda operation: [name for name in fillable(operation) if name not in SYNTACTIC],
)
def _(self: Any, ctx: Context, field: Field, value: Any) -> None:
    """A text in letters outside ASCII is refused."""
    self.usual()
    if field.name == self.value and not value.isascii():
        raise self.invalid(ctx, field, "invalid_characters", "holds characters outside ASCII")


class Refuses(Faulty):
    """Refuses the valid bodies for which `refuses` is true."""

    def refuses(self, body: dict[str, Any]) -> bool:
        return False

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        if self.here(ctx) and self.refuses(body):
            raise Refusal("invalid_field")
        return body


refusing = hook(Refuses, "refuses")

#: Optional fields on which nothing open depends: neither bank details nor fields of some shapes only.
FREE = {
    "createBeneficiary": ("beneficiary_type", "title", "middle_name", "tax_id", "note"),
    "createPayoutDestination": ("label", "is_default"),
    "createPayout": ("note",),
    "createVirtualAccount": ("address",),
    "createPayin": ("description",),
}


@fault(
    "fields.accepts-valid",
    seam="refuses",
    base=Refuses,
    operations=("createBeneficiary", "updateBeneficiary", "createPayoutDestination"),
    each=lambda operation: {
        f"{name} {value}": (name, value)
        for name, value in (
            [("is_default", True), ("is_default", False)]
            if operation == "createPayoutDestination"
            else [("beneficiary_type", "individual"), ("beneficiary_type", "business")]
        )
    },
)
def _(self: Any, body: dict[str, Any]) -> Any:
    """A listed value is refused."""
    name, value = self.value
    return bool(body.get(name) == value)


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

faults["fields.accepts-valid"] |= {
    "A request without this optional field is refused.": refusing(
        lambda self, body: self.value not in body,
        operations=tuple(FREE),
        each=lambda operation: FREE[operation],
    ),
    "A request with this optional field is refused.": refusing(
        lambda self, body: body.get(self.value) is not None,
        operations=tuple(FREE),
        each=lambda operation: FREE[operation],
    ),
    "A PATCH of this field is refused.": refusing(
        lambda self, body: self.value in body,
        operations=("updateBeneficiary",),
        each=lambda operation: [field.name for field in FIELDS[operation]],
    ),
    "A PATCH must name all fields that a create demands, or more than one field, or one only.": refusing(
        lambda self, body: (
            not {*required("createBeneficiary")} <= {*body}
            if self.value == "required fields"
            else len(body) == 1
            if self.value == "two fields"
            else len(body) > 1
        ),
        operations=("updateBeneficiary",),
        each=("required fields", "two fields", "one field"),
    ),
    "A name or label that does not begin with a certain word is refused.": refusing(
        lambda self, body: not str(body.get("name", body.get("label", ""))).lower().startswith("conformance"),
        operations=("createAccount", "createVirtualAccount", "createWallet"),
    ),
    "A name of a person is refused that is not of this form.": seam(
        "check_length",
        lambda self, ctx, field, value: (
            refuse(self.invalid(ctx, field, "invalid_name", "is no name"))
            if field.name in ("first_name", "middle_name", "last_name")
            and not re.fullmatch(self.value, value)
            else self.usual()
        ),
        operations=("createBeneficiary",),
        each=NAMES,
    ),
    "An amount is refused that is not of this form.": seam(
        "check_amount",
        lambda self, ctx, field, value: (
            self.usual()
            if re.fullmatch(self.value, value)
            else refuse(self.invalid(ctx, field, "invalid_amount", "has the wrong number of decimals"))
        ),
        operations=("createPayout", "createPayin"),
        each=AMOUNTS,
    ),
    "A listed type of bank account is refused.": seam(
        "check_enum",
        lambda self, ctx, field, value: (
            refuse(self.invalid(ctx, field, "not_allowed", "is not supported"))
            if value == self.value
            else self.usual()
        ),
        operations=("createPayoutDestination",),
        each=("savings",),
    ),
}
