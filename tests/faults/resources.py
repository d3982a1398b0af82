"""Servers that create resources with wrong values (sections 2, 3 and 4)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from conformance.judge.comparison import MOVING
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS, ANSWERS, RESOURCES

from .catalogue import Faulty, fault, faults, refuse, seam
from .places import Document, Finishes, another, document, other, succeeded, third


def echoed(operation: str) -> list[str]:
    """Returns the body fields that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.name in RESOURCES[ANSWERS[operation]]]


def free_texts(operation: str) -> list[str]:
    """Returns the free texts that the resource shows."""
    texts = {"name", "first_name", "middle_name", "last_name", "display_name", "note", "label"}
    return [name for name in echoed(operation) if name in texts]


faults["payout.amount-in-usd"] |= {
    "amount_in_usd of an amount in another currency is zero or less.": seam(
        "amount_in_usd",
        lambda self, ctx: self.usual() if ctx.values["currency"] == "USD" else str(self.value),
        each=("0.00", "-3.00"),
    )
}


@fault("payout.amount-in-usd", seam="amount_in_usd", each=("2.00", "0", "fee", "missing cents"))
def _(self: Any, ctx: Context) -> Any:
    """amount_in_usd of an amount in US dollars is another one."""
    amount = Decimal(self.usual())
    match self.value:
        case "fee":
            return format(amount * Decimal("0.99"), "f")
        case "missing cents":
            return str(int(amount)) if amount != int(amount) else format(amount + Decimal("0.001"), "f")
    return str(self.value) if amount != Decimal(self.value) else "3"


@fault("read.equals-create", seam="success_document")
def _(self: Any, ctx: Context) -> Any:
    """The read answers another resource of the same account."""
    kind = KINDS[ctx.operation]
    assert ctx.account is not None
    return self.resource(ctx, kind, ctx.store.select(kind, ctx.account["id"])[0])


