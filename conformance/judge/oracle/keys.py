"""Demands on a request because of its Idempotency-Key (section 4.0)."""

from __future__ import annotations

import re

from conformance.contract.rules import RULES
from conformance.judge.oracle.reasons import Reason

#: The usual form: a version 4 UUID in lower case.
_USUAL = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

#: Any other UUID of 36 characters (RFC 9562): versions 1 to 8, in either letter case.
_OTHER = re.compile(
    "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[1-8][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
)

#: Forms that are open (idempotency.key-forms): any digits, without hyphens, in braces, as a URN.
_FORM = r"(?:urn:uuid:)?(?:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
_OPEN = re.compile(rf"{_FORM}|\{{{_FORM}\}}", re.IGNORECASE)


def refusals(operation: str, key: str | None) -> list[Reason]:
    """Reasons to refuse a POST for its Idempotency-Key (None: no such header)."""
    if key is None:
        rules = ("idempotency.key-required", "idempotency.payout-key-required")
        return [Reason(rule, "no Idempotency-Key") for rule in rules if operation in RULES[rule].operations]
    # HTTP drops spaces and tabs around a value.
    if accepted_by(key) or not key.strip(" \t") or _OPEN.fullmatch(key.strip(" \t")):
        return []
    text = repr(key) if len(key) <= 40 else f"of {len(key)} characters"
    return [
        Reason(
            "idempotency.key-invalid",
            f"the Idempotency-Key {text}",
            type="validation_error",
            code="invalid_idempotency_key",
        )
    ]


def accepted_by(key: str) -> str:
    """The rule that requires a key to be accepted; empty if none does."""
    if _USUAL.fullmatch(key):
        return "idempotency.key-accepted"
    return "idempotency.key-other-uuids" if _OTHER.fullmatch(key) else ""
