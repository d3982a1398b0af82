"""Replaces values that servers may require to be unique, such as e-mail addresses.

A generated or sample value may be in use already, by an earlier case, run or client, and be refused for that.
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
    """Replaces the unique values of a valid body, and of a body derived from it, by those of a new sample."""
    changed = {}
    for name in UNIQUE & valid.body.keys() & fresh.keys():
        old, new = valid.body[name], fresh[name]
        if isinstance(old, str) and isinstance(new, str) and old != new:
            body, changed[name] = _exchanged(body, old, new), new
    return replace(valid, body={**valid.body, **changed}), body


def owned(valid: ValidBody, body: Mapping[str, Any]) -> ValidBody:
    """Replaces the unique values of a valid body by those of a body derived from a new sample."""
    own = {name: body[name] for name in UNIQUE & valid.body.keys() if isinstance(body.get(name), str)}
    return replace(valid, body={**valid.body, **own})


def marked(valid: ValidBody, body: bytes, document: Mapping[str, Any]) -> bytes | None:
    """Adds a random word to the generated unique values of a valid body; None where that is not possible."""
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
    """Replaces a text in a body, whether its letters are escaped or not."""
    for ascii_only in (False, True):
        try:
            before = json.dumps(old, ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:
            continue
        if before in body:
            return body.replace(before, json.dumps(new, ensure_ascii=ascii_only).encode())
    return body
