"""Events on a live server beside the requests: settlement, verification, reviews, and other clients."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import EXACT
from conformance.reference.store import Condition

from .choice import choice


@choice()
class BalancesSettle(Behaviour):
    """Whenever anybody looks, earlier payouts have been carried out, another client has paid, and a payin has
    come."""

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
    """Whenever anybody looks at balances, another client has paid from the account: never twice the same in
    a row, once in a while as a sample of the suite would."""

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
    """Other clients create accounts of the same customer, one for every 29 requests about it."""

    every = 29

    def __init__(self) -> None:
        super().__init__()
        self._requests: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    def resolve(self, ctx: Context) -> Any:
        answered = super().resolve(ctx)
        if ctx.customer is not None:
            customer = ctx.customer["id"]
            self._requests[customer] += 1
            if self._requests[customer] % self.every == 0:
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


@choice()
class JobsVerify(Behaviour):
    """A job verifies each beneficiary some time after it was made: seen for the third time, it is."""

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
class StatusesReviewed(Behaviour):
    """Every third account, destination, virtual account and wallet is taken out of use for a review as soon
    as it was made."""

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
    """With every fifth list that is read, one of the elements it showed is put to use or out of it."""

    every = 5

    def __init__(self) -> None:
        super().__init__()
        self._lists_shown = itertools.count(1)

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        number = next(self._lists_shown)
        assert ctx.listing is not None
        if number % self.every == 0 and ctx.listing.records:
            record = ctx.listing.records[number // self.every % len(ctx.listing.records)]
            status = "inactive" if record["status"] == "active" else "active"
            ctx.store.update({**record, "status": status, "updated": self.touched(ctx, record)})


@choice()
class RowsTouched(Behaviour):
    """Jobs touch every row all the time: `updated` is never the same twice."""

    def stamps(self, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
        reads = not ctx.operation.startswith("create")
        return super().stamps(ctx, kind, {**record, "updated": ctx.now} if reads else record)


@choice("read.delay")
class DefaultsMovedLater(Behaviour):
    """A job takes the default from an earlier destination: done by the second request after that."""

    def __init__(self) -> None:
        super().__init__()
        #: Requests until each job, and the destination that it is about.
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


# ---------------------------------------------------------------------- what accounts come with


class _Furnished(Behaviour):
    """Accounts come with something of the server's own."""

    def furnish(self, ctx: Context, account: Record, kind: str, **shown: Any) -> None:
        """Puts a resource of a kind into an account."""
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
        """Puts a virtual account into an account."""
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
    """A new account has a virtual account and a wallet from the start."""

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
    """A job puts a virtual account into each account when it is asked about for the fourth time."""

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


# ---------------------------------------------------------------------- what comes late


class _ListsBehind(Behaviour):
    """Lists are made from an index that follows what happens some time later."""

    #: Microseconds.
    behind = 0

    def count(self, ctx: Context, listing: Listing) -> int:
        listing.conditions.append(Condition("created", "<=", ctx.now - self.behind))
        return super().count(ctx, listing)


@choice("read.delay")
class ListsSoon(_ListsBehind):
    """Lists are 80 milliseconds behind."""

    behind = 80_000


@choice("read.delay")
class ListsLate(_ListsBehind):
    """Lists are two seconds behind."""

    behind = 2_000_000


@choice("read.delay")
class ListsVeryLate(_ListsBehind):
    """Lists are eight seconds behind, as the target file says."""

    behind = 8_000_000


@choice("read.delay")
class ListsInTurn(Behaviour):
    """Lists come from two replicas in turn, of which one is two seconds behind."""

    def __init__(self) -> None:
        super().__init__()
        self._lists_read = itertools.count(1)

    def count(self, ctx: Context, listing: Listing) -> int:
        if next(self._lists_read) % 2:
            listing.conditions.append(Condition("created", "<=", ctx.now - 2_000_000))
        return super().count(ctx, listing)


