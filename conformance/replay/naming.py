"""Replaces values by symbols in a replay file.

Values come from the target file, from the registry of random values (conformance.wire.provenance), and from
the answers of earlier steps. They are looked up, never recognized by their form.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import unquote

from conformance.contract import signing
from conformance.replay.symbols import TARGET_VALUES, braced, each_text
from conformance.target.file import Target
from conformance.wire.forms import FORMS
from conformance.wire.messages import Exchange
from conformance.wire.provenance import origin, registered

Found = TypeVar("Found")

_Source = tuple[dict[str, Any], str, list[str | int]]

#: Lengths of values that are found within texts; others are found as whole texts only.
SHORTEST, LONGEST = 6, 80

#: Members of an answer that later requests may contain.
_SERVER_OWNED = ("id", "created", "updated")

#: Elements of an array that are read.
_ELEMENTS = 100

#: Kind of random value -> prefix of its symbols.
_NAMES = {"uuid": "key", "hex": "nonce", "digits": "nonce", "marker": "marker"}

#: A short id as a member of a JSON object.
_SHORT_ID = re.compile(r'(?<=_id":")[^"\\{]{1,5}(?=")')

#: Unix seconds or milliseconds within a text.
_EPOCH = re.compile("(?<![0-9])[0-9]{9,14}(?![0-9])")


class Lookup:
    """Finds registered values, and further ones, within texts."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        #: Prefix -> lengths of the values with that prefix.
        self._lengths: dict[str, set[int]] = {}
        for value in itertools.chain(registered(), values):
            self.add(value)

    def add(self, value: str) -> None:
        """Adds a value, unless its length is out of range."""
        if SHORTEST <= len(value) <= LONGEST:
            self._lengths.setdefault(value[:SHORTEST], set()).add(len(value))

    def found(self, text: str, meaning: Callable[[str], Found | None]) -> Iterator[tuple[int, str, Found]]:
        """Yields position, value and meaning of each value in a text for which `meaning` is not None; the
        longest of several at one position."""
        at = 0
        while at <= len(text) - SHORTEST:
            for length in sorted(self._lengths.get(text[at : at + SHORTEST], ()), reverse=True):
                value = text[at : at + length]
                if len(value) == length and (found := meaning(value)) is not None:
                    yield at, value, found
                    at += length
                    break
            else:
                at += 1


def texts_of(document: Any, *place: str | int) -> Iterator[tuple[list[str | int], str]]:
    """Yields the texts of an answer with their places, of long arrays those of the first elements."""
    if isinstance(document, str):
        yield list(place), document
    elif isinstance(document, dict):
        for name, value in document.items():
            yield from texts_of(value, *place, name)
    elif isinstance(document, list):
        for at, value in enumerate(document[:_ELEMENTS]):
            yield from texts_of(value, *place, at)


