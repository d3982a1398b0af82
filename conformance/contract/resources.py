"""What the specification states about a resource that was just created (sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS

#: The initial state of what each operation creates.
INITIAL: Mapping[str, Mapping[str, Any]] = {
    "createAccount": {"status": "active", "balances": []},
    "createBeneficiary": {"status": "active", "verified": False, "payout_destinations": []},
    "createPayoutDestination": {"status": "active"},
    "createPayout": {
        "status": "pending_approval",
        **dict.fromkeys(
            (
                "provider",
                "provider_reference_id",
                "submitted_at",
                "completed_at",
                "failed_at",
                "failed_reason",
            )
        ),
    },
    "createVirtualAccount": {"status": "active"},
    "createWallet": {"status": "active"},
    "createPayin": {"status": "pending"},
}

#: The defaults of fields that were not sent.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "createBeneficiary": {"beneficiary_type": "individual"},
    "createPayoutDestination": {"is_default": False},
}

#: Fields typed "or null" that a client may leave out.
NULLABLE: Mapping[str, tuple[str, ...]] = {
    "createBeneficiary": ("title", "middle_name", "company_name", "tax_id", "note"),
    "createPayoutDestination": ("label", "network"),
    "createPayout": ("note",),
}

#: Operation that creates -> the path parameter, and member of the answer, that names the parent.
PARENTS: Mapping[str, str] = {
    operation.id: operation.path_parameters[-1]
    for operation in OPERATIONS.values()
    if operation.id.startswith("create")
}


def initial_state(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The state and the defaults that a resource created with this body starts with."""
    defaults = DEFAULTS.get(operation, {})
    return {**INITIAL[operation], **{name: value for name, value in defaults.items() if name not in body}}


def sent(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a body that the answer shows as they were sent; of an amount, only the value is the same
    (create.amount-exact)."""
    shown = documented(operation)
    return {name: value for name, value in body.items() if name in shown and name != "amount"}


def stated(operation: str, body: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Everything that is known beforehand about the answer to a create with this body under these parents."""
    absent = {name: None for name in NULLABLE.get(operation, ()) if name not in body}
    parent = PARENTS[operation]
    return {**absent, **initial_state(operation, body), **sent(operation, body), parent: ids[parent]}
