"""What overrides of the reference server do to its answers and its store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.reference.core_messages import Response, encode
from conformance.reference.store import Store


def with_document(response: Response, document: Any) -> Response:
    """Returns a copy with another JSON body."""
    return replace(response, body=encode(document))


def with_header(response: Response, name: bytes, value: bytes | None) -> Response:
    """Returns a copy with a header set, or removed if the value is None."""
    others = [(key, old) for key, old in response.headers if key.lower() != name.lower()]
    return replace(response, headers=others if value is None else [*others, (name, value)])


def nonce_claimed(store: Store, scope: str, nonce: str, now: int) -> bool:
    """Returns True if a nonce is recorded and not expired."""
    sql = "SELECT 1 FROM nonces WHERE scope = ? AND nonce = ? AND expires > ?"
    return bool(store.query(sql, scope, nonce, now))
