"""Servers that create resources with wrong values (sections 2, 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from conformance.judge.comparison import MOVING
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import FIELDS
from tests.specification import ADDRESS, ANSWERS, RESOURCES

from .catalogue import Faulty, Only, fault, faults, seam
from .rows import after, another, document, other, refusing, store, succeeded, third, where


def echoed(operation: str) -> list[str]:
    """Returns the body fields that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.name in RESOURCES[ANSWERS[operation]]]


def free_texts(operation: str) -> list[str]:
    """Returns the free texts that the resource shows."""
    texts = {"name", "first_name", "middle_name", "last_name", "display_name", "note", "label"}
    return [name for name in echoed(operation) if name in texts]


#: Kind -> amount in US dollars in place of one that was sent in them.
DOLLARS: dict[str, Callable[[Decimal], str]] = {
    "2.00": lambda amount: "2.00" if amount != 2 else "3",
    "0": lambda amount: "0" if amount else "3",
    "fee": lambda amount: format(amount * Decimal("0.99"), "f"),
    "missing cents": lambda amount: (
        str(int(amount)) if amount != int(amount) else format(amount + Decimal("0.001"), "f")
    ),
}

faults["payout.amount-in-usd"] |= {
    "amount_in_usd of an amount in another currency is zero or less.": where(
        "amount_in_usd",
        lambda self, ctx: ctx.values["currency"] != "USD",
        lambda self, *_: self.value,
        each=("0.00", "-3.00"),
    ),
    "amount_in_usd of an amount in US dollars is another one.": seam(
        "amount_in_usd", lambda self, *_: self.value(Decimal(self.usual())), each=DOLLARS
    ),
}


# ---------------------------------------------------------------------- balances

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


def _other_id(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, str]:
    account = ctx.record or {}
    another = {
        "customer's id": account["parent"].replace("cus_", "acc_"),
        "another id": shown["id"][::-1].replace("_cca", ""),
    }[self.value]
    return {"id": another if another.startswith("acc_") else f"acc_{another}"}


def _of_the_customer(self: Any, ctx: Context, record: Record) -> list[Any]:
    """Returns the balances of all accounts of a customer, as they are shown."""
    accounts = ctx.store.select("account", record["parent"])
    return [self.balance(ctx, held) for account in accounts for held in ctx.store.balances(account["id"])]


def _moved_by_others(self: Any, ctx: Context, record: Record) -> list[Any]:
    """Returns what other accounts of the customer pay as balances of an account without any."""
    sign = "-" if self.value == "available_balance" else ""
    none = {"available_balance": "0.00", "pending_payout": "0.00"}
    return [
        {**EMPTY_BALANCE, **held, **none, self.value: f"{sign}{held['pending_payout']}"}
        for held in _of_the_customer(self, ctx, record)
    ]


