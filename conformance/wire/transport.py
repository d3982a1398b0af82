"""HTTP/1.1 over sockets: writes a request at once, and parses its answer with httptools."""

from __future__ import annotations

import functools
import math
import select
import socket
import ssl
import struct
import threading
import time
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

import httptools

from conformance.target import tls
from conformance.target.model import NO_FILES, Tls
from conformance.wire.answers import Answer
from conformance.wire.errors import (
    ConnectError,
    ConnectTimeout,
    HungUp,
    NotHttp,
    ReadError,
    ReadTimeout,
    RemoteProtocolError,
    TimedOut,
    WriteTimeout,
)
from conformance.wire.messages import HangUp
from conformance.wire.request_bytes import Place, Request, written

#: Seconds that a thread waits at a gate for the others to connect: a server may accept one connection only
#: after it has answered another.
GATE_TIMEOUT = 1.0

#: Maximum bytes of headers, trailers or chunk extensions between two pieces of a body.
MAX_HEAD = 100 * 1024

#: Seconds for which a half-closed connection waits for the server.
HALF_CLOSED = 1.0

#: Buffer size of a read, in bytes.
_READ = 64 * 1024


class Gate:
    """Blocks a thread of a race until all threads have connected; they share the barrier."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier
        self._waited = False
        #: Seconds waited.
        self.held = 0.0

    def wait(self) -> float:
        """Waits for the other threads, up to GATE_TIMEOUT; returns the seconds waited, 0 if called again."""
        if self._waited:
            return 0.0
        self._waited = True
        begin = time.monotonic()
        with suppress(threading.BrokenBarrierError):
            self.barrier.wait(GATE_TIMEOUT)
        self.held = time.monotonic() - begin
        return self.held

    def leave(self) -> None:
        """Releases the other threads if this one never waited."""
        if not self._waited:
            self.barrier.abort()


class Carrier(Protocol):
    """What sends requests: a transport, or what takes its place in a test."""

    def exchange(self, request: Request, gate: Gate | None = None) -> Answer:
        """Sends a request, behind a gate if there is one. Raises TransportError."""


class _Parsed:
    """One answer, as the callbacks of httptools' parser collect it."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        # As most clients do: folded headers, bare line feeds, Content-Length beside chunks.
        self.parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
        )
        self.headers: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.status: int | None = None
        self.keep_alive = self.complete = False
        #: Bytes followed the answer, so the connection cannot be reused.
        self.excess = False

    def on_message_begin(self) -> None:
        self.excess = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status is None:
            self.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        if self.complete:
            return
        status = self.parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self.headers.clear()
        else:
            self.status, self.keep_alive = status, self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        if not self.complete:
            self.pieces.append(body)

    def on_message_complete(self) -> None:
        self.complete = self.status is not None

    @property
    def ends_with_connection(self) -> bool:
        """True if the body has neither length nor chunks, so that it ends with the connection."""
        names = {name.lower() for name, _ in self.headers}
        chunked = any(
            name.lower() == b"transfer-encoding" and value.lower().endswith(b"chunked")
            for name, value in self.headers
        )
        return not chunked and (b"content-length" not in names or b"transfer-encoding" in names)


