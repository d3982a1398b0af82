"""Gives symbols to the values that a replay file must not hold literally, and finds these values in texts."""

from __future__ import annotations

import copy
import re
from typing import Any
from urllib.parse import unquote

from conformance.contract import timestamps
from conformance.replay.forms import FORMS, changed, code, mask_of
from conformance.replay.symbols import braced

_UUID = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-([0-9a-fA-F])[0-9a-fA-F]{3}-([0-9a-fA-F])[0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
)
_HEXADECIMAL = re.compile(r"[0-9a-f]{16,}")

#: Random digits at the end of a nonce or key that is odd otherwise, so that it is a new one.
_TAIL = re.compile(r"(?s)(.*[^0-9a-f].*?)([0-9a-f]{12})\Z")

#: A timestamp, in a target perhaps with percent-encoded signs, in UTC or with an offset.
_STAMP = re.compile(
    "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}@[0-9]{2}@[0-9]{2}(?:[.][0-9]{1,9})?"
    "(?:Z|(?:[+-]|%2B|%2D)[0-9]{2}@[0-9]{2})".replace("@", "(?::|%3A)"),
    re.IGNORECASE,
)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})\Z")

#: Words that mark what one request made (conformance.world.samples.marker).
_MARKER = re.compile(r"\bcf[0-9a-f]{16}\b")

#: Timestamps as near to one another as this, in seconds, are taken to be said of one another.
NEAR = 3600

#: Values shorter than this may stand anywhere by chance.
SHORTEST = 6

#: Two random values that begin or end with so many equal characters were made of one another.
SHARED = 8


def fresh_like(text: str) -> dict[str, Any] | None:
    """How to make a new random value of the same form; None for a text that is to stay as it is."""
    if found := _UUID.fullmatch(text):
        return {
            "kind": "uuid",
            "version": int(found[1], 16),
            "variant": int(found[2], 16),
            "upper": text != text.lower(),
        }
    return _hex(text) if _HEXADECIMAL.fullmatch(text) else None


def _hex(text: str) -> dict[str, Any]:
    return {"kind": "hex", "length": len(text)}


def resemble(first: str | None, second: str | None) -> bool:
    """Whether two values are the same, or as long as one another and begin or end alike on purpose."""
    if not first or not second or len(first) != len(second):
        return False
    return first[:SHARED] == second[:SHARED] or first[-SHARED:] == second[-SHARED:]


