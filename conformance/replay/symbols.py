"""Symbols in replay files: `{{account_1.id}}` stands for what an earlier step was answered, `{{key_1}}` for a
fresh Idempotency-Key, `{{primary.customer_id}}` for a value of the target file, `{{now+310}}` for server
time.

`+N` or `-N` after a name moves a time by seconds. Forms after it, each behind a `|`, change the text: see
FORMS. A symbol that nothing defines stays as it is.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from string import hexdigits
from typing import Any

from conformance.contract import timestamps

SYMBOL = re.compile(
    r"\{\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)?)([+-][0-9]{1,12}(?:\.[0-9]{1,12})?)?"
    r"((?:\|[a-z]+(?:\.-?[0-9A-Fa-f]{1,512})?)*)\}\}"
)

_UUID = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-([0-9a-fA-F])[0-9a-fA-F]{3}-([0-9a-fA-F])[0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
)
_HEXADECIMAL = re.compile(r"[0-9a-f]{16,}")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?Z")
_STAMP_IN_TARGET = re.compile(_STAMP.pattern.replace(":[", "(?::|%3A|%3a)["))

#: Words that mark what one request made (conformance.fixtures.samples.marker).
_MARKER = re.compile(r"\bcf[0-9a-f]{16}\b")

#: What an id looks like within a text.
IDENTIFIER = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{8,}")

#: Timestamps as near to one another as this, in seconds, are taken to be said of one another.
NEAR = 3600

#: Characters that the symbols of one text may stand for together.
LONGEST = 16 * 1024 * 1024

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
    return {"kind": "hex", "length": len(text)} if _HEXADECIMAL.fullmatch(text) else None


def resemble(first: str | None, second: str | None) -> bool:
    """Whether two values are the same, or as long as one another and begin or end alike on purpose."""
    if not first or not second or len(first) != len(second):
        return False
    return first[:SHARED] == second[:SHARED] or first[-SHARED:] == second[-SHARED:]


def new_value(form: Mapping[str, Any]) -> str:
    """A new random value of a form that `fresh_like` gave."""
    if form["kind"] == "marker":
        return "cf" + secrets.token_hex(8)
    if form["kind"] == "hex":
        return secrets.token_hex((form["length"] + 1) // 2)[: form["length"]]
    text = str(uuid.uuid4())
    text = f"{text[:14]}{form['version']:x}{text[15:19]}{form.get('variant', 8):x}{text[20:]}"
    return text.upper() if form.get("upper") else text


def braced(name: str) -> str:
    """A symbol as it stands in a file."""
    return "{{" + name + "}}"


# ---------------------------------------------------------------------- forms


def _code(letter: str, *, lower: bool) -> str:
    codes = "".join(f"%{byte:02X}" for byte in letter.encode())
    return codes.lower() if lower else codes


def _encoded(text: str, argument: str) -> str:
    """Percent-encodes the characters whose codes are listed, in the letter case of the list."""
    lower = argument != argument.upper()
    letters = bytes.fromhex(argument).decode("latin-1")
    return "".join(_code(letter, lower=lower) if letter in letters else letter for letter in text)


def _encoded_at(text: str, argument: str) -> str:
    """Percent-encodes one character, by its position."""
    at = int(argument) % len(text) if text else 0
    return text[:at] + _code(text[at : at + 1], lower=False) + text[at + 1 :]


def _turned(text: str, argument: str) -> str:
    """Changes the hexadecimal digits at some positions: each is combined with the argument's first digit by
    an exclusive or. The rest of the argument is a mask; its lowest bit stands for the first character."""
    turn, mask = int(argument[0], 16), int(argument[1:], 16)
    form = "X" if text.upper() == text != text.lower() else "x"
    return "".join(
        f"{int(letter, 16) ^ turn:{form}}" if mask >> at & 1 and letter in hexdigits else letter
        for at, letter in enumerate(text)
    )


def _second(text: str, argument: str) -> str:
    return timestamps.whole_second(text) or text


def _day(text: str, argument: str) -> str:
    return text[:10] + "T00:00:00Z"


#: Form -> what it makes of a text, and of the argument that follows it behind a dot.
FORMS: Mapping[str, Callable[[str, str], str]] = {
    "upper": lambda text, argument: text.upper(),
    "lower": lambda text, argument: text.lower(),
    "swapped": lambda text, argument: text.swapcase(),
    "but": lambda text, argument: text[: -int(argument)],
    "first": lambda text, argument: argument + text[1:],
    "last": lambda text, argument: text[:-1] + argument,
    "turned": _turned,
    "id": lambda text, argument: found[0] if (found := IDENTIFIER.search(text)) else text,
    "second": _second,
    "day": _day,
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


def rendered(text: str, value: Callable[[str], str | None]) -> str:
    """The text with its symbols replaced; those that `value` does not know (None) stay as they are.

    Raises ValueError where that makes more than LONGEST characters."""
    length = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal length
        name, shift, forms = found.groups()
        known = value(name)
        if known is None:
            return found[0]
        made = changed(moved(known, shift) if shift else known, forms)
        length += len(made)
        if length > LONGEST:
            raise ValueError(f"its symbols stand for more than {LONGEST:,} characters")
        return made

    return SYMBOL.sub(replaced, text)


def filled(plain: Any, value: Callable[[str], str | None]) -> Any:
    """JSON data with the symbols in its texts replaced."""
    if isinstance(plain, str):
        return rendered(plain, value)
    if isinstance(plain, dict):
        return {name: filled(member, value) for name, member in plain.items()}
    return [filled(member, value) for member in plain] if isinstance(plain, list) else plain


def moved(text: str, shift: str) -> str:
    """A timestamp, or a number of seconds, moved by `+N` or `-N` seconds."""
    if text.isascii() and text.isdigit() and len(text) < 20:
        return str(int(text) + int(Fraction(shift)))
    instant = timestamps.parse(text)
    if instant is None:
        return text
    later = instant + Fraction(shift)
    try:
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(later // 1))
    except OverflowError:
        # Before year 1 or after year 9999.
        return text
    digits = len(shift.partition(".")[2])
    found = _STAMP.fullmatch(text)
    digits = max(digits, len(found[1]) if found and found[1] else 0)
    fraction = f".{int(later % 1 * 10**digits):0{digits}d}" if digits else ""
    return start.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


# ---------------------------------------------------------------------- writing


class Names:
    """Gives symbols to values while a file is written."""

    def __init__(self) -> None:
        #: Value -> symbol, without braces.
        self.known: dict[str, str] = {}
        self.fresh: dict[str, dict[str, Any]] = {}
        self._counts: dict[str, int] = {}
        #: Value that was made of a known one -> symbol with its form.
        self._made: dict[str, str] = {}

    def number(self, kind: str) -> str:
        """The next name of a kind: account_1, account_2, …"""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}_{self._counts[kind]}"

    def fresh_value(self, kind: str, text: str | None) -> str | None:
        """The symbol of a random value that a replay makes anew, in braces; other texts as they are."""
        if text is None or (form := fresh_like(text)) is None:
            return text
        if text not in self.known:
            if near := self._neighbour(text):
                return near
            self.known[text] = self.number(kind)
            self.fresh[self.known[text]] = form
        return braced(self.known[text])

    def _neighbour(self, text: str) -> str | None:
        """A random value that shares a part with a known one: that value, turned where the two differ."""
        if text in self._made:
            return self._made[text]
        for value, symbol in self.known.items():
            if not resemble(value, text):
                continue
            mask = sum(1 << at for at, letter in enumerate(value) if letter != text[at])
            for turn in "123456789abcdef":
                made = braced(f"{symbol}|turned.{turn}{mask:x}")
                if made not in self._made.values():
                    self._made[text] = made
                    return made
        return None

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
            for form, other in _other_forms(value):
                pattern = rf"(?<![\w]){re.escape(other)}(?![\w])"
                text = re.sub(pattern, braced(f"{symbol}|{form}").replace("\\", r"\\"), text)
        return self._moments(text)

    def data(self, plain: Any) -> Any:
        """JSON data with every known value in its texts replaced by its symbol."""
        if isinstance(plain, str):
            return self.symbolized(plain)
        if isinstance(plain, dict):
            return {name: self.data(member) for name, member in plain.items()}
        return [self.data(member) for member in plain] if isinstance(plain, list) else plain

    def _moments(self, text: str) -> str:
        """Timestamps that were computed from an answered one: its second or its day, or so much later."""
        moments = {value: instant for value in self.known if (instant := timestamps.parse(value)) is not None}

        def relative(found: re.Match[str]) -> str:
            plain = found[0].replace("%3A", ":").replace("%3a", ":")
            form = "|encoded.3A" if "%3A" in found[0] else "|encoded.3a" if "%" in found[0] else ""
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
            return braced(symbol + f"{float(shift):+.9f}".rstrip("0").rstrip(".") + form)

        return _STAMP_IN_TARGET.sub(relative, text) if moments else text


def _other_forms(value: str) -> Iterator[tuple[str, str]]:
    """How else a value may be written on purpose."""
    if timestamps.parse(value) is None and not value.isdigit():
        for form in ("upper", "lower", "swapped"):
            if (other := changed(value, form)) != value:
                yield form, other
        if len(value) > 2 * SHORTEST:
            yield "but.1", value[:-1]


def _encoded_form(value: str) -> re.Pattern[str]:
    """A value with some of its characters percent-encoded."""
    letters = (f"(?:{re.escape(letter)}|{_code(letter, lower=False)})" for letter in value)
    return re.compile("".join(letters), re.IGNORECASE)


def _decoded(text: str, value: str, symbol: str) -> str:
    """The symbol of a value that is written with percent-encoded characters; the text where no form fits."""
    if text == value:
        return braced(symbol)
    codes = "".join(dict.fromkeys(re.findall("%([0-9A-Fa-f]{2})", text)))
    forms = [f"encoded.{codes}", f"encoded.{codes.upper()}", f"encoded.{codes.lower()}", "at.-1", "at.0"]
    forms += [f"at.{at}" for at in range(1, len(value))]
    return next((braced(f"{symbol}|{form}") for form in forms if changed(value, form) == text), text)