@choice("read.delay")
class ListsUneven(Behaviour):
    """Each list is read from another of five replicas, each behind by another time of less than a second."""

    behind = (0, 900_000, 300_000, 600_000, 50_000)

    def __init__(self) -> None:
        super().__init__()
        self._delays = itertools.cycle(self.behind)

    def count(self, ctx: Context, listing: Listing) -> int:
        listing.conditions.append(Condition("created", "<=", ctx.now - next(self._delays)))
        return super().count(ctx, listing)


def _indexed(ctx: Context, listing: Listing) -> Listing:
    """A list as an index knows it that is 1.5 seconds behind."""
    return replace(listing, conditions=[*listing.conditions, Condition("created", "<=", ctx.now - 1_500_000)])


@choice("read.delay")
class TotalsBehind(Behaviour):
    """Lists show their elements at once, and count them from an index that is behind."""

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, _indexed(ctx, listing))

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetch(ctx, listing, limit=listing.size, offset=self.offset(ctx, listing))


@choice("read.delay")
class ElementsBehind(Behaviour):
    """Lists count their elements at once, and show them from an index that is behind."""

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return super().page_of(ctx, _indexed(ctx, listing))


@choice("read.delay")
class ReadsInTurn(Behaviour):
    """Beneficiaries and virtual accounts are read from two replicas in turn, of which one is two seconds
    behind; what is newer is not there."""

    #: Microseconds of each replica.
    behind: tuple[int, ...] = (2_000_000, 0)

    def __init__(self) -> None:
        super().__init__()
        self._delays = itertools.cycle(self.behind)
        #: Id -> each state, with when it came to be.
        self._states: dict[str, list[tuple[int, Record]]] = {}

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        self._came(ctx)

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        self._came(ctx)

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        self._came(ctx)

    def _came(self, ctx: Context) -> None:
        if ctx.record is not None and KINDS[ctx.operation] in ("beneficiary", "virtual_account"):
            self._states.setdefault(ctx.record["id"], []).append((ctx.now, ctx.record))

    def show_beneficiary(self, ctx: Context) -> None:
        super().show_beneficiary(ctx)
        self._from_replica(ctx)

    def show_virtual_account(self, ctx: Context) -> None:
        super().show_virtual_account(ctx)
        self._from_replica(ctx)

    def _from_replica(self, ctx: Context) -> None:
        assert ctx.record is not None
        states, as_of = self._states.get(ctx.record["id"]), ctx.now - next(self._delays)
        if states:
            old = [state for instant, state in states if instant <= as_of]
            if not old:
                raise Refusal("missing_child")
            ctx.record = {**old[-1], "as_of": as_of}

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        shown = super().destinations(ctx, record)
        there = ctx.store.select("payout_destination", record["id"])
        as_of = record.get("as_of", ctx.now)
        return [each for each, row in zip(shown, there, strict=True) if row["created"] <= as_of]


@choice("read.delay")
class ReadsUneven(ReadsInTurn):
    """Beneficiaries and virtual accounts are read from one of five replicas, each behind by another time of
    less than a second."""

    behind = (0, 900_000, 300_000, 600_000, 50_000)


@choice("read.delay")
class ReadsFromReplicas(Behaviour):
    """A beneficiary is read from a replica that shows changes 80 milliseconds later."""

    behind = 80_000

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, tuple[int, Record]] = {}

    def update_beneficiary(self, ctx: Context) -> None:
        self._remember(ctx)
        super().update_beneficiary(ctx)

    def disable_beneficiary(self, ctx: Context) -> None:
        self._remember(ctx)
        super().disable_beneficiary(ctx)

    def _remember(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        known = self._before.get(ctx.beneficiary["id"])
        # What is still shown stays shown until the last of several changes is old enough.
        shown = known[1] if known and known[0] > ctx.now - self.behind else ctx.beneficiary
        self._before[ctx.beneficiary["id"]] = (ctx.now, shown)

    def show_beneficiary(self, ctx: Context) -> None:
        super().show_beneficiary(ctx)
        assert ctx.record is not None
        changed, before = self._before.get(ctx.record["id"], (0, None))
        if before is not None and changed > ctx.now - self.behind:
            ctx.record = before