class _Connection:
    """One connection, with the deadline (time.monotonic) of the current exchange."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._poll = select.poll()
        self._poll.register(opened, select.POLLIN)
        self._end = self._seconds = 0.0
        #: Number of complete answers.
        self.answers = 0

    @property
    def stale(self) -> bool:
        """True if the server has closed an idle connection, or sent unsolicited bytes."""
        return bool(self._poll.poll(0))

    def begin(self, seconds: float, end: float) -> None:
        self._seconds, self._end = seconds, end

    def write(self, data: bytes) -> None:
        """Writes a request. Ignores a closed connection: the server may have answered before reading all."""
        self._limit(WriteTimeout)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise WriteTimeout(str(error)) from error
        except OSError:
            pass

    def read(self) -> bytes:
        """Reads the next bytes; empty at the end. Raises ReadTimeout and ReadError."""
        self._limit(ReadTimeout)
        try:
            return self._socket.recv(_READ)
        except TimeoutError as error:
            raise ReadTimeout(str(error)) from error
        except OSError as error:
            raise ReadError(str(error)) from error

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def hang_up(self, how: HangUp) -> None:
        """Closes the connection without an answer; half of it only until the server ends the exchange, where
        it may wait for that, or where what it has done shows only then."""
        with suppress(OSError):
            if how is HangUp.RESET:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif how in (HangUp.HALF_CLOSE, HangUp.WITHIN_BODY):
                self._socket.shutdown(socket.SHUT_WR)
                self._socket.settimeout(HALF_CLOSED)
                self._socket.recv(_READ)
        self.close()

    def abort(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _limit(self, late: type[TimedOut]) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise late(f"the exchange took longer than {self._seconds:.0f} s")
        self._socket.settimeout(left)


class _Exchange:
    """A request and its answer on a connection; iterates over the body. Closing it returns the connection to
    the pool if it is reusable."""

    def __init__(self, connection: _Connection, request: Request, pool: deque[_Connection] | None) -> None:
        self.connection, self._pool = connection, pool
        self._answer = _Parsed()
        self.status, self.headers = 0, self._answer.headers
        self._bodiless = request.method == "HEAD"
        self._unread = 0
        #: Number of bytes read, those of interim answers included.
        self.received = 0

    @property
    def reusable(self) -> bool:
        """True if the connection can serve another request: not after an answer without a body (HEAD, 204,
        304), since some servers send one, and possibly late."""
        answer = self._answer
        return answer.complete and answer.keep_alive and not answer.excess and not self._bodiless

    def head(self) -> None:
        """Reads status and headers."""
        answer = self._answer
        while answer.status is None:
            self._read()
        if answer.status < 100:
            raise NotHttp(f"{answer.status} is no status of HTTP")
        self._bodiless = self._bodiless or answer.status in (204, 304)
        self.status = answer.status

    def __iter__(self) -> Iterator[bytes]:
        answer = self._answer
        while not self._bodiless:
            pieces, answer.pieces = answer.pieces, []
            yield from pieces
            if answer.complete:
                return
            self._read()

    def close(self) -> None:
        if self._pool is not None and self.reusable:
            self.connection.answers += 1
            self._pool.append(self.connection)
        else:
            self.connection.close()

    def _read(self) -> None:
        """Reads once. Raises NotHttp if it is not HTTP, or its headers are too long, and
        RemoteProtocolError if the connection ends before the answer."""
        data, answer = self.connection.read(), self._answer
        if not data:
            self._closed()
            return
        self.received += len(data)
        self._unread += len(data)
        try:
            answer.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            answer.complete = answer.excess = True
        except httptools.HttpParserError as error:
            if not answer.complete:
                raise NotHttp(str(error)) from None
            answer.excess = True
        if answer.pieces or answer.complete:
            self._unread = 0
        elif self._unread > MAX_HEAD:
            raise NotHttp(f"more than {MAX_HEAD:,} bytes of headers")

    def _closed(self) -> None:
        answer = self._answer
        if not self.received:
            raise RemoteProtocolError("Server disconnected without sending a response.")
        if answer.status is None or not answer.ends_with_connection:
            raise RemoteProtocolError("peer closed connection without sending complete message body")
        answer.complete, answer.keep_alive = True, False


class Transport:
    """Sends requests over kept-alive connections, without redirects or proxies; `files` are those of the
    target's [tls]. Thread-safe."""

    def __init__(self, files: Tls = NO_FILES) -> None:
        self._files = files
        self._idle: dict[Place, deque[_Connection]] = {}
        #: Server -> the numbers of answers after which it silently closed connections, and how often.
        self._ended: defaultdict[Place, Counter[int]] = defaultdict(Counter)
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def exchange(self, request: Request, gate: Gate | None = None) -> Answer:
        """Sends a request, behind a gate if there is one; returns its answer with the body unread. Raises
        TransportError."""
        data, place, seconds = written(request), request.place, request.within
        end = time.monotonic() + seconds
        idle = self._idle.setdefault(place, deque())
        # A server that limits the requests of a connection may close it while the next one is in flight.
        most = min([number for number, times in [*self._ended[place].items()] if times > 1], default=math.inf)
        connection = None if request.fresh else _usable(idle, most)
        if connection is None:
            connection = self._connected(place, min(seconds, request.connect_within))
        exchange = _Exchange(connection, request, None if request.fresh else idle)
        try:
            if gate is not None:
                end += gate.wait()
            connection.begin(seconds, end)
            connection.write(data)
            if request.hang_up is not None:
                time.sleep(request.hang_up_after)
                connection.hang_up(request.hang_up)
                raise HungUp("the caller hung up")
            exchange.head()
        except BaseException as error:
            connection.close()
            silent = not exchange.received and not isinstance(error, TimedOut)
            if connection.answers and silent:
                self._ended[place][connection.answers] += 1
            raise
        return exchange

    def close(self) -> None:
        """Closes all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def abort(self) -> None:
        """Ends all exchanges that are under way in other threads."""
        for connection in list(self._open):
            connection.abort()

    def _connected(self, place: Place, seconds: float) -> _Connection:
        """Opens a connection, in two attempts."""
        try:
            return self._connect(place, seconds)
        except (ConnectError, ConnectTimeout):
            return self._connect(place, seconds)

    def _connect(self, place: Place, seconds: float) -> _Connection:
        if seconds <= 0:
            raise ConnectTimeout("no time was left to connect")
        opened = None
        try:
            opened = socket.create_connection((place.host, place.port), seconds)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            if place.secure:
                opened = self._context.wrap_socket(opened, server_hostname=place.host)
        except OSError as error:
            if opened is not None:
                opened.close()
            kind = ConnectTimeout if isinstance(error, TimeoutError) else ConnectError
            raise kind(str(error)) from error
        connection = _Connection(opened)
        self._open.add(connection)
        return connection

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        # Imported late: it takes 50 ms and 7 MB, of which servers without TLS need nothing.
        import httpx

        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        tls.apply(context, self._files)
        return context


def _usable(idle: deque[_Connection], most: float) -> _Connection | None:
    """Takes the connection that was idle longest and is neither stale nor at its `most` answers. Taking turns
    reaches every process of the server."""
    while True:
        try:
            connection = idle.popleft()
        except IndexError:
            return None
        if connection.answers < most and not connection.stale:
            return connection
        connection.close()
