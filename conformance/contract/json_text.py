"""Parses JSON by RFC 8259: UTF-8 only, no byte order mark, no NaN, no Infinity.

Python's own parser takes all of those, and raises other errors than ValueError for deep nesting.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

#: Nesting beyond which a text is taken for no JSON; answers of the API nest four deep.
MAX_DEPTH = 100

_CONSTANTS = ("NaN", "Infinity", "-Infinity")

#: Digits of an integer that is read exactly; longer ones become floats.
_EXACT_DIGITS = 4000

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

#: Strings, the last of which may lack its end: so a text of quotes and backslashes is read once, not once
#: for each quote.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)


class TooDeep(ValueError):
    """A text is nested more than MAX_DEPTH deep."""


def parse(body: bytes) -> Any:
    """The value of a JSON text. Raises ValueError for anything else, TooDeep for a text nested too deeply."""
    refuse_deep(body)
    text = body.decode("utf-8")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python reads no integer of more digits than its own limit; RFC 8259 has none.
        return json.loads(text, parse_constant=_refuse, parse_int=_integer)


def load(text: bytes | str, **options: Any) -> Any:
    """`json.loads` for a text of any origin, which raises TooDeep as well: before Python 3.12 the process
    ends where a parser is at the end of the stack and garbage is collected just then."""
    refuse_deep(text)
    return json.loads(text, **options)


def refuse_deep(text: bytes | str) -> None:
    """Raises TooDeep for a text that is nested too deeply."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and depth(body) > MAX_DEPTH:
        raise TooDeep(f"nested more than {MAX_DEPTH} deep")


def defect(body: bytes) -> str:
    """Describes a body that `parse` does not take: "a body that begins with a byte order mark"."""
    if body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "a body that begins with a byte order mark"
    try:
        parse(body)
    except UnicodeDecodeError as error:
        return f"a body that is not UTF-8 (byte {error.start + 1:,} is 0x{body[error.start]:02X})"
    except json.JSONDecodeError as error:
        if error.doc in _CONSTANTS:
            return f"a body that is not JSON, as it holds {error.doc}"
    except ValueError as error:
        return f"a body that is not JSON, as it is {error}"
    return "a body that is not JSON"


def depth(body: bytes) -> int:
    """Nesting depth of a JSON text."""
    # Brackets inside strings matter seldom, so strings are only left out where they might.
    found = _deepest(body)
    return found if found <= MAX_DEPTH else _deepest(_STRINGS.sub(b"", body))


def values(value: Any) -> Iterator[Any]:
    """All values within a JSON value, itself first: members and elements in their order, at any depth."""
    waiting = [value]
    while waiting:
        yield (found := waiting.pop())
        if isinstance(found, dict):
            waiting += reversed(found.values())
        elif isinstance(found, list):
            waiting += reversed(found)


def all_texts(value: Any) -> Iterator[str]:
    """All strings within a JSON value; the names of members are none."""
    return (found for found in values(value) if isinstance(found, str))


def all_objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects within a JSON value."""
    return (found for found in values(value) if isinstance(found, dict))


def _deepest(text: bytes) -> int:
    steps = (1 if bracket in b"[{" else -1 for bracket in text.translate(None, _NO_BRACKETS))
    return max(itertools.accumulate(steps), default=0)


def _refuse(literal: str) -> NoReturn:
    raise json.JSONDecodeError(f"{literal} is not JSON", literal, 0)


#: Made once: json.loads makes one for each text, where it is given functions.
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _EXACT_DIGITS else float(digits)
