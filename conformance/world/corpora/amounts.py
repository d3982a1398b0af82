"""Amounts of money (sections 2, 4.4 and 4.7): to be refused, open, and sensitive to rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.world.corpora import Value, readable

#: Not a positive decimal string: refused in payouts.
REFUSED = (
    Value("0", "zero"),
    Value("0.00", "zero with decimals"),
    Value("0.0000", "zero with more decimals than cents have"),
    Value("-0", "negative zero, which compares equal to zero"),
    Value("-5.00", "negative: money would flow the other way"),
    Value("-0.01", "negative by the least unit"),
    Value("abc", "no digits"),
    Value("1.00d", "a number that only begins the text, and a double in Java"),
    Value("1.00 USD", "a currency code behind it"),
    Value("10%", "a percent sign behind it"),
    Value("--1", "two signs"),
    Value("$1.00", "a currency sign before it"),
    Value("NaN", "decimal types parse it, and no comparison with it holds"),
    Value("Infinity", "decimal types parse it"),
    Value("(1.00)", "in parentheses, which is negative to bookkeepers"),
    Value("inf", "the short form that floating-point parsers take"),
    Value("\u00001.2.3", "two points, behind a NUL"),
    Value("1,00", "a decimal comma"),
    Value("1,000.00", "a thousands separator"),
    Value("1'000.00", "an apostrophe, as the Swiss write thousands"),
    Value("1_000.00", "an underscore, which Python's parsers skip"),
    Value("0x10", "hexadecimal"),
    Value("1/2", "a fraction"),
    Value("\u0661.\u0660\u0660", "Arabic-Indic digits, which are digits to Unicode"),
    Value("\uff11.\uff10\uff10", "full-width digits, which NFKC makes ASCII"),
    Value("1 000.00", "a space between digits"),
    Value(".", "a point only, which patterns that demand no digit take"),
    Value("-", "a sign only"),
    Value("", "empty"),
    Value(" ", "white space only"),
    Value(1, "a JSON number in place of a string"),
    Value(1.5, "a JSON number that is not an integer"),
)

#: Refused as well; for generated requests only.
REFUSED_TOO = (
    Value("-1e2", "negative with an exponent"),
    Value("0e9", "zero with an exponent"),
    Value("1\u0000", "a NUL after it, where C strings end"),
    Value("+-1", "both signs"),
    Value("e5", "an exponent only"),
    Value("1e", "an exponent without digits"),
    Value("00000", "zero in many digits"),
)

#: May be accepted or refused.
OPEN = (
    Value("1e2", "an exponent", checked=True),
    Value("+1.00", "a leading plus sign", checked=True),
    Value("1." + "0" * 59 + "1", "60 decimals", checked=True),
    Value("1" + "0" * 400, "401 digits", checked=True),
    Value("1e400", "an exponent beyond a double"),
    Value("1e-400", "an exponent below a double"),
    Value("0." + "0" * 300 + "1", "300 zeros after the point"),
    Value("9" * 400, "400 nines"),
    Value(".5", "no digit before the point"),
    Value("1.", "no digit after the point"),
)

#: If accepted, the response must have the same value.
EXACT = (
    Value("1.10", "a zero at its end"),
    Value("0.07", "no binary fraction"),
    Value("0.29", "0.29 * 100 is below 29 in a double"),
    Value("19.99", "19.99 * 100 is below 1999 in a double"),
    Value("100", "no decimals"),
    Value("10000000", "ten million, which a double's text has with an exponent"),
    Value("12345.67", "above amounts that somebody has to approve"),
    Value("1.005", "half a cent, below it in a double"),
    Value("0.0001", "below a cent, where Java writes a double with an exponent"),
    Value("0.00001", "below a cent, where PHP and Python write a double with an exponent"),
    Value("0.00000001", "far below a cent"),
    Value("1.0000000000000000001", "19 decimals"),
    Value("1." + "0" * 34 + "1", "36 digits, more than a decimal of 128 bits has"),
    Value("123456789.123456789", "18 digits, more than a double has"),
    Value("1234.123456789012345678", "22 digits, more than decimal.js computes with, 18 of them decimals"),
    Value("12345678901.123456789012345678", "29 digits, more than .NET and Python compute with"),
    Value("100000000000000.01", "cents of a large amount"),
    Value("9007199254740993.01", "beyond the integers that a double holds"),
)

#: An amount that rounding to any coin changes, and currencies whose rules differ in it.
TELLING, CURRENCIES = "1.27", ("USD", "EUR", "GBP", "CHF", "SEK", "MXN")

#: Currencies whose minor unit is no hundredth, with amounts of as many decimals, or of more.
OF_OTHER_COINS = (("JPY", "1.50"), ("KRW", "1.50"), ("KWD", "1.005"), ("KWD", "1.0057"), ("BHD", "1.005"))

#: Amounts that an integer overflow turns into 1.00: refused for lack of funds, or kept exactly.
WRAPPING = (
    Value("42949673.96", "2^32 cents more than 1.00"),
    Value("184467440737095517.16", "2^64 cents more than 1.00"),
    Value("18446744073709551617.00", "2^64 units more than 1.00, and so in cents"),
)

_DIGITS = "0123456789"

#: Refused value -> the same defect in another amount, where the defect leaves room for one.
_RESPELLED: Mapping[Any, Callable[[str], Any]] = {
    "-5.00": "-{}".format,
    "1.00d": "{}d".format,
    "1.00 USD": "{} USD".format,
    "$1.00": "${}".format,
    "1,00": lambda amount: amount.replace(".", ","),
    "1,000.00": "0,00{}".format,
    "1_000.00": "0_00{}".format,
    "1'000.00": "0'00{}".format,
    "(1.00)": "({})".format,
    "\u0661.\u0660\u0660": lambda amount: amount.translate(str.maketrans(_DIGITS, _digits_from(0x660))),
    "\uff11.\uff10\uff10": lambda amount: amount.translate(str.maketrans(_DIGITS, _digits_from(0xFF10))),
    1.5: float,
}


def _digits_from(zero: int) -> str:
    return "".join(chr(zero + digit) for digit in range(10))


def respelled(value: Any, amount: str) -> Any:
    """Applies the defect of a refused value to another plain amount; None where that is not possible."""
    make = _RESPELLED.get(value) if isinstance(value, str | float) else None
    spelling = make(amount) if make else None
    return None if spelling == amount else spelling


def named(entry: Value) -> str:
    """Describes a refused amount in a sentence."""
    match entry.value:
        case "":
            return "an empty string"
        case " ":
            return "a space"
        case str(text):
            return f'"{readable(text)}"'
    return f"the number {entry.value}"
