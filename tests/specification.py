"""The specification's tables, transcribed by hand: what spec/ and the suite are held to.

Nothing here is derived from spec/ or the package, so that a slip there shows in tests/test_spec.py, and
a gap in a schema as a faulty server that nobody notices.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One row of a table of section 2."""

    name: str
    #: string, array, object or boolean; time and money are strings of a form of their own.
    type: str = "string"
    #: "string or null": null when it has no value.
    nullable: bool = False
    #: Applies to some types of a payout destination only, and may be null or absent in others.
    sometimes: bool = False
    #: Prefix of its identifiers.
    prefix: str = ""
    #: The greatest length, from the tables and section 8.
    limit: int | None = None
    #: All values there are.
    values: tuple[str, ...] = ()


#: Section 2: the fields of each resource. A word that ends in _ is an identifier's prefix, a number the
#: greatest length, null "or null", ? "applies to some types only", what is split by | all values there are.
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

#: Section 2.2: the members of a balance, and those that hold money.
BALANCE_MONEY = ("available_balance", "pending_payout", "pending_payin", "total_balance")
BALANCE = ("currency", "currency_type", *BALANCE_MONEY, "updated_at")

#: Section 4: operation, method, path, and the resource of its answer or of the items of its list.
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

#: Operation -> its method and path.
PATHS = dict(zip(_WORDS[::4], zip(_WORDS[1::4], _WORDS[2::4], strict=True), strict=True))

#: Operation -> the resource that it answers, or that the items of its list are.
ANSWERS = dict(zip(_WORDS[::4], _WORDS[3::4], strict=True))

#: Sections 2.4, 2.6, 2.7 and 4.1: the members that each item of a list carries.
ITEMS = {
    "listAccounts": "id name status created",
    "listPayoutDestinations": "id object country payout_method type currency status is_default created",
    "listVirtualAccounts": "id object account_id currency label status created",
    "listWallets": "id object account_id currency network label status created",
}


def limits(resource: str) -> dict[str, int]:
    """The greatest lengths of a resource's fields."""
    return {name: field.limit for name, field in RESOURCES[resource].items() if field.limit is not None}


#: Section 8 and the tables of section 4: operation -> field of its body -> greatest length.
LIMITS = {
    operation: limits(resource) | ({"iban": 34} if resource == "payout_destination" else {})
    for operation, resource in ANSWERS.items()
    if operation.startswith(("create", "update"))
}

#: Sections 4.1 to 4.7: the fields of each body; those behind the slash may be left out.
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

#: Operation -> the fields that its body must have, and all that it may have.
BODIES = {
    operation: (set(text.partition("/")[0].split()), set(text.replace("/", " ").split()))
    for operation, text in _BODIES.items()
}
