"""The signing vectors, and the bytes of their members."""

from __future__ import annotations

import base64
import json
from typing import Any

from conformance.contract.documents import SPEC

DOCUMENT: dict[str, Any] = json.loads((SPEC / "signing-vectors.json").read_bytes())
VECTORS: list[dict[str, Any]] = DOCUMENT["vectors"]


def content(vector: dict[str, Any], member: str) -> bytes:
    """Returns a member as bytes; it is stored as text or as base64."""
    if member in vector:
        return str(vector[member]).encode()
    return base64.b64decode(vector[f"{member}_base64"], validate=True)
