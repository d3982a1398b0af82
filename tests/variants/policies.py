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

from .choice import Usual, choice, demand, memory, move, times


@choice(seam="create")
def payees_reviewed(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Puts every third beneficiary under review immediately after creation."""
    usual(ctx)
    if ctx.operation == "createBeneficiary" and times(self, "payees reviewed") % 3 == 0:
        move(self, ctx, ctx.record or {}, status="inactive")


@demand(seam="check_beneficiary_usable")
def vetted_payees(self: Behaviour, ctx: Context, beneficiary: Record) -> object:
    """Pays only manually verified payees; the target file names one."""
    return not beneficiary["verified"]


@demand(seam="check_state")
def frozen_when_disabled(self: Behaviour, ctx: Context) -> object:
    """Refuses changes and new destinations of a disabled beneficiary."""
    frozen = ctx.operation in ("updateBeneficiary", "createPayoutDestination")
    return frozen and ctx.beneficiary and ctx.beneficiary["status"] == "disabled"


@demand(seam="check_state")
def few_of_each(self: Behaviour, ctx: Context) -> object:
    """Limits a beneficiary to 14 destinations, and an account to 14 virtual accounts."""
    limited = ctx.operation in ("createPayoutDestination", "createVirtualAccount")
    return limited and ctx.store.count(KINDS[ctx.operation], self.parent(ctx)["id"]) >= 14


@choice("payout.insufficient-funds")
class DailyLimit(Behaviour):
    """Limits the payouts of an account per day."""

    most_a_day = Decimal(60)

    def _with_this(self, ctx: Context) -> Decimal:
        paid = memory(self, "daily limit")[self.parent(ctx)["id"]]
        return Decimal(paid) + Decimal(str(ctx.values.get("amount")))

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        if self._with_this(ctx) > self.most_a_day:
            raise Refusal("insufficient_funds", "The limit of the day is reached.", code="limit_exceeded")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        memory(self, "daily limit")[self.parent(ctx)["id"]] = self._with_this(ctx)


@choice()
class SamePayoutOnce(Behaviour):
    """Refuses a second payout of the same amount to the same destination as a duplicate."""

    def check_funds(self, ctx: Context) -> None:
        super().check_funds(ctx)
        if memory(self, "same payout once")[self._payout(ctx)]:
            raise Refusal("invalid_field", "This may have been paid already.", "amount", "duplicate_payout")

    def create_payout(self, ctx: Context) -> None:
        super().create_payout(ctx)
        times(self, "same payout once", self._payout(ctx))

    def _payout(self, ctx: Context) -> tuple[Any, ...]:
        names = ("beneficiary_id", "payout_destination_id", "amount", "currency")
        return tuple(ctx.values.get(name) for name in names)


@demand(seam="check_state")
def one_of_each_currency(self: Behaviour, ctx: Context) -> object:
    """Limits an account to one virtual account of each currency."""
    creates = ctx.operation == "createVirtualAccount"
    others = ctx.store.select("virtual_account", self.parent(ctx)["id"]) if creates else []
    return any(other["currency"] == ctx.values.get("currency") for other in others)


@demand(seam="check_state")
def virtual_accounts_of_one(self: Behaviour, ctx: Context) -> object:
    """Enables virtual accounts for a single organization, the first that creates one."""
    if ctx.operation != "createVirtualAccount" or ctx.organization is None:
        return False
    first = memory(self, "virtual accounts of one").setdefault("organization", ctx.organization.id)
    return first != ctx.organization.id


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
