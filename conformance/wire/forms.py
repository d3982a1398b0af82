"""Text forms: named transformations of a string, shared by checks, replays and stand-alone scripts.

A chain is written `|name.argument|name`, as in symbols of replay files. Positions count from 0, negative ones
from the end.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

from conformance.contract.timestamps import just_after, parse, whole_second, with_offset

#: Characters that a path segment may hold (RFC 3986) besides letters, digits and `_.-~`; `%` keeps ids that
#: are encoded already.
_IN_A_SEGMENT = "%!$&'()*+,;=:@"

#: Minimum characters after an id's last underscore for near-identical ids to be unlikely.
_SPARSE = 12

#: One form of a chain, in characters that both a request target and a JSON string can hold.
FORM = r"[a-z]+(?:\.[!#-\[\]-z~]{1,16})?"


class SameText(ValueError):
    """A form leaves a text unchanged, or its result might name an existing resource."""


def sparse(identifier: str) -> bool:
    """True if near-identical ids are unlikely to exist: at least 12 characters after the last underscore, not
    all digits."""
    tail = identifier.rpartition("_")[2]
    return len(tail) >= _SPARSE and not tail.isdigit()


def _sparse(text: str, argument: str) -> str:
    """Returns the text. Raises SameText if near-identical ids may exist."""
    if not sparse(text):
        raise SameText(f"ids similar to {text[:60]!r} may exist")
    return text


def _recased(text: str, other: str) -> str:
    """Returns `other`, the text in another letter case. Raises SameText if they are equal."""
    if other == text:
        raise SameText(f"{text[:60]!r} has no other letter case")
    return other


def _position(text: str, argument: str) -> int:
    """Converts a position to an index from 0. Raises IndexError outside the text."""
    at = int(argument)
    if not -len(text) <= at < len(text):
        raise IndexError(argument)
    return at % len(text)


def _set(text: str, argument: str) -> str:
    """Replaces the character at a position: `0.g`."""
    place, _, character = argument.partition(".")
    at = _position(text, place)
    return text[:at] + character + text[at + 1 :]


def _other(text: str, argument: str) -> str:
    """Replaces the character at a position by 0, or 0 by 1."""
    at = _position(text, argument)
    return text[:at] + ("1" if text[at] == "0" else "0") + text[at + 1 :]


def _accented(text: str, argument: str) -> str:
    """Adds an acute accent to the last letter that can have one. Raises SameText without such a letter."""
    at = max(map(text.rfind, "aceiou"))
    if at < 0:
        raise SameText(f"{text[:60]!r} has no letter for an accent")
    return text[:at] + normalize("NFC", text[at] + "\N{COMBINING ACUTE ACCENT}") + text[at + 1 :]


def _wide(text: str, argument: str) -> str:
    """Puts the last letter or digit in full width. Raises SameText where there is none."""
    at = next((at for at in reversed(range(len(text))) if text[at].isalnum() and text[at].isascii()), -1)
    if at < 0:
        raise SameText(f"{text[:60]!r} has no letter or digit")
    return text[:at] + chr(ord(text[at]) + 0xFEE0) + text[at + 1 :]


def _encoded(text: str, argument: str) -> str:
    """Percent-encodes the character at a position, with upper-case digits."""
    at = _position(text, argument)
    codes = "".join(f"%{byte:02X}" for byte in text[at].encode())
    return text[:at] + codes + text[at + 1 :]


def _encoded_lower(text: str, argument: str) -> str:
    """Percent-encodes the character at a position, with lower-case digits."""
    at = _position(text, argument)
    return text[:at] + _encoded(text[at], "0").lower() + text[at + 1 :]


def _tail_swapped(text: str, argument: str) -> str:
    """Swaps the letter case after the last underscore."""
    head, separator, tail = text.rpartition("_")
    return _recased(text, head + separator + tail.swapcase())


def _offset(text: str, argument: str) -> str:
    """Rewrites a timestamp in UTC with an offset in minutes."""
    minutes = int(argument)
    if abs(minutes) >= 24 * 60 or parse(text) is None:
        raise ValueError(argument)
    return with_offset(text, minutes)


#: Name -> function of a text and the argument.
FORMS: Mapping[str, Callable[[str, str], str]] = {
    "sparse": _sparse,
    "upper": lambda text, argument: _recased(text, text.upper()),
    "swapped": lambda text, argument: _recased(text, text.swapcase()),
    "tailswapped": _tail_swapped,
    "reversed": lambda text, argument: text[::-1],
    "shifted": lambda text, argument: text[1:8] + "-" + text[0] + text[9:],
    "bare": lambda text, argument: text.replace("-", ""),
    "and": lambda text, argument: text + argument,
    "but": lambda text, argument: text[: -int(argument)],
    "from": lambda text, argument: text[int(argument) :],
    "set": _set,
    "other": _other,
    "accented": _accented,
    "wide": _wide,
    "encoded": _encoded,
    "encodedlower": _encoded_lower,
    "query": lambda text, argument: quote(text, safe=""),
    "segment": lambda text, argument: quote(text, safe=_IN_A_SEGMENT),
    "second": lambda text, argument: whole_second(text) or text,
    "day": lambda text, argument: text[:10] + "T00:00:00Z",
    "after": lambda text, argument: just_after(text) or text,
    "offset": _offset,
    "iso": lambda text, argument: datetime.fromtimestamp(int(text), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    # As the Date header has it.
    "date": lambda text, argument: formatdate(int(text), usegmt=True),
}


def changed(text: str, forms: str) -> str:
    """Applies a chain of forms; unknown forms and unfit arguments are skipped. Raises SameText."""
    for form in filter(None, forms.split("|")):
        name, _, argument = form.partition(".")
        try:
            text = FORMS[name](text, argument)
        except SameText:
            raise
        except (KeyError, ValueError, IndexError, OverflowError, OSError):
            continue
    return text


def moved(text: str, shift: str) -> str:
    """Adds `+N` or `-N` to a decimal number of seconds; other texts are unchanged."""
    return str(int(text) + int(shift)) if re.fullmatch("[0-9]{1,19}", text) else text


#: Kinds of random values; `hex` and `digits` have a `length`, `uuid` a `version` and a `variant`.
KINDS = ("uuid", "hex", "digits", "marker")

#: Hexadecimal digits -> consonants.
_CONSONANTS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")


def letters(length: int) -> str:
    """Random lower-case consonants, for names, in which a server may refuse digits."""
    return secrets.token_hex((length + 1) // 2)[:length].translate(_CONSONANTS)


def new_value(recipe: Mapping[str, Any]) -> str:
    """A new random value of a kind of KINDS."""
    kind, length = recipe["kind"], recipe.get("length", 32)
    if kind == "marker":
        return "cf" + letters(16)
    if kind == "hex":
        return secrets.token_hex((length + 1) // 2)[:length]
    if kind == "digits":
        return str(secrets.randbelow(10**length)).zfill(length)
    text = str(uuid.uuid4())
    return f"{text[:14]}{recipe.get('version', 4):x}{text[15:19]}{recipe.get('variant', text[19])}{text[20:]}"
