"""Which exchanges reports keep: as many as fit, those that prove the gravest findings first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.results.view import GRAVITY, Document

#: Bytes of exchanges, as JSON, that a results document keeps.
DOCUMENT_EXCHANGES = 12_000_000

#: Bytes of exchanges, as JSON, that a page holds.
PAGE_EXCHANGES = 1_500_000

#: Characters of one body that a page holds where it is no evidence of a violation.
BRIEF_BODY = 1024


def document_exchanges(
    cells: list[dict[str, Any]], exchanges: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    """The exchanges that findings name, as many as fit into DOCUMENT_EXCHANGES, in the order they were sent."""
    kept: dict[int, Any] = {}
    size = 0
    for _, number in _ranked(cells):
        if number not in exchanges:
            continue
        size += len(json.dumps(exchanges[number]))
        if size > DOCUMENT_EXCHANGES:
            break
        kept[number] = exchanges[number]
    return {str(number): kept[number] for number in sorted(kept)}


def page_exchanges(document: Document) -> dict[str, Any]:
    """The exchanges that a page holds, as many as fit into PAGE_EXCHANGES, by number.

    What proves no violation comes with brief bodies.
    """
    kept: dict[str, Any] = {}
    size = 0
    for verdict, number in _ranked(document["cells"]):
        one = document["exchanges"].get(str(number))
        if one is None:
            continue
        one = {key: value for key, value in one.items() if key not in ("call", "url", "started")}
        if verdict not in ("failed", "error", "warning"):
            for body in ("request_body", "response_body"):
                one[body] = _brief(one[body])
        size += len(json.dumps(one))
        if size > PAGE_EXCHANGES:
            break
        kept[str(number)] = one
    return kept


def _ranked(cells: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Each exchange that a finding names, once, with the gravest verdict it proves.

    Those of the gravest findings come first, and of these the decisive ones before all others.
    """
    named = sorted(
        (GRAVITY.index(finding["verdict"]), position, number)
        for cell in cells
        for finding in cell["findings"]
        for position, number in enumerate(finding["exchanges"])
    )
    seen: set[int] = set()
    for gravity, _, number in named:
        if number not in seen:
            seen.add(number)
            yield GRAVITY[gravity], number


def _brief(body: dict[str, Any]) -> dict[str, Any]:
    short = dict(body)
    for key in ("text", "base64"):
        if len(short.get(key, "")) > BRIEF_BODY:
            # A multiple of four: base64 stays whole.
            short[key], short["cut"] = short[key][:BRIEF_BODY], True
    return short
