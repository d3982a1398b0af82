"""Nonces of a run, and new ones for requests that are sent once more."""

from __future__ import annotations

import re
import secrets
import threading

from conformance.wire.messages import Call, Exchange
from conformance.wire.provenance import fresh

#: Random hexadecimal digits; a nonce of decimal digits alone keeps to these.
_HEXADECIMAL = re.compile("(?=.*[a-f])[0-9a-f]+")
_CLASSES = ("0123456789", "abcdef", "ABCDEF")

#: Characters at the end of a nonce that are replaced in a fresh one of the same form.
_RENEWED = 16


class Nonces:
    """Counts the nonces of a run, which tells probes of a used nonce from those that fix its form only.

    A retried request needs a nonce of its own: a rate limiter behind authentication, or a server that closed
    the connection afterwards, may have used up the first one. A nonce that had been sent before is the probe
    itself and stays. Thread-safe.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._lock = threading.Lock()

    def planned(self, nonce: str | None) -> None:
        """Counts a prepared request with this nonce; of a race, all are prepared before the first is sent."""
        if nonce:
            with self._lock:
                self._seen[nonce] = self._seen.get(nonce, 0) + 1

    def renewed(self, call: Call, exchange: Exchange) -> Call:
        """Returns the call to retry: with another nonce of the same form where the call fixes one that no
        other request had."""
        nonce = call.auth.nonce
        if not nonce or self._seen.get(exchange.nonce or "", 0) != 1:
            return call
        return call.signed(nonce=alike(nonce))


def alike(nonce: str) -> str:
    """Another nonce of the same form: the same length, and digits and letters in the same places."""

    def other(character: str) -> str:
        return next((secrets.choice(letters) for letters in _CLASSES if character in letters), character)

    head, tail = nonce[:-_RENEWED], nonce[-_RENEWED:]
    return head + (
        fresh("hex", length=len(tail)) if _HEXADECIMAL.fullmatch(tail) else "".join(map(other, tail))
    )
