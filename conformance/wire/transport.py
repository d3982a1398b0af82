"""HTTP/1.1 over sockets: a transport for httpx that writes a request at once and parses with httptools.

Of httpx's `timeout` extension (in seconds), `read` limits a whole exchange and `connect` its connecting.
"""

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
from collections.abc import Iterator, Mapping
from contextlib import suppress

import httptools
import httpx

from conformance.target import tls
from conformance.target.model import NO_FILES, Tls
from conformance.wire.messages import HangUp
from conformance.wire.request_bytes import HANG_UP, HANG_UP_AFTER, written

#: Request extension: use a new connection.
FRESH = "fresh_connection"

#: Request extension: the Gate to wait at before the request is written.
GATE = "gate"

#: Seconds that a thread waits at a gate for the others to connect: a server may accept one connection only
#: after it has answered another.
GATE_TIMEOUT = 1.0

#: Maximum bytes of headers, trailers or chunk extensions between two pieces of a body.
MAX_HEAD = 100 * 1024

#: Seconds for which a half-closed connection waits for the server.
HALF_CLOSED = 1.0

#: Buffer size of a read, in bytes.
_READ = 64 * 1024


_PORTS = {"http": 80, "https": 443}


class NotHttp(httpx.RemoteProtocolError):
    """An answer is not HTTP: sent again, the request would be answered no better."""


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


class _Answer:
    """The answers of one connection, one after the other, as the callbacks of httptools' parser collect
    them."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        # As most clients do: folded headers, bare line feeds, Content-Length beside chunks.
        self.parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
        )
        self.begin()

    def begin(self) -> None:
        """Forgets the last answer before the next one."""
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
        #: The answer that is read, and the number of complete ones.
        self.answer, self.answers = _Answer(), 0

    @property
    def stale(self) -> bool:
        """True if the server has closed an idle connection, or sent unsolicited bytes."""
        return bool(self._poll.poll(0))

    def begin(self, seconds: float, end: float) -> None:
        self._seconds, self._end = seconds, end

    def write(self, data: bytes) -> None:
        """Writes a request. Ignores a closed connection: the server may have answered before reading all."""
        self._limit(httpx.WriteTimeout)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise httpx.WriteTimeout(str(error)) from error
        except OSError:
            pass

    def read(self) -> bytes:
        """Reads the next bytes; empty at the end. Raises httpx.ReadTimeout and httpx.ReadError."""
        self._limit(httpx.ReadTimeout)
        try:
            return self._socket.recv(_READ)
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

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

    def _limit(self, late: type[httpx.TimeoutException]) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise late(f"the exchange took longer than {self._seconds:.0f} s")
        self._socket.settimeout(left)


class _Exchange(httpx.SyncByteStream):
    """A request and its answer on a connection; iterates over the body. Closing it returns the connection to
    the pool if it is reusable."""

    def __init__(
        self, connection: _Connection, request: httpx.Request, pool: deque[_Connection] | None
    ) -> None:
        self.connection, self._pool = connection, pool
        self._answer = connection.answer
        self._answer.begin()
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

    def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Reads status and headers."""
        answer = self._answer
        while answer.status is None:
            self._read()
        if answer.status < 100:
            raise NotHttp(f"{answer.status} is no status of HTTP")
        self._bodiless = self._bodiless or answer.status in (204, 304)
        return answer.status, answer.headers

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
        httpx.RemoteProtocolError if the connection ends before the answer."""
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
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        if answer.status is None or not answer.ends_with_connection:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
        answer.complete, answer.keep_alive = True, False


class Transport(httpx.BaseTransport):
    """Sends requests over kept-alive connections, without redirects or proxies; `files` are those of the
    target's [tls]. Thread-safe."""

    def __init__(self, files: Tls = NO_FILES) -> None:
        self._files = files
        self._idle: dict[tuple[str, str, int], deque[_Connection]] = {}
        #: Server -> the numbers of answers after which it silently closed connections, and how often.
        self._ended: defaultdict[tuple[str, str, int], Counter[int]] = defaultdict(Counter)
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request; returns its response with the body unread. Raises httpx's transport errors."""
        data = written(request)
        timeout: Mapping[str, float | None] = request.extensions.get("timeout", {})
        seconds = _seconds(timeout.get("read"))
        end = time.monotonic() + seconds
        url = request.url
        host = url.raw_host.decode("ascii")
        place = url.scheme, host, url.port or _PORTS.get(url.scheme, 0)
        fresh = bool(request.extensions.get(FRESH))
        idle = self._idle.setdefault(place, deque())
        # A server that limits the requests of a connection may close it while the next one is in flight.
        most = min([number for number, times in [*self._ended[place].items()] if times > 1], default=math.inf)
        connection = None if fresh else _usable(idle, most)
        if connection is None:
            connection = self._connected(place, min(seconds, _seconds(timeout.get("connect"))))
        exchange = _Exchange(connection, request, None if fresh else idle)
        try:
            if gate := request.extensions.get(GATE):
                end += gate.wait()
            connection.begin(seconds, end)
            connection.write(data)
            if how := request.extensions.get(HANG_UP):
                time.sleep(request.extensions[HANG_UP_AFTER])
                connection.hang_up(how)
                raise httpx.CloseError("the caller hung up")
            status, headers = exchange.head()
        except BaseException as error:
            connection.close()
            silent = not exchange.received and not isinstance(error, httpx.TimeoutException)
            if connection.answers and silent:
                self._ended[place][connection.answers] += 1
            raise
        return httpx.Response(status, headers=headers, stream=exchange)

    def close(self) -> None:
        """Closes all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def abort(self) -> None:
        """Ends all exchanges that are under way in other threads."""
        for connection in list(self._open):
            connection.abort()

    def _connected(self, place: tuple[str, str, int], seconds: float) -> _Connection:
        """Opens a connection, in two attempts."""
        try:
            return self._connect(place, seconds)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return self._connect(place, seconds)

    def _connect(self, place: tuple[str, str, int], seconds: float) -> _Connection:
        scheme, host, port = place
        if scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"{scheme} is not the scheme of HTTP")
        if seconds <= 0:
            raise httpx.ConnectTimeout("no time was left to connect")
        opened = None
        try:
            opened = socket.create_connection((host, port), seconds)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            if scheme == "https":
                opened = self._context.wrap_socket(opened, server_hostname=host)
        except OSError as error:
            if opened is not None:
                opened.close()
            kind = httpx.ConnectTimeout if isinstance(error, TimeoutError) else httpx.ConnectError
            raise kind(str(error)) from error
        connection = _Connection(opened)
        self._open.add(connection)
        return connection

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        # Slow, since it loads all authorities.
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        tls.apply(context, self._files)
        return context


def _seconds(timeout: float | None) -> float:
    return 3600.0 if timeout is None else timeout


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
