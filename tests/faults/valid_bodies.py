"""Servers that refuse valid values, or leave out optional ones of a wrong type (sections 4 and 8)."""

from __future__ import annotations

import json
import re
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.seams.validation import FIELDS

from .bodies import asks, in_bodies, is_of_type, mending, required, types
from .catalogue import Call, Row, faults, refuse, seam
from .fields import fillable, needed_texts
from .rows import refusing, says


def optional(operation: str) -> list[str]:
    """Returns the optional fields."""
    return [field.name for field in FIELDS[operation] if field.name not in required(operation)]


faults["fields.optional-type"] |= {
    "An optional field of this wrong type is left out.": seam(
        "parse_body",
        lambda self, usual, *_: {
            name: sent
            for name, sent in usual().items()
            if name != self.value[0] or not is_of_type(sent, self.value[1])
        },
        each=types(optional, ("array", "object", "number", "boolean")),
        by_field=True,
    ),
    "An optional field of another type is filled in, in one kind of body.": mending(
        lambda self, ctx, body, name: isinstance(body.get(name), (list, dict)) and asks(ctx, self.value[1]),
        each=in_bodies(lambda operation: [name for name in optional(operation) if name != "is_default"]),
    ),
}


faults["fields.other-scripts"] |= {
    "A text in letters outside ASCII is refused.": refusing(
        "check_value",
        "invalid_field",
        lambda self, ctx, field, value: field.name == self.value and not value.isascii(),
        each=fillable,
    )
}


def _with_and_without(names: str) -> list[str]:
    return [f"{word}{name}" for name in names.split() for word in ("", "no ")]


#: Operation -> kinds of valid bodies, as `says` reads them. Nothing open depends on the optional fields: they
#: are neither bank details nor fields of some shapes only.
VALID = {
    "createBeneficiary": [
        *("beneficiary_type=individual", "beneficiary_type=business"),
        *_with_and_without("beneficiary_type title middle_name tax_id note"),
    ],
    "updateBeneficiary": [
        *("beneficiary_type=individual", "beneficiary_type=business"),
        *(field.name for field in FIELDS["updateBeneficiary"]),
    ],
    "createPayoutDestination": [
        *("is_default=True", "is_default=False", "account_type=savings"),
        *_with_and_without("label is_default"),
    ],
    "createPayout": _with_and_without("note"),
    "createVirtualAccount": _with_and_without("address"),
    "createPayin": _with_and_without("description"),
}


def refusing_bodies(test: Call, **options: Any) -> Row:
    """Makes a row that refuses the bodies for which a test holds."""
    return seam(
        "parse_body",
        lambda self, usual, ctx: refuse("invalid_field") if test(self, body := usual()) else body,
        **options,
    )


faults["fields.accepts-valid"] |= {
    "A valid body of some kind is refused.": refusing_bodies(
        lambda self, body: says(body, self.value),
        operations=VALID,
        each=VALID.__getitem__,
    ),
    "A PATCH of some kind is refused.": refusing_bodies(
        lambda self, body: self.value({*body}),
        operations=("updateBeneficiary",),
        each={
            "without a required field": lambda names: not {*required("createBeneficiary")} <= names,
            "of one field": lambda names: len(names) == 1,
            "of several fields": lambda names: len(names) > 1,
        },
    ),
    "A name or label that does not begin with a certain word is refused.": refusing_bodies(
        lambda self, body: not re.search('"(name|label)": "conformance', json.dumps(body), re.IGNORECASE),
        operations=("createAccount", "createVirtualAccount", "createWallet"),
    ),
    "A required text that is 0 is refused as missing.": refusing(
        "check_length",
        "invalid_field",
        lambda self, ctx, field, value: field.name == self.value and value == "0",
        operations=[operation for operation in OPERATION_SETS["body"] if needed_texts(operation)],
        each=needed_texts,
    ),
    "A name of a person is refused that is not of this form.": refusing(
        "check_length",
        "invalid_field",
        lambda self, ctx, field, value: (
            field.name in ("first_name", "middle_name", "last_name") and not re.fullmatch(self.value, value)
        ),
        operations=("createBeneficiary",),
        each={
            "two letters or more": r".{2,}",
            "letters only": r"[^\W\d_]+",
            "no hyphen": r"[^-]+",
            "one word": r"\S+",
            "capitals first": r"[A-Z].*",
        },
    ),
    "An amount is refused that is not of this form.": refusing(
        "check_amount",
        "invalid_field",
        lambda self, ctx, field, value: not re.fullmatch(self.value, value),
        operations=("createPayout", "createPayin"),
        each={
            "two decimals": r"\d+\.\d\d",
            "some decimals": r"\d+\.\d+",
            "none or two decimals": r"\d+(\.\d\d)?",
        },
    ),
}