@fault("read.equals-create", seam="changed", base=Document)
def _(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """Optional texts are read as null."""
    if ctx.operation == "getVirtualAccount":
        return {**document, "label": document["label"].strip()[:8]}
    return {**document, **dict.fromkeys(("title", "middle_name", "tax_id", "note"))}


@fault("read.equals-create", seam="finished", base=Finishes)
def _(self: Any, ctx: Context, response: Response) -> Any:
    """A read answers what the last read of another resource answered."""
    if not succeeded(response):
        return response
    last = self.state.get("last", response.document)
    self.state["last"] = response.document
    return response.with_document(last)


@fault("balances.of-account", seam="account_balances", each=("customer's id", "another id"))
def _(self: Any, ctx: Context, record: Record) -> Any:
    """The balances carry another id than the account's."""
    document = self.usual()
    another = (
        record["parent"].replace("cus_", "acc_")
        if self.value == "customer's id"
        else document["id"][::-1].replace("_cca", "")
    )
    return {**document, "id": another if another.startswith("acc_") else f"acc_{another}"}


@fault("balances.of-account", seam="balances")
def _(self: Any, ctx: Context, record: Record) -> Any:
    """The balances are those of all accounts of the customer."""
    accounts = ctx.store.select("account", record["parent"])
    return [self.balance(ctx, held) for account in accounts for held in ctx.store.balances(account["id"])]


@fault("balances.of-account", seam="balances", each=("pending_payout", "available_balance"))
def _(self: Any, ctx: Context, record: Record) -> Any:
    """What one account pays moves the balances of the customer's other accounts as well."""
    if ctx.store.balances(record["id"]):
        return self.usual()
    accounts = ctx.store.select("account", record["parent"])
    held = [held for account in accounts for held in ctx.store.balances(account["id"])]
    sign = "-" if self.value == "available_balance" else ""
    return [
        {**EMPTY_BALANCE, **self.balance(ctx, each), "available_balance": "0.00", "pending_payout": "0.00"}
        | {self.value: f"{sign}{each.pending_payout}"}
        for each in held
    ]


@fault("balances.of-account")
class DrawsOnAnother(Faulty):
    """A payout from an account without funds is taken from another account of the customer."""

    everywhere = True

    def reserve_funds(self, ctx: Context) -> None:
        paying = ctx.account
        assert paying is not None
        accounts = [paying, *ctx.store.select("account", paying["parent"])]
        ctx.account = next((one for one in accounts if ctx.store.balances(one["id"])), paying)
        super().reserve_funds(ctx)
        ctx.account = paying


#: A balance of a currency that the account does not have.
EMPTY_BALANCE = {
    "currency": "USD",
    "currency_type": "fiat",
    "available_balance": "0.00",
    "pending_payout": "0.00",
    "pending_payin": "0.00",
    "total_balance": "0.00",
    "updated_at": "2026-01-01T00:00:00Z",
}


@fault("balances.of-account", seam="account_balances")
def _(self: Any, ctx: Context, record: Record) -> Any:
    """A currency has two balances."""
    document = self.usual()
    empty = {**EMPTY_BALANCE, "updated_at": self.timestamp_text(ctx, ctx.now)}
    made = document["balances"][:1] or [empty]
    return {**document, "balances": [*made, *made, *document["balances"][1:]]}


def _other_text(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    name = "label" if "label" in document else "display_name"
    return {**document, name: other(name, document[name])}


@fault("read.equals-create", seam="success_document")
def _(self: Any, ctx: Context) -> Any:
    """Each third read finds nothing."""
    self.state["turn"] = turn = self.state.get("turn", 0) + 1
    return refuse(Refusal("missing_child")) if turn % 3 == 0 else self.usual()


faults["balances.of-account"] |= {
    "A currency has two balances while a payout is pending.": seam(
        "balances",
        lambda self, ctx, record: [
            *self.usual(),
            *(held for held in self.usual() if Decimal(held["pending_payout"])),
        ],
    ),
    "Each third read of balances carries another id.": third(
        lambda self, ctx, document: {**document, "id": document["id"][::-1]}
    ),
}


@fault("read.equals-create", operations=("getBeneficiary",))
class NoteLostToDestinations(Faulty):
    """A new destination empties the note of its beneficiary."""

    everywhere = True

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        ctx.store.update({**(ctx.beneficiary or {}), "note": None})


@fault("read.equals-create", operations=("getBeneficiary",), each=("made", "paid"))
class CountryOfDestination(Faulty):
    """A beneficiary takes over the country of its destination."""

    everywhere = True

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        if self.value == "made":
            self._move(ctx, ctx.record)

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        if self.value == "paid":
            self._move(ctx, ctx.store.get("payout_destination", ctx.values["payout_destination_id"]))

    def _move(self, ctx: Context, destination: Record | None) -> None:
        assert destination is not None
        owner = ctx.store.get("beneficiary", destination["parent"]) or {}
        ctx.store.update({**owner, "country_code": destination["country"]})


def paid(ctx: Context, member: str, record: Record) -> bool:
    """Returns True if a payout of the account refers to a resource."""
    account = ctx.params["account_id"]
    return any(payout[member] == record["id"] for payout in ctx.store.select("payout", account))


faults["read.equals-create"] |= {
    "This member is read as another than the create answered.": document(
        another,
        each=lambda operation: [
            name
            for name in RESOURCES[ANSWERS[operation]]
            if name not in ("id", "object", "payout_destinations", *MOVING)
        ],
    ),
    "A long text is read cut.": document(
        lambda self, ctx, document: {**document, self.value: str(document[self.value])[:200]},
        each=lambda operation: {"getBeneficiary": ["note"], "getVirtualAccount": ["label"]}.get(
            operation, ()
        ),
    ),
    "This member of the address is read as another than the create answered.": document(
        lambda self, ctx, document: {**document, "address": {**document["address"], self.value: "Elsewhere"}},
        operations=("getBeneficiary",),
        each=ADDRESS,
    ),
    "A member of bank_details is read as another than the create answered, or not at all.": document(
        lambda self, ctx, document: {
            **document,
            "bank_details": {
                name: value for name, value in document["bank_details"].items() if name != self.value
            },
        },
        operations=("getVirtualAccount",),
        each=("iban", "bic", "bank_name"),
    ),
    "A resource of some kind cannot be read.": seam(
        "success_document",
        lambda self, ctx: refuse(Refusal("missing_child")) if self.value(ctx.record) else self.usual(),
        operations=("getBeneficiary",),
        each={
            "a business": lambda record: record["beneficiary_type"] == "business",
            "without optional fields": lambda record: record.get("note") is None,
        },
    ),
    "A virtual account of some currency cannot be read.": seam(
        "success_document",
        lambda self, ctx: (
            refuse(Refusal("missing_child")) if ctx.record["currency"] == self.value else self.usual()
        ),
        operations=("getVirtualAccount",),
        each=("USD", "EUR"),
    ),
    "Each third read shows another text.": third(_other_text),
    "This member of a beneficiary changes with the first payout to it.": document(
        lambda self, ctx, document: (
            {**document, self.value: other(self.value, document[self.value])}
            if paid(ctx, "beneficiary_id", document)
            else document
        ),
        operations=("getBeneficiary",),
        each=("note", "display_name"),
    ),
}
