"""Requests that lack one of the four headers (section 5.2) and have its value elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.engine import Engine
from conformance.contract import signing
from conformance.wire.messages import Auth
from conformance.wire.provenance import derive, new_nonce
from conformance.world.case import Case


def _omitting(at: Engine, header: str) -> tuple[Auth, str]:
    """Returns the authentication without a header, and the header's value, which is signed."""
    now, nonce = str(at.ctx.run.clock.now()), new_nonce()
    values = zip(signing.HEADERS, (at.ctx.target.primary.api_key, now, nonce), strict=False)
    return Auth(omit=(header,), timestamp=now, nonce=nonce), dict(values)[header]


def elsewhere(at: Engine) -> Iterator[Case]:
    """Yields requests without a header, its value in the query and in another header. Underscores in the name
    of a header are left out: CGI does not tell them from hyphens (RFC 3875, section 4.1.18)."""
    for header, name in (
        (signing.API_KEY, "api_key"),
        (signing.TIMESTAMP, "timestamp"),
        (signing.NONCE, "nonce"),
    ):
        auth, value = _omitting(at, header)
        beside = {
            signing.API_KEY: ("Cookie", f"api_key={value}"),
            signing.TIMESTAMP: ("Date", derive(value, "date")),
            signing.NONCE: ("X-Request-Id", value),
        }[header]
        query = "&".join(f"{parameter}={derive(value, 'query')}" for parameter in (header, name))
        what = f"a request without {header}"
        yield at.case("auth.missing-header", what, query=query, headers=(beside,), auth=auth)
