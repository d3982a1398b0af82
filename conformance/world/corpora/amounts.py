"""Amounts of money (sections 2, 4.4 and 4.7): refused, open, and such as rounding would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.world.corpora.value import Bug, Value

#: No positive decimal in a string: refused wherever a payout is asked for.
REFUSED = (
    Value("0", "zero", Bug.LENIENCY),
    Value("0.00", "zero with decimals", Bug.LENIENCY),
    Value("0.0000", "zero with more decimals than cents have", Bug.LENIENCY),
    Value("00", "zero in two digits", Bug.LENIENCY),
    Value("-0", "negative zero, which compares equal to zero", Bug.LENIENCY),
    Value("-5.00", "negative: money would flow the other way", Bug.LENIENCY),
    Value("-0.01", "negative by the least unit", Bug.LENIENCY),
    Value("abc", "no digits", Bug.CRASH),
    Value("1.00abc", "a number that only begins the text", Bug.LENIENCY),
    Value("1.00 USD", "a currency code behind it", Bug.LENIENCY),
    Value("10%", "a percent sign behind it", Bug.LENIENCY),
    Value("--1", "two signs", Bug.CRASH),
    Value("$1.00", "a currency sign before it", Bug.LENIENCY),
    Value("NaN", "decimal types parse it, and no comparison with it holds", Bug.LENIENCY),
    Value("Infinity", "decimal types parse it", Bug.LENIENCY),
    Value("-Infinity", "decimal types parse it", Bug.LENIENCY),
    Value("inf", "the short form that floating-point parsers take", Bug.LENIENCY),
    Value("1.2.3", "two points", Bug.CRASH),
    Value("1,00", "a decimal comma", Bug.LENIENCY),
    Value("1,000.00", "a thousands separator", Bug.LENIENCY),
    Value("1_000.00", "an underscore, which Python's parsers skip", Bug.LENIENCY),
    Value("0x10", "hexadecimal", Bug.LENIENCY),
    Value("1/2", "a fraction", Bug.LENIENCY),
    Value("\u0661.\u0660\u0660", "Arabic-Indic digits, which are digits to Unicode", Bug.NORMALIZATION),
    Value("\uff11.\uff10\uff10", "full-width digits, which NFKC makes ASCII", Bug.NORMALIZATION),
    Value("1 000.00", "a space between digits", Bug.LENIENCY),
    Value(".", "a point only, which patterns that demand no digit take", Bug.LENIENCY),
    Value("-", "a sign only", Bug.CRASH),
    Value("", "empty", Bug.CRASH),
    Value(" ", "white space only", Bug.CRASH),
    Value(1, "a JSON number in place of a string", Bug.LENIENCY),
    Value(1.5, "a JSON number that is not an integer", Bug.ROUNDING),
)

#: Refused as well, and drawn only.
REFUSED_TOO = (
    Value("-1", "negative without decimals", Bug.LENIENCY),
    Value("-0.00", "negative zero with decimals", Bug.LENIENCY),
    Value("-1e2", "negative with an exponent", Bug.LENIENCY),
    Value("0e9", "zero with an exponent", Bug.LENIENCY),
    Value("0x1F", "hexadecimal with a letter", Bug.LENIENCY),
    Value("1_000", "an underscore between digits", Bug.LENIENCY),
    Value("1 000", "a space between digits and no decimals", Bug.LENIENCY),
    Value("\u0661\u0662", "Arabic-Indic digits without a point", Bug.NORMALIZATION),
    Value("\uff11", "one full-width digit", Bug.NORMALIZATION),
    Value("1\u0000", "a NUL after it, where C strings end", Bug.ENCODING),
    Value("+-1", "both signs", Bug.CRASH),
    Value("e5", "an exponent only", Bug.CRASH),
    Value("1e", "an exponent without digits", Bug.CRASH),
    Value("$5", "a currency sign and one digit", Bug.LENIENCY),
    Value("00000", "zero in many digits", Bug.LENIENCY),
)

#: May be accepted or refused; the reason names what is odd.
OPEN = (
    Value("1e2", "an exponent", Bug.LENIENCY, checked=True),
    Value("+1.00", "a leading plus sign", Bug.LENIENCY, checked=True),
    Value("1" + "0" * 400, "401 digits", Bug.OVERFLOW, checked=True),
    Value("1." + "0" * 59 + "1", "60 decimals", Bug.ROUNDING, checked=True),
    Value("1e400", "an exponent beyond a double", Bug.OVERFLOW),
    Value("1e-400", "an exponent below a double", Bug.OVERFLOW),
    Value("0." + "0" * 300 + "1", "300 zeros after the point", Bug.ROUNDING),
    Value("9" * 400, "400 nines", Bug.OVERFLOW),
    Value(".5", "no digit before the point", Bug.LENIENCY),
    Value("1.", "no digit after the point", Bug.LENIENCY),
)

#: Accepted ones must come back with the same value.
EXACT = (
    Value("1.10", "a zero at its end", Bug.ROUNDING),
    Value("0.07", "no binary fraction", Bug.ROUNDING),
    Value("0.29", "0.29 * 100 is below 29 in a double", Bug.ROUNDING),
    Value("19.99", "19.99 * 100 is below 1999 in a double", Bug.ROUNDING),
    Value("100", "no decimals", Bug.ROUNDING),
    Value("1.005", "half a cent, below it in a double", Bug.ROUNDING),
    Value("0.00000001", "far below a cent", Bug.ROUNDING),
    Value("1.0000000000000000001", "19 decimals", Bug.ROUNDING),
    Value("123456789.123456789", "18 digits, more than a double has", Bug.ROUNDING),
    Value("100000000000000.01", "cents of a large amount", Bug.ROUNDING),
    Value("9007199254740993.01", "beyond the integers that a double holds", Bug.ROUNDING),
)


#: Amounts that are 1.00 after a wrap of their minor or major units: refused beyond the funds, or taken
#: exactly.
WRAPPING = (
    Value("42949673.96", "2^32 cents more than 1.00", Bug.OVERFLOW),
    Value("184467440737095517.16", "2^64 cents more than 1.00", Bug.OVERFLOW),
    Value("18446744073709551617.00", "2^64 units more than 1.00, and so in cents", Bug.OVERFLOW),
)

_DIGITS = "0123456789"

#: Refused value -> the same defect in another amount, where the defect leaves room for one.
_RESPELLED: Mapping[Any, Callable[[str], Any]] = {
    "-5.00": "-{}".format,
    "1.00abc": "{}abc".format,
    "1.00 USD": "{} USD".format,
    "$1.00": "${}".format,
    "1,00": lambda amount: amount.replace(".", ","),
    "1,000.00": "0,00{}".format,
    "1_000.00": "0_00{}".format,
    "\u0661.\u0660\u0660": lambda amount: amount.translate(str.maketrans(_DIGITS, _digits_from(0x660))),
    "\uff11.\uff10\uff10": lambda amount: amount.translate(str.maketrans(_DIGITS, _digits_from(0xFF10))),
    1.5: float,
}


def _digits_from(zero: int) -> str:
    return "".join(chr(zero + digit) for digit in range(10))


def respelled(value: Any, amount: str) -> Any:
    """A refused value with its defect, but of another plain amount; None where it has no room for one."""
    make = _RESPELLED.get(value) if isinstance(value, str | float) else None
    made = make(amount) if make else None
    return None if made == amount else made


def named(entry: Value) -> str:
    """A refused amount as a sentence calls it."""
    match entry.value:
        case "":
            return "an empty string"
        case " ":
            return "a space"
        case str(text):
            return f'"{text}"'
    return f"the number {entry.value}"
