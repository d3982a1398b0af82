"""Signing for those who use requests, or schemathesis with its own transport (section 5).

    schema = schemathesis.openapi.from_path("spec/openapi.yaml")
    schema.auth.set_from_requests(RequestsSigner(api_key, secret))

requests calls an `AuthBase` last, when URL, headers and body are what goes on the wire, and once for each
time that a request is sent: repetitions get a nonce of their own. Redirects must be off, because a redirected
request would be sent with the signature of another path."""

from __future__ import annotations

import requests

from conformance.contract import signing


class RequestsSigner(requests.auth.AuthBase):
    """Signs what requests is about to send, byte for byte."""

    def __init__(self, api_key: str, secret: str) -> None:
        self.api_key, self._secret = api_key, secret

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Adds the four headers. Raises TypeError for a body that is streamed: its bytes are not known
        yet."""
        body = request.body
        if body is None:
            body = b""
        elif isinstance(body, str):
            # urllib3 sends text as UTF-8.
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
