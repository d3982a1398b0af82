"""Servers that take other values than sections 4 and 8 allow, or refuse those that they do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context
from conformance.reference.fields import FIELDS, Field
from conformance.reference.refusals import Refusal
from conformance.world.corpora.fields import FORMED

from .bodies import required
from .catalogue import Faulty, fault, faults, hook, of, seam

# --------------------------------------------------------------------------- lengths


def limited(operation: str) -> list[str]:
    """The fields with a maximum length."""
    return [field.name for field in FIELDS[operation] if field.max_length is not None]


class Lengths(Faulty):
    """Lets a value of the field `self.value` pass or not by `fits`."""

    def fits(self, field: Field, value: str, maximum: int) -> bool:
        return len(value) <= maximum

    def check_length(self, ctx: Context, field: Field, value: str) -> None:
        if not self.here(ctx) or field.name != self.value or field.max_length is None:
            super().check_length(ctx, field, value)
        elif not self.fits(field, value, field.max_length):
            raise self.invalid(ctx, field, "too_long", "is too long")


fitting = hook(Lengths, "fits")


@fault("fields.max-length", each=limited)
class CutsOff(Faulty):
    """A value that is too long is cut off."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        maximum = next(field.max_length for field in FIELDS[ctx.operation] if field.name == self.value)
        if isinstance(body.get(self.value), str):
            body[self.value] = body[self.value][:maximum]
        return body


#: Fields of a syntax, in which nobody can write letters of more than one byte.
SYNTACTIC = ("email", "phone", "iban", "swift_code", "tax_id")


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
}


def fillable(operation: str) -> list[str]:
    """The fields of which a value of exactly the maximum length is sure to be valid."""
    return [name for name in limited(operation) if name not in ("email", *FORMED)]


faults["fields.max-length-accepted"] |= {
    "A value of exactly the maximum length is refused.": fitting(
        lambda self, field, value, maximum: len(value) < maximum, each=fillable
    ),
}


@fault(
    "fields.other-scripts",
    each=lambda operation: [name for name in fillable(operation) if name not in SYNTACTIC],
)
class AsciiOnly(Faulty):
    """A text in letters outside ASCII is refused."""

    def check_value(self, ctx: Context, field: Field, value: Any) -> None:
        super().check_value(ctx, field, value)
        if field.name == self.value and not value.isascii():
            raise self.invalid(ctx, field, "invalid_characters", "holds characters outside ASCII")


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


# --------------------------------------------------------------------------- kinds of values


def of_kind(*kinds: str) -> Callable[[str], list[str]]:
    """The fields of some kinds."""
    return lambda operation: [field.name for field in FIELDS[operation] if field.kind in kinds]


@fault("fields.enum", each=of_kind("enum"))
class AnyChoice(Faulty):
    """A value outside the enumeration is accepted."""

    def check_enum(self, ctx: Context, field: Field, value: str) -> None:
        if field.name == self.value and value not in field.choices:
            ctx.body[field.name] = field.choices[0]
        else:
            super().check_enum(ctx, field, value)

    def kept_value(self, ctx: Context, field: Field, value: Any) -> Any:
        return ctx.body[field.name]


faults["fields.enum"] |= {
    "A value that begins with a listed one is accepted.": seam(
        "check_enum",
        lambda self, ctx, field, value: (
            self.usual() if field.name != self.value or not value.startswith(field.choices) else None
        ),
        each=of_kind("enum"),
    ),
}


