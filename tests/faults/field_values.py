"""Servers with wrong limits of lengths and amounts, or that do not validate codes (section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.rules import RULES
from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty, Row, fault, faults, hook, of, seam
from .fields import SYNTACTIC, fillable, limited, of_kind
from .kinds import ALL, CHECKED_APART, MONEY, each_apart, each_field_like, unless_apart, unless_in_kind


@fault("fields.max-length", seam="parse_body", each=limited)
def _(self: Any, ctx: Context) -> Any:
    """A value that is too long is cut off."""
    body = self.usual()
    maximum = next(field.max_length for field in FIELDS[ctx.operation] if field.name == self.value)
    if isinstance(body.get(self.value), str):
        body[self.value] = body[self.value][:maximum]
    return body


class Lengths(Faulty):
    """Accepts or refuses a value of the field `self.value` by `fits`."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return len(value) <= maximum

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        if not self.here(ctx) or field.name != self.value or field.max_length is None:
            super().check_length(ctx, field, value)
        elif not self.fits(field, value, field.max_length):
            raise self.invalid(ctx, field, "too_long", "is too long")


fitting = hook(Lengths, "fits")


faults["fields.max-length"] |= {
    "A field has no maximum length.": fitting(lambda *_: True, each=limited),
    "A value one character longer than the maximum is accepted.": fitting(
        lambda self, field, value, maximum: len(value) <= maximum + 1, each=limited
    ),
    "A value up to twice as long as the maximum is refused, a longer one accepted.": fitting(
        lambda self, field, value, maximum: len(value) <= maximum or len(value) > 2 * maximum, each=limited
    ),
    "Only ASCII characters count towards the maximum.": fitting(
        lambda self, field, value, maximum: sum(character.isascii() for character in value) <= maximum,
        each=lambda operation: [name for name in limited(operation) if name not in SYNTACTIC],
    ),
    "The length of a field is not looked at in one kind of body.": seam(
        "check_length",
        unless_in_kind,
        operations=ALL,
        each=each_field_like(lambda field: field.max_length is not None),
    ),
    "The length of a field is not looked at for one currency or type.": seam(
        "check_length",
        unless_apart,
        operations=tuple(CHECKED_APART.keys() & set(RULES["fields.max-length"].operations)),
        each=each_apart(lambda field: field.max_length is not None),
    ),
}

faults["fields.amount"] |= {
    "The amount is not looked at for one currency or payment method.": seam(
        "check_amount",
        unless_apart,
        operations=tuple(MONEY),
        each=each_apart(lambda field: field.kind == "amount"),
    ),
    "Zero with more decimals than cents have is an amount.": seam(
        "check_amount",
        lambda self, ctx, field, value: None if re.fullmatch(r"0+\.000+", value) else self.usual(),
        operations=("createPayout",),
    ),
}


@fault(
    "fields.max-length-accepted",
    each=lambda operation: [
        f"{name} {encoding}"
        for name in fillable(operation)
        if name not in (*SYNTACTIC, "title")
        for encoding in ("utf-8", "escaped")
    ],
)
class CountsBytes(Faulty):
    """The maximum is one of bytes, in UTF-8 or in escapes."""

    def length(self, ctx: Context, value: str) -> int:
        return len(value.encode("unicode_escape" if self.value.endswith("escaped") else "utf-8"))

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        if field.name == self.value.split()[0]:
            super().check_length(ctx, field, value)
        elif field.max_length is not None and len(value) > field.max_length:
            raise self.invalid(ctx, field, "too_long", "is too long")


def _limited(operation: str) -> list[str]:
    kinds = ("name", "label", "display_name", "note", "first_name", "title", "company_name")
    return [field.name for field in FIELDS[operation] if field.max_length and field.name in kinds]


