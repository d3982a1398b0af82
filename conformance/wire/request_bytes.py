"""Requests as bytes (RFC 9110 and 9112)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from conformance.wire.errors import LocalProtocolError
from conformance.wire.messages import HangUp

# Grammar of requests (RFC 9110, 5.5 and 9.1; RFC 9112, 3.2).
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_FIELD = re.compile(_TOKEN.pattern + rb": (?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?\r\n")
_FIELDS = re.compile(b"(?:" + _FIELD.pattern + b")*")

#: Bytes by which a body falls short of its Content-Length where the caller hangs up within it.
SHORT = 64

#: Port of each scheme, where an address names none.
_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """Where a server listens; `secure` by TLS."""

    host: str
    port: int
    secure: bool

    @classmethod
    def of(cls, base_url: str) -> tuple[Place, str]:
        """The place of a base URL, and what its Host header says."""
        address = urlsplit(base_url)
        host = address.hostname or ""
        if not host.isascii():
            # Imported late: hardly any server has such a name.
            import idna

            host = idna.encode(host).decode("ascii")
        usual = _PORTS[address.scheme]
        port = address.port or usual
        named = f"[{host}]" if ":" in host else host
        return cls(host, port, address.scheme == "https"), named if port == usual else f"{named}:{port}"


@dataclass(slots=True)
class Request:
    """A request as it goes out, on a `fresh` connection or a kept one; `hang_up` is how its caller hangs up,
    so many seconds after it was sent."""

    method: str
    place: Place
    #: The request target on the wire.
    target: bytes
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    fresh: bool = False
    hang_up: HangUp | None = None
    hang_up_after: float = 0.0
    #: Limits in seconds of connecting, and of the whole exchange.
    connect_within: float = 10.0
    within: float = 30.0

    def header(self, name: str) -> str | None:
        """A header's value, or None."""
        name = name.lower()
        return next((value for key, value in self.headers if key.lower() == name), None)


def written(request: Request) -> bytes:
    """Serializes a request, without the end of its body where the caller hangs up within that. Raises
    LocalProtocolError, or ValueError, if it is not valid HTTP."""
    within = request.hang_up is HangUp.WITHIN_BODY
    method, target, body = request.method.encode(), request.target, request.body
    if not _TOKEN.fullmatch(method) or not _TARGET.fullmatch(target):
        raise LocalProtocolError("illegal method or request target")
    fields = "".join([f"{name}: {value}\r\n" for name, value in request.headers]).encode("utf-8")
    if not _FIELDS.fullmatch(fields) or fields.count(b"\n") != len(request.headers):
        lines = (f"{name}: {value}\r\n".encode() for name, value in request.headers)
        illegal = next(line for line in lines if not _FIELD.fullmatch(line)).partition(b":")[0]
        raise LocalProtocolError(f"illegal header {illegal!r}")
    hosts, chunked = 0, False
    for name, value in request.headers:
        lower = name.lower()
        if lower == "host":
            hosts += 1
        elif lower == "content-length" and value != str(len(body) + SHORT * within):
            raise LocalProtocolError("a Content-Length that is not that of the body")
        elif lower == "transfer-encoding":
            if value.lower() != "chunked":
                raise LocalProtocolError("Only Transfer-Encoding: chunked is supported")
            chunked = True
    if hosts != 1:
        raise LocalProtocolError("not one Host header")
    head = b"%s %s HTTP/1.1\r\n%s\r\n" % (method, target, fields)
    if not chunked:
        return head + body
    pieces = [head]
    if body:
        pieces.append(b"%x\r\n%s\r\n" % (len(body), body))
    if not within:
        pieces.append(b"0\r\n\r\n")
    return b"".join(pieces)
