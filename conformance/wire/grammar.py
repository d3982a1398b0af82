"""What the grammars of URIs (RFC 3986) and of HTTP fields (RFC 9110, 5.5) allow in a request."""

from __future__ import annotations

import re

from conformance.wire.messages import Exchange

#: Path and query, or a query; an encoded NUL is allowed by the letter and refused by every front end.
_TARGET = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?!00)[0-9A-Fa-f]{2})*")

#: A segment of a path that every front end and router takes for one: plain characters, or encoded ones that
#: are not a slash, backslash, dot or control character.
_SEGMENT = re.compile(
    r"(?!\.{1,2}$)(?:[A-Za-z0-9._~!$&()*+,=:@-]"
    r"|%(?!2[EFef]|5[Cc]|[01][0-9A-Fa-f]|7[Ff])[0-9A-Fa-f]{2}){1,200}"
)

_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def grammatical(exchange: Exchange) -> bool:
    """Whether every front end must hand the request on: one whose target or headers no grammar allows may be
    refused by any of them, with a page of its own."""
    return bool(_TARGET.fullmatch(exchange.target)) and all(
        _VALUE.fullmatch(value) for _, value in exchange.request_headers
    )


def is_odd(target: str) -> bool:
    """Whether a front end may refuse a target in words of its own, or a router take it for another path than
    the operation's: what no grammar of URIs allows, and segments that mean more than their characters."""
    path, _, query = target.partition("?")
    segments = path.split("/")[1:]
    return not all(_SEGMENT.fullmatch(segment) for segment in segments) or not _TARGET.fullmatch(query)
