"""Tables of the specification, transcribed by hand: the reference for spec/ and for the suite.

Nothing here is derived from spec/ or the package, so a transcription error there fails tests/test_spec.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A row of a table in section 2."""

    name: str
    #: string, array, object or boolean; also time and money, which are strings of a documented format.
    type: str = "string"
    #: Typed "or null".
    nullable: bool = False
    #: Applies to some types of a payout destination; null or absent in others.
    sometimes: bool = False
    #: Prefix of the ids.
    prefix: str = ""
    #: Maximum length, from the tables and section 8.
    limit: int | None = None
    #: All documented values.
    values: tuple[str, ...] = ()


#: Section 2: the fields of each resource. A word ending in _ is the prefix of an id, a number the maximum
#: length, null "or null", ? "applies to some types", words joined by | all values.
_RESOURCES = {
    "account": """id acc_, object, customer_id cus_, name 255, status active|suspended|inactive,
        balances array, created time, updated time""",
    "account_balances": "id acc_, object, balances array",
    "beneficiary": """id bene_, object, account_id, beneficiary_type individual|business, title null 20,
        first_name 100, middle_name null 100, last_name 100, display_name 255, company_name null 255,
        email 255, phone 50, address object, tax_id null 50, country_code, note null,
        status active|disabled|inactive, verified boolean, payout_destinations array,
        created time, updated time""",
    "payout_destination": """id dest_, object, beneficiary_id bene_, country, payout_method,
        type bank_account|wallet|card, label null, currency, network null, status active|disabled|inactive,
        account_number_last4 ?, routing_number ?, account_type ? checking|savings, clabe_last4 ?,
        iban_masked ?, swift_code ? 11, wallet_address_masked ?, is_default boolean,
        created time, updated time""",
    "payout": """id po_, object, account_id, beneficiary_id bene_, payout_destination_id dest_, amount money,
        currency, amount_in_usd money, status pending_approval|pending|processing|completed|failed,
        provider null, provider_reference_id null, initiated_at time, submitted_at time null,
        completed_at time null, failed_at time null, failed_reason null, note null 500, created time,
        updated time""",
    "virtual_account": """id va_, object, account_id, currency, bank_details object, reference,
        provider_reference_id, label 255, status active|suspended|inactive, created time, updated time""",
    "wallet": """id wal_, object, account_id, currency, network, addresses array, label 255,
        status active|suspended|inactive, created time, updated time""",
    "payin": "id pin_, object, account_id, amount money, currency, status pending|, created time",
}


#: Section 2.4: request fields of a destination that no answer shows whole.
HIDDEN = ("account_number", "iban", "wallet_address")


def _field(text: str) -> Field:
    name, *words = text.split()
    known: dict[str, object] = {}
    for word in words:
        if word == "null":
            known["nullable"] = True
        elif word == "?":
            known["sometimes"] = True
        elif word.isdigit():
            known["limit"] = int(word)
        elif word.endswith("_"):
            known["prefix"] = word
        elif "|" in word:
            known["values"] = tuple(filter(None, word.split("|")))
        else:
            known["type"] = word
    return Field(name, **known)  # type: ignore[arg-type]


#: Resource -> its fields by name, in the order of the table.
RESOURCES = {
    resource: {field.name: field for field in map(_field, text.split(","))}
    for resource, text in _RESOURCES.items()
}

ADDRESS = ("address_line", "city", "region", "postal_code", "country")

#: Section 2.2: the members of a balance, and those that are amounts.
BALANCE_MONEY = ("available_balance", "pending_payout", "pending_payin", "total_balance")
BALANCE = ("currency", "currency_type", *BALANCE_MONEY, "updated_at")

#: Section 4: operation, method, path, and the resource of its response or of its list items.
_OPERATIONS = """
createAccount POST /v1/customers/{customer_id}/accounts account
listAccounts GET /v1/customers/{customer_id}/accounts account
getAccountBalances GET /v1/customers/{customer_id}/accounts/{account_id}/balances account_balances
createBeneficiary POST /v1/accounts/{account_id}/beneficiaries beneficiary
getBeneficiary GET /v1/accounts/{account_id}/beneficiaries/{beneficiary_id} beneficiary
updateBeneficiary PATCH /v1/accounts/{account_id}/beneficiaries/{beneficiary_id} beneficiary
disableBeneficiary POST /v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/disable beneficiary
createPayoutDestination POST
    /v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/payout-destinations payout_destination
listPayoutDestinations GET
    /v1/accounts/{account_id}/beneficiaries/{beneficiary_id}/payout-destinations payout_destination
createPayout POST /v1/accounts/{account_id}/payouts payout
createVirtualAccount POST /v1/accounts/{account_id}/virtual-accounts virtual_account
listVirtualAccounts GET /v1/accounts/{account_id}/virtual-accounts virtual_account
getVirtualAccount GET /v1/accounts/{account_id}/virtual-accounts/{virtual_account_id} virtual_account
createWallet POST /v1/accounts/{account_id}/wallets wallet
listWallets GET /v1/accounts/{account_id}/wallets wallet
createPayin POST /v1/accounts/{account_id}/payins payin
"""
_WORDS = _OPERATIONS.split()

#: Operation -> method and path.
PATHS = dict(zip(_WORDS[::4], zip(_WORDS[1::4], _WORDS[2::4], strict=True), strict=True))

#: Operation -> resource of its response or of its list items.
ANSWERS = dict(zip(_WORDS[::4], _WORDS[3::4], strict=True))

#: Sections 2.4, 2.6, 2.7 and 4.1: required members of a list item.
ITEMS = {
    "listAccounts": "id name status created",
    "listPayoutDestinations": "id object country payout_method type currency status is_default created",
    "listVirtualAccounts": "id object account_id currency label status created",
    "listWallets": "id object account_id currency network label status created",
}


def limits(resource: str) -> dict[str, int]:
    """Returns the maximum lengths of a resource's fields."""
    return {name: field.limit for name, field in RESOURCES[resource].items() if field.limit is not None}


#: Section 8 and the tables of section 4: operation -> body field -> maximum length.
LIMITS = {
    operation: limits(resource) | ({"iban": 34} if resource == "payout_destination" else {})
    for operation, resource in ANSWERS.items()
    if operation.startswith(("create", "update"))
}

#: Sections 4.1 to 4.7: body fields; those after the slash are optional.
_BENEFICIARY = """first_name last_name display_name email phone address country_code
    / beneficiary_type title middle_name company_name tax_id note"""
_BODIES = {
    "createAccount": "name",
    "createBeneficiary": _BENEFICIARY,
    "updateBeneficiary": f"/ {_BENEFICIARY.replace('/', '')}",
    "createPayoutDestination": """country type currency / label network account_number account_name
        routing_number account_type iban swift_code wallet_address is_default""",
    "createPayout": "beneficiary_id payout_destination_id amount currency / note",
    "createVirtualAccount": "currency label / address",
    "createWallet": "currency network label",
    "createPayin": "amount currency payment_method / description",
}

#: Operation -> required body fields, and all body fields.
BODIES = {
    operation: (set(text.partition("/")[0].split()), set(text.replace("/", " ").split()))
    for operation, text in _BODIES.items()
}
