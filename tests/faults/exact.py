"""Servers that store texts and amounts with lost digits or characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from decimal import Context as DecimalContext
from decimal import Decimal
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.context import Context

from .catalogue import fault, faults, seam
from .creation import keeping
from .kinds import MONEY


@fault("create.amount-exact", seam="check_field", each=(32, 63, 64))
def _(self: Any, ctx: Context, field: Field) -> None:
    """Major units, read as an integer, wrap beyond so many bits; minor units do not."""
    self.usual()
    if field.name == "amount":
        units, point, minor = ctx.values["amount"].partition(".")
        ctx.values["amount"] = f"{int(units) % 2**self.value}{point}{minor}"


@fault("create.amount-exact", seam="check_field", each=(32, 64))
def _(self: Any, ctx: Context, field: Field) -> None:
    """Minor units wrap beyond an integer of so many bits."""
    self.usual()
    if field.name == "amount":
        cents = Decimal(ctx.values["amount"]) * 100
        if cents == int(cents) and cents >= 2**self.value:
            ctx.values["amount"] = format(Decimal(int(cents) % 2**self.value) / 100, ".2f")


#: Kind -> change of an amount.
AMOUNTS: dict[str, Callable[[str], str]] = {
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
}


#: Kind -> change of a stored text.
LOSSES: dict[str, Callable[[str], str]] = {
    "three bytes at most": lambda text: "".join(letter if ord(letter) < 0x10000 else "?" for letter in text),
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "compatible": lambda text: unicodedata.normalize("NFKC", text),
    "any space as a space": lambda text: re.sub(r"\s", " ", text),
    "without characters that are not seen": lambda text: "".join(
        letter for letter in text if unicodedata.category(letter) != "Cf"
    ),
}

faults["create.text-exact"] |= {
    "Texts are stored with other characters.": keeping(
        lambda self, fields: {
            name: self.value(value) if isinstance(value, str) else value for name, value in fields.items()
        },
        each=LOSSES,
    ),
    "An address is kept in its normal form.": keeping(
        lambda self, fields: {
            name: self.value[1](value) if name == self.value[0] else value for name, value in fields.items()
        },
        operations=("createBeneficiary",),
        each={
            "e-mail in lower case": ("email", str.lower),
            "telephone number of E.164": ("phone", lambda text: "+" + re.sub(r"\D", "", text)),
        },
    ),
}


@fault(
    "create.text-exact",
    seam="create",
    operations=("createBeneficiary", "createPayoutDestination", "createVirtualAccount", "createWallet"),
    each={
        "three bytes at most": LOSSES["three bytes at most"],
        "cut off": lambda text: re.split("[\U00010000-\U0010ffff]", text)[0],
    },
)
def _(self: Any, ctx: Context) -> None:
    """A create answers with the text that was sent, and what is stored has lost characters."""
    self.usual()
    record = ctx.record or {}
    kept = {name: self.value(value) for name, value in record.items() if isinstance(value, str)}
    ctx.store.update({**record, **kept})


def _tenths(text: str) -> str:
    whole, point, cents = text.partition(".")
    return f"{whole}{point}{cents[:1]}"


faults["create.amount-exact"] |= {
    "The amount is not the one that was sent.": seam(
        "amount_text",
        lambda self, ctx, record: self.value(record["amount"]),
        each=AMOUNTS,
    ),
    "Amounts are rounded to coins, of which not every currency has a hundred.": seam(
        "kept_fields",
        lambda self, ctx: {
            **self.usual(),
            **(
                {"amount": format(Decimal(ctx.values["amount"]).quantize(Decimal(self.value[1])), "f")}
                if ctx.values["currency"] == self.value[0]
                else {}
            ),
        },
        each={"JPY": ("JPY", "1"), "KWD": ("KWD", "0.01")},
    ),
    "The amount is cut to tenths in one kind of request.": seam(
        "kept_fields",
        lambda self, ctx: (
            {**self.usual(), "amount": _tenths(ctx.values["amount"])} if self.value(ctx) else self.usual()
        ),
        each=MONEY.__getitem__,
    ),
}


faults["beneficiary.update-text-exact"] |= {
    "A PATCH keeps an address in its normal form.": seam(
        "kept_value",
        lambda self, ctx, field, value: (
            self.value[1](value) if field.name == self.value[0] and isinstance(value, str) else self.usual()
        ),
        each={
            "e-mail in lower case": ("email", str.lower),
            "telephone number of digits": ("phone", lambda text: "+" + "".join(filter(str.isdigit, text))),
        },
    ),
    "A PATCH stores texts with other characters.": seam(
        "kept_value",
        lambda self, ctx, field, value: self.value(self.usual()) if isinstance(value, str) else self.usual(),
        each=LOSSES,
    ),
}