faults["fields.max-length-accepted"] |= {
    "A value of exactly the maximum length is refused.": fitting(
        lambda self, field, value, maximum: len(value) < maximum, each=fillable
    ),
    "A telephone number is cut.": seam(
        "kept_value",
        lambda self, ctx, field, value: (
            value[: self.value] if field.name == "phone" and value else self.usual()
        ),
        operations=("createBeneficiary", "updateBeneficiary"),
        each=(20, 32, 49),
    ),
}


@fault(
    "fields.max-length-accepted",
    seam="kept_fields",
    operations=[
        name for name in RULES["fields.max-length-accepted"].operations if name != "updateBeneficiary"
    ],
    each=_limited,
)
def _(self: Any, ctx: Context) -> Any:
    """A value of the maximum length comes back without its last character."""
    most = {field.name: field.max_length for field in self.fields(ctx)}
    return {
        name: value[:-1] if name == self.value and len(value) == most[name] else value
        for name, value in self.usual().items()
    }


#: Refused in payins only by an implied rule: fields.payin-amount-positive.
_NOT_POSITIVE = ("zero", "zero with decimals", "negative", "just negative")

#: Kind -> invalid amounts that are accepted.
AMOUNTS: dict[str, Callable[[Any], bool]] = {
    "zero": lambda value: value == "0",
    "zero with decimals": lambda value: bool(re.fullmatch(r"0\.0+", str(value))),
    "negative": lambda value: isinstance(value, str) and bool(re.fullmatch(r"-[1-9]\d*(\.\d+)?", value)),
    "just negative": lambda value: isinstance(value, str) and bool(re.fullmatch(r"-0\.\d+", value)),
    "words": lambda value: isinstance(value, str) and bool(re.fullmatch("[a-z]+", value)),
    "empty": lambda value: value == "",
    "NaN": lambda value: value == "NaN",
    "infinity": lambda value: value in ("Infinity", "-Infinity"),
    "letters behind": lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9.]+[a-zA-Z]+", value)),
    "comma": lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9]+,[0-9]+", value)),
    "a space between digits": lambda value: (
        isinstance(value, str) and bool(re.fullmatch(r"\d+ \d+(\.\d+)?", value))
    ),
    "an apostrophe between digits": lambda value: (
        isinstance(value, str) and bool(re.fullmatch(r"\d+'\d+(\.\d+)?", value))
    ),
    "parentheses": lambda value: isinstance(value, str) and bool(re.fullmatch(r"\(\d+(\.\d+)?\)", value)),
    "a point only": lambda value: value == ".",
    "a sign only": lambda value: value == "-",
    "two points": lambda value: isinstance(value, str) and value.count(".") > 1,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number with decimals": lambda value: isinstance(value, float),
    "any number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "a currency behind": lambda value: (
        isinstance(value, str) and bool(re.fullmatch(r"[0-9.]+ [A-Z]{3}", value))
    ),
    "two signs": lambda value: value == "--1",
    "a percent sign": lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9.]+%", value)),
    "hexadecimal": lambda value: isinstance(value, str) and value.startswith("0x"),
}


@fault(
    "fields.amount",
    seam="parse_body",
    each=lambda operation: {
        kind: taken
        for kind, taken in AMOUNTS.items()
        if operation != "createPayin" or kind not in _NOT_POSITIVE
    },
)
def _(self: Any, ctx: Context) -> Any:
    """An amount that is no positive decimal in a string is accepted."""
    body = self.usual()
    if "amount" in body and self.value(body["amount"]):
        body["amount"] = "1.00"
    return body


faults["fields.payin-amount-positive"] |= {
    "A payin of nothing or less is taken.": seam(
        "check_amount",
        lambda self, ctx, field, value: None if self.value(value) else self.usual(),
        each={
            "zero": lambda value: re.fullmatch("[0.]+", value),
            "negative": lambda value: re.fullmatch("-[0-9.]+", value),
        },
    )
}


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
        )
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
    )
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
    )
}

faults["fields.network"] |= {
    "A wallet destination needs no network.": seam(
        "check_network",
        lambda self, ctx: self.usual() if ("network" in ctx.body) != (self.value == "null") else None,
        each=("missing", "null"),
    )
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
