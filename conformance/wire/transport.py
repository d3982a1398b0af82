"""The HTTP transport: a deadline for a whole exchange (httpx limits each read only), gates, TLS files."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore
import httpx

from conformance._private import sent_too_much
from conformance.target import tls
from conformance.target.model import NO_FILES, Tls

_this_thread = threading.local()

#: Extension of a request that goes out on a connection of its own, which no idle time has made stale.
FRESH = "fresh_connection"

#: Seconds that one thread waits at a gate for connections of others. A server may shake hands with a client
#: only after it has answered another one.
GATE_TIMEOUT = 1.0


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limits the network operations of this thread to `seconds` in all; later ones raise timeouts."""
    _this_thread.end, _this_thread.seconds = time.monotonic() + seconds, seconds
    _this_thread.received, _this_thread.held = 0, 0.0
    try:
        yield
    finally:
        _this_thread.end = None


@contextlib.contextmanager
def gated(gate: threading.Barrier) -> Iterator[None]:
    """Holds the first request of this thread at `gate`, once its connection is ready, until those of all
    other threads are there; a thread that never comes lets the others go."""
    _this_thread.gate = gate
    try:
        yield
    finally:
        if _this_thread.gate is not None:
            _this_thread.gate = None
            gate.abort()


def pass_gate() -> None:
    """Waits at the gate of this thread, if it has one that it has not passed."""
    gate = getattr(_this_thread, "gate", None)
    if gate is None:
        return
    _this_thread.gate = None
    with contextlib.suppress(threading.BrokenBarrierError):
        gate.wait(GATE_TIMEOUT)
    held = time.monotonic() - (_this_thread.end - _this_thread.seconds)
    _this_thread.held = held
    _this_thread.end += held


def seconds_held() -> float:
    """Seconds from the begin of this thread's last deadline until it passed its gate; 0 without a gate."""
    return getattr(_this_thread, "held", 0.0)


def bytes_received() -> int:
    """Bytes that this thread has received since its last deadline began."""
    return getattr(_this_thread, "received", 0)


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    """Seconds that an operation may take; raises `error` when none are left."""
    end = getattr(_this_thread, "end", None)
    if end is None:
        return timeout
    left: float = end - time.monotonic()
    if left <= 0:
        raise error(f"the exchange took longer than {_this_thread.seconds:.0f} s")
    return left if timeout is None else min(timeout, left)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))
        _this_thread.received = bytes_received() + len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass_gate()
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(
            self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout))
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(super().connect_tcp(host, port, left, local_address, socket_options))


class _Pooled(httpx.HTTPTransport):
    """httpx's transport over connections that keep the deadline of their thread."""

    def __init__(self, context: ssl.SSLContext, max_connections: int, kept: int) -> None:
        super().__init__(verify=context)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=max_connections,
            max_keepalive_connections=kept,
            retries=1,
            network_backend=_Backend(),
        )


class _Body(httpx.SyncByteStream):
    """The body of an answer.

    A connection on which more came than that is not used again: the rest would spoil the answer to another
    request, which is not to blame (a length too short). Nor is one after an answer that has no body by HTTP's
    rules: a body that comes all the same may come later than the headers.
    """

    def __init__(self, stream: httpx.SyncByteStream, network: httpcore.NetworkStream, bodiless: bool) -> None:
        self._stream = stream
        self._network = network
        self._bodiless = bodiless

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        # Before the connection is given back, so that nobody else gets hold of it.
        if self._bodiless or sent_too_much(self._stream):
            self._network.close()
        self._stream.close()


class DeadlineTransport(httpx.BaseTransport):
    """Keeps deadlines, and connections alive; requests with the FRESH extension get new connections."""

    def __init__(self, files: Tls = NO_FILES, max_connections: int = 64) -> None:
        context = httpx.create_ssl_context()
        tls.apply(context, files)
        self._kept = _Pooled(context, max_connections, max_connections)
        self._fresh = _Pooled(context, max_connections, 0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and returns its response, the body of which is still to be read."""
        transport = self._fresh if request.extensions.get(FRESH) else self._kept
        response = transport.handle_request(request)
        network = response.extensions.get("network_stream")
        if network is not None and isinstance(response.stream, httpx.SyncByteStream):
            bodiless = request.method == "HEAD" or response.status_code in (204, 304)
            response.stream = _Body(response.stream, network, bodiless)
        return response

    def close(self) -> None:
        """Closes all connections."""
        self._kept.close()
        self._fresh.close()


def wire_target(request: httpx.Request) -> bytes:
    """Request target that httpx puts on the wire."""
    target: bytes = request.extensions.get("target", request.url.raw_path)
    return target


def new_transport(files: Tls = NO_FILES) -> httpx.BaseTransport:
    """The transport for live servers: keep-alive, no redirects, no proxies from the environment; `files` are
    those of the target's [tls]."""
    return DeadlineTransport(files)
