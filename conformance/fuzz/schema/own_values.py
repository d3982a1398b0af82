"""Values that servers may want unique: a request that must be accepted carries values of its own.

Whatever was generated, or taken from a sample, may be in use already: by an earlier case, by an earlier run
with the same seed, or by somebody else. A server may refuse it then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.contract.fields import UNIQUE, request_fields
from conformance.judge.oracle.body_rules import UNSTATED_LENGTH, ValidBody
from conformance.world.samples import marker


def renewed(valid: ValidBody, body: bytes, fresh: Mapping[str, Any]) -> tuple[ValidBody, bytes]:
    """A valid body, and one made from it, with a fresh sample's unique values in the place of its own."""
    changed = {}
    for name in UNIQUE & valid.body.keys() & fresh.keys():
        old, new = valid.body[name], fresh[name]
        if isinstance(old, str) and isinstance(new, str) and old != new:
            body, changed[name] = _exchanged(body, old, new), new
    return replace(valid, body={**valid.body, **changed}), body


def owned(valid: ValidBody, body: Mapping[str, Any]) -> ValidBody:
    """A valid body with the unique values of one that was made from a fresh sample."""
    own = {name: body[name] for name in UNIQUE & valid.body.keys() if isinstance(body.get(name), str)}
    return replace(valid, body={**valid.body, **own})


def marked(valid: ValidBody, body: bytes, document: Mapping[str, Any]) -> bytes | None:
    """A plain body whose generated unique values carry a random word; None where that cannot be put in."""
    longest = {field.name: field.max_length or UNSTATED_LENGTH for field in request_fields(valid.operation)}
    for name in sorted(UNIQUE & document.keys()):
        value = document[name]
        if isinstance(value, str) and value != valid.body.get(name):
            changed = _exchanged(body, value, _with_word(name, value, longest[name]))
            if changed == body:
                return None
            body = changed
    return body


def _with_word(name: str, value: str, longest: int) -> str:
    word = marker()
    if name == "email":
        return f"{value.partition('@')[0][:20]}{word}@example.com"
    if len(value) + 1 + len(word) <= longest:
        return f"{value} {word}"
    return value[: -len(word)] + word


def _exchanged(body: bytes, old: str, new: str) -> bytes:
    """A body with one text in the place of another, however its letters are written."""
    for ascii_only in (False, True):
        try:
            before = json.dumps(old, ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:
            continue
        if before in body:
            return body.replace(before, json.dumps(new, ensure_ascii=ascii_only).encode())
    return body
