"""HMAC-SHA256 request signing: pure functions over bytes (section 5).

Nothing is normalized: request target and body are signed exactly as sent (section 5.3).
"""

from __future__ import annotations

import functools
import hmac
import secrets
import time
from collections.abc import Callable, Mapping

API_KEY = "X-API-Key"
TIMESTAMP = "X-Timestamp"
NONCE = "X-Nonce"
SIGNATURE = "X-Signature"

#: The four headers that every request carries (section 5.2).
HEADERS = (API_KEY, TIMESTAMP, NONCE, SIGNATURE)

#: Letter case of header names, which are case-insensitive (section 5.2) -> the function that applies it.
NAME_CASES: Mapping[str, Callable[[str], str]] = {
    "": str,
    "lower": str.lower,
    "upper": str.upper,
    "swapped": str.swapcase,
}


def signature_string(method: str, target: bytes, timestamp: str, nonce: str, body: bytes) -> bytes:
    """METHOD + PATH_AND_QUERY + TIMESTAMP + NONCE + BODY without separators (section 5.3).

    `target` is the request target as sent: the path, and `?` with the raw query if there is one.
    """
    return method.upper().encode() + target + timestamp.encode() + nonce.encode() + body


def signature(secret: str, string: bytes) -> str:
    """The lower-case hexadecimal HMAC-SHA256 of a signature string, keyed with the UTF-8 secret."""
    keyed = _keyed(secret).copy()
    keyed.update(string)
    return keyed.hexdigest()


@functools.lru_cache(64)
def _keyed(secret: str) -> hmac.HMAC:
    return hmac.new(secret.encode(), digestmod="sha256")


def new_nonce() -> str:
    """32 hexadecimal characters from 16 random bytes (section 5.2)."""
    return secrets.token_hex(16)


def signed_headers(
    api_key: str, secret: str, method: str, target: bytes, body: bytes = b""
) -> dict[str, str]:
    """The four authentication headers of a request, with the current time and a new nonce."""
    timestamp, nonce = str(int(time.time())), new_nonce()
    string = signature_string(method, target, timestamp, nonce, body)
    return {API_KEY: api_key, TIMESTAMP: timestamp, NONCE: nonce, SIGNATURE: signature(secret, string)}
