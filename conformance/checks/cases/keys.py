"""Idempotency-Keys that no reader of UUIDs takes, however lenient: section 4.0."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.engine import Engine
from conformance.wire.provenance import derive, new_key
from conformance.world.case import Case


def invalid_keys(at: Engine, body: bytes | None) -> Iterator[Case]:
    """Requests with this body and keys that are not a UUID."""
    key = new_key()
    for name, wrong in (
        ("the key 123", "123"),
        ("a UUID without its last character", derive(key, "but.1")),
        ("a UUID with one character more", key + "0"),
        ("a UUID with one character before it", "0" + key),
        ("a UUID whose last letter is g", derive(key, "set.-1.g")),
        ("36 hexadecimal digits without hyphens", derive(key, "bare") + "0123"),
        ("36 letters z in the place of the digits", "".join("-" if sign == "-" else "z" for sign in key)),
    ):
        yield at.case("idempotency.key-invalid", name, key=wrong, body=body)
