"""Transports of httpx that the suite's client sends through."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import httpx

from conformance.wire import errors
from conformance.wire.request_bytes import Request
from conformance.wire.transport import Gate


class HttpxTransport(httpx.BaseTransport):
    """Base of transports of httpx. What httpx has no place for are extensions of a request: `target`, `gate`,
    `fresh_connection`, `hang_up`, `hang_up_after`."""

    def exchange(self, request: Request, gate: Gate | None = None) -> Answer:
        """Sends a request of the suite's client."""
        host = f"http{'s' * request.place.secure}://{request.header('Host')}"
        path = request.target.partition(b"?")[0]
        try:
            url = httpx.URL(host + path.decode("utf-8", "backslashreplace"))
        except httpx.InvalidURL:
            url = httpx.URL(host)
        extensions = {
            "target": request.target,
            "fresh_connection": request.fresh,
            "hang_up_after": request.hang_up_after,
            "timeout": {"connect": request.connect_within, "read": request.within},
            **({"hang_up": request.hang_up} if request.hang_up else {}),
            **({"gate": gate} if gate else {}),
        }
        if gate is not None:
            gate.wait()
        sent = httpx.Request(
            request.method,
            url,
            headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in request.headers],
            stream=httpx.ByteStream(request.body),
            extensions=extensions,
        )
        sent.read()
        with _translated():
            return Answer(self.handle_request(sent))


class Answer:
    """An answer of httpx, as the suite's client reads one."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status, self.headers = response.status_code, response.headers.raw

    def __iter__(self) -> Iterator[bytes]:
        assert isinstance(self._response.stream, httpx.SyncByteStream)
        with _translated():
            yield from self._response.stream

    def close(self) -> None:
        self._response.close()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Raises errors of httpx as those of the suite's transport."""
    try:
        yield
    except httpx.TransportError as error:
        raise getattr(errors, type(error).__name__)(str(error)) from error
