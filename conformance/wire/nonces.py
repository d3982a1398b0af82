"""Which nonces were sent, and what becomes of a fixed one when its request is sent once more."""

from __future__ import annotations

import secrets
import threading

from conformance.wire.messages import Call, Exchange

_CLASSES = ("0123456789", "abcdef", "ABCDEF")

#: Characters of a nonce's end that a fresh one of the same form has of its own.
_RENEWED = 16


class Nonces:
    """The nonces of a run, so that a probe of a used nonce is told from one that only fixes its form.

    A request that is made again needs a nonce of its own: the first one may have been used up by a limiter
    behind authentication, or by a server that closed the connection afterwards. Where the nonce had been sent
    before, that it comes again is the probe, and so it stays. May be used from several threads.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._lock = threading.Lock()

    def planned(self, nonce: str | None) -> None:
        """Notes that a request with this nonce was made; of a race, all are made before the first is sent."""
        if nonce:
            with self._lock:
                self._seen[nonce] = self._seen.get(nonce, 0) + 1

    def renewed(self, call: Call, exchange: Exchange) -> Call:
        """The call to send after an exchange that decided nothing: with another nonce of the same form where
        the call fixes one that nothing else had sent."""
        nonce = call.auth.nonce
        if not nonce or self._seen.get(exchange.nonce or "", 0) != 1:
            return call
        return call.signed(nonce=alike(nonce))


def alike(nonce: str) -> str:
    """Another nonce of the same form: the same length, and digits and letters in the same places."""

    def other(character: str) -> str:
        return next((secrets.choice(letters) for letters in _CLASSES if character in letters), character)

    return nonce[:-_RENEWED] + "".join(map(other, nonce[-_RENEWED:]))
