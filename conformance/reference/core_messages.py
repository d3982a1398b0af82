"""Requests and responses of the core, as bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.contract import json_text

JSON_TYPE = (b"content-type", b"application/json")


@dataclass(slots=True)
class Request:
    """An HTTP request. `target` is the raw request target: path, and `?` with the query."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    #: False if the caller hung up within the body.
    whole: bool = True
    #: Waits for the caller to hang up, so many seconds at most; True if it has.
    gone: Callable[[float], bool] = lambda seconds: False


@dataclass(slots=True)
class Response:
    """An HTTP response. `reason` is for the access log only; it contains no secret and no value sent.

    `delay` postpones it by seconds. If `delivered` is False the connection is closed instead; it becomes
    False if the client disconnects during the delay. `after` is called at the end.
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
        """The body as JSON, parsed on each access. Raises ValueError."""
        return json_text.load(self.body)


def encode(document: Any) -> bytes:
    """Compact JSON as UTF-8 bytes."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
