"""Symbols in replay files: `{{account_1.id}}` stands for what an earlier step was answered, `{{key_1}}` for a
fresh Idempotency-Key, `{{primary.customer_id}}` for a value of the target file, `{{now+310}}` for server
time.

`|quoted` after a name percent-encodes the value, `|upper` writes it in capital letters; `+0.000001` after a
timestamp moves it by seconds."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from conformance.contract import timestamps

SYMBOL = re.compile(r"\{\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)([+-][0-9.]+)?(\|quoted|\|upper)?\}\}")

_UUID = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-([0-9a-fA-F])[0-9a-fA-F]{3}-([0-9a-fA-F])[0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
)
_HEXADECIMAL = re.compile(r"[0-9a-f]{16,}")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?Z")

#: Timestamps as near to one another as this are taken to be said of one another.
NEAR = 3600


def fresh_like(text: str) -> dict[str, Any] | None:
    """How to make a new random value of the same form; None for a text that is to stay as it is."""
    if found := _UUID.fullmatch(text):
        return {
            "kind": "uuid",
            "version": int(found[1], 16),
            "variant": int(found[2], 16),
            "upper": text != text.lower(),
        }
    return {"kind": "hex", "length": len(text)} if _HEXADECIMAL.fullmatch(text) else None


def new_value(form: Mapping[str, Any]) -> str:
    """A new random value of a form that `fresh_like` gave."""
    if form["kind"] == "hex":
        return secrets.token_hex((form["length"] + 1) // 2)[: form["length"]]
    text = str(uuid.uuid4())
    text = f"{text[:14]}{form['version']:x}{text[15:19]}{form.get('variant', 8):x}{text[20:]}"
    return text.upper() if form.get("upper") else text


def braced(name: str) -> str:
    """A symbol as it stands in a file."""
    return "{{" + name + "}}"


class Names:
    """Gives symbols to values while a file is written."""

    def __init__(self) -> None:
        #: Value -> symbol, without braces.
        self.known: dict[str, str] = {}
        self.fresh: dict[str, dict[str, Any]] = {}
        self._counts: dict[str, int] = {}

    def number(self, kind: str) -> str:
        """The next name of a kind: account_1, account_2, …"""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}_{self._counts[kind]}"

    def fresh_value(self, kind: str, text: str | None) -> str | None:
        """The symbol of a random value that a replay makes anew, in braces; other texts as they are."""
        if text is None or (form := fresh_like(text)) is None:
            return text
        if text not in self.known:
            self.known[text] = self.number(kind)
            self.fresh[self.known[text]] = form
        return braced(self.known[text])

    def braced(self, text: str) -> str | None:
        """The symbol of a value that has one, in braces."""
        if text in self.known:
            return braced(self.known[text])
        lower = text.lower()
        return braced(f"{self.known[lower]}|upper") if lower in self.known and lower.upper() == text else None

    def symbolized(self, text: str, *, quoted: bool = False) -> str:
        """The text with every known value replaced by its symbol."""
        for value in sorted(self.known, key=len, reverse=True):
            if len(value) < 6:
                continue
            symbol = self.known[value]
            if quoted and (encoded := quote(value, safe="")) != value:
                text = text.replace(encoded, braced(f"{symbol}|quoted"))
            text = text.replace(value, braced(symbol))
        return self._moments(text, quoted)

    def _moments(self, text: str, quoted: bool) -> str:
        """Timestamps that were computed from an answered one, as that one and a number of seconds."""
        moments = [
            (value, symbol, instant)
            for value, symbol in self.known.items()
            if (instant := timestamps.parse(value)) is not None
        ]

        def relative(found: re.Match[str]) -> str:
            plain = found[0].replace("%3A", ":").replace("%3a", ":")
            instant = timestamps.parse(plain)
            near = (
                [(abs(instant - other), instant - other, symbol) for _, symbol, other in moments]
                if instant is not None
                else []
            )
            if not near or min(near)[0] > NEAR:
                return found[0]
            _, shift, symbol = min(near)
            text = f"{float(shift):+.9f}".rstrip("0").rstrip(".")
            return braced(symbol + text + ("|quoted" if "%" in found[0] else ""))

        stamp = _STAMP.pattern.replace(":", "(?::|%3A|%3a)").replace("(?(?::|%3A|%3a)", "(?:")
        return re.sub(stamp, relative, text) if moments else text


def rendered(text: str, value: Callable[[str], str | None]) -> str:
    """The text with its symbols replaced; those that `value` does not know (None) stay as they are."""

    def one(found: re.Match[str]) -> str:
        name, shift, form = found.groups()
        known = value(name)
        if known is None:
            return found[0]
        if shift:
            known = moved(known, shift)
        return quote(known, safe="") if form == "|quoted" else known.upper() if form else known

    return SYMBOL.sub(one, text)


def moved(text: str, shift: str) -> str:
    """A timestamp, or a number of seconds, moved by `+N` or `-N` seconds."""
    if text.isdigit():
        return str(int(text) + int(Fraction(shift)))
    instant = timestamps.parse(text)
    if instant is None:
        return text
    later = instant + Fraction(shift)
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(later // 1))
    digits = len(shift.partition(".")[2])
    found = _STAMP.fullmatch(text)
    digits = max(digits, len(found[1]) if found and found[1] else 0)
    fraction = f".{int(later % 1 * 10**digits):0{digits}d}" if digits else ""
    return start.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
