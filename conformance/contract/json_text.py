"""Strict JSON parsing (RFC 8259): UTF-8 only, no byte order mark, no NaN or Infinity.

Python's parser accepts all of those, and raises RecursionError for deep nesting.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

#: Maximum nesting depth; responses of the API nest four deep.
MAX_DEPTH = 100

_CONSTANTS = ("NaN", "Infinity", "-Infinity")

#: Integers of more digits are read as floats: Python limits an integer to 4,300 digits, RFC 8259 does not.
_EXACT_DIGITS = 4000

#: Bracket -> what it adds to the depth.
_STEPS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}
_NO_BRACKETS = bytes(set(range(256)) - _STEPS.keys())

#: JSON strings; an unterminated last one matches too, which keeps the search linear.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)


class TooDeep(ValueError):
    """Nesting deeper than MAX_DEPTH."""


def parse(body: bytes) -> Any:
    """Parses a JSON text. Raises ValueError if it is not JSON, TooDeep if it is nested too deeply."""
    refuse_deep(body)
    return _DECODER.decode(body.decode("utf-8"))


def load(text: bytes | str, **options: Any) -> Any:
    """`json.loads` for untrusted text. Raises TooDeep too: deep nesting can crash Python before 3.12."""
    refuse_deep(text)
    return json.loads(text, **options)


def refuse_deep(text: bytes | str) -> None:
    """Raises TooDeep if a text is nested too deeply."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and too_deep(body):
        raise TooDeep(f"nested more than {MAX_DEPTH} deep")


def defect(body: bytes) -> str:
    """Describes a body that `parse` rejects: "a body that begins with a byte order mark"."""
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


def too_deep(body: bytes) -> bool:
    """True if a JSON text is nested more than MAX_DEPTH deep."""
    # Removing strings is slow, so it is done only if brackets in them might exceed the limit.
    return _exceeds(body) and _exceeds(_STRINGS.sub(b"", body))


def values(value: Any) -> Iterator[Any]:
    """Yields a JSON value and all values nested in it, in document order."""
    waiting = [value]
    while waiting:
        yield (inner := waiting.pop())
        if isinstance(inner, dict):
            waiting += reversed(inner.values())
        elif isinstance(inner, list):
            waiting += reversed(inner)


def all_texts(value: Any) -> Iterator[str]:
    """Yields all strings in a JSON value, member names excepted."""
    return (inner for inner in values(value) if isinstance(inner, str))


def all_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yields all objects in a JSON value."""
    return (inner for inner in values(value) if isinstance(inner, dict))


def _exceeds(text: bytes) -> bool:
    steps = map(_STEPS.__getitem__, text.translate(None, _NO_BRACKETS))
    return any(depth > MAX_DEPTH for depth in itertools.accumulate(steps))


def _refuse(literal: str) -> NoReturn:
    raise json.JSONDecodeError(f"{literal} is not JSON", literal, 0)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _EXACT_DIGITS else float(digits)


#: Shared, since json.loads builds a decoder per call if it is given hooks.
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer)
