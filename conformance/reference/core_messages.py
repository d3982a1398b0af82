"""Input and output of the core: a request and a response as plain bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.contract import json_text

JSON_TYPE = (b"content-type", b"application/json")


@dataclass(slots=True)
class Request:
    """One HTTP request. `target` is the request target as sent: the path, and `?` with the raw query."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""


@dataclass(slots=True)
class Response:
    """One HTTP response. `reason` is for the access log only; it holds no secret and no value sent.

    `delay` holds it back for so many seconds. `delivered` False closes the connection in its place; it
    becomes False where the client does not wait for it. `after` is called when that is over.
    """

    status: int
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    reason: str = ""
    delay: float = 0.0
    delivered: bool = True
    after: Callable[[], None] | None = None

    @classmethod
    def of(cls, status: int, document: Any, reason: str = "") -> Response:
        """A response with a JSON body."""
        return cls(status, [JSON_TYPE], encode(document), reason)

    @property
    def document(self) -> Any:
        """The body as JSON, parsed anew on each access. Raises ValueError when it is none."""
        return json_text.load(self.body)

    def with_document(self, document: Any) -> Response:
        """The same response with another JSON body."""
        return replace(self, body=encode(document))

    def with_header(self, name: bytes, value: bytes | None) -> Response:
        """The same response with one header replaced, added or (value None) left out."""
        kept = [(key, old) for key, old in self.headers if key.lower() != name.lower()]
        return replace(self, headers=kept if value is None else [*kept, (name, value)])


def encode(document: Any) -> bytes:
    """Compact JSON as UTF-8 bytes."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
