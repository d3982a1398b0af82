"""Rules of payment systems beyond the specification: bank details, texts, fees, quotas, added members."""

from __future__ import annotations

import re
import sys
from decimal import ROUND_UP, Decimal
from typing import Any, ClassVar

from conformance.contract.fields import Field
from conformance.reference.behaviour import Behaviour
from conformance.reference.codes import COUNTRIES
from conformance.reference.context import Context
from conformance.reference.seams.resources import RECORD_KINDS
from tests.support.balances import change_balances
from tests.support.overrides import Usual

from .choice import choice, demand, other, stated, varied

_FORMS = {
    "swift_code": r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?",
    "account_number": r"[0-9]{4,18}",
    "wallet_address": r"0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{26,44}|(bc|tb)1[a-z0-9]{20,80}",
    "network": r"[a-z]+(_[a-z]+)*",
}


def _iban_holds(text: str) -> bool:
    """Returns True if the check digits of an IBAN are right (ISO 13616)."""
    if not re.fullmatch("[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def _routing_number_holds(text: str) -> bool:
    """Returns True if the check digit of an ABA routing number is right."""
    if not re.fullmatch("[0-9]{9}", text):
        return False
    return sum(int(digit) * weight for digit, weight in zip(text, (3, 7, 1) * 3, strict=True)) % 10 == 0


@demand(seam="check_value")
def bank_details_checked(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Validates bank details and their check digits."""
    if not isinstance(value, str) or ctx.operation != "createPayoutDestination":
        return False
    form = _FORMS.get(field.name)
    wrong = form is not None and not re.fullmatch(form, value)
    wrong = wrong or (field.name == "iban" and not _iban_holds(value))
    return wrong or (field.name == "routing_number" and not _routing_number_holds(value))


_OF_BANKS = {"account_number", "account_name", "routing_number", "account_type", "iban", "swift_code"}
_OF_WALLETS = {"network", "wallet_address"}


@demand(seam="check_destination_details")
def fitting_fields_only(self: Behaviour, ctx: Context) -> object:
    """Refuses destination fields of another type, and a bank account with both a number and an IBAN."""
    sent = {name for name, value in ctx.values.items() if value is not None}
    wrong = sent & (_OF_BANKS if ctx.values.get("type") == "wallet" else _OF_WALLETS)
    return wrong or {"account_number", "iban"} <= sent


@demand(seam="check_address")
def addresses_checked(self: Behaviour, ctx: Context, field: Field, value: dict[str, Any]) -> object:
    """Requires an assigned country and short members in an address, and one in Europe for euro accounts."""
    texts = [value[name] for name in field.members if isinstance(value.get(name), str)]
    european = ctx.operation == "createVirtualAccount" and ctx.body.get("currency") == "EUR"
    known = {"BE", "DE", "ES", "FR"} if european else COUNTRIES
    return value.get("country") not in (None, *known) or any(len(text) > 70 for text in texts)


@demand("fields.other-scripts", "create.text-exact", seam="check_value")
def ascii_texts(self: Behaviour, ctx: Context, field: Field, value: Any) -> object:
    """Refuses non-ASCII characters in texts."""
    texts = value.values() if isinstance(value, dict) else (value,)
    return any(isinstance(text, str) and not text.isascii() for text in texts)


@choice(seam="check_field")
def empty_is_null(self: Behaviour, usual: Usual, ctx: Context, field: Field) -> None:
    """Treats an empty text as null, as some frameworks do."""
    if ctx.body.get(field.name) == "":
        ctx.body = {**ctx.body, field.name: None}
    usual(ctx, field)


@choice(seam="kept_value")
def wallet_codes_in_any_case(self: Behaviour, usual: Usual, ctx: Context, field: Field, value: Any) -> Any:
    """Accepts wallet currencies and networks in any letter case and normalizes them."""
    value = usual(ctx, field, value)
    if ctx.operation == "createWallet" and isinstance(value, str):
        return {"currency": value.upper, "network": value.lower}.get(field.name, lambda: value)()
    return value


@choice(seam="addresses")
def several_addresses(self: Behaviour, usual: Usual, ctx: Context) -> list[dict[str, Any]]:
    """Shows two addresses in a wallet, one of them with a tag."""
    more = usual(ctx) + usual(ctx)
    return [{**more[0], "tag": "1004711", "format": "classic"}, more[1]]


@choice()
class OtherWordsForMethods(Behaviour):
    """Uses its own names for payout methods and currency types."""

    def payout_method(self, ctx: Context) -> str:
        return f"SEPA Instant/{super().payout_method(ctx)}"

    def balance(self, ctx: Context, balance: Any) -> dict[str, Any]:
        return {**super().balance(ctx, balance), "currency_type": "E_MONEY"}


@choice()
class FeesTaken(Behaviour):
    """Charges a fee in addition to the amount of a payout."""

    fee = Decimal("0.35")

    def reserve_funds(self, ctx: Context) -> None:
        super().reserve_funds(ctx)
        own = ctx.values.get("currency")
        change_balances(ctx, self.parent(ctx)["id"], lambda code: code == own, available=-self.fee)


@choice(seam="reserve_funds")
def reserved_on_approval(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Reserves nothing before a payout is approved."""


@choice(seam="amount_in_usd")
def dollars_in_cents(self: Behaviour, usual: Usual, ctx: Context) -> str:
    """Converts other currencies to dollars and cents, rounded up."""
    exact = usual(ctx)
    if ctx.values.get("currency") == "USD" or len(exact) > 20:
        return exact
    return format(Decimal(exact).quantize(Decimal("0.01"), ROUND_UP), "f")


class LimitedDecimals(Behaviour):
    """Refuses amounts of more decimals."""

    decimals = 2

    def check_amount(self, ctx: Context, field: Field, value: str) -> None:
        super().check_amount(ctx, field, value)
        if len(value.partition(".")[2]) > self.decimals:
            raise self.invalid(ctx, field, "too_precise", "has too many decimals")


@choice()
class AmountsScaled(LimitedDecimals):
    """Shows amounts and balances with eight decimals, as stored in the database."""

    decimals = 8

    def amount_text(self, ctx: Context, record: dict[str, Any]) -> Any:
        return _scaled(super().amount_text(ctx, record))

    def amount_in_usd(self, ctx: Context) -> str:
        return _scaled(super().amount_in_usd(ctx))

    def balance(self, ctx: Context, balance: Any) -> dict[str, Any]:
        shown = super().balance(ctx, balance)
        amounts = ("available_balance", "pending_payout", "pending_payin", "total_balance")
        return {**shown, **{name: _scaled(shown[name]) for name in amounts}}


def _scaled(amount: str) -> str:
    """Formats an amount with at least eight decimals."""
    # Exponents occur together with AnyDecimal.
    whole, _, decimals = format(Decimal(amount), "f").partition(".")
    return f"{whole}.{decimals:0<8}"


@demand("fields.amount-odd", seam="check_amount")
def amounts_capped(self: Behaviour, ctx: Context, field: Field, value: str) -> object:
    """Limits payouts and payins to 50,000."""
    return Decimal(value) > 50_000


@demand(seam="check_state")
def currency_of_the_destination(self: Behaviour, ctx: Context) -> object:
    """Pays to a bank account only in its own currency."""
    if ctx.operation != "createPayout":
        return False
    paid = self.find(ctx, "payout_destination", str(ctx.values.get("payout_destination_id"))) or {}
    return paid.get("type") == "bank_account" and paid.get("currency") != ctx.values.get("currency")


# ---------------------------------------------------------------------- quotas


class _Quotas(Behaviour):
    """Limits the number of resources of some types under a parent."""

    #: Resource type -> the maximum number under one parent, and the status of the refusal.
    quotas: ClassVar[dict[str, tuple[int, int]]] = {}

    def check_state(self, ctx: Context) -> None:
        super().check_state(ctx)
        kind = RECORD_KINDS[ctx.operation]
        for quotas in stated(self, "quotas") if ctx.operation.startswith("create") else ():
            most, status = quotas.get(kind, (sys.maxsize, 0))
            if ctx.store.count(kind, self.parent(ctx)["id"]) >= most:
                raise other("invalid_field", status, "validation_error", "quota_exceeded")


FewPeople = varied(
    "FewPeople",
    "Limits an account to 9 beneficiaries, and each of them to 11 destinations.",
    _Quotas,
    quotas={"beneficiary": (9, 403), "payout_destination": (11, 403)},
)
FewVirtualAccounts = varied(
    "FewVirtualAccounts",
    "Limits an account to 12 virtual accounts.",
    _Quotas,
    quotas={"virtual_account": (12, 409)},
)
FewAccounts = varied(
    "FewAccounts", "Limits a customer to 12 accounts.", _Quotas, quotas={"account": (12, 422)}
)
AHundredAccounts = varied(
    "AHundredAccounts", "Limits a customer to 100 accounts.", _Quotas, quotas={"account": (100, 409)}
)
FewPayouts = varied(
    "FewPayouts",
    "Limits an account to 30 payouts.",
    _Quotas,
    "payout.insufficient-funds",
    quotas={"payout": (30, 402)},
)
