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

from .bodies import OTHERS
from .catalogue import SHOWN_LATER, Faulty, Only, Row, faults, of, seam, seams
from .crashes import paid_to, paid_to_wallet
from .lookups import made_up
from .resources import EMPTY_BALANCE
from .rows import adding, document, refusing

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


def _initial(operation: str) -> dict[str, tuple[str, Any]]:
    return {
        f"{name} {value if isinstance(value, str) else type(value).__name__}": (name, value)
        for name, value in INITIAL[operation]
    }


def _with_destination(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns the destination of another beneficiary, or one that is not stored."""
    assert ctx.account is not None
    rows = ctx.store.select("beneficiary", ctx.account["id"])
    others = [made for row in rows for made in self.destinations(ctx, row)]
    one = made_up(ctx, "payout_destination", "dest_0001", {"id": shown["id"]}) | {
        "country": "US",
        "payout_method": "ach",
        "type": "bank_account",
        "is_default": False,
    }
    return {"payout_destinations": others[:1] or [self.resource(ctx, "payout_destination", one)]}


def _of_everybody(self: Any, ctx: Context, record: Record) -> list[Any]:
    return [
        shown for each in ctx.store.select("beneficiary", record["parent"]) for shown in self.usual(ctx, each)
    ]


def _status(status: str, test: Callable[[Any, Context], Any], *operations: str, **options: Any) -> Row:
    """Makes a row of new resources in another status where a test of the request holds."""
    return adding("initial_state", {"status": status}, test, operations=operations, **options)


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


class BodyLater(Faulty):
    """What the body says of the member `value` is the resource's, which later reads show."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if self.here(ctx) and ctx.record is not None and ctx.body.get(self.value):
            self.state[ctx.record["id"]] = {self.value: ctx.body[self.value]}

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        shown = super().shape(ctx, kind, document)
        later = self.state.get(document.get("id"), {})
        return {**shown, **later} if ctx.operation in ("getBeneficiary", "getAccountBalances") else shown


def _named_by(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns the member that `value` names as the body has it."""
    return {self.value: ctx.body.get(self.value, shown[self.value])}


faults["create.server-owned"] |= {
    "A member that only the server may set is taken from the body.": document.sets(
        _named_by,
        operations=[operation for operation in OPERATION_SETS["create"] if operation != "createPayin"],
        each=lambda operation: OWNED[KINDS[operation]],
    ),
    "A new payin has the status that the body says.": document.sets(
        lambda self, ctx, shown: {"status": ctx.body.get("status", "pending")},
        operations=("createPayin",),
        also=("format.enum",),
    ),
    "A member that the server assigns is taken from the body.": document.sets(
        _named_by, each=OWNED_BY_SERVER.__getitem__, also=("format.timestamp-current",)
    ),
    "A create that names members of the server is answered with a redirection.": refusing(
        "check_together", (303, "moved", "moved"), lambda self, ctx: {"id", "created"} & ctx.body.keys()
    ),
    "The status is taken from the body; the answer to the create does not show it, later ones do.": seams(
        {
            "initial_state": lambda self, ctx: {
                **self.usual(),
                "status": ctx.body.get("status", self.usual()["status"]),
            },
            "shape": lambda self, ctx, kind, document: {**document, "status": "active"},
        },
        operations=SHOWN_LATER,
    ),
    "A new resource is put under the account that the body names.": seams(
        {
            "new_record": lambda self, ctx: {
                **self.usual(),
                "parent": ctx.body.get("account_id", self.parent(ctx)["id"]),
            },
            "resource": lambda self, ctx, *_: {**self.usual(), "account_id": ctx.account["id"]},
        },
        operations=("createBeneficiary", "createVirtualAccount"),
    ),
    "What the body names is the new resource's, which later reads show.": of(
        BodyLater,
        operations=("createAccount", "createBeneficiary"),
        each={
            "balances": Only("balances", ["createAccount"]),
            "payout_destinations": Only("payout_destinations", ["createBeneficiary"]),
        },
    ),
}

_PAYOUT = ("createPayout",)

faults["create.initial-state"] |= {
    "A new resource is in another state, or has another default.": document.sets(
        lambda self, *_: {self.value[0]: copy.deepcopy(self.value[1])},
        lambda self, ctx, shown: self.value[0] not in ctx.body or self.value[0] == "status",
        each=_initial,
    ),
    "A new beneficiary has a payout destination.": document.sets(
        _with_destination, operations=("createBeneficiary",)
    ),
    "A new beneficiary shows the destinations of the others.": seam(
        "destinations", _of_everybody, operations=("createBeneficiary",)
    ),
    "A new payin is not pending, which is the only status listed.": document.sets(
        {"status": "completed"}, operations=("createPayin",), also=("format.enum",)
    ),
    "A large payout names its provider as soon as it is made.": document.sets(
        {"provider": "bank"}, lambda self, ctx, shown: Decimal(shown["amount"]) > 1000, operations=_PAYOUT
    ),
    "A payout of some amounts is approved as soon as it is made.": _status(
        "pending",
        lambda self, ctx: self.value(Decimal(str(ctx.values["amount"]))),
        *_PAYOUT,
        each=UNAPPROVED,
    ),
    "A payout to a wallet is processed as soon as it is made.": _status(
        "processing", lambda self, ctx: paid_to_wallet(ctx), *_PAYOUT
    ),
    "A payout to the default destination is approved as soon as it is made.": _status(
        "pending", lambda self, ctx: paid_to(ctx, "is_default"), *_PAYOUT
    ),
    "A new resource is inactive in one kind of request.": _status(
        "inactive", lambda self, ctx: self.value(ctx), *OTHERS, each=OTHERS.__getitem__
    ),
}