def _twice(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    empty = {**EMPTY_BALANCE, "updated_at": self.timestamp_text(ctx, ctx.now)}
    first = shown["balances"][:1] or [empty]
    return {"balances": [*first, *first, *shown["balances"][1:]]}


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


faults["balances.of-account"] |= {
    "The balances carry another id than the account's.": document.sets(
        _other_id, each=("customer's id", "another id")
    ),
    "Each third read of balances carries another id.": third(
        lambda self, ctx, document: {**document, "id": document["id"][::-1]}
    ),
    "The balances are those of all accounts of the customer.": seam("balances", _of_the_customer),
    "What one account pays moves the balances of the customer's other accounts as well.": where(
        "balances",
        lambda self, ctx, record: not ctx.store.balances(record["id"]),
        _moved_by_others,
        each=("pending_payout", "available_balance"),
    ),
    "A currency has two balances.": document.sets(_twice),
    "A currency has two balances while a payout is pending.": seam(
        "balances",
        lambda self, *_: [
            *self.usual(),
            *(held for held in self.usual() if Decimal(held["pending_payout"])),
        ],
    ),
}


# ---------------------------------------------------------------------- reads


def _of_the_last(self: Any, ctx: Context, response: Response) -> Any:
    """Returns what the last read of another resource answered."""
    last, self.state["last"] = self.state.get("last", response.document), response.document
    return response.with_document(last)


def _first_of_account(self: Any, ctx: Context) -> Any:
    kind = KINDS[ctx.operation]
    assert ctx.account is not None
    return self.resource(ctx, kind, ctx.store.select(kind, ctx.account["id"])[0])


def _without_texts(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    if ctx.operation == "getVirtualAccount":
        return {"label": shown["label"].strip()[:8]}
    return dict.fromkeys(("title", "middle_name", "tax_id", "note"))


def _other_text(self: Any, ctx: Context, shown: dict[str, Any]) -> Any:
    name = "label" if "label" in shown else "display_name"
    return {**shown, name: other(name, shown[name])}


def _each_third(self: Any, ctx: Context) -> bool:
    self.state["turn"] = turn = self.state.get("turn", 0) + 1
    return bool(turn % 3 == 0)


class Elsewhere(Faulty):
    """A server whose other operations change beneficiaries."""

    everywhere = True


def _move(self: Any, ctx: Context, destination: Record | None) -> None:
    """Gives a beneficiary the country of its destination."""
    assert destination is not None
    owner = ctx.store.get("beneficiary", destination["parent"]) or {}
    store(ctx, {"country_code": destination["country"]}, [owner])


def paid(ctx: Context, member: str, record: Record) -> bool:
    """Returns True if a payout of the account refers to a resource."""
    account = ctx.params["account_id"]
    return any(payout[member] == record["id"] for payout in ctx.store.select("payout", account))


_BENEFICIARY, _VIRTUAL_ACCOUNT = ("getBeneficiary",), ("getVirtualAccount",)

#: Kind -> resources that cannot be read.
UNREADABLE: dict[str, Only] = {
    "a business": Only(lambda record: record["beneficiary_type"] == "business", _BENEFICIARY),
    "without optional fields": Only(lambda record: record.get("note") is None, _BENEFICIARY),
    "in USD": Only(lambda record: record["currency"] == "USD", _VIRTUAL_ACCOUNT),
    "in EUR": Only(lambda record: record["currency"] == "EUR", _VIRTUAL_ACCOUNT),
}

faults["read.equals-create"] |= {
    "The read answers another resource of the same account.": seam("success_document", _first_of_account),
    "A read answers what the last read of another resource answered.": where(
        "finish", lambda self, ctx, response: succeeded(response), _of_the_last
    ),
    "Each third read finds nothing.": refusing("success_document", "missing_child", _each_third),
    "Each third read shows another text.": third(_other_text),
    "A resource of some kind cannot be read.": refusing(
        "success_document", "missing_child", lambda self, ctx: self.value(ctx.record), each=UNREADABLE
    ),
    "Optional texts are read as null.": document.sets(_without_texts),
    "A long text is read cut.": document.sets(
        lambda self, ctx, shown: {self.value: str(shown[self.value])[:200]},
        each={"note": Only("note", _BENEFICIARY), "label": Only("label", _VIRTUAL_ACCOUNT)},
    ),
    "This member is read as another than the create answered.": document(
        another,
        each=lambda operation: [
            name
            for name in RESOURCES[ANSWERS[operation]]
            if name not in ("id", "object", "payout_destinations", *MOVING)
        ],
    ),
    "This member of the address is read as another than the create answered.": document.sets(
        lambda self, ctx, shown: {"address": {**shown["address"], self.value: "Elsewhere"}},
        operations=_BENEFICIARY,
        each=ADDRESS,
    ),
    "A member of bank_details is read as another than the create answered, or not at all.": document.sets(
        lambda self, ctx, shown: {
            "bank_details": {
                name: value for name, value in shown["bank_details"].items() if name != self.value
            }
        },
        operations=_VIRTUAL_ACCOUNT,
        each=("iban", "bic", "bank_name"),
    ),
    "This member of a beneficiary changes with the first payout to it.": document.sets(
        lambda self, ctx, shown: {self.value: other(self.value, shown[self.value])},
        lambda self, ctx, shown: paid(ctx, "beneficiary_id", shown),
        operations=_BENEFICIARY,
        each=("note", "display_name"),
    ),
    "A new destination empties the note of its beneficiary.": after(
        "create_destination",
        lambda self, ctx: store(ctx, {"note": None}, [ctx.beneficiary]),
        base=Elsewhere,
        operations=_BENEFICIARY,
    ),
    "A beneficiary takes over the country of its new destination.": after(
        "create_destination",
        lambda self, ctx: _move(self, ctx, ctx.record),
        base=Elsewhere,
        operations=_BENEFICIARY,
    ),
    "A beneficiary takes over the country of the destination that is paid.": after(
        "create_payout",
        lambda self, ctx: _move(
            self, ctx, ctx.store.get("payout_destination", ctx.values["payout_destination_id"])
        ),
        base=Elsewhere,
        operations=_BENEFICIARY,
    ),
}
