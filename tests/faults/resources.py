"""Servers that create or read resources with wrong values, or take the server's from the body."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import FIELDS
from tests.specification import ANSWERS, BALANCE_MONEY, BODIES, RESOURCES
from tests.support.overrides import with_document

from .bodies import OTHERS, asks
from .catalogue import SHOWN_LATER, Call, Only, Row, faults, seam, seams
from .crashes import paid_to
from .other_ids import made_up
from .rows import (
    MISSING,
    adding,
    after,
    another,
    document,
    each_of,
    inside,
    refusing,
    says,
    shown_as,
    store,
    succeeded,
    third,
    turn,
    where,
)


def echoed(operation: str) -> list[str]:
    """Returns the body fields that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.name in RESOURCES[ANSWERS[operation]]]


def free_texts(operation: str) -> list[str]:
    """Returns the free texts that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.free and field.name in echoed(operation)]


faults["payout.amount-in-usd"] |= {
    "amount_in_usd of an amount in another currency is zero or less.": where(
        "amount_in_usd",
        lambda self, ctx: ctx.values["currency"] != "USD",
        lambda self, *_: self.value,
        each=("0.00", "-3.00"),
    ),
    "amount_in_usd of an amount in another currency is in whole dollars, rounded down.": where(
        "amount_in_usd",
        lambda self, ctx: ctx.values["currency"] != "USD" and len(str(ctx.values["amount"])) < 20,
        lambda self, usual, *_: f"{int(Decimal(usual()))}.00",
    ),
    "amount_in_usd of an amount in US dollars is another one.": seam(
        "amount_in_usd",
        lambda self, usual, *_: self.value(Decimal(usual())),
        each={
            "2.00": lambda amount: "2.00" if amount != 2 else "3",
            "0": lambda amount: "0" if amount else "3",
            "fee": lambda amount: format(amount * Decimal("0.99"), "f"),
            "missing cents": lambda amount: (
                str(int(amount)) if amount != int(amount) else format(amount + Decimal("0.001"), "f")
            ),
        },
    ),
}


# ---------------------------------------------------------------------- balances

#: A balance of a currency that the account does not have.
EMPTY_BALANCE = {
    "currency": "USD",
    "currency_type": "fiat",
    **dict.fromkeys(BALANCE_MONEY, "0.00"),
    "updated_at": "2026-01-01T00:00:00Z",
}


def _of_the_customer(self: Any, _: Any, ctx: Context, record: Record) -> list[Any]:
    """Returns the balances of all accounts of a customer, as they are shown."""
    accounts = ctx.store.select("account", record["parent"])
    return [self.balance(ctx, held) for account in accounts for held in ctx.store.balances(account["id"])]


def _moved_by_others(self: Any, usual: Any, ctx: Context, record: Record) -> list[Any]:
    """Returns what other accounts of the customer pay as balances of an account without any."""
    sign = "-" if self.value == "available_balance" else ""
    none = {"available_balance": "0.00", "pending_payout": "0.00"}
    return [
        {**EMPTY_BALANCE, **held, **none, self.value: f"{sign}{held['pending_payout']}"}
        for held in _of_the_customer(self, usual, ctx, record)
    ]


def _twice(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    empty = {**EMPTY_BALANCE, "updated_at": self.timestamp_text(ctx, ctx.now)}
    first = shown["balances"][:1] or [empty]
    return {"balances": [*first, *first, *shown["balances"][1:]]}


def _draw_on_another(self: Any, usual: Any, ctx: Context) -> None:
    paying: Record = ctx.account or {}
    accounts = [paying, *ctx.store.select("account", paying["parent"])]
    ctx.account = next((one for one in accounts if ctx.store.balances(one["id"])), paying)
    usual()
    ctx.account = paying


faults["balances.of-account"] |= {
    "A payout from an account without funds is taken from another account of the customer.": seam(
        "reserve_funds", _draw_on_another, everywhere=True
    ),
    "The balances carry another id.": document.sets(
        each={
            "customer's id": lambda self, ctx, *_: {"id": ctx.record["parent"].replace("cus_", "acc_")},
            "another id": lambda self, ctx, shown: {"id": f"acc_{shown['id'][::-1].replace('_cca', '')}"},
        }
    ),
    "Each third read carries another id.": third(lambda self, ctx, shown: {**shown, "id": shown["id"][::-1]}),
    "The balances are those of all accounts of the customer.": seam("balances", _of_the_customer),
    "What one account pays moves the balances of the customer's other accounts as well.": where(
        "balances",
        lambda self, ctx, record: not ctx.store.balances(record["id"]),
        _moved_by_others,
        each=("pending_payout", "available_balance"),
    ),
    "What an account pays moves the balances of the one that its customer opened last.": where(
        "balances",
        lambda self, ctx, record: (
            not ctx.store.balances(record["id"])
            and record["id"] == ctx.store.select("account", record["parent"])[-1]["id"]
        ),
        _moved_by_others,
        each=("pending_payout", "available_balance"),
    ),
    "Balances stay, and a new account shows those of another one of the customer.": seams(
        {
            "balances": lambda self, usual, ctx, record: (
                usual() or _of_the_customer(self, usual, ctx, record)
            ),
            "reserve_funds": None,
        },
        everywhere=True,
    ),
    "A currency has two balances.": document.sets(_twice),
    "A currency has two balances while a payout is pending.": seam(
        "balances",
        lambda self, usual, *_: [*usual(), *(held for held in usual() if Decimal(held["pending_payout"]))],
    ),
}


# ---------------------------------------------------------------------- reads


def _move(ctx: Context, destination: Record) -> None:
    """Gives a beneficiary the country of its destination."""
    owner = ctx.store.get("beneficiary", destination["parent"]) or {}
    store(ctx, {"country_code": destination["country"]}, [owner])


def paid(ctx: Context, member: str, record: Record) -> bool:
    """Returns True if a payout of the account refers to a resource."""
    account = ctx.params["account_id"]
    return any(payout[member] == record["id"] for payout in ctx.store.select("payout", account))


_BENEFICIARY, _VIRTUAL_ACCOUNT = ("getBeneficiary",), ("getVirtualAccount",)

faults["read.equals-create"] |= {
    "The read answers another resource of the same account.": seam(
        "success_document",
        lambda self, usual, ctx: self.resource(
            ctx, kind := RECORD_KINDS[ctx.operation], ctx.store.select(kind, ctx.account["id"])[0]
        ),
    ),
    "A read answers what the last read of another resource answered.": where(
        "finish",
        succeeded,
        lambda self, usual, ctx, response: with_document(
            response,
            [self.state.get("last", response.document), self.state.update(last=response.document)][0],
        ),
    ),
    "Each third read finds nothing.": refusing(
        "success_document", "missing_child", lambda self, *_: turn(self) % 3 == 0
    ),
    "Each third read shows another text.": third(
        lambda self, ctx, shown: shown_as(
            shown, "label" if "label" in shown else "display_name", lambda text: f"{text}x"
        )
    ),
    "A resource of some kind cannot be read.": refusing(
        "success_document",
        "missing_child",
        lambda self, ctx: says(ctx.record, self.value),
        each={
            "a business": Only("beneficiary_type=business", _BENEFICIARY),
            "without optional fields": Only("no note", _BENEFICIARY),
            "in USD": Only("currency=USD", _VIRTUAL_ACCOUNT),
            "in EUR": Only("currency=EUR", _VIRTUAL_ACCOUNT),
        },
    ),
    "A member is read cut off, or not at all.": document.changes(
        each_of(inside("bank_details", "iban bic bank_name"), {"missing": MISSING}, _VIRTUAL_ACCOUNT),
        each_of("note", {"cut": lambda text: str(text)[:200]}, _BENEFICIARY),
        each_of("label", {"cut": lambda text: text[:200]}, _VIRTUAL_ACCOUNT),
    ),
    "This member of a beneficiary changes with the first payout to it.": document.sets(
        another,
        lambda self, ctx, shown: paid(ctx, "beneficiary_id", shown),
        operations=_BENEFICIARY,
        each=("note", "display_name"),
    ),
    "A new destination empties the note of its beneficiary.": after(
        "create_destination",
        lambda self, ctx: store(ctx, {"note": None}, [ctx.beneficiary]),
        everywhere=True,
        operations=_BENEFICIARY,
    ),
    "A beneficiary takes over the country of its new destination.": after(
        "create_destination",
        lambda self, ctx: _move(ctx, ctx.record),
        everywhere=True,
        operations=_BENEFICIARY,
    ),
    "A beneficiary takes over the country of the destination that is paid.": after(
        "create_payout",
        lambda self, ctx: _move(
            ctx, ctx.store.get("payout_destination", ctx.values["payout_destination_id"])
        ),
        everywhere=True,
        operations=_BENEFICIARY,
    ),
}


# ---------------------------------------------------------------------- what the server owns


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


def owned(operation: str) -> list[str]:
    """Returns the members of a resource that only the server sets, which mass assignment takes from the body;
    not its id, type and parent, nor payout_method, which a server may let its clients choose."""
    fields = RESOURCES[ANSWERS[operation]]
    return [
        name
        for name, field in fields.items()
        if name not in (*BODIES[operation][1], "id", "object", "account_id", "payout_method")
        and not field.prefix
    ]


faults["create.server-owned"] |= {
    "A member that only the server may set is taken from the body.": document.sets(
        lambda self, ctx, shown: {self.value: ctx.body.get(self.value, shown[self.value])},
        each=owned,
        also=("format.timestamp-current", "format.enum"),
    ),
    "A create that names members of the server is answered with a redirection.": refusing(
        "check_together", "303 moved moved", lambda self, ctx: {"id", "created"} & ctx.body.keys()
    ),
    "The status is taken from the body; the answer to the create does not show it, later ones do.": seams(
        {
            "initial_state": lambda self, usual, ctx: {
                **usual(),
                "status": ctx.body.get("status", usual()["status"]),
            },
            "shape": lambda self, usual, ctx, kind, document: {**document, "status": "active"},
        },
        operations=SHOWN_LATER,
    ),
    "A new resource is put under the account that the body names.": seams(
        {
            "new_record": lambda self, usual, ctx: {
                **usual(),
                "parent": ctx.body.get("account_id", self.parent(ctx)["id"]),
            },
            "resource": lambda self, usual, ctx, *_: {**usual(), "account_id": ctx.account["id"]},
        },
        operations=("createBeneficiary", "createVirtualAccount"),
    ),
    "What the body names is the new resource's, which later reads show.": seams(
        {
            "create": lambda self, usual, ctx: (
                usual()
                or self.state.update(
                    {ctx.record["id"]: {self.value: ctx.body[self.value]}}
                    if self.here(ctx) and ctx.body.get(self.value)
                    else {}
                )
            ),
            "shape": lambda self, usual, ctx, kind, document: {
                **usual(),
                **(self.state.get(document.get("id"), {}) if ctx.operation in OPERATION_SETS["read"] else {}),
            },
        },
        everywhere=True,
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
        test=lambda self, ctx, *_: self.value[0] not in ctx.body or self.value[0] == "status",
    ),
    "A new beneficiary has destinations.": document.sets(
        _with_destination, operations=("createBeneficiary",)
    ),
    "A new beneficiary shows the destinations of the others.": seam(
        "destinations",
        lambda self, usual, ctx, record: [
            shown for one in ctx.store.select("beneficiary", record["parent"]) for shown in usual(ctx, one)
        ],
        operations=("createBeneficiary",),
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
        each={
            "below one": lambda amount: amount < 1,
            "ten and more": lambda amount: amount >= 10,
            "ten thousand and more": lambda amount: amount >= 10_000,
            "of some thousands": lambda amount: 1000 <= amount < 100_000,
            "of cents": lambda amount: amount % 1 != 0,
            "of a whole number": lambda amount: amount % 1 == 0,
        },
    ),
    "A payout to a wallet is processed as soon as it is made.": _status(
        "processing", lambda self, ctx: says(paid_to(ctx), "type=wallet"), *_PAYOUT
    ),
    "A payout to the default destination is approved as soon as it is made.": _status(
        "pending", lambda self, ctx: says(paid_to(ctx), "is_default=True"), *_PAYOUT
    ),
    "The first destination of some beneficiaries is their default, though not sent as such.": adding(
        "kept_fields",
        {"is_default": True},
        lambda self, ctx: (
            says(ctx.body, "no is_default")
            and says(ctx.beneficiary, f"beneficiary_type={self.value}")
            and not ctx.store.select("payout_destination", ctx.beneficiary["id"])
        ),
        operations=("createPayoutDestination",),
        each=("individual", "business"),
    ),
    "A new resource is inactive in one kind of request.": _status(
        "inactive", lambda self, ctx: asks(ctx, self.value), *OTHERS, each=OTHERS.__getitem__
    ),
}
