"""Policies of a payment system where the specification is silent: quotas, reviewed and disabled payees."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Balance

from .choice import Usual, choice


@choice()
class PayeesReviewed(Behaviour):
    """Puts every third beneficiary under review immediately after creation."""

    reviewed_every = 3

    def __init__(self) -> None:
        super().__init__()
        self._made = 0

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if KINDS[ctx.operation] == "beneficiary" and ctx.record is not None:
            self._made += 1
            if self._made % self.reviewed_every == 0:
                reviewed = {**ctx.record, "status": "inactive", "updated": self.touched(ctx, ctx.record)}
                ctx.store.update(reviewed)


@choice(seam="check_beneficiary_usable")
def vetted_payees(self: Behaviour, usual: Usual, ctx: Context, beneficiary: Record) -> None:
    """Pays only manually verified payees; the target file names one."""
    usual(ctx, beneficiary)
    if not beneficiary["verified"]:
        raise Refusal("invalid_field", "The payee is not verified.", code="payee_not_verified")


@choice(seam="check_state")
def frozen_when_disabled(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Refuses changes and new destinations of a disabled beneficiary."""
    usual(ctx)
    frozen = ctx.operation in ("updateBeneficiary", "createPayoutDestination")
    if frozen and ctx.beneficiary and ctx.beneficiary["status"] == "disabled":
        raise Refusal("invalid_field", "The beneficiary is disabled.", code="beneficiary_disabled")


@choice()
class FewOfEach(Behaviour):
    """Limits a beneficiary to 14 destinations, and an account to 14 virtual accounts."""

    most = 14

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        if ctx.operation in ("createPayoutDestination", "createVirtualAccount"):
            there = ctx.store.select(KINDS[ctx.operation], self.parent(ctx)["id"])
            if len(there) >= self.most:
                raise Refusal("invalid_field", "There are enough of them.", code="quota_exceeded")


@choice("payout.insufficient-funds")
class DailyLimit(Behaviour):
    """Limits the payouts of an account per day."""

    most_a_day = Decimal(60)

    def __init__(self) -> None:
        super().__init__()
        self._paid_today: dict[str, Decimal] = {}

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        account = self.parent(ctx)["id"]
        asked = Decimal(str(ctx.values.get("amount")))
        if self._paid_today.get(account, Decimal(0)) + asked > self.most_a_day:
            raise Refusal("insufficient_funds", "The limit of the day is reached.", code="limit_exceeded")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        account = self.parent(ctx)["id"]
        asked = Decimal(str(ctx.values.get("amount")))
        self._paid_today[account] = self._paid_today.get(account, Decimal(0)) + asked


@choice()
class SamePayoutOnce(Behaviour):
    """Refuses a second payout of the same amount to the same destination as a duplicate."""

    def __init__(self) -> None:
        super().__init__()
        self._paid: set[tuple[Any, ...]] = set()

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        if self._payout(ctx) in self._paid:
            raise Refusal("invalid_field", "This may have been paid already.", "amount", "duplicate_payout")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        self._paid.add(self._payout(ctx))

    def _payout(self, ctx: Context) -> tuple[Any, ...]:
        names = ("beneficiary_id", "payout_destination_id", "amount", "currency")
        return tuple(ctx.values.get(name) for name in names)


@choice(seam="check_state")
def one_of_each_currency(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Limits an account to one virtual account of each currency."""
    usual(ctx)
    if ctx.operation == "createVirtualAccount":
        there = ctx.store.select("virtual_account", self.parent(ctx)["id"])
        if any(other["currency"] == ctx.values.get("currency") for other in there):
            raise Refusal("invalid_field", "There is one already.", "currency", "virtual_account_exists")


@choice()
class VirtualAccountsOfOne(Behaviour):
    """Enables virtual accounts for a single organization, the first that creates one."""

    def __init__(self) -> None:
        super().__init__()
        self._enabled = ""

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        if ctx.operation == "createVirtualAccount" and ctx.organization is not None:
            self._enabled = self._enabled or ctx.organization.id
            if self._enabled != ctx.organization.id:
                raise Refusal("invalid_field", "They are not enabled.", "currency", "not_enabled")


@choice(seam="balance")
def in_the_red(self: Behaviour, usual: Usual, ctx: Context, balance: Balance) -> dict[str, Any]:
    """Shows negative balances."""
    shown = usual(ctx, balance)
    return {**shown, "available_balance": "-12.40", "total_balance": "-12.40"}


@choice(seam="replay")
def body_before_key(self: Behaviour, usual: Usual, ctx: Context) -> Response | None:
    """Validates the body before the idempotency key."""
    kept = ctx.body, ctx.values
    if ctx.request.method == "POST" and ctx.operation != "disableBeneficiary":
        self.validate(ctx)
    ctx.body, ctx.values = kept
    return usual(ctx)


@choice(seam="item")
def seconds_in_lists(self: Behaviour, usual: Usual, ctx: Context, kind: str, record: Record) -> Any:
    """Shows whole seconds in lists and microseconds elsewhere; filters use microseconds."""
    item = usual(ctx, kind, record)
    cut = {name: f"{item[name][:19]}Z" for name in ("created", "updated") if name in item}
    return {**item, **cut}


@choice(seam="new_id")
def long_odd_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Makes long ids with every character that a path allows unencoded."""
    return f"{usual(ctx, kind)}-Az.9~_{usual(ctx, kind).partition('_')[2]}"


@choice("http.extra-fields")
class MembersWithin(Behaviour):
    """Adds members that change with every answer to nested objects."""

    def _more(self, value: Any, ctx: Context) -> Any:
        if isinstance(value, dict):
            return {**{name: self._more(member, ctx) for name, member in value.items()}, "_served": ctx.now}
        return [self._more(item, ctx) for item in value] if isinstance(value, list) else value

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        document = response.document if response.body else None
        return response.with_document(self._more(document, ctx)) if isinstance(document, dict) else response
