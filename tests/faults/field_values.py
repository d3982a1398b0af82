"""Servers with wrong limits of lengths and amounts, or that do not validate codes (section 4)."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from conformance.contract.fields import Field
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context
from conformance.reference.seams.validation import OTHER_RULES
from tests.specification import LIMITS

from .bodies import Names, apart, everywhere, fields, in_bodies, unchecked
from .catalogue import Row, faults, seam, seams
from .crashes import BODIES, INTERNAL, in_address
from .fields import fillable, limited
from .rows import always, each_of, refusing, shown_as, skipping, where


def fitting(fits: Callable[[str, int], Any], each: Any) -> Row:
    """Makes a row whose own test, of a value and the maximum, decides whether a field is too long."""

    def check(self: Any, usual: Any, ctx: Context, field: Field, value: str) -> None:
        if field.name != self.value or field.max_length is None:
            usual()
        elif not fits(value, field.max_length):
            raise self.invalid(ctx, field, "too_long", "is too long")

    return seam("check_length", check, each=each)


faults["fields.max-length"] |= {
    "A value that is too long is cut off.": seam(
        "parse_body",
        lambda self, usual, ctx: shown_as(
            usual(),
            self.value,
            lambda sent: sent[: LIMITS[ctx.operation][self.value]] if isinstance(sent, str) else sent,
        ),
        each=limited,
    ),
    "A field has no maximum length.": fitting(always, limited),
    "A value up to twice as long as the maximum is refused, a longer one accepted.": fitting(
        lambda value, maximum: len(value) <= maximum or len(value) > 2 * maximum, limited
    ),
    "Only ASCII characters count towards the maximum.": fitting(
        lambda value, maximum: sum(map(str.isascii, value)) <= maximum,
        fields(lambda field: field.max_length is not None and not field.form),
    ),
    "Spaces around a text do not count towards the maximum.": fitting(
        lambda value, maximum: len(value.strip()) <= maximum, fillable
    ),
    "A length is not looked at in one kind of request.": unchecked(
        "check_length", everywhere(limited), by_field=True
    ),
}


def _without_tags(text: str) -> str:
    """The text with < as an entity, which is enough to begin no tag."""
    return text.replace("<", "&lt;")


def _cut_when(escape: Callable[[str], str], each: Any) -> Row:
    return where(
        "kept_value",
        lambda self, ctx, field, value: field.name == self.value and isinstance(value, str),
        lambda self, usual, ctx, field, value: html.unescape(escape(value)[: field.max_length]),
        each=each,
    )


_COUNTED = ("name", "label", "display_name", "note", "first_name", "title", "company_name")

faults["fields.max-length-accepted"] |= {
    "The maximum is one of bytes in UTF-8.": fitting(
        lambda value, maximum: len(value.encode()) <= maximum, fillable
    ),
    "The maximum is one of bytes in escapes.": fitting(
        lambda value, maximum: len(value.encode("unicode_escape")) <= maximum, fillable
    ),
    "The maximum is one of characters escaped for HTML.": fitting(
        lambda value, maximum: len(html.escape(value)) <= maximum, fillable
    ),
    "The maximum is one of characters of which < is escaped alone.": fitting(
        lambda value, maximum: len(_without_tags(value)) <= maximum, fillable
    ),
    "A text is cut to the maximum when it is escaped for HTML.": _cut_when(html.escape, fillable),
    "A text is cut to the maximum when < is escaped in it alone.": _cut_when(_without_tags, fillable),
    "A telephone number is cut.": where(
        "kept_value",
        lambda self, ctx, field, value: field.name == "phone" and value,
        lambda self, usual, ctx, field, value: value[: self.value],
        operations=("createBeneficiary", "updateBeneficiary"),
        each=(20, 32, 49),
    ),
    "A value of the maximum length comes back without its last character.": where(
        "kept_value",
        lambda self, ctx, field, value: field.name == self.value and len(value or "") == field.max_length,
        lambda self, usual, ctx, field, value: value[:-1],
        operations=OPERATION_SETS["create"],
        each=lambda operation: [name for name in limited(operation) if name in _COUNTED],
    ),
}


# ---------------------------------------------------------------------- amounts

#: Refused in payins only by an implied rule: fields.payin-amount-positive.
_NOT_POSITIVE = ("zero", "zero with decimals", "negative", "just negative")


def text(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


#: Kind -> invalid amounts that are accepted.
AMOUNTS: dict[str, Callable[[Any], bool]] = {
    "zero": text("0"),
    "zero with decimals": text(r"0\.0+"),
    "negative": text(r"-[1-9]\d*(\.\d+)?"),
    "just negative": text(r"-0\.\d+"),
    "words": text("[a-z]+"),
    "empty": text(""),
    "NaN": text("NaN"),
    "infinity": text("-?Infinity"),
    "letters behind": text(r"[0-9.]+[a-zA-Z]+"),
    "comma": text("[0-9]+,[0-9]+"),
    "a space between digits": text(r"\d+ \d+(\.\d+)?"),
    "an apostrophe between digits": text(r"\d+'\d+(\.\d+)?"),
    "parentheses": text(r"\(\d+(\.\d+)?\)"),
    "a point only": text(r"\."),
    "a sign only": text("-"),
    "two points": text(r"[^.]*\.[^.]*\..*"),
    "a currency behind": text(r"[0-9.]+ [A-Z]{3}"),
    "two signs": text("--1"),
    "a percent sign": text("[0-9.]+%"),
    "hexadecimal": text("0x.*"),
    "integer": lambda value: type(value) is int,
    "number with decimals": lambda value: type(value) is float,
    "any number": lambda value: type(value) in (int, float),
}

faults["fields.amount"] |= {
    "An amount that is no positive decimal in a string is accepted.": seam(
        "parse_body",
        lambda self, usual, ctx: (
            {**body, "amount": "1.00"} if self.value((body := usual()).get("amount", ())) else body
        ),
        each=lambda operation: {
            kind: taken
            for kind, taken in AMOUNTS.items()
            if operation != "createPayin" or kind not in _NOT_POSITIVE
        },
    ),
    "The amount is not looked at for one currency or payment method.": unchecked(
        "check_amount", apart(fields(lambda field: field.kind == "amount"))
    ),
    "Zero with more decimals than cents have is an amount.": skipping(
        "check_amount",
        lambda self, ctx, field, value: re.fullmatch(r"0+\.000+", value),
        operations=("createPayout",),
    ),
}

faults["fields.payin-amount-positive"] |= {
    "A payin of nothing or less is taken.": skipping(
        "check_amount",
        lambda self, ctx, field, value: re.fullmatch(self.value, value),
        each={"zero": "[0.]+", "negative": "-[0-9.]+"},
    )
}


# ---------------------------------------------------------------------- codes


countries = fields(lambda field: field.kind == "country")
currencies = fields(lambda field: field.kind == "currency")


def accepting(names: Names, **patterns: str) -> Row:
    """Makes a row of servers that accept codes of a pattern, one for each field and each pattern."""

    def passes(self: Any, ctx: Context, field: Field, value: str) -> bool:
        return field.name == self.value[0] and re.fullmatch(self.value[1], value) is not None

    skip = skipping("check_country", passes).overrides["check_country"]
    return seams(
        {"check_country": skip, "check_currency": skip},
        each=lambda operation: {
            f"{name} {label.replace('_', ' ')}": (name, pattern)
            for name in names(operation)
            for label, pattern in patterns.items()
        },
    )


for kind in ("country", "currency"):
    faults[f"fields.{kind}-code"] |= {
        f"A {kind} code with a ligature is accepted for its capitals.": seam(
            "check_value",
            lambda self, usual, ctx, field, value: usual(
                ctx, field, value.upper() if field.code == self.value else value
            ),
            each=(kind,),
            also=("format.fields",),
        )
    }


faults["fields.country-code"] |= {
    "A country code that is not two letters is accepted.": accepting(
        countries,
        anything=r".+",
        three_letters=r"[A-Z]{3}",
        one_letter=r"[A-Z]",
        two_characters=r"[A-Z0-9]{2}",
        two_digits=r"[0-9]{2}",
        line_feed=r"[A-Z]{2}\n",
    ),
    "A country code is not looked at in one kind of request.": unchecked(
        "check_country",
        lambda operation: (
            everywhere(countries) if operation == "createPayoutDestination" else in_bodies(countries)
        )(operation),
    ),
}

faults["fields.currency-code"] |= {
    "A currency code that is not three letters is accepted.": accepting(
        currencies,
        anything=r".+",
        two_letters=r"[A-Z]{2}",
        four_letters=r"[A-Z]{4}",
        three_characters=r"[A-Z0-9]{3}",
        three_digits=r"[0-9]{3}",
        line_feed=r"[A-Z]{3}\n",
    )
}

faults["fields.unassigned-code"] |= {
    "A code of the right form that is not assigned is accepted.": accepting(
        fields(lambda field: field.kind in ("country", "currency")), any=r"[A-Z]{2,3}", letters_z=r"Z{2,3}"
    ),
    "Whether a country code is assigned is not looked at in one kind of request.": unchecked(
        "check_assigned", in_bodies(countries)
    ),
}

for row in OTHER_RULES:
    faults[row.rule] |= {"The rule is not looked at.": skipping("check_rule", each=[row.rule])}

for rule in ("fields.currency-code", "fields.unassigned-code"):
    faults[rule] |= {
        "A currency code is not looked at in one kind of request.": unchecked(
            "check_currency",
            lambda operation: {
                kind: value for kind, value in in_bodies(currencies)(operation).items() if "iban" in kind
            },
            operations=("createPayoutDestination",),
        )
    }

faults["fields.network"] |= {
    "A wallet destination needs no network.": skipping(
        "check_network",
        lambda self, ctx: ("network" in ctx.body) == (self.value == "null"),
        each=("missing", "null"),
    )
}

faults["fields.currency-kind"] |= {
    "A virtual account in a cryptocurrency is taken.": skipping(
        "check_currency",
        lambda self, ctx, field, value: value in WALLET_NETWORKS,
        operations=("createVirtualAccount",),
    ),
    "A bank account or payin in a cryptocurrency is taken.": skipping(
        "check_assigned",
        lambda self, ctx, field, value, *_: value in WALLET_NETWORKS,
        operations=("createPayoutDestination", "createPayin"),
    ),
    "A wallet in a fiat currency is taken.": skipping(
        "check_wallet_pair",
        lambda self, ctx: ctx.values.get("currency") not in WALLET_NETWORKS,
        operations=("createWallet",),
    ),
}


# ---------------------------------------------------------------------- columns of a database

faults["http.no-server-error"] |= {
    "A text that does not fit its column is answered with 500.": refusing(
        "check_characters",
        INTERNAL,
        lambda self, ctx, field, value: field.name == self.value and len(value) > 255,
        operations=BODIES,
        each=lambda operation: [
            *fields(lambda field: field.kind == "text" and field.max_length is None)(operation),
            *in_address(operation),
        ],
    ),
    "A text that is too long for its column when it is escaped is answered with 500.": refusing(
        "check_length",
        INTERNAL,
        lambda self, ctx, field, value: (
            field.name == self.value[0]
            and len(value) <= field.max_length < len(value.replace(self.value[1], "&#00;"))
        ),
        operations=BODIES,
        each=each_of(
            fields(lambda field: field.free and field.max_length), {f"of {sign}": sign for sign in "&'\"<"}
        ),
    ),
}
