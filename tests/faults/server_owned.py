"""Servers that take server-assigned members from the body, or initialize them wrongly (section 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context
from tests.specification import ANSWERS, RESOURCES

from .bodies import OTHERS, asks
from .catalogue import SHOWN_LATER, Call, Faulty, Only, Row, faults, of, seam, seams
from .crashes import paid_to
from .paths import made_up
from .resources import EMPTY_BALANCE
from .rows import adding, document, each_of, refusing, says


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


def _status(status: str, test: Call, *operations: str, **options: Any) -> Row:
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


#: Operation -> members of its resource that only the server sets, which mass assignment takes from the body.
OWNED = {
    "createAccount": "status balances created updated",
    "createBeneficiary": "status verified payout_destinations created updated",
    "createPayoutDestination": "status created account_number_last4",
    "createPayout": """status provider provider_reference_id submitted_at completed_at failed_at failed_reason
        created initiated_at amount_in_usd""",
    "createVirtualAccount": "status created reference provider_reference_id bank_details",
    "createWallet": "status created addresses",
    "createPayin": "status created",
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


faults["create.server-owned"] |= {
    "A member that only the server may set is taken from the body.": document.sets(
        lambda ctx, shown, value: {value: ctx.body.get(value, shown[value])},
        each=lambda operation: OWNED[operation].split(),
        also=("format.timestamp-current", "format.enum"),
    ),
    "A create that names members of the server is answered with a redirection.": refusing(
        "check_together", "303 moved moved", lambda ctx: {"id", "created"} & ctx.body.keys()
    ),
    "The status is taken from the body; the answer to the create does not show it, later ones do.": seams(
        {
            "initial_state": lambda ctx, usual: {
                **usual(),
                "status": ctx.body.get("status", usual()["status"]),
            },
            "shape": lambda document: {**document, "status": "active"},
        },
        operations=SHOWN_LATER,
    ),
    "A new resource is put under the account that the body names.": seams(
        {
            "new_record": lambda self, ctx, usual: {
                **usual(),
                "parent": ctx.body.get("account_id", self.parent(ctx)["id"]),
            },
            "resource": lambda ctx, usual: {**usual(), "account_id": ctx.account["id"]},
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
    "A new resource is in another state, or has another default.": document.changes(
        lambda operation: each_of("status", RESOURCES[ANSWERS[operation]]["status"].values[1:])(operation),
        each_of("balances", {"not empty": [EMPTY_BALANCE]}, ["createAccount"]),
        each_of("verified", [True], ["createBeneficiary"]),
        each_of("beneficiary_type", ["business"], ["createBeneficiary"]),
        each_of("is_default", [True], ["createPayoutDestination"]),
        each_of("provider provider_reference_id failed_reason", ["acme"], _PAYOUT),
        each_of("submitted_at completed_at failed_at", ["2026-01-01T00:00:00Z"], _PAYOUT),
        test=lambda ctx, value: value[0] not in ctx.body or value[0] == "status",
    ),
    "A new beneficiary has destinations.": document.sets(
        _with_destination, operations=("createBeneficiary",)
    ),
    "A new beneficiary shows the destinations of the others.": seam(
        "destinations",
        lambda ctx, record, usual: [
            shown for one in ctx.store.select("beneficiary", record["parent"]) for shown in usual(ctx, one)
        ],
        operations=("createBeneficiary",),
    ),
    "A new payin is not pending, which is the only status listed.": document.sets(
        {"status": "completed"}, operations=("createPayin",), also=("format.enum",)
    ),
    "A large payout names its provider as soon as it is made.": document.sets(
        {"provider": "bank"}, lambda shown: Decimal(shown["amount"]) > 1000, operations=_PAYOUT
    ),
    "A payout of some amounts is approved as soon as it is made.": _status(
        "pending", lambda self, ctx: self.value(Decimal(str(ctx.values["amount"]))), *_PAYOUT, each=UNAPPROVED
    ),
    "A payout to a wallet is processed as soon as it is made.": _status(
        "processing", lambda ctx: says(paid_to(ctx), "type=wallet"), *_PAYOUT
    ),
    "A payout to the default destination is approved as soon as it is made.": _status(
        "pending", lambda ctx: says(paid_to(ctx), "is_default=True"), *_PAYOUT
    ),
    "A new resource is inactive in one kind of request.": _status(
        "inactive", lambda ctx, value: asks(ctx, value), *OTHERS, each=OTHERS.__getitem__
    ),
}
