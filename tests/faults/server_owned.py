"""Servers that take server-assigned members from the body, or initialize them wrongly (section 4)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import KINDS
from tests.specification import ANSWERS, RESOURCES

from .catalogue import SHOWN_LATER, Faulty, fault, faults, refusal, refuse, seam
from .crashes import paid_to, paid_to_wallet
from .kinds import OTHERS
from .places import Document, document
from .resources import EMPTY_BALANCE

#: Operation -> members with a value that a new resource does not have.
INITIAL: dict[str, list[tuple[str, Any]]] = {
    operation: [("status", status) for status in RESOURCES[ANSWERS[operation]]["status"].values[1:]]
    for operation in OPERATION_SETS["create"]
}
INITIAL["createPayin"] = []
INITIAL["createAccount"] += [("balances", [EMPTY_BALANCE])]
INITIAL["createBeneficiary"] += [("verified", True), ("beneficiary_type", "business")]
INITIAL["createPayoutDestination"] += [("is_default", True)]
INITIAL["createPayout"] += [
    ("provider", "acme"),
    ("provider_reference_id", "r1"),
    ("submitted_at", "2026-01-01T00:00:00Z"),
    ("completed_at", "2026-01-01T00:00:00Z"),
    ("failed_at", "2026-01-01T00:00:00Z"),
    ("failed_reason", "none"),
]


@fault(
    "create.initial-state",
    seam="changed",
    base=Document,
    each=lambda operation: {
        f"{name} {value if isinstance(value, str) else type(value).__name__}": (name, value)
        for name, value in INITIAL[operation]
    },
)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """A new resource is in another state, or has another default."""
    name, value = self.value
    return document if name in ctx.body and name != "status" else {**document, name: copy.deepcopy(value)}


@fault("create.initial-state", seam="changed", base=Document, operations=("createBeneficiary",))
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """A new beneficiary has a payout destination."""
    assert ctx.account is not None
    rows = ctx.store.select("beneficiary", ctx.account["id"])
    found = [made for row in rows for made in self.destinations(ctx, row)]
    stamp = {"created": document["created"], "updated": document["updated"]}
    made = found[:1] or [
        {
            "id": "dest_0001",
            "object": "payout_destination",
            "beneficiary_id": document["id"],
            "country": "US",
            "payout_method": "ach",
            "type": "bank_account",
            "label": None,
            "currency": "USD",
            "network": None,
            "status": "active",
            "is_default": False,
            **stamp,
        }
    ]
    return {**document, "payout_destinations": made}


def _approved(self: Any, ctx: Context) -> dict[str, Any]:
    state: dict[str, Any] = self.usual()
    return {**state, "status": "pending"} if self.value(Decimal(str(ctx.values["amount"]))) else state


#: Kind -> payouts that need no approval.
UNAPPROVED: dict[str, Callable[[Decimal], bool]] = {
    "below one": lambda amount: amount < 1,
    "ten and more": lambda amount: amount >= 10,
    "ten thousand and more": lambda amount: amount >= 10_000,
    "of some thousands": lambda amount: 1000 <= amount < 100_000,
    "of cents": lambda amount: amount % 1 != 0,
    "of a whole number": lambda amount: amount % 1 == 0,
}


#: Resource type -> server-assigned members that a server with mass assignment takes from the body.
OWNED: dict[str, tuple[str, ...]] = {
    "account": ("status", "balances"),
    "beneficiary": ("status", "verified", "payout_destinations"),
    "payout_destination": ("status",),
    "payout": (
        "status",
        "provider",
        "provider_reference_id",
        "submitted_at",
        "completed_at",
        "failed_at",
        "failed_reason",
    ),
    "virtual_account": ("status",),
    "wallet": ("status",),
    "payin": ("status",),
}


@fault("create.server-owned", operations=SHOWN_LATER)
class TakesOwnedUnseen(Faulty):
    """The status is taken from the body; the answer to the create does not show it, later ones do."""

    def initial_state(self, ctx: Context) -> dict[str, Any]:
        state = super().initial_state(ctx)
        return {**state, "status": ctx.body.get("status", state["status"])}

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "status": "active"}


#: Operation -> members of its resource that only the server sets, without its state.
OWNED_BY_SERVER = {
    "createAccount": ("created", "updated"),
    "createBeneficiary": ("created", "updated"),
    "createPayoutDestination": ("created", "account_number_last4"),
    "createPayout": ("created", "initiated_at", "amount_in_usd"),
    "createVirtualAccount": ("created", "reference", "provider_reference_id", "bank_details"),
    "createWallet": ("created", "addresses"),
    "createPayin": ("created",),
}

faults["create.server-owned"] |= {
    "A member that only the server may set is taken from the body.": document(
        lambda self, ctx, document: {**document, self.value: ctx.body.get(self.value, document[self.value])},
        operations=[operation for operation in OPERATION_SETS["create"] if operation != "createPayin"],
        each=lambda operation: OWNED[KINDS[operation]],
    ),
    "A new payin has the status that the body says.": document(
        lambda self, ctx, document: {**document, "status": ctx.body.get("status", "pending")},
        operations=("createPayin",),
        also=("format.enum",),
    ),
    "A member that the server assigns is taken from the body.": document(
        lambda self, ctx, shown: {**shown, self.value: ctx.body.get(self.value, shown[self.value])},
        each=OWNED_BY_SERVER.__getitem__,
        also=("format.timestamp-current",),
    ),
    "A create that names members of the server is answered with a redirection.": seam(
        "check_together",
        lambda self, ctx: (
            refuse(refusal(303, "moved", "moved")) if {"id", "created"} & ctx.body.keys() else self.usual()
        ),
    ),
}


@fault("create.server-owned", operations=("createBeneficiary", "createVirtualAccount"))
class ParentOfTheBody(Faulty):
    """A new resource is put under the account that the body names."""

    def new_record(self, ctx: Context) -> Record:
        record = super().new_record(ctx)
        return {**record, "parent": ctx.body.get("account_id", record["parent"])}

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        shown = super().resource(ctx, kind, record)
        named = self.here(ctx) and ctx.account is not None
        return {**shown, "account_id": ctx.account["id"]} if named and ctx.account else shown


@fault("create.server-owned", operations=("createAccount",))
class BalancesOfTheBody(Faulty):
    """The balances that the body names are the account's, which later reads show."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if self.here(ctx) and ctx.record is not None and ctx.body.get("balances"):
            self.state.setdefault("named", {})[ctx.record["id"]] = ctx.body["balances"]

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        shown = super().account_balances(ctx, record)
        return {**shown, "balances": self.state.get("named", {}).get(record["id"], shown["balances"])}


