"""Ids that resemble an existing one, which collations, columns, decoders and look-ups of a part may take for
it (section 5.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from unicodedata import normalize

from conformance.wire.forms import percent_encoded, replaced

#: Ids that may be case-insensitive: UUIDs, ULIDs, hexadecimal digits.
_CASELESS = re.compile("[0-9A-Fa-f-]+|[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")


def _tail(known: str) -> str:
    """Returns an id without its prefix; empty for a short one, and for one without a prefix."""
    prefix, _, rest = known.rpartition("_")
    return rest if prefix and len(rest) >= 6 else ""


def _recased(known: str) -> str:
    rest = known.rpartition("_")[2]
    if len(rest) < 6 or _CASELESS.fullmatch(rest):
        return ""
    return known.removesuffix(rest) + rest.swapcase()


def _sparse(known: str) -> str:
    """Returns an id if near-identical ones are unlikely to exist: at least 12 characters after the last
    underscore, not all digits; else an empty text."""
    tail = known.rpartition("_")[2]
    return known if len(tail) >= 12 and not tail.isdigit() else ""


def _accented(known: str) -> str:
    at = max(map(known.rfind, "aceiou"))
    accent = "\N{COMBINING ACUTE ACCENT}"
    return replaced(known, at, normalize("NFC", known[at] + accent)) if at >= 0 else ""


def _wide(known: str) -> str:
    at = max((at for at, sign in enumerate(known) if sign.isalnum() and sign.isascii()), default=-1)
    return replaced(known, at, chr(ord(known[at]) + 0xFEE0)) if at >= 0 else ""


#: What distinguishes an id from an existing one, and how it is made; empty where such an id may exist. A
#: server may trim the texts of a body, as the first three.
ALIKE: Mapping[str, Callable[[str], str]] = {
    "with a space behind it": lambda known: f"{known} ",
    "with a space before it": lambda known: f" {known}",
    "with a line feed behind it": lambda known: f"{known}\n",
    "with the prefix of no resource": lambda known: _tail(known) and f"zzz_{_tail(known)}",
    "in another letter case": _recased,
    "with one character more": lambda known: _sparse(known) and f"{known}0",
    # Servers split ids at it, and in SQL it matches any character.
    "with an underscore in the place of a character": lambda known: (
        _sparse(known) and replaced(known, -3, "_")
    ),
    "without its last character": lambda known: _sparse(known)[:-1],
    "without its prefix": lambda known: _sparse(known)[max(1, len(known) - len(known.rpartition("_")[2])) :],
}

TRIMMED = 3

#: The same, of which operations use one each in turn, children another one than their parents: collations
#: ignore accents, percent-encoding is decoded twice, texts are normalized to NFKC, columns truncate.
IN_TURN: Sequence[tuple[str, Callable[[str], str]]] = (
    ("with an accent", _accented),
    ("that is percent-encoded twice", lambda known: percent_encoded(known, 0).replace("%", "%25")),
    ("with a letter of full width", _wide),
    ("with 144 zeros behind it", lambda known: known + "0" * 144),
)


def near(known: str, turn: tuple[str, Callable[[str], str]], skip: int = 0) -> Iterator[tuple[str, str]]:
    """Yields ids that resemble a known one, with what distinguishes them: all but the first `skip` rows, and
    the one whose `turn` it is."""
    for what, change in (*list(ALIKE.items())[skip:], turn):
        if (other := change(known)) and other != known:
            yield f"an existing id {what}", other


def encoded(text: str, *, lower: bool = False) -> str:
    """Percent-encodes one character of an id (RFC 3986), in hexadecimal digits of that case."""
    # A code with a letter, whose case shows.
    places = (at for at, sign in enumerate(text) if sign.isascii() and not f"{ord(sign):02x}".isdigit())
    return percent_encoded(text, next(places, 0), lower=lower)
