"""The request fields of each operation, as tabled in sections 4 and 8 of the specification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


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

BENEFICIARY_ADDRESS = ("address_line", "city", "region", "postal_code", "country")
VIRTUAL_ACCOUNT_ADDRESS = ("address_line", "city", "state", "postal_code", "country")

ACCOUNT = (FieldRule("name", required=True, max_length=255),)

BENEFICIARY = (
    FieldRule("beneficiary_type", "enum", choices=("individual", "business")),
    FieldRule("title", max_length=20),
    FieldRule("first_name", required=True, max_length=100),
    FieldRule("middle_name", max_length=100),
    FieldRule("last_name", required=True, max_length=100),
    FieldRule("display_name", required=True, max_length=255),
    FieldRule("company_name", max_length=255),
    FieldRule("email", required=True, max_length=255),
    FieldRule("phone", required=True, max_length=50),
    FieldRule("address", "address", required=True, members=BENEFICIARY_ADDRESS),
    FieldRule("tax_id", max_length=50),
    FieldRule("country_code", "country", required=True),
    FieldRule("note"),
)

PAYOUT_DESTINATION = (
    FieldRule("country", "country", required=True),
    FieldRule("type", "enum", required=True, choices=("bank_account", "wallet", "card")),
    FieldRule("currency", "destination_currency", required=True),
    FieldRule("label"),
    FieldRule("network"),
    FieldRule("account_number"),
    FieldRule("account_name"),
    FieldRule("routing_number"),
    FieldRule("account_type", "enum", choices=("checking", "savings")),
    FieldRule("iban", max_length=34),
    FieldRule("swift_code", max_length=11),
    FieldRule("wallet_address"),
    FieldRule("is_default", "boolean"),
)

PAYOUT = (
    FieldRule("beneficiary_id", required=True),
    FieldRule("payout_destination_id", required=True),
    FieldRule("amount", "amount", required=True),
    FieldRule("currency", "currency", required=True),
    FieldRule("note", max_length=500),
)

VIRTUAL_ACCOUNT = (
    FieldRule("currency", "currency", required=True),
    FieldRule("label", required=True, max_length=255),
    FieldRule("address", "optional_address", members=VIRTUAL_ACCOUNT_ADDRESS),
)

WALLET = (
    FieldRule("currency", required=True),
    FieldRule("network", required=True),
    FieldRule("label", required=True, max_length=255),
)

PAYIN = (
    FieldRule("amount", "amount", required=True),
    FieldRule("currency", "currency", required=True),
    FieldRule("payment_method", required=True),
    FieldRule("description"),
)


def _optional(fields: Iterable[FieldRule]) -> tuple[FieldRule, ...]:
    return tuple(replace(field, required=False) for field in fields)


#: operationId -> the fields of its body; operations without a body are missing.
FIELDS: dict[str, tuple[FieldRule, ...]] = {
    "createAccount": ACCOUNT,
    "createBeneficiary": BENEFICIARY,
    "updateBeneficiary": _optional(BENEFICIARY),
    "createPayoutDestination": PAYOUT_DESTINATION,
    "createPayout": PAYOUT,
    "createVirtualAccount": VIRTUAL_ACCOUNT,
    "createWallet": WALLET,
    "createPayin": PAYIN,
}

#: Beneficiary fields that null empties; on all others null is refused.
NULLABLE = frozenset(field.name for field in BENEFICIARY if not field.required and field.kind == "text")
