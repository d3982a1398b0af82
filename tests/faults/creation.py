"""Servers that create a resource with other values than those sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Context as DecimalContext
from decimal import Decimal
from typing import Any

from conformance.contract.new_resources import NULLABLE
from conformance.reference.context import Context
from conformance.world.other_values import other_end
from tests.specification import ADDRESS

from .bodies import MONEY, OTHERS, asks
from .catalogue import faults, kind, refuse, seam, seams
from .formats import PAYMENTS, members
from .races import NotAtomic, pause
from .rows import adding, after, document, each_of, other, others, store
from .texts import LOSSES


def changed_address(fields: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """Returns the address of some fields with other members."""
    return {"address": {**fields["address"], **members}}


Fields = dict[str, Any]


def _by(name: str, known: Mapping[str, str], other: str) -> Callable[..., Fields]:
    """Stores a value that depends on another field, if that has one of the known values."""
    return lambda self, ctx, fields: {name: known.get(str(fields.get(other)), fields.get(name))}


def _default_of_payee(ctx: Context) -> Any:
    """Returns the default destination of the payout's beneficiary, or the one sent if there is none."""
    made = ctx.store.select("payout_destination", str(ctx.values["beneficiary_id"]))
    default = [each["id"] for each in made if each.get("is_default")]
    return default[0] if default else ctx.values["payout_destination_id"]


#: Operation -> kind -> fields that are stored in place of those sent.
CONFUSIONS: dict[str, dict[str, Callable[..., Fields]]] = {
    "createBeneficiary": {
        "country_code is that of the address": lambda self, ctx, fields: {
            "country_code": fields["address"]["country"]
        },
        "the address is in the country of payouts": lambda self, ctx, fields: changed_address(
            fields, country=fields["country_code"]
        ),
        "country_code is that of the telephone number": lambda self, ctx, fields: (
            {"country_code": "US"} if fields["phone"].startswith("+1") else {}
        ),
        "city and region are swapped": lambda self, ctx, fields: changed_address(
            fields, city=fields["address"]["region"], region=fields["address"]["city"]
        ),
        "a name that says null is none": lambda self, ctx, fields: {
            name: None for name in fields if fields[name] == "Null"
        },
        "display_name is made of the names": lambda self, ctx, fields: {
            "display_name": f"{fields['first_name']} {fields['last_name']}"
        },
        "whoever has a company_name is a business": lambda self, ctx, fields: (
            {"beneficiary_type": "business"} if fields.get("company_name") else {}
        ),
        "an individual has no company_name": lambda self, ctx, fields: (
            {} if fields.get("beneficiary_type") == "business" else {"company_name": None}
        ),
        **{
            f"the address has no {name}": lambda self, ctx, fields, name=name: changed_address(
                fields, **{name: ""}
            )
            for name in ADDRESS
        },
    },
    "createPayoutDestination": {
        "the currency is that of the country": _by(
            "currency", {"US": "USD", "DE": "EUR", "GB": "GBP", "MX": "MXN"}, "country"
        ),
        "the country is that of the currency": _by(
            "country", {"USD": "US", "EUR": "DE", "GBP": "GB", "MXN": "MX"}, "currency"
        ),
        "the country is that of the IBAN": lambda self, ctx, fields: (
            {"country": str(fields["iban"])[:2].upper()} if fields.get("iban") else {}
        ),
        "the country is that of the SWIFT code": lambda self, ctx, fields: (
            {"country": str(fields["swift_code"])[4:6]} if fields.get("swift_code") else {}
        ),
        "the country of a wallet is that of its beneficiary": lambda self, ctx, fields: (
            {"country": ctx.beneficiary["country_code"]} if fields["type"] == "wallet" else {}
        ),
        "with an IBAN it is never the default": lambda self, ctx, fields: (
            {"is_default": False} if "iban" in fields else {}
        ),
        "a SWIFT code without an IBAN is not kept": lambda self, ctx, fields: (
            {} if "iban" in fields else {"swift_code": None}
        ),
    },
    "createWallet": {"all are on one network": lambda *_: {"network": "solana_devnet"}},
    "createVirtualAccount": {
        f"with an address it is in {currency}": lambda self, ctx, fields, currency=currency: (
            {"currency": currency} if fields.get("address") else {}
        )
        for currency in ("EUR", "USD")
    },
    "createPayin": {
        "the currency is that of the method": _by(
            "currency", {"card": "USD", "crypto": "EUR"}, "payment_method"
        )
    },
    "createPayout": {
        "it goes to the beneficiary's default destination": lambda self, ctx, *_: {
            "payout_destination_id": _default_of_payee(ctx)
        },
        "it goes to the beneficiary that was made last": lambda self, ctx, *_: {
            "beneficiary_id": ctx.store.select("beneficiary", ctx.account["id"])[-1]["id"]
        },
    },
}


