"""Rendering of resources in answers: section 2 of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.contract.fields import documented
from conformance.contract.operations import OPERATIONS, item_fields
from conformance.contract.traits import CREATES
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.base import Base
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import EXACT
from conformance.reference.store import Balance

#: Kind of resource -> documented members, of its create, or of the items of a list that none fills.
_DOCUMENTED = {
    **{RECORD_KINDS[name]: item_fields(name) for name, operation in OPERATIONS.items() if operation.is_list},
    **{RECORD_KINDS[name]: documented(name) for name in CREATES.values()},
}

#: Kind of resource -> documented members other than those of every resource.
_MEMBERS = {
    kind: [name for name in names if name not in ("id", "object", "created", "updated")]
    for kind, names in _DOCUMENTED.items()
}

#: Kind of resource -> the member with its parent's id; "account_id" for others.
_PARENTS = {"account": "customer_id", "payout_destination": "beneficiary_id"}


class Rendering(Base):
    """The seams of successful answers. Records contain what was sent; secrets are masked here."""

    def render(self, ctx: Context) -> Response:
        """The answer of a performed operation."""
        return Response.of(self.success_status(ctx), self.success_document(ctx))

    def success_status(self, ctx: Context) -> int:
        """The status of a success; open (http.success-status), here 201 for creates."""
        return 201 if ctx.operation.startswith("create") else 200

    def success_document(self, ctx: Context) -> Any:
        """The body of a success: http.success-json."""
        if ctx.listing is not None:
            return self.list_document(ctx)
        assert ctx.record is not None
        if ctx.operation == "getAccountBalances":
            return self.shape(ctx, "account_balances", self.account_balances(ctx, ctx.record))
        return self.resource(ctx, RECORD_KINDS[ctx.operation], ctx.record)

    def list_document(self, ctx: Context) -> Any:
        """The body of a list; see Lists."""

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        """A resource as shown in answers: format.fields, format.object, read.equals-create."""
        return self.shape(
            ctx,
            kind,
            {
                "id": record["id"],
                "object": self.object_name(ctx, kind),
                **self.members(ctx, kind, record),
                **self.stamps(ctx, kind, record),
            },
        )

    def members(self, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
        """The documented members of a resource other than id, type and times (section 2): format.nullable,
        format.bank-details, wallet.addresses, payout.amount-in-usd. Inapplicable ones of a payout destination
        are null (open: format.inapplicable-fields)."""
        return {name: self.member(ctx, kind, name, record) for name in _MEMBERS[kind]}

    def member(self, ctx: Context, kind: str, name: str, record: Record) -> Any:
        """The value of one member, as sent, assigned or masked: create.echo."""
        match name:
            case "balances":
                return self.balances(ctx, record)
            case "payout_destinations":
                return self.destinations(ctx, record)
            case "amount":
                return self.amount_text(ctx, record)
            case "account_number_last4" | "clabe_last4" | "iban_masked" | "wallet_address_masked":
                return getattr(self, name)(ctx, record)
            case "initiated_at" | "submitted_at" | "completed_at" | "failed_at":
                return self.timestamp_text(ctx, record.get(name))
        return record["parent"] if name == _PARENTS.get(kind, "account_id") else record.get(name)

    def object_name(self, ctx: Context, kind: str) -> str:
        """The constant that names the type: format.object."""
        return kind

    def stamps(self, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
        """The times of creation and of the last change: format.timestamp, format.timestamp-current."""
        stamps = {"created": self.timestamp_text(ctx, record["created"])}
        if kind != "payin":
            stamps["updated"] = self.timestamp_text(ctx, record["updated"])
        return stamps

    # ------------------------------------------------------------------ accounts and balances

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        """Account balances (section 2.2): balances.of-account."""
        return {
            "id": record["id"],
            "object": self.object_name(ctx, "account_balances"),
            "balances": self.balances(ctx, record),
        }

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        """The balances of an account by currency, empty for a new account: balances.of-account,
        create.initial-state."""
        return [self.balance(ctx, balance) for balance in ctx.store.balances(record["id"])]

    def balance(self, ctx: Context, balance: Balance) -> dict[str, Any]:
        """One element of balances (section 2.2): format.money."""
        total = EXACT.add(Decimal(balance.available), Decimal(balance.pending_payout))
        return {
            "currency": balance.currency,
            "currency_type": balance.currency_type,
            "available_balance": balance.available,
            "pending_payout": balance.pending_payout,
            "pending_payin": balance.pending_payin,
            "total_balance": format(total, "f"),
            "updated_at": self.timestamp_text(ctx, balance.updated),
        }

    # ------------------------------------------------------------------ beneficiaries and destinations

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        """All payout destinations of a beneficiary, masked: beneficiary.destinations, secrets.hidden."""
        return [
            self.resource(ctx, "payout_destination", destination)
            for destination in ctx.store.select("payout_destination", record["id"])
        ]

    def account_number_last4(self, ctx: Context, record: Record) -> str | None:
        """The last four characters of the account number: destination.last4, secrets.hidden."""
        number = record.get("account_number")
        return None if number is None else str(number)[-4:]

    def clabe_last4(self, ctx: Context, record: Record) -> str | None:
        """The last four digits of a Mexican CLABE, sent as account number: secrets.hidden."""
        number = record.get("account_number")
        if record.get("country") == "MX" and isinstance(number, str) and len(number) == 18:
            return number[-4:]
        return None

    def iban_masked(self, ctx: Context, record: Record) -> str | None:
        """The masked IBAN: destination.masked, destination.masked-enough, secrets.hidden."""
        return self.masked(ctx, record.get("iban"))

    def wallet_address_masked(self, ctx: Context, record: Record) -> str | None:
        """The masked wallet address: destination.masked, secrets.hidden."""
        return self.masked(ctx, record.get("wallet_address"))

    def masked(self, ctx: Context, value: Any) -> str | None:
        """A value with at most its first and last four characters, and at most a third of it, visible."""
        if value is None:
            return None
        text = str(value)
        ends = min(4, len(text) // 6)
        return f"{text[:ends]}****{text[len(text) - ends :]}"

    # ------------------------------------------------------------------ payouts and payins

    def amount_text(self, ctx: Context, record: Record) -> Any:
        """The amount as sent, to the last digit: create.amount-exact, format.money."""
        return record.get("amount")
