"""Concurrent events: settlement, verification, reviews, and other clients."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import EXACT

from .choice import Usual, choice, varied


@choice()
class BalancesSettle(Behaviour):
    """Settles earlier payouts, and adds a payout and a payin of others, at each read of balances."""

    paid, received = Decimal("7.31"), Decimal("12.50")

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        for balance in ctx.store.balances(record["id"]):
            left = EXACT.subtract(Decimal(balance.available), self.paid)
            grown = EXACT.add(left, Decimal(balance.pending_payin))
            moved = balance._replace(
                available=format(grown, "f"),
                pending_payout=format(self.paid, "f"),
                pending_payin=format(self.received, "f"),
                updated=ctx.now,
            )
            ctx.store.set_balance(record["id"], moved)
        return super().balances(ctx, record)


@choice()
class OthersPay(Behaviour):
    """Adds a payout of another client at each read of balances: never the same amount twice in a row,
    sometimes an amount that the suite uses as a sample."""

    amounts = tuple(Decimal(amount) for amount in ("1.37", "120.00", "1.52", "3.11", "1.37", "0.08", "45.50"))

    def __init__(self) -> None:
        super().__init__()
        self._amounts_paid = itertools.cycle(self.amounts)

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        for balance in ctx.store.balances(record["id"]):
            amount = next(self._amounts_paid)
            moved = balance._replace(
                available=format(EXACT.subtract(Decimal(balance.available), amount), "f"),
                pending_payout=format(EXACT.add(Decimal(balance.pending_payout), amount), "f"),
                updated=ctx.now,
            )
            ctx.store.set_balance(record["id"], moved)
        return super().balances(ctx, record)


@choice()
class OtherClients(Behaviour):
    """Creates an account of the same customer for another client at every 29th request about it."""

    created_every = 29

    def __init__(self) -> None:
        super().__init__()
        self._requests: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        if ctx.customer is not None:
            customer = ctx.customer["id"]
            self._requests[customer] += 1
            if self._requests[customer] % self.created_every == 0:
                self._create_account(ctx, customer, ctx.customer["organization"])
        return answered

    def _create_account(self, ctx: Context, customer: str, owner: str) -> None:
        ctx.store.insert(
            "account",
            {
                "id": self.new_id(ctx, "account"),
                "organization": owner,
                "parent": customer,
                "created": ctx.now,
                "updated": ctx.now,
                "status": "active",
                "name": f"Of another client {next(self._numbers)}",
            },
        )


OtherClientsSeldom = varied(
    "OtherClientsSeldom",
    "Creates one at every 37th request only, so that some walks of a list see none.",
    OtherClients,
    created_every=37,
)


@choice()
class JobsVerify(Behaviour):
    """Verifies a beneficiary when it is read for the third time."""

    def __init__(self) -> None:
        super().__init__()
        self._looks: Counter[str] = Counter()

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        record = super().find(ctx, kind, identifier)
        if record is None or kind != "beneficiary" or record["verified"]:
            return record
        self._looks[identifier] += 1
        if self._looks[identifier] < 3:
            return record
        verified = {**record, "verified": True, "updated": self.touched(ctx, record)}
        ctx.store.update(verified)
        return verified


@choice()
class PayeesScreened(Behaviour):
    """Disables each third beneficiary when it is read again."""

    def __init__(self) -> None:
        super().__init__()
        #: Beneficiary -> its number.
        self._read: dict[str, int] = {}

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        record = super().find(ctx, kind, identifier)
        if record is None or kind != "beneficiary" or ctx.operation != "getBeneficiary":
            return record
        again = identifier in self._read
        number = self._read.setdefault(identifier, len(self._read))
        if not again or number % 3 or record["status"] != "active":
            return record
        screened = {**record, "status": "disabled", "updated": self.touched(ctx, record)}
        ctx.store.update(screened)
        return screened


@choice()
class StatusesReviewed(Behaviour):
    """Puts every third account, destination, virtual account and wallet under review immediately after
    creation."""

    reviewed = ("account", "payout_destination", "virtual_account", "wallet")

    def __init__(self) -> None:
        super().__init__()
        self._created = itertools.count(1)

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        kind, record = KINDS[ctx.operation], ctx.record
        if record is not None and kind in self.reviewed and next(self._created) % 3 == 0:
            status = "inactive" if kind == "payout_destination" else "suspended"
            ctx.store.update({**record, "status": status, "updated": self.touched(ctx, record)})


@choice()
class StatusesMove(Behaviour):
    """Toggles the status of one listed element with every fifth list request."""

    moved_every = 5

    def __init__(self) -> None:
        super().__init__()
        self._lists_shown = itertools.count(1)

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        number = next(self._lists_shown)
        assert ctx.listing is not None
        if number % self.moved_every == 0 and ctx.listing.records:
            record = ctx.listing.records[number // self.moved_every % len(ctx.listing.records)]
            status = "inactive" if record["status"] == "active" else "active"
            ctx.store.update({**record, "status": status, "updated": self.touched(ctx, record)})


@choice(seam="stamps")
def rows_touched(self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
    """Shows another `updated` in every answer."""
    reads = not ctx.operation.startswith("create")
    return usual(ctx, kind, {**record, "updated": ctx.now} if reads else record)


@choice("read.delay")
class DefaultsMovedLater(Behaviour):
    """Moves the default from an earlier destination with a job, which is done by the second request after."""

    def __init__(self) -> None:
        super().__init__()
        #: Remaining requests until each job, and its destination.
        self._jobs: list[tuple[int, str]] = []

    def clear_default(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        for other in ctx.store.select("payout_destination", ctx.beneficiary["id"]):
            if other.get("is_default"):
                self._jobs.append((2, other["id"]))

    def resolve(self, ctx: Context) -> Any:
        due = [identifier for left, identifier in self._jobs if left <= 1]
        self._jobs = [(left - 1, identifier) for left, identifier in self._jobs if left > 1]
        for identifier in due:
            if (record := ctx.store.get("payout_destination", identifier)) is not None:
                updated = self.touched(ctx, record)
                ctx.store.update({**record, "is_default": False, "updated": updated})
        return super().resolve(ctx)


# ---------------------------------------------------------------------- pre-populated accounts


class _Furnished(Behaviour):
    """Creates accounts with resources of the server's own."""

    def furnish(self, ctx: Context, account: Record, kind: str, **shown: Any) -> None:
        """Creates a resource of this type in the account."""
        self_made = {
            "id": self.new_id(ctx, kind),
            "organization": account["organization"],
            "parent": account["id"],
            "created": self.instant(ctx),
            "updated": self.instant(ctx),
            "status": "active",
            "label": "Main",
        }
        ctx.store.insert(kind, {**self_made, **shown})

    def furnish_virtual_account(self, ctx: Context, account: Record) -> None:
        self.furnish(
            ctx,
            account,
            "virtual_account",
            currency="USD",
            reference="FIRST",
            provider_reference_id="first",
            bank_details={"bank_name": "Bank of the First"},
        )


@choice()
class AccountsFurnished(_Furnished):
    """Creates accounts with a virtual account and a wallet."""

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if ctx.operation == "createAccount":
            assert ctx.record is not None
            self.furnish_virtual_account(ctx, ctx.record)
            self.furnish(
                ctx,
                ctx.record,
                "wallet",
                currency="XRP",
                network="ripple",
                addresses=[{"address": "rFirst", "tag": "1"}],
            )


@choice()
class AccountsFurnishedLater(_Furnished):
    """Creates a virtual account in each account at the fourth request about it."""

    def __init__(self) -> None:
        super().__init__()
        self._asked_about: Counter[str] = Counter()

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        if ctx.account is not None:
            self._asked_about[ctx.account["id"]] += 1
            if self._asked_about[ctx.account["id"]] == 4:
                self.furnish_virtual_account(ctx, ctx.account)
        return answered
