"""Signing for clients of the users' own: httpx (section 5)."""

from __future__ import annotations

from collections.abc import Generator

import httpx

from conformance.contract import signing
from conformance.wire.transport import wire_target


class HttpxSigner(httpx.Auth):
    """Signs whatever httpx is about to send: for users' own httpx clients and for tests."""

    requires_request_body = True

    def __init__(self, api_key: str, secret: str) -> None:
        self.api_key, self.secret = api_key, secret

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(
            signing.signed_headers(
                self.api_key, self.secret, request.method, wire_target(request), request.content
            )
        )
        yield request