class Codes(Faulty):
    """Lets a code of the field `self.value[0]` pass if it matches the pattern `self.value[1]`."""

    def passes(self, field: Field, value: str) -> bool:
        """Whether a value is let through."""
        return bool(field.name == self.value[0] and re.fullmatch(self.value[1], value))

    def check_country(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_country(ctx, field, value)

    def check_currency(self, ctx: Context, field: Field, value: str) -> None:
        if not (self.here(ctx) and self.passes(field, value)):
            super().check_currency(ctx, field, value)


def _codes(kinds: tuple[str, ...], **patterns: str) -> Callable[[str], Any]:
    return lambda operation: {
        f"{name} {label.replace('_', ' ')}": (name, pattern)
        for name in of_kind(*kinds)(operation)
        for label, pattern in patterns.items()
    }


faults["fields.country-code"] |= {
    "A country code that is not two letters is accepted.": of(
        Codes,
        each=_codes(
            ("country",),
            anything=r".+",
            three_letters=r"[A-Z]{3}",
            one_letter=r"[A-Z]",
            two_characters=r"[A-Z0-9]{2}",
            two_digits=r"[0-9]{2}",
        ),
    ),
}


faults["fields.currency-code"] |= {
    "A currency code that is not three letters is accepted.": of(
        Codes,
        each=_codes(
            ("currency", "destination_currency"),
            anything=r".+",
            two_letters=r"[A-Z]{2}",
            four_letters=r"[A-Z]{4}",
            three_characters=r"[A-Z0-9]{3}",
            three_digits=r"[0-9]{3}",
        ),
    ),
}


faults["fields.unassigned-code"] |= {
    "A code of the right form that is not assigned is accepted.": of(
        Codes,
        each=_codes(("country", "currency", "destination_currency"), any=r"[A-Z]{2,3}", letters_z=r"Z{2,3}"),
    ),
}


faults["fields.company-name"] |= {
    "A business needs no company name.": seam(
        "check_company_name",
        lambda self, ctx, *_: (
            self.usual() if ("company_name" in ctx.body) != (self.value == "null") else None
        ),
        each=("missing", "null"),
    ),
}


faults["fields.network"] |= {
    "A wallet destination needs no network.": seam(
        "check_network",
        lambda self, ctx: self.usual() if ("network" in ctx.body) != (self.value == "null") else None,
        each=("missing", "null"),
    ),
}


#: Kind -> whether an amount is accepted that should not be.
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
    "a point only": lambda value: value == ".",
    "a sign only": lambda value: value == "-",
    "two points": lambda value: isinstance(value, str) and value.count(".") > 1,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number with decimals": lambda value: isinstance(value, float),
    "any number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "hexadecimal": lambda value: isinstance(value, str) and value.startswith("0x"),
}


#: Of payins that these are refused is implied only: fields.payin-amount-positive.
_NOT_POSITIVE = ("zero", "zero with decimals", "negative", "just negative")


@fault(
    "fields.amount",
    each=lambda operation: {
        kind: taken
        for kind, taken in AMOUNTS.items()
        if operation != "createPayin" or kind not in _NOT_POSITIVE
    },
)
class TakesAmount(Faulty):
    """An amount that is no positive decimal in a string is accepted."""

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        if "amount" in body and self.value(body["amount"]):
            body["amount"] = "1.00"
        return body


# --------------------------------------------------------------------------- valid requests

#: Optional fields of which nothing open depends: not bank details, nor what only some shapes have.
FREE = {
    "createBeneficiary": ("beneficiary_type", "title", "middle_name", "tax_id", "note"),
    "createPayoutDestination": ("label", "is_default"),
    "createPayout": ("note",),
    "createVirtualAccount": ("address",),
    "createPayin": ("description",),
}


class Refuses(Faulty):
    """Refuses valid bodies by `refuses`."""

    def refuses(self, body: dict[str, Any]) -> bool:
        return False

    def parse_body(self, ctx: Context) -> dict[str, Any]:
        body = super().parse_body(ctx)
        if self.here(ctx) and self.refuses(body):
            raise Refusal("invalid_field")
        return body


refusing = hook(Refuses, "refuses")


faults["fields.accepts-valid"] |= {
    "A request without this optional field is refused.": refusing(
        lambda self, body: self.value not in body,
        operations=tuple(FREE),
        each=lambda operation: FREE[operation],
    ),
    "A request with this optional field is refused.": refusing(
        lambda self, body: body.get(self.value) is not None,
        operations=tuple(FREE),
        each=lambda operation: FREE[operation],
    ),
    "A PATCH of this field is refused.": refusing(
        lambda self, body: self.value in body,
        operations=("updateBeneficiary",),
        each=lambda operation: [field.name for field in FIELDS[operation]],
    ),
    "A PATCH must name all fields that a create demands, or more than one field, or one only.": refusing(
        lambda self, body: (
            not {*required("createBeneficiary")} <= {*body}
            if self.value == "required fields"
            else len(body) == 1
            if self.value == "two fields"
            else len(body) > 1
        ),
        operations=("updateBeneficiary",),
        each=("required fields", "two fields", "one field"),
    ),
}


@fault(
    "fields.accepts-valid",
    operations=("createBeneficiary", "updateBeneficiary", "createPayoutDestination"),
    each=lambda operation: {
        f"{name} {value}": (name, value)
        for name, value in (
            [("is_default", True), ("is_default", False)]
            if operation == "createPayoutDestination"
            else [("beneficiary_type", "individual"), ("beneficiary_type", "business")]
        )
    },
)
class DeclinesChoice(Refuses):
    """A listed value is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        name, value = self.value
        return bool(body.get(name) == value)


@fault("fields.accepts-valid", operations=("createAccount", "createVirtualAccount", "createWallet"))
class DeclinesOtherNames(Refuses):
    """A name or label that does not begin with a certain word is refused."""

    def refuses(self, body: dict[str, Any]) -> bool:
        text = str(body.get("name", body.get("label", "")))
        return not text.lower().startswith("conformance")
