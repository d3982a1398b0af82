"""Reconstructs the string that the signature of a request was computed over."""

from __future__ import annotations

from conformance.contract import signing
from conformance.wire.messages import Exchange


def signed_string(exchange: Exchange) -> bytes | None:
    """The string that was signed; None for a request without a computed signature."""
    auth = exchange.call.auth
    headers = {name.lower(): value for name, value in exchange.request_headers}
    if not headers.get(signing.SIGNATURE.lower()) or auth.signature is not None:
        return None
    timestamp = auth.signed_timestamp if auth.signed_timestamp is not None else auth.timestamp
    nonce = auth.signed_nonce if auth.signed_nonce is not None else auth.nonce
    timestamp = headers.get(signing.TIMESTAMP.lower()) if timestamp is None else timestamp
    nonce = headers.get(signing.NONCE.lower()) if nonce is None else nonce
    if timestamp is None or nonce is None:
        # Left out on purpose, and drawn anew for each request: nothing tells it any more.
        return None
    parts = [
        (auth.signed_method if auth.signed_method is not None else exchange.method).encode(),
        _target(exchange).encode("utf-8", "surrogatepass"),
        timestamp.encode(),
        nonce.encode(),
        auth.signed_body if auth.signed_body is not None else exchange.request_body,
    ]
    return auth.separator.encode().join(parts)


def _target(exchange: Exchange) -> str:
    signed = exchange.call.auth.signed_target
    if signed is None:
        return exchange.target
    return exchange.target.removesuffix(exchange.call.target) + signed