@fault("create.server-owned", operations=("createBeneficiary",))
class DestinationsOfTheBody(Faulty):
    """The destinations that the body names are the beneficiary's, which later reads show."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if self.here(ctx) and ctx.record is not None and ctx.body.get("payout_destinations"):
            self.state.setdefault("named", {})[ctx.record["id"]] = ctx.body["payout_destinations"]

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        shown = super().shape(ctx, kind, document)
        named = self.state.get("named", {}).get(document.get("id"))
        return (
            {**shown, "payout_destinations": named} if named and ctx.operation == "getBeneficiary" else shown
        )


@fault("create.initial-state", seam="destinations", operations=("createBeneficiary",))
def _(self: Any, ctx: Context, record: Record) -> Any:
    """A new beneficiary shows the destinations of the others."""
    everybody = ctx.store.select("beneficiary", record["parent"])
    return [shown for each in everybody for shown in Faulty.destinations(self, ctx, each)]


faults["create.initial-state"] |= {
    "A new payin is not pending, which is the only status listed.": document(
        lambda self, ctx, document: {**document, "status": "completed"},
        operations=("createPayin",),
        also=("format.enum",),
    ),
    "A payout of some amounts is approved as soon as it is made.": seam(
        "initial_state", _approved, operations=("createPayout",), each=UNAPPROVED
    ),
    "A large payout names its provider as soon as it is made.": document(
        lambda self, ctx, document: (
            {**document, "provider": "bank"} if Decimal(document["amount"]) > 1000 else document
        ),
        operations=("createPayout",),
    ),
    "A payout to a wallet is processed as soon as it is made.": seam(
        "initial_state",
        lambda self, ctx: {**self.usual(), **({"status": "processing"} if paid_to_wallet(ctx) else {})},
        operations=("createPayout",),
    ),
    "A payout to the default destination is approved as soon as it is made.": seam(
        "initial_state",
        lambda self, ctx: {**self.usual(), **({"status": "pending"} if paid_to(ctx, "is_default") else {})},
        operations=("createPayout",),
    ),
    "A new resource is inactive in one kind of request.": seam(
        "initial_state",
        lambda self, ctx: {**self.usual(), "status": "inactive"} if self.value(ctx) else self.usual(),
        operations=OTHERS,
        each=OTHERS.__getitem__,
    ),
}
