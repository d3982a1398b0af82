"""The core of the reference server: `Server.handle` maps a request to a response."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from email.utils import formatdate

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context
from conformance.reference.core_messages import Request, Response
from conformance.reference.pipeline import answer
from conformance.reference.store import Store

#: Returns microseconds since the Unix epoch.
Clock = Callable[[], int]

#: Called with each request, its operationId ("" if undocumented) and its response.
Observer = Callable[[Request, str, Response], None]

_log = logging.getLogger(__name__)


def system_clock() -> int:
    """The machine's time in microseconds."""
    return time.time_ns() // 1000


class Server:
    """A server: `behaviour` decides, `store` keeps the state, `clock` is the time, also of Date headers.

    `handle` is thread-safe. `prefix` is the path before /v1, such as "/api".
    """

    def __init__(
        self,
        store: Store,
        behaviour: Behaviour | None = None,
        clock: Clock = system_clock,
        *,
        prefix: str = "",
        observer: Observer | None = None,
    ) -> None:
        self.store = store
        self.behaviour = behaviour or Behaviour()
        self.clock = clock
        self.prefix = prefix.rstrip("/").encode()
        self.observer = observer
        #: Time of the last deletion of expired nonces, in microseconds.
        self.pruned = clock()
        self._date = (0, b"")

    def handle(self, request: Request) -> Response:
        """Answers a request. Never raises; 5xx only for a busy database or an internal error."""
        operation = ""
        try:
            ctx, response = answer(self, request)
            operation = ctx.operation
        except sqlite3.OperationalError as error:
            _log.error("the database could not be used: %s", error)
            response = Response.of(503, _failure("The database is busy."), "database unavailable")
            response.headers.append((b"retry-after", b"1"))
        except Exception:
            # Only a bug in a behaviour leads here.
            _log.exception("a request could not be answered")
            response = Response.of(500, _failure("The server made a mistake."), "internal error")
        response.headers.append((b"content-length", b"%d" % len(response.body)))
        if self.observer is not None:
            self.observer(request, operation, response)
        return response

    def date(self, second: int) -> bytes:
        """The Date header for a time in epoch seconds."""
        known, text = self._date
        if known != second:
            text = formatdate(second, usegmt=True).encode()
            self._date = (second, text)
        return text


def _failure(message: str) -> dict[str, dict[str, str]]:
    return {"error": {"type": "server_error", "code": "internal_error", "message": message}}


__all__ = ["Behaviour", "Clock", "Context", "Observer", "Request", "Response", "Server", "system_clock"]
