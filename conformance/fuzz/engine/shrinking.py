"""Shrinks cases that Hypothesis did not draw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from conformance.contract import json_text
from conformance.judge.comparison import same
from conformance.wire.messages import to_json
from conformance.world.case import Case

#: Maximum of cases run to shrink one.
ATTEMPTS = 60


def smaller(case: Case, valid: dict[str, Any] | None) -> Iterator[Case]:
    """Yields smaller cases, the largest steps first: fewer parameters, fewer members, more valid members,
    shorter strings."""
    if case.query:
        pairs = case.query.split("&")
        for at in range(len(pairs) if len(pairs) > 1 else 0):
            yield replace(case, query="&".join(pairs[:at] + pairs[at + 1 :]))
    try:
        document = json_text.load(case.body or b"")
    except ValueError:
        return
    if not isinstance(document, dict):
        return
    for name in document:
        yield replace(case, body=as_bytes({key: value for key, value in document.items() if key != name}))
    for name, value in document.items():
        if valid is not None and name in valid and not same(value, valid[name]):
            yield replace(case, body=as_bytes({**document, name: valid[name]}))
    for name, value in document.items():
        if isinstance(value, str) and len(value) > 1:
            for shorter in (value[:1], value[: len(value) // 2], value[:-1]):
                yield replace(case, body=as_bytes({**document, name: shorter}))


def as_bytes(document: Any) -> bytes:
    """Encodes JSON as UTF-8, with escapes where there are unpaired surrogates."""
    try:
        return to_json(document)
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def shrink(case: Case, fails: Callable[[Case], bool], valid: dict[str, Any] | None) -> Case:
    """The smallest case found that still fails, in at most ATTEMPTS."""
    candidates = smaller(case, valid)
    for _ in range(ATTEMPTS):
        candidate = next(candidates, None)
        if candidate is None:
            break
        if _size(candidate) < _size(case) and fails(candidate):
            case, candidates = candidate, smaller(candidate, valid)
    return case


def _size(case: Case) -> int:
    return len(case.query) + len(case.body or b"")
