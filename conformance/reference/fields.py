"""The request fields of each operation, as tabled in sections 4 and 8 of the specification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Field:
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

ACCOUNT = (Field("name", required=True, max_length=255),)

BENEFICIARY = (
    Field("beneficiary_type", "enum", choices=("individual", "business")),
    Field("title", max_length=20),
    Field("first_name", required=True, max_length=100),
    Field("middle_name", max_length=100),
    Field("last_name", required=True, max_length=100),
    Field("display_name", required=True, max_length=255),
    Field("company_name", max_length=255),
    Field("email", required=True, max_length=255),
    Field("phone", required=True, max_length=50),
    Field("address", "address", required=True, members=BENEFICIARY_ADDRESS),
    Field("tax_id", max_length=50),
    Field("country_code", "country", required=True),
    Field("note"),
)

PAYOUT_DESTINATION = (
    Field("country", "country", required=True),
    Field("type", "enum", required=True, choices=("bank_account", "wallet", "card")),
    Field("currency", "destination_currency", required=True),
    Field("label"),
    Field("network"),
    Field("account_number"),
    Field("account_name"),
    Field("routing_number"),
    Field("account_type", "enum", choices=("checking", "savings")),
    Field("iban", max_length=34),
    Field("swift_code", max_length=11),
    Field("wallet_address"),
    Field("is_default", "boolean"),
)

PAYOUT = (
    Field("beneficiary_id", required=True),
    Field("payout_destination_id", required=True),
    Field("amount", "amount", required=True),
    Field("currency", "currency", required=True),
    Field("note", max_length=500),
)

VIRTUAL_ACCOUNT = (
    Field("currency", "currency", required=True),
    Field("label", required=True, max_length=255),
    Field("address", "optional_address", members=VIRTUAL_ACCOUNT_ADDRESS),
)

WALLET = (
    Field("currency", required=True),
    Field("network", required=True),
    Field("label", required=True, max_length=255),
)

PAYIN = (
    Field("amount", "amount", required=True),
    Field("currency", "currency", required=True),
    Field("payment_method", required=True),
    Field("description"),
)


def _optional(fields: Iterable[Field]) -> tuple[Field, ...]:
    return tuple(replace(field, required=False) for field in fields)


#: operationId -> the fields of its body; operations without a body are missing.
FIELDS: dict[str, tuple[Field, ...]] = {
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