class Names:
    """Gives symbols to values while a file is written."""

    def __init__(self) -> None:
        #: Value -> symbol, without braces.
        self.known: dict[str, str] = {}
        self.fresh: dict[str, dict[str, Any]] = {}
        #: What is first said by the answers of requests that create something.
        self.born: set[str] = set()
        #: Those of the known values that requests held before an answer showed them.
        self.echoed: set[str] = set()
        self._counts: dict[str, int] = {}
        #: Value that was made of a known one -> symbol with its form.
        self._made: dict[str, str] = {}

    def number(self, kind: str) -> str:
        """The next name of a kind: account_1, account_2, …"""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}_{self._counts[kind]}"

    def fresh_value(self, kind: str, text: str | None) -> str | None:
        """The symbol of a random value that a replay makes anew, in braces; of other texts only the random
        digits at their end."""
        if text is None:
            return text
        if (form := fresh_like(text)) is None:
            tail = _TAIL.fullmatch(text)
            return tail[1] + braced(self._made_anew(kind, tail[2], _hex(tail[2]))) if tail else text
        if text not in self.known and (near := self._neighbour(text)):
            return near
        return braced(self._made_anew(kind, text, form))

    def _made_anew(self, kind: str, text: str, form: dict[str, Any]) -> str:
        """The symbol of a value that each replay makes anew in this form."""
        if text not in self.known:
            self.known[text] = self.number(kind)
            self.fresh[self.known[text]] = form
        return self.known[text]

    def _neighbour(self, text: str) -> str | None:
        """A random value that shares a part with a known one: that value, turned where the two differ."""
        if text in self._made:
            return self._made[text]
        for value, symbol in self.known.items():
            if not resemble(value, text):
                continue
            for turn in "123456789abcdef":
                made = braced(f"{symbol}|turned.{turn}{mask_of(value, text)}")
                if made not in self._made.values():
                    self._made[text] = made
                    return made
        return None

    def without_echoes(self) -> Names:
        """The same names, but of what requests held first."""
        names = copy.copy(self)
        names.known = {value: symbol for value, symbol in self.known.items() if value not in self.echoed}
        return names

    def mark(self, text: str) -> None:
        """Takes in the markers of a body: each replay makes its own, as names may have to be unique."""
        for found in _MARKER.finditer(text):
            if found[0] not in self.known:
                self.known[found[0]] = self.number("marker")
                self.fresh[self.known[found[0]]] = {"kind": "marker"}

    def braced(self, text: str) -> str | None:
        """The symbol of a value that has one, in braces."""
        if text in self.known:
            return braced(self.known[text])
        lower = text.lower()
        return braced(f"{self.known[lower]}|upper") if lower in self.known and lower.upper() == text else None

    def symbolized(self, text: str, *, target: bool = False) -> str:
        """The text with every known value replaced by its symbol, also where it stands in another form;
        percent-encoded ones only in a `target`."""
        for value in sorted(self.known, key=len, reverse=True):
            if len(value) < SHORTEST:
                continue
            symbol = self.known[value]
            if target and "%" in text:
                text = _encoded_form(value).sub(lambda found: _decoded(found[0], value, symbol), text)  # noqa: B023
            text = text.replace(value, braced(symbol))
            if timestamps.parse(value) is None and not value.isdigit():
                text = _in_other_case(text, value, symbol)
                if len(value) > 2 * SHORTEST:
                    lacking = rf"(?<!\w){re.escape(value[:-1])}(?!\w)"
                    text = re.sub(lacking, braced(f"{symbol}|but.1"), text)
        return self._moments(text)

    def part(self, text: str, whole: str) -> str:
        """The first part of a text, with symbols: a known value that it cuts is a symbol without its end."""
        for value, symbol in self.known.items():
            at = whole.rfind(value, 0, len(text) + len(value) - 1)
            if len(value) >= SHORTEST and whole.startswith(text) and 0 <= at < len(text) < at + len(value):
                lost = at + len(value) - len(text)
                return self.symbolized(text[:at]) + braced(f"{symbol}|but.{lost}")
        return self.symbolized(text)

    def data(self, plain: Any) -> Any:
        """JSON data with every known value in its texts replaced by its symbol."""
        if isinstance(plain, str):
            return self.symbolized(plain)
        if isinstance(plain, dict):
            return {name: self.data(member) for name, member in plain.items()}
        return [self.data(member) for member in plain] if isinstance(plain, list) else plain

    def _moments(self, text: str) -> str:
        """Timestamps that were computed from an answered one: its second or its day, so much later, or as the
        clocks of another zone show it."""
        moments = {value: instant for value in self.known if (instant := timestamps.parse(value)) is not None}

        def relative(found: re.Match[str]) -> str:
            plain = unquote(found[0])
            form = _zone(plain) + _codes(found[0])
            for kind in ("second", "day"):
                for value in moments:
                    if FORMS[kind](value, "") == plain:
                        return braced(f"{self.known[value]}|{kind}{form}")
            instant = timestamps.parse(plain)
            if instant is None:
                return found[0]
            distance, shift, symbol = min(
                (abs(instant - other), instant - other, self.known[value]) for value, other in moments.items()
            )
            if distance > NEAR:
                return found[0]
            later = f"{float(shift):+.9f}".rstrip("0").rstrip(".") if shift else ""
            return braced(f"{symbol}{later}{form}")

        return _STAMP.sub(relative, text) if moments else text


def _zone(text: str) -> str:
    """The form of a timestamp in UTC that this one has."""
    found = _OFFSET.search(text)
    return f"|offset.{found[1].strip('+')}{int(found[2]) * 60 + int(found[3])}" if found else ""


def _codes(text: str) -> str:
    """The form of a text whose percent-encoded characters these are."""
    codes = "".join(dict.fromkeys(re.findall("%([0-9A-Fa-f]{2})", text)))
    return f"|encoded.{codes}" if codes else ""


def _in_other_case(text: str, value: str, symbol: str) -> str:
    """The text with a value in any other letter case replaced by its symbol."""

    def replaced(found: re.Match[str]) -> str:
        for form in ("upper", "lower", "swapped"):
            if changed(value, form) == found[0]:
                return braced(f"{symbol}|{form}")
        # Another value may have a letter where this one has a digit.
        return braced(f"{symbol}|cased.{mask_of(value.swapcase(), found[0], differ=False)}")

    if value.lower() not in text.lower():
        return text
    pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.sub(pattern, replaced, text, flags=re.IGNORECASE | re.ASCII)


def _encoded_form(value: str) -> re.Pattern[str]:
    """A value with some of its characters percent-encoded."""
    letters = (f"(?:{re.escape(letter)}|{code(letter, lower=False)})" for letter in value)
    return re.compile("".join(letters), re.IGNORECASE)


def _decoded(text: str, value: str, symbol: str) -> str:
    """The symbol of a value that is written with percent-encoded characters; the text where no form fits."""
    if text == value:
        return braced(symbol)
    codes = "".join(dict.fromkeys(re.findall("%([0-9A-Fa-f]{2})", text)))
    forms = [f"encoded.{codes}", f"encoded.{codes.upper()}", f"encoded.{codes.lower()}", "at.-1", "at.0"]
    forms += [f"at.{at}" for at in range(1, len(value))]
    return next((braced(f"{symbol}|{form}") for form in forms if changed(value, form) == text), text)
