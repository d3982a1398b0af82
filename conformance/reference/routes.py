"""Routing: the operation of a method and path as sent (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from conformance.contract.operations import route


class Match(NamedTuple):
    """A documented path: its operations by method, and the path parameters, percent-decoded."""

    methods: Mapping[str, str]
    params: dict[str, str]


def match(path: bytes) -> Match | None:
    """The documented path for a raw request path; None if there is none.

    Invalid UTF-8 in a parameter is replaced; no id contains replacement characters.
    """
    empty, *raw = path.split(b"/")
    segments = [(unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace") for part in raw]
    documented = None if empty else route(segments)
    return None if documented is None else Match(*documented)
