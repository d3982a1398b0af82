"""The forms of symbols: what `|form.argument` makes of the value that a symbol stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from string import hexdigits

from conformance.contract.timestamps import parse, whole_second, with_offset

#: What an id looks like within a text.
IDENTIFIER = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{8,}")

_FRACTION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?Z")


def code(letter: str, *, lower: bool) -> str:
    """A character percent-encoded."""
    codes = "".join(f"%{byte:02X}" for byte in letter.encode())
    return codes.lower() if lower else codes


def mask_of(text: str, other: str, *, differ: bool = True) -> str:
    """The positions at which two texts of one length differ, or do not, as a hexadecimal number."""
    return f"{sum(1 << at for at, letter in enumerate(text) if (letter != other[at]) is differ):x}"


def _encoded(text: str, argument: str) -> str:
    """Percent-encodes the characters whose codes are listed, in the letter case of the list."""
    lower = argument != argument.upper()
    letters = bytes.fromhex(argument).decode("latin-1")
    return "".join(code(letter, lower=lower) if letter in letters else letter for letter in text)


def _encoded_at(text: str, argument: str) -> str:
    """Percent-encodes one character, by its position."""
    at = int(argument) % len(text) if text else 0
    return text[:at] + code(text[at : at + 1], lower=False) + text[at + 1 :]


def _turned(text: str, argument: str) -> str:
    """Changes the hexadecimal digits at some positions: each is combined with the argument's first digit by
    an exclusive or. The rest of the argument is a mask; its lowest bit stands for the first character."""
    turn, mask = int(argument[0], 16), int(argument[1:], 16)
    form = "X" if text.upper() == text != text.lower() else "x"
    return "".join(
        f"{int(letter, 16) ^ turn:{form}}" if mask >> at & 1 and letter in hexdigits else letter
        for at, letter in enumerate(text)
    )


def _cased(text: str, argument: str) -> str:
    """Turns the letter case at some positions. The argument is a mask; its lowest bit stands for the first
    character."""
    mask = int(argument, 16)
    return "".join(letter.swapcase() if mask >> at & 1 else letter for at, letter in enumerate(text))


def _second(text: str, argument: str) -> str:
    return whole_second(text) or text


def _day(text: str, argument: str) -> str:
    return text[:10] + "T00:00:00Z"


def _offset(text: str, argument: str) -> str:
    """The instant of a timestamp in UTC as clocks show it that are so many minutes ahead."""
    minutes = int(argument)
    if abs(minutes) >= 24 * 60 or not _FRACTION.fullmatch(text):
        return text
    try:
        return with_offset(text, minutes)
    except OverflowError:
        return text


#: Form -> what it makes of a text, and of the argument that follows it behind a dot.
FORMS: Mapping[str, Callable[[str, str], str]] = {
    "upper": lambda text, argument: text.upper(),
    "lower": lambda text, argument: text.lower(),
    "swapped": lambda text, argument: text.swapcase(),
    "cased": _cased,
    "but": lambda text, argument: text[: -int(argument)],
    "first": lambda text, argument: argument + text[1:],
    "last": lambda text, argument: text[:-1] + argument,
    "turned": _turned,
    "id": lambda text, argument: found[0] if (found := IDENTIFIER.search(text)) else text,
    "second": _second,
    "day": _day,
    "offset": _offset,
    "encoded": _encoded,
    "at": _encoded_at,
}


def changed(text: str, forms: str) -> str:
    """A text after `|form.argument|…`; unknown forms and arguments leave it as it is."""
    for form in filter(None, forms.split("|")):
        name, _, argument = form.partition(".")
        try:
            text = FORMS[name](text, argument)
        except (KeyError, ValueError, IndexError):
            continue
    return text


def moved(text: str, shift: str) -> str:
    """A timestamp, or a number of seconds, moved by `+N` or `-N` seconds."""
    if text.isascii() and text.isdigit() and len(text) < 20:
        return str(int(text) + int(Fraction(shift)))
    instant = parse(text)
    if instant is None:
        return text
    later = instant + Fraction(shift)
    try:
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(later // 1))
    except OverflowError:
        # Before year 1 or after year 9999.
        return text
    digits = len(shift.partition(".")[2])
    found = _FRACTION.fullmatch(text)
    digits = max(digits, len(found[1]) if found and found[1] else 0)
    fraction = f".{int(later % 1 * 10**digits):0{digits}d}" if digits else ""
    return start.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
