"""Which exchanges a page holds."""

from __future__ import annotations

import json
from typing import Any

from conformance.report.view import GRAVITY, Document

#: Bytes of exchanges, as JSON, that a page holds.
EXCHANGES = 1_500_000

#: Characters of one body that a page holds where it is no evidence of a violation.
BRIEF_BODY = 1024


def page_exchanges(document: Document) -> dict[str, Any]:
    """As many exchanges as fit into EXCHANGES, by number.

    Those of the gravest findings come first, and of these the decisive ones before all others. What proves no
    violation comes with brief bodies.
    """
    ranked = sorted(
        (GRAVITY.index(finding["verdict"]), position, number)
        for cell in document["cells"]
        for finding in cell["findings"]
        for position, number in enumerate(finding["exchanges"])
    )
    kept: dict[str, Any] = {}
    size = 0
    for gravity, _, number in ranked:
        one = document["exchanges"].get(str(number))
        if one is None or str(number) in kept:
            continue
        one = {key: value for key, value in one.items() if key not in ("call", "url", "started")}
        if GRAVITY[gravity] not in ("failed", "error", "warning"):
            for body in ("request_body", "response_body"):
                one[body] = _brief(one[body])
        size += len(json.dumps(one))
        if size > EXCHANGES:
            break
        kept[str(number)] = one
    return kept


def _brief(body: dict[str, Any]) -> dict[str, Any]:
    short = dict(body)
    for key in ("text", "base64"):
        if len(short.get(key, "")) > BRIEF_BODY:
            # A multiple of four: base64 stays whole.
            short[key], short["cut"] = short[key][:BRIEF_BODY], True
    return short
