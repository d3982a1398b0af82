"""Servers that do not validate country, currency and network codes (section 4)."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.fields import Field
from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context

from .catalogue import Faulty, Row, faults, of, seam
from .fields import of_kind
from .kinds import ALL, each_apart, each_field_like, unless_apart, unless_in_kind


class Codes(Faulty):
    """Accepts a code of the field `self.value[0]` that matches the pattern `self.value[1]`."""

    def passes(self, field: Field, value: str) -> bool:
        """Returns True if a value is accepted."""
        return bool(field.name == self.value[0] and re.fullmatch(self.value[1], value))

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_country(ctx, field, value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_currency(ctx, field, value)


def accepting(kinds: tuple[str, ...], **patterns: str) -> Row:
    """Makes a row of servers that accept codes of a pattern, one for each field of these kinds and each
    pattern."""

    def each(operation: str) -> dict[str, tuple[str, str]]:
        return {
            f"{name} {label.replace('_', ' ')}": (name, pattern)
            for name in of_kind(*kinds)(operation)
            for label, pattern in patterns.items()
        }

    return of(Codes, each=each)


class InCapitals(Faulty):
    """Codes of one kind are compared in capitals, which makes two letters of a ligature."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value.upper() if field.code == self.value else value)


for each_code in ("country", "currency"):
    faults[f"fields.{each_code}-code"] |= {
        f"A {each_code} code with a ligature is accepted for its capitals.": of(
            InCapitals, each=(each_code,), also=("format.fields",)
        ),
    }


faults["fields.country-code"] |= {
    "A country code that is not two letters is accepted.": accepting(
        ("country",),
        anything=r".+",
        three_letters=r"[A-Z]{3}",
        one_letter=r"[A-Z]",
        two_characters=r"[A-Z0-9]{2}",
        two_digits=r"[0-9]{2}",
    ),
    "A country code is not looked at in one kind of body.": seam(
        "check_country",
        unless_in_kind,
        operations=ALL,
        each=each_field_like(lambda field: field.kind == "country"),
    ),
    "The country is not looked at in some destinations.": seam(
        "check_country",
        unless_apart,
        operations=("createPayoutDestination",),
        each=each_apart(lambda field: field.kind == "country"),
    ),
}

faults["fields.currency-code"] |= {
    "A currency code that is not three letters is accepted.": accepting(
        ("currency",),
        anything=r".+",
        two_letters=r"[A-Z]{2}",
        four_letters=r"[A-Z]{4}",
        three_characters=r"[A-Z0-9]{3}",
        three_digits=r"[0-9]{3}",
    ),
}


faults["fields.unassigned-code"] |= {
    "A code of the right form that is not assigned is accepted.": accepting(
        ("country", "currency"), any=r"[A-Z]{2,3}", letters_z=r"Z{2,3}"
    ),
    "Whether a country code is assigned is not looked at in one kind of body.": seam(
        "check_assigned",
        unless_in_kind,
        operations=ALL,
        each=each_field_like(lambda field: field.kind == "country"),
    ),
}

faults["fields.currency-code", "fields.unassigned-code"] |= {
    "A currency code is not looked at in one kind of body.": seam(
        "check_currency",
        unless_in_kind,
        operations=("createPayoutDestination",),
        each={"currency, IBAN alone": ("currency", "IBAN alone")},
    ),
}

faults["fields.network"] |= {
    "A wallet destination needs no network.": seam(
        "check_network",
        lambda self, ctx: self.usual() if ("network" in ctx.body) != (self.value == "null") else None,
        each=("missing", "null"),
    ),
}


def _any_pair(self: Any, ctx: Any) -> None:
    if ctx.values.get("currency") in WALLET_NETWORKS:
        self.usual()


faults["fields.currency-kind"] |= {
    "A virtual account in a cryptocurrency is taken.": seam(
        "check_currency",
        lambda self, ctx, field, value: None if value in WALLET_NETWORKS else self.usual(),
        operations=("createVirtualAccount",),
    ),
    "A bank account or payin in a cryptocurrency is taken.": seam(
        "check_assigned",
        lambda self, ctx, field, value, codes: None if value in WALLET_NETWORKS else self.usual(),
        operations=("createPayoutDestination", "createPayin"),
    ),
    "A wallet in a fiat currency is taken.": seam(
        "check_wallet_pair", _any_pair, operations=("createWallet",)
    ),
}
