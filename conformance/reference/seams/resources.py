"""The operations' effects: sections 3 and 4 of the specification."""

from __future__ import annotations

import secrets
from decimal import Decimal
from string import digits
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.codes import DOLLARS
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import Base, random_text
from conformance.reference.seams.validation import EXACT, decimal_of

#: operationId -> kind of its resource.
RECORD_KINDS = {
    operation.id: operation.resource.removesuffix("_balances") for operation in OPERATIONS.values()
}

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


class Resources(Base):
    """The seams of effects. None refuses after a write."""

    def act(self, ctx: Context) -> None:
        """Stage: performs the operation; sets the resource for the answer in the context."""
        usual = "list_records" if OPERATIONS[ctx.operation].is_list else "create"
        getattr(self, _ACTIONS.get(ctx.operation, usual))(ctx)

    # ------------------------------------------------------------------ creating

    def parent(self, ctx: Context) -> Record:
        """The parent of the operation's resource: list.complete."""
        parent = ctx.beneficiary or ctx.account or ctx.customer
        assert parent is not None
        return parent

    def create(self, ctx: Context) -> None:
        """Creates and stores a resource: format.id-unique, list.complete, read.equals-create."""
        ctx.record = self.new_record(ctx)
        ctx.store.insert(RECORD_KINDS[ctx.operation], ctx.record)

    def new_record(self, ctx: Context) -> Record:
        """The new resource: the fields sent, and those that the server adds."""
        kind, parent, instant = RECORD_KINDS[ctx.operation], self.parent(ctx), self.instant(ctx)
        return {
            **self.defaults(ctx),
            **self.kept_fields(ctx),
            "id": self.new_id(ctx, kind),
            "organization": parent["organization"],
            "parent": parent["id"],
            "created": instant,
            "updated": instant,
            **self.initial_state(ctx),
            **self.assigned(ctx),
        }

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        """The sent fields to store: create.echo, create.text-exact, create.amount-exact."""
        return {name: value for name, value in ctx.values.items() if value is not None}

    def defaults(self, ctx: Context) -> dict[str, Any]:
        """Defaults of fields that were not sent: create.initial-state."""
        match ctx.operation:
            case "createBeneficiary":
                return {"beneficiary_type": "individual"}
            case "createPayoutDestination":
                return {"is_default": False}
        return {}

    def initial_state(self, ctx: Context) -> dict[str, Any]:
        """The initial state of a resource, whatever was sent: create.initial-state, create.server-owned."""
        match ctx.operation:
            case "createBeneficiary":
                return {"status": "active", "verified": False}
            case "createPayout":
                return {"status": "pending_approval", "initiated_at": self.instant(ctx)}
            case "createPayin":
                return {"status": "pending"}
        return {"status": "active"}

    def assigned(self, ctx: Context) -> dict[str, Any]:
        """Values that the server assigns to a new resource, unique to it (open: create.assigned)."""
        match ctx.operation:
            case "createPayoutDestination":
                return {"payout_method": self.payout_method(ctx)}
            case "createPayout":
                return {"amount_in_usd": self.amount_in_usd(ctx)}
            case "createVirtualAccount":
                return {
                    "bank_details": self.bank_details(ctx),
                    "reference": "REF" + secrets.token_hex(6).upper(),
                    "provider_reference_id": "prov_" + secrets.token_hex(8),
                }
            case "createWallet":
                return {"addresses": self.addresses(ctx)}
        return {}

    def payout_method(self, ctx: Context) -> str:
        """The payout method of a destination; its values are open (section 2.10)."""
        if ctx.values.get("type") != "bank_account":
            return "crypto" if ctx.values.get("type") == "wallet" else "card"
        return {"US": "ach", "MX": "spei"}.get(str(ctx.values.get("country")), "wire")

    def amount_in_usd(self, ctx: Context) -> str:
        """The amount in US dollars; as sent if it is in dollars: payout.amount-in-usd."""
        amount, currency = ctx.values.get("amount"), ctx.values.get("currency")
        number = decimal_of(amount)
        if currency == "USD" or number is None:
            return str(amount)
        return format(EXACT.multiply(number, Decimal(DOLLARS.get(str(currency), "1"))), "f")

    def bank_details(self, ctx: Context) -> dict[str, Any]:
        """The bank details of a virtual account: format.bank-details, format.iban. Inapplicable ones are
        absent."""
        if ctx.values.get("currency") == "USD":
            number = random_text(digits, 10)
            return {"bank_name": "Example Bank", "account_number": number, "routing_number": "021000021"}
        iban = _iban()
        return {"ibans": [iban], "iban": iban, "bic": "DEUTDEFF", "bank_name": "Example Bank"}

    def addresses(self, ctx: Context) -> list[dict[str, Any]]:
        """The deposit addresses of a wallet: wallet.addresses."""
        match ctx.values.get("network"):
            case "bitcoin":
                address = "tb1q" + random_text(_BECH32, 38)
            case "solana_devnet":
                address = random_text(_BASE58, 44)
            case _:
                address = "0x" + secrets.token_hex(20)
        return [{"address": address, "tag": None}]

    def create_destination(self, ctx: Context) -> None:
        """Creates a payout destination; a new default replaces the old one (open:
        destination.second-default)."""
        if ctx.values.get("is_default"):
            self.clear_default(ctx)
        self.create(ctx)

    def clear_default(self, ctx: Context) -> None:
        """Unsets the default among the beneficiary's destinations: destination.default."""
        for other in ctx.store.select("payout_destination", self.parent(ctx)["id"]):
            if other.get("is_default"):
                ctx.store.update({**other, "is_default": False, "updated": self.touched(ctx, other)})

    # ------------------------------------------------------------------ wallets

    def create_wallet(self, ctx: Context) -> None:
        """Creates the account's only wallet of a pair: wallet.duplicate, wallet.race."""
        if not self.claim_wallet_pair(ctx):
            self.on_duplicate_wallet(ctx)
        self.create(ctx)

    def claim_wallet_pair(self, ctx: Context) -> bool:
        """Reserves the pair unless it is reserved, atomically: wallet.duplicate, wallet.race. In another
        account the same pair is open (wallet.pair-elsewhere); here it is free."""
        return ctx.store.claim_wallet_pair(
            self.parent(ctx)["id"], str(ctx.values.get("currency")), str(ctx.values.get("network"))
        )

    def on_duplicate_wallet(self, ctx: Context) -> None:
        """Refuses a second wallet of a pair: wallet.duplicate."""
        raise Refusal("duplicate_wallet")

    # ------------------------------------------------------------------ payouts

    def create_payout(self, ctx: Context) -> None:
        """Creates a payout and reserves its funds."""
        self.reserve_funds(ctx)
        self.create(ctx)

    def reserve_funds(self, ctx: Context) -> None:
        """Moves the exact amount from available_balance to pending_payout, if there is a balance:
        payout.race."""
        account, amount = self.parent(ctx)["id"], decimal_of(ctx.values.get("amount"))
        for balance in ctx.store.balances(account):
            if balance.currency == ctx.values.get("currency") and amount is not None:
                available = EXACT.subtract(Decimal(balance.available), amount)
                pending = EXACT.add(Decimal(balance.pending_payout), amount)
                changed = balance._replace(
                    available=format(available, "f"),
                    pending_payout=format(pending, "f"),
                    updated=self.instant(ctx),
                )
                ctx.store.set_balance(account, changed)

    # ------------------------------------------------------------------ beneficiaries

    def update_beneficiary(self, ctx: Context) -> None:
        """Updates the given fields and no others: beneficiary.update, beneficiary.update-empty."""
        assert ctx.beneficiary is not None
        if ctx.values:
            self.write_beneficiary(ctx, self.patched(ctx, ctx.beneficiary))
        else:
            ctx.record = ctx.beneficiary

    def patched(self, ctx: Context, record: Record) -> Record:
        """The beneficiary with the given fields updated: beneficiary.update,
        beneficiary.update-moves-updated, beneficiary.update-server-owned, beneficiary.update-text-exact."""
        return {**record, **ctx.values, "updated": self.touched(ctx, record)}

    def disable_beneficiary(self, ctx: Context) -> None:
        """Disables the beneficiary; a second time is open (beneficiary.disable-twice), allowed here."""
        assert ctx.beneficiary is not None
        self.write_beneficiary(ctx, self.disabled(ctx, ctx.beneficiary))

    def disabled(self, ctx: Context, record: Record) -> Record:
        """The disabled beneficiary: beneficiary.disable, beneficiary.disable-moves-updated."""
        return {**record, "status": "disabled", "updated": self.touched(ctx, record)}

    def write_beneficiary(self, ctx: Context, record: Record) -> None:
        """Stores a changed beneficiary and shows it: beneficiary.update, beneficiary.disable."""
        ctx.record = record
        ctx.store.update(record)

    def touched(self, ctx: Context, record: Record) -> int:
        """The new `updated` of a changed resource, strictly later than the old one:
        beneficiary.update-moves-updated, beneficiary.disable-moves-updated."""
        step: int = 10 ** (6 - self.timestamp_digits)
        return max(self.instant(ctx), int(record["updated"]) + step)

    # ------------------------------------------------------------------ reading

    def show_account(self, ctx: Context) -> None:
        """Shows the account in the path: balances.of-account."""
        ctx.record = ctx.account

    def show_beneficiary(self, ctx: Context) -> None:
        """Shows the beneficiary in the path: read.equals-create."""
        ctx.record = ctx.beneficiary

    def show_virtual_account(self, ctx: Context) -> None:
        """Shows the virtual account in the path: read.equals-create."""
        ctx.record = ctx.child

    def list_records(self, ctx: Context) -> None:
        """Finds the requested page; see Lists."""


#: operationId -> the method that performs it, where that is not `create`, or `list_records` for a list.
_ACTIONS = {
    "getAccountBalances": "show_account",
    "getBeneficiary": "show_beneficiary",
    "updateBeneficiary": "update_beneficiary",
    "disableBeneficiary": "disable_beneficiary",
    "createPayoutDestination": "create_destination",
    "createPayout": "create_payout",
    "getVirtualAccount": "show_virtual_account",
    "createWallet": "create_wallet",
}


def _iban() -> str:
    """A random German IBAN with valid check digits (ISO 13616)."""
    account = "37040044" + random_text(digits, 10)
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"