def _text(operation: str) -> str:
    return "display_name" if operation == "createBeneficiary" else "label"


def _of_the_last_asked(self: Any, usual: Any, ctx: Context) -> Fields:
    """Returns the fields of the last of simultaneous requests."""
    self.state["asked"] = usual()
    pause()
    return dict(self.state["asked"])


faults["create.echo"] |= {
    "This member of a large payment's answer is another one.": document.changes(
        others("account_id currency", PAYMENTS),
        others("beneficiary_id payout_destination_id", ["createPayout"]),
        test=lambda self, ctx, shown: Decimal(shown["amount"]) > 1000,
    ),
    "This parent's id in the answer is another one.": document.changes(
        each_of(
            members(lambda field: field.name == "account_id" or (field.prefix and field.name != "id")),
            {"with another end": other_end},
        ),
        each_of(
            members(lambda field: field.name == "account_id"),
            {"without its prefix": lambda text: text.partition("_")[2]},
        ),
    ),
    "An account shows the first customer of its organization.": adding(
        "members",
        lambda self, ctx, *_: {"customer_id": ctx.store.select("customer", ctx.organization.id)[0]["id"]},
        operations=("createAccount",),
    ),
    "A payment in yen is shown as one in dollars.": document.sets(
        {"currency": "USD"}, lambda self, ctx, shown: shown["currency"] == "JPY", operations=PAYMENTS
    ),
    "A field is taken for another one, or for something else.": seam(
        "kept_fields",
        lambda self, usual, ctx: {**(fields := usual()), **kind(self, ctx, fields)},
        operations=tuple(CONFUSIONS),
        each=CONFUSIONS.__getitem__,
    ),
    "A text is not what was sent in one kind of request.": adding(
        "kept_fields",
        lambda self, ctx: {(name := _text(ctx.operation)): other(name, ctx.values.get(name))},
        lambda self, ctx: asks(ctx, self.value),
        operations=OTHERS,
        each=OTHERS.__getitem__,
    ),
    "A text that was sent as null is stored as another one.": adding(
        "kept_fields",
        lambda self, ctx: {
            name: self.value for name in NULLABLE[ctx.operation] if ctx.body.get(name, "") is None
        },
        operations=("createBeneficiary", "createPayoutDestination", "createPayout"),
        each={"its word": "None", "empty": ""},
    ),
    "Of simultaneous payouts all are made with the fields of the last one.": seam(
        "kept_fields", _of_the_last_asked, base=NotAtomic, operations=("createPayout",)
    ),
}


# ---------------------------------------------------------------------- exact texts and amounts


faults["create.text-exact"] |= {
    "A create answers with the text that was sent, and what is stored has lost characters.": after(
        "create",
        lambda self, ctx: store(
            ctx, {name: self.value(text) for name, text in ctx.record.items() if isinstance(text, str)}
        ),
        operations=("createBeneficiary", "createPayoutDestination", "createVirtualAccount", "createWallet"),
        each={
            "three bytes at most": LOSSES["three bytes at most"],
            "cut off": lambda text: re.split("[\U00010000-\U0010ffff]", text)[0],
        },
    )
}


def _wrapped(bits: int) -> Callable[[str], str]:
    """Returns what reads major units as an integer of so many bits; minor units do not wrap."""
    return lambda text: re.sub(r"^\d+", lambda units: str(int(units[0]) % 2**bits), text)


