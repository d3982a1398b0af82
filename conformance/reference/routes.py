"""Routing: the operation of a method and path as sent (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import OPERATIONS


class Match(NamedTuple):
    """A documented path: its operations by method, and the path parameters, percent-decoded."""

    methods: Mapping[str, str]
    params: dict[str, str]


#: The segments of each documented path -> its operations by method.
_PATHS: dict[tuple[str, ...], dict[str, str]] = {}
for _operation in OPERATIONS.values():
    _PATHS.setdefault(tuple(_operation.path.split("/")[1:]), {})[_operation.method] = _operation.id


def match(path: bytes) -> Match | None:
    """The documented path for a raw request path; None if there is none.

    Invalid UTF-8 in a parameter is replaced; no id contains replacement characters.
    """
    raw = path.split(b"/")
    if raw.pop(0):
        return None
    segments = [(unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace") for part in raw]
    for template, methods in _PATHS.items():
        if len(template) != len(segments):
            continue
        pairs = list(zip(template, segments, strict=True))
        if all(name == segment or name.startswith("{") for name, segment in pairs):
            return Match(methods, {name[1:-1]: segment for name, segment in pairs if name.startswith("{")})
    return None
