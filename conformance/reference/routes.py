"""Routing: the operation of a method and path as sent (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import OPERATIONS

#: operationId -> method and path template, from openapi.yaml.
ROUTES: dict[str, tuple[str, str]] = {
    operation.id: (operation.method, operation.path) for operation in OPERATIONS.values()
}


class Match(NamedTuple):
    """A documented path: its operations by method, and the path parameters, percent-decoded."""

    methods: Mapping[str, str]
    params: dict[str, str]


def _by_length() -> dict[int, list[tuple[list[str], dict[str, str]]]]:
    templates: dict[str, dict[str, str]] = {}
    for operation, (method, path) in ROUTES.items():
        templates.setdefault(path, {})[method] = operation
    table: dict[int, list[tuple[list[str], dict[str, str]]]] = {}
    for path, methods in templates.items():
        segments = path.split("/")[1:]
        table.setdefault(len(segments), []).append((segments, methods))
    return table


_TABLE = _by_length()


def match(path: bytes) -> Match | None:
    """The documented path for a raw request path; None if there is none.

    Invalid UTF-8 in a parameter is replaced; no id contains replacement characters.
    """
    if not path.startswith(b"/"):
        return None
    raw = path[1:].split(b"/")
    candidates = _TABLE.get(len(raw))
    if not candidates:
        return None
    segments = [(unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace") for part in raw]
    for template, methods in candidates:
        params = {}
        for expected, segment in zip(template, segments, strict=True):
            if expected.startswith("{"):
                params[expected[1:-1]] = segment
            elif expected != segment:
                break
        else:
            return Match(methods, params)
    return None
