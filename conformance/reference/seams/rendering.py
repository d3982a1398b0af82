"""Rendering of resources in answers: section 2 of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.field_tables import BENEFICIARY
from conformance.reference.seams.base import Base
from conformance.reference.seams.resources import KINDS
from conformance.reference.seams.validation import EXACT
from conformance.reference.store import Balance


class Rendering(Base):
    """The seams of successful answers. Records hold what was sent; what must stay hidden is masked here."""

    def render(self, ctx: Context) -> Response:
        """The answer of an operation that was performed."""
        return Response.of(self.success_status(ctx), self.success_document(ctx))

    def success_status(self, ctx: Context) -> int:
        """The status of a success, which is open (http.success-status): here 201 for what was created."""
        return 201 if ctx.operation.startswith("create") else 200

    def success_document(self, ctx: Context) -> Any:
        """The body of a success: http.success-json."""
        if ctx.listing is not None:
            return self.list_document(ctx)
        assert ctx.record is not None
        if ctx.operation == "getAccountBalances":
            return self.shape(ctx, "account_balances", self.account_balances(ctx, ctx.record))
        return self.resource(ctx, KINDS[ctx.operation], ctx.record)

    def list_document(self, ctx: Context) -> Any:
        """The body of a list; see Lists."""

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        """A resource as answers show it: format.fields, format.object, read.equals-create."""
        fields = getattr(self, f"{kind}_fields")
        return self.shape(
            ctx,
            kind,
            {
                "id": record["id"],
                "object": self.object_name(ctx, kind),
                **fields(ctx, record),
                **self.stamps(ctx, kind, record),
            },
        )

    def object_name(self, ctx: Context, kind: str) -> str:
        """The constant that names the type: format.object."""
        return kind

    def stamps(self, ctx: Context, kind: str, record: Record) -> dict[str, Any]:
        """Times at which the resource was created and last changed: format.timestamp,
        format.timestamp-current."""
        stamps = {"created": self.timestamp_text(ctx, record["created"])}
        if kind != "payin":
            stamps["updated"] = self.timestamp_text(ctx, record["updated"])
        return stamps

    # ------------------------------------------------------------------ accounts and balances

    def account_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of an account (section 2.1)."""
        return {
            "customer_id": record["parent"],
            "name": record.get("name"),
            "status": record["status"],
            "balances": self.balances(ctx, record),
        }

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        """Account balances (section 2.2): balances.of-account."""
        return {
            "id": record["id"],
            "object": self.object_name(ctx, "account_balances"),
            "balances": self.balances(ctx, record),
        }

    def balances(self, ctx: Context, record: Record) -> list[dict[str, Any]]:
        """An account's balances, one element a currency, empty for a new account: balances.of-account,
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

    def beneficiary_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a beneficiary (section 2.3): format.nullable, beneficiary.destinations."""
        return {
            "account_id": record["parent"],
            **{field.name: record.get(field.name) for field in BENEFICIARY},
            "status": record["status"],
            "verified": record["verified"],
            "payout_destinations": self.destinations(ctx, record),
        }

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        """All payout destinations of a beneficiary, masked: beneficiary.destinations, secrets.hidden."""
        return [
            self.resource(ctx, "payout_destination", destination)
            for destination in ctx.store.select("payout_destination", record["id"])
        ]

    def payout_destination_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a payout destination (section 2.4); those that do not apply are null (open:
        format.inapplicable-fields)."""
        return {
            "beneficiary_id": record["parent"],
            "country": record.get("country"),
            "payout_method": record["payout_method"],
            "type": record.get("type"),
            "label": record.get("label"),
            "currency": record.get("currency"),
            "network": record.get("network"),
            "status": record["status"],
            "account_number_last4": self.account_number_last4(ctx, record),
            "routing_number": record.get("routing_number"),
            "account_type": record.get("account_type"),
            "clabe_last4": self.clabe_last4(ctx, record),
            "iban_masked": self.iban_masked(ctx, record),
            "swift_code": record.get("swift_code"),
            "wallet_address_masked": self.wallet_address_masked(ctx, record),
            "is_default": record.get("is_default"),
        }

    def account_number_last4(self, ctx: Context, record: Record) -> str | None:
        """The last four characters of the account number: destination.last4, secrets.hidden."""
        number = record.get("account_number")
        return None if number is None else str(number)[-4:]

    def clabe_last4(self, ctx: Context, record: Record) -> str | None:
        """The last four digits of a Mexican CLABE, which is sent as account number: secrets.hidden."""
        number = record.get("account_number")
        clabe = record.get("country") == "MX" and isinstance(number, str) and len(number) == 18
        return number[-4:] if clabe and isinstance(number, str) else None

    def iban_masked(self, ctx: Context, record: Record) -> str | None:
        """The masked IBAN: destination.masked, destination.masked-enough, secrets.hidden."""
        return self.masked(ctx, record.get("iban"))

    def wallet_address_masked(self, ctx: Context, record: Record) -> str | None:
        """The masked wallet address: destination.masked, secrets.hidden."""
        return self.masked(ctx, record.get("wallet_address"))

    def masked(self, ctx: Context, value: Any) -> str | None:
        """A value of which at most the first and last four characters show, and never more than a third."""
        if value is None:
            return None
        text = str(value)
        shown = min(4, len(text) // 6)
        return f"{text[:shown]}****{text[len(text) - shown :]}"

    # ------------------------------------------------------------------ payouts and payins

    def payout_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a payout (section 2.5): create.amount-exact, payout.amount-in-usd."""
        return {
            "account_id": record["parent"],
            "beneficiary_id": record.get("beneficiary_id"),
            "payout_destination_id": record.get("payout_destination_id"),
            "amount": self.amount_text(ctx, record),
            "currency": record.get("currency"),
            "amount_in_usd": record["amount_in_usd"],
            "status": record["status"],
            "provider": record.get("provider"),
            "provider_reference_id": record.get("provider_reference_id"),
            "initiated_at": self.timestamp_text(ctx, record["initiated_at"]),
            "submitted_at": self.timestamp_text(ctx, record.get("submitted_at")),
            "completed_at": self.timestamp_text(ctx, record.get("completed_at")),
            "failed_at": self.timestamp_text(ctx, record.get("failed_at")),
            "failed_reason": record.get("failed_reason"),
            "note": record.get("note"),
        }

    def payin_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a payin (section 2.8): create.amount-exact."""
        return {
            "account_id": record["parent"],
            "amount": self.amount_text(ctx, record),
            "currency": record.get("currency"),
            "status": record["status"],
        }

    def amount_text(self, ctx: Context, record: Record) -> Any:
        """The amount as it was sent, to the last digit: create.amount-exact, format.money."""
        return record.get("amount")

    # ------------------------------------------------------------------ virtual accounts and wallets

    def virtual_account_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a virtual account (section 2.6): format.bank-details."""
        return {
            "account_id": record["parent"],
            "currency": record.get("currency"),
            "bank_details": record["bank_details"],
            "reference": record["reference"],
            "provider_reference_id": record["provider_reference_id"],
            "label": record.get("label"),
            "status": record["status"],
        }

    def wallet_fields(self, ctx: Context, record: Record) -> dict[str, Any]:
        """The fields of a wallet (section 2.7): wallet.addresses."""
        return {
            "account_id": record["parent"],
            "currency": record.get("currency"),
            "network": record.get("network"),
            "addresses": record["addresses"],
            "label": record.get("label"),
            "status": record["status"],
        }
