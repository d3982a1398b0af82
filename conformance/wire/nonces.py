"""Nonces of a run, and fresh ones for retries."""

from __future__ import annotations

import re
import secrets
import threading

from conformance.wire.forms import hexadecimal
from conformance.wire.messages import Call, Exchange

#: Hexadecimal digits with a letter; a nonce of decimal digits only is renewed in decimal digits.
_HEXADECIMAL = re.compile("(?=.*[a-f])[0-9a-f]+")
_CLASSES = ("0123456789", "abcdef", "ABCDEF")

#: Characters at the end of a nonce that are replaced in a fresh one.
_RENEWED = 16


class Nonces:
    """Counts the nonces of a run, so that retries can use fresh ones.

    A throttled or lost request may have used up its nonce. A nonce that other requests have had as well is
    kept: its reuse is what the request probes. Thread-safe.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def planned(self, nonce: str | None) -> None:
        """Counts a prepared request with this nonce; all requests of a race are prepared before the first is
        sent."""
        if nonce:
            with self._lock:
                self._counts[nonce] = self._counts.get(nonce, 0) + 1

    def renewed(self, call: Call, exchange: Exchange) -> Call:
        """The call to retry, with a fresh nonce if it fixes one that no other request has had."""
        nonce = call.auth.nonce
        if not nonce or self._counts.get(exchange.nonce or "", 0) != 1:
            return call
        return call.signed(nonce=alike(nonce))


def alike(nonce: str) -> str:
    """A fresh nonce of the same length and classes of characters."""

    def other(character: str) -> str:
        return next((secrets.choice(letters) for letters in _CLASSES if character in letters), character)

    head, tail = nonce[:-_RENEWED], nonce[-_RENEWED:]
    return head + (hexadecimal(len(tail)) if _HEXADECIMAL.fullmatch(tail) else "".join(map(other, tail)))
