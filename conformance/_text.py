"""Formats texts for people: truncates, escapes, counts; compares them. Independent of the project."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

#: Maximum length of a value in a message.
SHOWN = 80

#: Maximum length of one text, such as a quoted answer, in a report.
KEPT_TEXT = 2000

# Code points that UTF-8 or XML cannot represent.
_UNWRITABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")


def writable(text: str) -> str:
    """Escapes unpaired surrogates and non-characters."""
    return text if text.isascii() else _UNWRITABLE.sub(lambda match: _escaped(match[0]), text)


def visible(text: str, but: str = "") -> str:
    """Escapes every character that is not seen as it is, line feeds and tabs included, but some."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in but else _escaped(each) for each in text)


def printable(text: str) -> str:
    """Escapes invisible and control characters, but newlines and tabs."""
    return visible(text.replace("\r\n", "\n"), "\n\t")


def clean(text: str) -> str:
    """Escapes and truncates a text for any format: printable, at most KEPT_TEXT characters."""
    return printable(text if len(text) <= KEPT_TEXT else f"{text[:KEPT_TEXT]}… ({len(text)} characters)")


def _escaped(letter: str) -> str:
    """A character as a Python escape: `\\x1b`, `\\u202e`."""
    return ascii(letter)[1:-1]


def plain(text: str) -> str:
    """A text truncated to SHOWN characters that can be encoded as UTF-8."""
    return writable(text[:SHOWN])[:SHOWN]


def told_apart(one: str, other: str) -> tuple[str, str]:
    """Two texts, with escapes for what cannot be told apart where the second, or it and more, looks like the
    first: combining marks, joiners, spaces, compatibility forms."""
    if other in one or _look(other) not in _look(one):
        return one, other
    return _apart(one), _apart(other)


def _look(text: str) -> str:
    """What is seen of a text."""
    normal = unicodedata.normalize("NFKC", text)
    return " ".join("".join(each for each in normal if unicodedata.category(each) != "Cf").split())


def _apart(text: str) -> str:
    escaped = (
        _escaped(each)
        if not each.isascii() and (unicodedata.decomposition(each) or unicodedata.category(each)[0] in "MCZ")
        else each
        for each in text
    )
    return re.sub("(?<= ) ", r"\\x20", "".join(escaped))


def as_json(value: Any, length: int) -> str:
    """A value as JSON of at most `length` characters that can be encoded as UTF-8; its type if it is not
    serializable."""
    try:
        text = json.dumps(
            value[:length] if isinstance(value, str) else value, ensure_ascii=False, default=str
        )
    except (TypeError, ValueError, RecursionError):
        # An integer of more digits than Python converts, or circular nesting.
        text = f"a value of the type {type(value).__name__}"
    text = writable(text)
    return text if len(text) <= length else text[: length - 3] + "..."


def brief(value: Any) -> str:
    """A value in at most SHOWN characters: JSON, but only the size of objects, arrays and large integers."""
    if isinstance(value, dict):
        return f"an object of {count(len(value), 'member')}"
    if isinstance(value, list):
        return f"an array of {count(len(value), 'element')}"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return as_json(value, SHOWN)


def one_line(text: str, length: int = 300) -> str:
    """A text on one line, truncated."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def shared_prefix(one: str | bytes, other: str | bytes) -> int:
    """Length of the common prefix of two strings, in characters or bytes."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 rule`, `2 rules`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    names = list(dict.fromkeys(names))
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean auth.signature?` for a name similar to known ones, ignoring case; else empty."""
    # Imported here to save start-up time: few runs contain a misspelled name.
    import difflib

    folded = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), list(folded), 3, 0.75)
    longer = [each for each in folded if name and name.lower() in each]
    similar = list(dict.fromkeys([*close, *longer]))[:4]
    return f"; did you mean {' or '.join(folded[each] for each in similar)}?" if similar else ""


def mistake(place: str, error: BaseException, text: Callable[[str], str] = str) -> str:
    """An exception of the suite itself, with the place of the run where it was raised; `text` redacts it."""
    return text(f"{place}: {type(error).__name__}: {error}")[:500]


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


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """JSON data with a function applied to every string, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(item, change) for item in value]
    return value
