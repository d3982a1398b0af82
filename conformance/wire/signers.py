"""Signers for users' own clients in httpx and requests (section 5)."""

from __future__ import annotations

from collections.abc import Generator

import httpx
import requests

from conformance.contract import signing
from conformance.wire.request_bytes import wire_target


class HttpxSigner(httpx.Auth):
    """Signs each request of an httpx client."""

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


class RequestsSigner(requests.auth.AuthBase):
    """Signs each request of requests, or of schemathesis:

        schema = schemathesis.openapi.from_path("spec/openapi.yaml")
        schema.auth.set_from_requests(RequestsSigner(api_key, secret))

    requests calls it last, with the final URL and body. Disable redirects: a redirected request would keep
    the signature of the first path.
    """

    def __init__(self, api_key: str, secret: str) -> None:
        self.api_key, self._secret = api_key, secret

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Adds the four headers. Raises TypeError for a streamed body."""
        body = request.body
        if body is None:
            body = b""
        elif isinstance(body, str):
            body = body.encode("utf-8")
        elif not isinstance(body, (bytes, bytearray)):
            raise TypeError("a streamed body cannot be signed: give its bytes")
        target = request.path_url.encode("utf-8")
        request.headers.update(
            signing.signed_headers(self.api_key, self._secret, request.method or "GET", target, bytes(body))
        )
        return request

    def __repr__(self) -> str:
        return f"RequestsSigner({self.api_key[:8]!r}...)"
