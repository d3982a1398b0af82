"""What the grammars of URIs (RFC 3986) and of HTTP fields (RFC 9110, 5.5) allow in a request."""

from __future__ import annotations

import re

from conformance.wire.messages import Exchange

#: Path and query; an encoded NUL is allowed by the letter and refused by every front end.
_TARGET = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?!00)[0-9A-Fa-f]{2})*")

_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def grammatical(exchange: Exchange) -> bool:
    """Whether every front end must hand the request on: one whose target or headers no grammar allows may be
    refused by any of them, with a page of its own."""
    return bool(_TARGET.fullmatch(exchange.target)) and all(
        _VALUE.fullmatch(value) for _, value in exchange.request_headers
    )
