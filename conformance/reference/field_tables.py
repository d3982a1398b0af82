"""The request fields of each operation, as the reference server reads them."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.contract.fields import Field, request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A request field. `kind` says what its value must be and which check of Validation looks at it.

    `max_length` is in characters; `choices` and `members` belong to the kinds enum and address.
    """

    name: str
    kind: str = "text"
    required: bool = False
    max_length: int | None = None
    choices: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


#: Kind of field -> the Python type of its JSON value; all others are strings.
TYPES: dict[str, type] = {"boolean": bool, "address": dict, "optional_address": dict}


def _kind(operation: str, field: Field) -> str:
    if field.type == "object":
        needed = field.required or TRAITS[operation].subset_of
        return "address" if needed else "optional_address"
    if field.code == "currency" and TRAITS[operation].creates == "payout_destination":
        return "destination_currency"
    kind = "amount" if field.name == "amount" else "enum" if field.choices else "text"
    return field.code or (kind if field.type == "string" else field.type)


def _rule(operation: str, field: Field) -> FieldRule:
    required = field.required and not TRAITS[operation].subset_of
    kind = _kind(operation, field)
    return FieldRule(field.name, kind, required, field.max_length, field.choices, field.members)


#: operationId -> the fields of its body; operations without a body are missing.
FIELDS: dict[str, tuple[FieldRule, ...]] = {
    operation: tuple(_rule(operation, field) for field in request_fields(operation))
    for operation, described in OPERATIONS.items()
    if described.request_schema is not None
}

BENEFICIARY = FIELDS["createBeneficiary"]

#: Beneficiary fields that null empties; on all others null is refused.
NULLABLE = frozenset(field.name for field in BENEFICIARY if not field.required and field.kind == "text")
