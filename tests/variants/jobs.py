"""Concurrent events: settlement, verification, reviews, and other clients."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import EXACT
from tests.support.overrides import Usual

from .choice import choice, insert, memory, move, times, varied

# ---------------------------------------------------------------------- balances

_PAID, _RECEIVED = Decimal("7.31"), Decimal("12.50")


@choice(seam="balances")
def balances_settle(self: Behaviour, usual: Usual, ctx: Context, record: Record) -> list[dict[str, Any]]:
    """Settles earlier payouts, and adds a payout and a payin of others, at each read of balances."""
    for balance in ctx.store.balances(record["id"]):
        left = EXACT.subtract(Decimal(balance.available), _PAID)
        moved = balance._replace(
            available=format(EXACT.add(left, Decimal(balance.pending_payin)), "f"),
            pending_payout=format(_PAID, "f"),
            pending_payin=format(_RECEIVED, "f"),
            updated=ctx.now,
        )
        ctx.store.set_balance(record["id"], moved)
    return usual(ctx, record)


@choice()
class OthersPay(Behaviour):
    """Adds a payout of another client at each read of balances: never the same amount twice in a row,
    sometimes an amount that the suite uses as a sample."""

    amounts = tuple(Decimal(amount) for amount in ("1.37", "120.00", "1.52", "3.11", "1.37", "0.08", "45.50"))

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        for balance in ctx.store.balances(record["id"]):
            amount = self.amounts[(times(self, "others pay") - 1) % len(self.amounts)]
            moved = balance._replace(
                available=format(EXACT.subtract(Decimal(balance.available), amount), "f"),
                pending_payout=format(EXACT.add(Decimal(balance.pending_payout), amount), "f"),
                updated=ctx.now,
            )
            ctx.store.set_balance(record["id"], moved)
        return super().balances(ctx, record)


# ---------------------------------------------------------------------- other clients


@choice()
class OtherClients(Behaviour):
    """Creates an account of the same customer for another client at every 29th request about it."""

    created_every, earlier = 29, 0

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        if ctx.customer is not None:
            number = times(self, "other clients", ctx.customer["id"]) + self.earlier
            if number % self.created_every == 0:
                insert(self, ctx, "account", ctx.customer, name=f"Of another client {number}")
        return answered


OtherClientsSeldom = varied(
    "OtherClientsSeldom",
    "Creates one at every 37th request only, so that some walks of a list see none.",
    OtherClients,
    created_every=37,
)


# ---------------------------------------------------------------------- states


@choice(seam="find")
def jobs_verify(self: Behaviour, usual: Usual, ctx: Context, kind: str, identifier: str) -> Record | None:
    """Verifies a beneficiary when it is read for the third time."""
    record: Record | None = usual(ctx, kind, identifier)
    if record is None or kind != "beneficiary" or record["verified"]:
        return record
    return record if times(self, "jobs verify", identifier) < 3 else move(self, ctx, record, verified=True)


@choice(seam="find")
def payees_screened(self: Behaviour, usual: Usual, ctx: Context, kind: str, identifier: str) -> Record | None:
    """Disables each third beneficiary when it is read again."""
    record: Record | None = usual(ctx, kind, identifier)
    if record is None or kind != "beneficiary" or ctx.operation != "getBeneficiary":
        return record
    numbers = memory(self, "payees screened")
    again = identifier in numbers
    number = numbers.setdefault(identifier, len(numbers))
    if not again or number % 3 or record["status"] != "active":
        return record
    return move(self, ctx, record, status="disabled")


_REVIEWED = ("account", "payout_destination", "virtual_account", "wallet")


@choice(seam="create")
def statuses_reviewed(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Puts every third account, destination, virtual account and wallet under review immediately after
    creation."""
    usual(ctx)
    kind, record = RECORD_KINDS[ctx.operation], ctx.record
    if record is not None and kind in _REVIEWED and times(self, "statuses reviewed") % 3 == 0:
        move(self, ctx, record, status="inactive" if kind == "payout_destination" else "suspended")


@choice(seam="list_records")
def statuses_move(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Toggles the status of one listed element with every fifth list request."""
    usual(ctx)
    number = times(self, "statuses move")
    assert ctx.listing is not None
    if number % 5 == 0 and ctx.listing.records:
        record = ctx.listing.records[number // 5 % len(ctx.listing.records)]
        move(self, ctx, record, status="inactive" if record["status"] == "active" else "active")


@choice(seam="stamps")
def rows_touched(self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
    """Shows another `updated` in every answer."""
    reads = not ctx.operation.startswith("create")
    return usual(ctx, kind, {**record, "updated": ctx.now} if reads else record)


@choice("read.delay")
class DefaultsMovedLater(Behaviour):
    """Moves the default from an earlier destination with a job, which is done by the second request after."""

    def clear_default(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        for other in ctx.store.select("payout_destination", ctx.beneficiary["id"]):
            if other.get("is_default"):
                memory(self, "defaults moved later")[other["id"]] = 2

    def resolve(self, ctx: Context) -> Any:
        jobs = memory(self, "defaults moved later")
        for identifier in list(jobs):
            jobs[identifier] -= 1
            record = ctx.store.get("payout_destination", identifier) if jobs[identifier] <= 0 else None
            if record is not None:
                del jobs[identifier]
                move(self, ctx, record, is_default=False)
        return super().resolve(ctx)


# ---------------------------------------------------------------------- pre-populated accounts


def _furnish(behaviour: Behaviour, ctx: Context, account: Record) -> None:
    """Creates a virtual account of the server's own."""
    insert(
        behaviour,
        ctx,
        "virtual_account",
        account,
        label="Main",
        currency="USD",
        reference="FIRST",
        provider_reference_id="first",
        bank_details={"bank_name": "Bank of the First"},
    )


@choice(seam="create")
def accounts_furnished(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Creates accounts with a virtual account and a wallet."""
    usual(ctx)
    if ctx.operation == "createAccount" and ctx.record is not None:
        _furnish(self, ctx, ctx.record)
        addresses = [{"address": "rFirst", "tag": "1"}]
        wallet = {"label": "Main", "currency": "XRP", "network": "ripple", "addresses": addresses}
        insert(self, ctx, "wallet", ctx.record, **wallet)


@choice(seam="resolve")
def accounts_furnished_later(self: Behaviour, usual: Usual, ctx: Context) -> Any:
    """Creates a virtual account in each account at the fourth request about it."""
    answered = usual(ctx)
    if ctx.account is not None and times(self, "accounts furnished later", ctx.account["id"]) == 4:
        _furnish(self, ctx, ctx.account)
    return answered