class Names:
    """The symbols of a file that is written step by step."""

    def __init__(self, target: Target, born: Collection[str]) -> None:
        """`born` are the ids that steps of the file create: reads do not capture them."""
        self.fresh: dict[str, Mapping[str, Any]] = {}
        self._known: dict[str, str] = {}
        #: Value -> the step that answered it, the prefix of its symbol, and its place in the answer.
        self._answered: dict[str, _Source] = {}
        #: The same for other members, which only an expectation may contain.
        self._other_members: dict[str, _Source] = {}
        self._timestamps: dict[str, str] = {}
        self._sent: set[str] = set()
        self._born = born
        self._counts: Counter[str] = Counter()
        #: Step id -> the prefix of its symbols.
        self._prefixes: dict[str, str] = {}
        self._lookup = Lookup()
        for name in ("primary", "secondary"):
            for member in TARGET_VALUES:
                if value := getattr(getattr(target, name), member, None):
                    self._know(value, f"{name}.{member}")

    def _know(self, value: str, symbol: str) -> None:
        self._known.setdefault(value, symbol)
        self._lookup.add(value)

    def learn(self, step: dict[str, Any], exchange: Exchange, kind: str, *, judged: bool) -> None:
        """Adds the signing headers and the answer of a step. `kind` is the resource's name; of judged answers
        only ids and times get symbols."""
        for header in (signing.SIGNATURE, signing.NONCE):
            if value := exchange.request_header(header):
                self._know(value, f"sent_{step['id']}.{header.lower().removeprefix('x-')}")
        if exchange.timestamp:
            self._timestamps[exchange.timestamp] = f"sent_{step['id']}.timestamp"
        with contextlib.suppress(ValueError):
            self._sent.update(value for _, value in texts_of(exchange.call.document))
        if not (exchange.succeeded or exchange.refused):
            return
        for place, value in texts_of(exchange.document):
            if not place or not value or value in self._sent:
                # An answer that is only a text has no place to capture.
                continue
            if exchange.method == "GET" and value in self._born:
                continue
            if place[-1] in _SERVER_OWNED:
                self._answered.setdefault(value, (step, kind, place))
                self._lookup.add(value)
            elif exchange.succeeded and not judged and len(value) > SHORTEST and re.search("[0-9]", value):
                self._other_members.setdefault(value, (step, kind, place))

    def of(self, value: str) -> str | None:
        """The symbol of a value, without braces, or None."""
        if value in self._known:
            return self._known[value]
        if value in self._answered:
            return self._captured(value, *self._answered[value])
        known = origin(value)
        if known is None:
            return None
        if known.recipe:
            name = self._number(_NAMES[known.recipe["kind"]])
            self.fresh[name], self._known[value] = known.recipe, name
            return name
        base = self.of(known.of)
        return base and f"{base}|{known.form}"

    def _captured(self, value: str, step: dict[str, Any], kind: str, place: list[str | int]) -> str:
        """Makes a step capture a value of its answer; returns the symbol."""
        if step["id"] not in self._prefixes:
            self._prefixes[step["id"]] = self._number(kind)
        member = re.sub("[^a-z0-9_]", "", "_".join(map(str, place)).lower())
        symbol = f"{self._prefixes[step['id']]}.{member}"
        step.setdefault("captures", {})[symbol] = place
        self._known[value] = symbol
        return symbol

    def _number(self, kind: str) -> str:
        """The next name of a kind: account_1, account_2, …"""
        self._counts[kind] += 1
        return f"{kind}_{self._counts[kind]}"

    # ------------------------------------------------------------------ texts

    def text(self, text: str) -> str:
        """Replaces the values in a text by symbols."""
        if symbol := self.of(text):
            return braced(symbol)
        parts, end = [], 0
        for at, value, symbol in self._lookup.found(text, self.of):
            parts += [text[end:at], braced(symbol)]
            end = at + len(value)
        return "".join(parts) + text[end:]

    def body(self, body: str) -> str:
        """Replaces the values in a body by symbols, short ids as whole members too."""
        return _SHORT_ID.sub(lambda found: self.text(found[0]), self.text(body))

    def target(self, target: str) -> str:
        """Replaces the values in each segment of a path and each value of a query by symbols."""
        path, mark, query = target.partition("?")
        parts = [self._part(part, "segment") for part in path.split("/")]
        values = [
            f"{name}{sign}{self._part(value, 'query')}"
            for name, sign, value in (pair.partition("=") for pair in query.split("&"))
        ]
        return "/".join(parts) + mark + "&".join(values)

    def _part(self, text: str, form: str) -> str:
        """Replaces the values in a part of a target, percent-encoded ones too."""
        plain = unquote(text)
        if plain != text and FORMS[form](plain, "") == text and (symbol := self.of(plain)):
            return braced(f"{symbol}|{form}")
        return self.text(text)

    def data(self, plain: Any) -> Any:
        """Replaces the values in JSON data of an expectation."""

        def symbols(text: str) -> str:
            if text in self._other_members and self.of(text) is None:
                return braced(self._captured(text, *self._other_members[text]))
            return self.text(text)

        return each_text(plain, symbols)

    def signing(
        self, auth: dict[str, Any], body: str, secrets: Mapping[str, str], now: int
    ) -> dict[str, Any]:
        """Replaces the values in the signing of a call with this body at server time `now`, in Unix seconds.
        `secrets` maps the target's secrets to symbols."""
        written = {}
        for name, value in auth.items():
            if not isinstance(value, str):
                written[name] = value
            elif name == "timestamp":
                written[name] = self._moment(value, now)
                if _EPOCH.fullmatch(value):
                    # The request may name it in another place as well.
                    self._known[value] = written[name].strip("{}")
            elif name == "secret" and value in secrets:
                written[name] = braced(secrets[value])
            elif name == "signed_body" and (made := origin(value)) and made.of == body:
                written[name] = braced(f"body|{made.form}")
            elif name == "signed_target":
                written[name] = self.target(value)
            else:
                written[name] = self.text(value)
        return written

    def _moment(self, text: str, now: int) -> str:
        """The symbol of a timestamp that an earlier step sent, else its offset from server time."""
        if text in self._timestamps:
            return braced(self._timestamps[text])
        if (made := origin(text)) and made.of and _EPOCH.fullmatch(made.of):
            return f"{self._moment(made.of, now)[:-2]}|{made.form}" + "}}"

        def distance(found: re.Match[str]) -> str:
            symbol, base = ("now", now) if len(found[0]) <= 11 else ("now_ms", now * 1000)
            return braced(symbol + format(int(found[0]) - base, "+d"))

        return _EPOCH.sub(distance, text)
