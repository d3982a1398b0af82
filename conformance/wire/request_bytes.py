"""Requests as bytes (RFC 9110 and 9112)."""

from __future__ import annotations

import re

import httpx

from conformance.wire.messages import HangUp

# Grammar of requests (RFC 9110, 5.5 and 9.1; RFC 9112, 3.2).
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_FIELD = re.compile(_TOKEN.pattern + rb": (?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?\r\n")
_FIELDS = re.compile(rb"(?:" + _FIELD.pattern + rb")*+")


#: Request extension: the HangUp with which the caller ends the exchange.
HANG_UP = "hang_up"

#: Request extension: seconds after which the caller hangs up on a request that was sent whole.
HANG_UP_AFTER = "hang_up_after"

#: Bytes by which a body falls short of its Content-Length where the caller hangs up within it.
SHORT = 64


def written(request: httpx.Request) -> bytes:
    """Serializes a request, without the end of its body where the caller hangs up within that. Raises
    httpx.LocalProtocolError if it is not valid HTTP."""
    within = request.extensions.get(HANG_UP) == HangUp.WITHIN_BODY
    method, target, body = request.method.encode(), wire_target(request), request.content
    if not _TOKEN.fullmatch(method) or not _TARGET.fullmatch(target):
        raise httpx.LocalProtocolError("illegal method or request target")
    headers = request.headers.raw
    fields = [b"%s: %s\r\n" % pair for pair in headers]
    # All at once, as each one alone takes longer.
    whole = b"".join(fields)
    lines = [b"%s %s HTTP/1.1\r\n" % (method, target), whole]
    if not _FIELDS.fullmatch(whole) or whole.count(b"\n") != len(fields):
        illegal = next(
            name for (name, _), line in zip(headers, fields, strict=True) if not _FIELD.fullmatch(line)
        )
        raise httpx.LocalProtocolError(f"illegal header {illegal!r}")
    hosts, chunked = 0, False
    for name, value in headers:
        lower = name.lower()
        if lower == b"host":
            hosts += 1
        elif lower == b"content-length" and value != b"%d" % (len(body) + SHORT * within):
            raise httpx.LocalProtocolError("a Content-Length that is not that of the body")
        elif lower == b"transfer-encoding":
            if value.lower() != b"chunked":
                raise httpx.LocalProtocolError("Only Transfer-Encoding: chunked is supported")
            chunked = True
    if hosts != 1:
        raise httpx.LocalProtocolError("not one Host header")
    lines.append(b"\r\n")
    if not chunked:
        lines.append(body)
        return b"".join(lines)
    if body:
        lines.append(b"%x\r\n%s\r\n" % (len(body), body))
    if not within:
        lines.append(b"0\r\n\r\n")
    return b"".join(lines)


def wire_target(request: httpx.Request) -> bytes:
    """Request target on the wire."""
    target: bytes = request.extensions.get("target", request.url.raw_path)
    return target
