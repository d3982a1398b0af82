"""Texts for people: shortened, escaped, counted. Knows nothing of the project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

#: How many characters of a value a message shows.
SHOWN = 80


def plain(text: str) -> str:
    """A text in at most SHOWN characters, and such that it can be written as UTF-8."""
    return text[:SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")[:SHOWN]


def shown(value: Any) -> str:
    """A value in at most SHOWN characters, as JSON where it is short."""
    if isinstance(value, dict):
        return f"an object of {len(value)} member{'' if len(value) == 1 else 's'}"
    if isinstance(value, list):
        return f"an array of {len(value)} element{'' if len(value) == 1 else 's'}"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = json.dumps(plain(value) if isinstance(value, str) else value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


# Characters that reorder or hide text on a terminal or a page.
_INVISIBLE = {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
}


def printable(text: str) -> str:
    """The text with control and text-direction characters spelled out, new lines and tabs kept."""
    return text.translate(_CONTROL | _INVISIBLE)


#: Characters of one text (an answer quoted in a sentence, say) that a report keeps.
KEPT_TEXT = 2000


# What neither UTF-8 nor XML can hold.
_UNWRITABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")


def writable(text: str) -> str:
    """The text with unpaired surrogates and non-characters spelled out, all else as it was."""
    return text if text.isascii() else _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def clean(text: str) -> str:
    """A text that every format can show: what is invisible or steers text is spelled out, and it is
    bounded."""
    if len(text) > KEPT_TEXT:
        text = f"{text[:KEPT_TEXT]}… ({len(text)} characters)"
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else _spelled(letter)
        for letter in text.replace("\r\n", "\n")
    )


def _spelled(letter: str) -> str:
    """A character as Python writes it: `\\x1b`, `\\u202e`."""
    return ascii(letter)[1:-1]


def one_line(text: str, length: int = 300) -> str:
    """A text on one line, shortened."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 rule`, `2 rules`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    names = list(dict.fromkeys(names))
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def milliseconds(seconds: float) -> str:
    """`0.42 ms`, `17 ms`, `1,204 ms`."""
    value = seconds * 1000
    return f"{value:.2f} ms" if value < 1 else f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"


def operations(names: Sequence[str], all_operations: int) -> str:
    """`createAccount`, `3 operations (a, b and c)`, `all 16 operations`."""
    if len(names) == 1:
        return names[0]
    if len(names) == all_operations:
        return f"all {all_operations} operations"
    return f"{len(names)} operations"


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """JSON data with every text, keys included, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(item, change) for item in value]
    return value