def _wrapped_cents(bits: int) -> Callable[[str], str]:
    """Returns what reads an amount in cents as an integer of so many bits."""

    def change(text: str) -> str:
        cents = Decimal(text) * 100
        wraps = cents == int(cents) and cents >= 2**bits
        return format(Decimal(int(cents) % 2**bits) / 100, ".2f") if wraps else text

    return change


faults["create.amount-exact"] |= {
    "The amount is not the one that was sent.": seam(
        "amount_text",
        lambda self, usual, ctx, record: self.value(record["amount"]),
        each={
            "double": lambda text: format(Decimal(repr(float(text))), "f"),
            "two decimals": lambda text: (
                format(Decimal(text).quantize(Decimal("0.01")), "f") if len(text) < 25 else text
            ),
            "eight decimals cut": lambda text: text[: text.index(".") + 9] if "." in text else text,
            "whole": lambda text: text.partition(".")[0],
            "cents": lambda text: format(Decimal(text) * 100, "f"),
            "15 digits": lambda text: format(Decimal(f"{float(text):.15g}"), "f"),
            "28 digits": lambda text: format(DecimalContext(prec=28).create_decimal(text), "f"),
            "34 digits": lambda text: format(DecimalContext(prec=34).create_decimal(text), "f"),
            "a cent less": lambda text: format(Decimal(text) - Decimal("0.01"), "f"),
            **{f"major units of {bits} bits": _wrapped(bits) for bits in (32, 63, 64)},
            **{f"minor units of {bits} bits": _wrapped_cents(bits) for bits in (32, 64)},
        },
    ),
    "Amounts of more than 18 decimals are refused, and others computed with so many digits.": seams(
        {
            "check_amount": lambda self, usual, ctx, field, value: (
                refuse("422 validation_error too_precise")
                if len(str(value).partition(".")[2]) > 18
                else usual()
            ),
            "amount_text": lambda self, usual, ctx, record: format(
                DecimalContext(prec=self.value).create_decimal(record["amount"]), "f"
            ),
        },
        # Of decimal.js, and of .NET and of Python.
        each={"20": 20, "28": 28},
    ),
    "Amounts of one currency are rounded to its coins or its prices, and those of others are not.": adding(
        "kept_fields",
        lambda self, ctx: {
            "amount": format((Decimal(ctx.values["amount"]) / self.value[1]).quantize(1) * self.value[1], "f")
        },
        lambda self, ctx: (
            ctx.values.get("currency") == self.value[0] and len(str(ctx.values.get("amount"))) < 20
        ),
        each={
            "tenths of a pound": ("GBP", Decimal("0.10")),
            "five rappen": ("CHF", Decimal("0.05")),
            "half euros": ("EUR", Decimal("0.50")),
            "whole pesos": ("MXN", Decimal(1)),
        },
    ),
    "Amounts are rounded to coins, of which not every currency has a hundred.": adding(
        "kept_fields",
        lambda self, ctx: {
            "amount": format(Decimal(ctx.values["amount"]).quantize(Decimal(self.value[1])), "f")
        },
        lambda self, ctx: ctx.values["currency"] == self.value[0],
        each={
            "JPY": ("JPY", "1"),
            "KRW": ("KRW", "1"),
            "KWD": ("KWD", "0.01"),
            "BHD": ("BHD", "0.01"),
            "thousandths of KWD": ("KWD", "0.001"),
        },
    ),
    "The amount of a payin is rounded to cents in one kind of request.": adding(
        "kept_fields",
        lambda self, ctx: {"amount": format(Decimal(ctx.values["amount"]).quantize(Decimal("0.01")), "f")},
        lambda self, ctx: asks(ctx, self.value) and len(ctx.values["amount"]) < 20,
        operations=("createPayin",),
        each=MONEY["createPayin"],
    ),
    "The amount is cut to tenths in one kind of request.": adding(
        "kept_fields",
        lambda self, ctx: {"amount": re.sub(r"(\.\d)\d+", r"\1", ctx.values["amount"])},
        lambda self, ctx: asks(ctx, self.value),
        each=MONEY.__getitem__,
    ),
}
