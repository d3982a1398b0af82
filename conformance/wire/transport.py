"""HTTP/1.1 over sockets: a transport for httpx that writes a request at once, and parses by httptools.

The read timeout of a request (httpx's `timeout` extension, in seconds) limits its whole exchange, connecting
excepted where that has a limit of its own.
"""

from __future__ import annotations

import functools
import math
import re
import select
import socket
import ssl
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress

import httptools
import httpx

from conformance.target import tls
from conformance.target.model import NO_FILES, Tls

#: Request extension: the request goes out on a connection of its own, which no idle time has made stale.
FRESH = "fresh_connection"

#: Request extension: the Gate that the request waits at before it is written.
GATE = "gate"

#: Extension that the transport sets on a request: the bytes of its answer so far.
RECEIVED = "received_bytes"

#: Seconds that one thread waits at a gate for connections of others. A server may shake hands with a client
#: only after it has answered another one.
GATE_TIMEOUT = 1.0

#: Bytes of headers, trailers or chunk extensions between two pieces of a body.
MAX_HEAD = 100 * 1024

#: Bytes of one read.
_READ = 64 * 1024

# The syntax of requests (RFC 9110, section 5.5 and 9.1; RFC 9112, section 3.2).
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_VALUE = re.compile(rb"(?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?")

_PORTS = {"http": 80, "https": 443}


class Gate:
    """Holds a thread of a race until the connections of all threads are ready."""

    def __init__(self, barrier: threading.Barrier) -> None:
        #: The same for all threads of a race.
        self.barrier = barrier
        self._waited = False
        #: Seconds for which the thread was held.
        self.held = 0.0

    def wait(self) -> float:
        """Waits for the other threads, GATE_TIMEOUT seconds at most; the seconds that this took. Later calls
        return 0."""
        if self._waited:
            return 0.0
        self._waited = True
        begin = time.monotonic()
        with suppress(threading.BrokenBarrierError):
            self.barrier.wait(GATE_TIMEOUT)
        self.held = time.monotonic() - begin
        return self.held

    def leave(self) -> None:
        """Lets the others go, unless this thread has waited."""
        if not self._waited:
            self.barrier.abort()


class _Answer:
    """Collects what httptools reads of one answer: the callbacks of its parser."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        # Folded headers, line feeds without carriage return and a length beside chunks: read by most clients.
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
        #: More came than the answer. The rest would spoil the answer to another request on the connection.
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
        """True if neither a length nor chunks tell where the body ends."""
        names = {name.lower() for name, _ in self.headers}
        chunked = any(
            name.lower() == b"transfer-encoding" and value.lower().endswith(b"chunked")
            for name, value in self.headers
        )
        return not chunked and (b"content-length" not in names or b"transfer-encoding" in names)


class _Connection:
    """One connection. `end` is the moment (time.monotonic) at which the exchange under way has to be over."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._poll = select.poll()
        self._poll.register(opened, select.POLLIN)
        self._end = self._seconds = 0.0
        #: Answers that it has brought.
        self.answers = 0

    @property
    def stale(self) -> bool:
        """True if an idle connection was closed by the server, or has bytes that nobody asked for."""
        return bool(self._poll.poll(0))

    def begin(self, seconds: float, end: float) -> None:
        self._seconds, self._end = seconds, end

    def write(self, data: bytes) -> None:
        """Writes a request. One that the server stops reading may have been answered all the same."""
        self._limit(httpx.WriteTimeout)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise httpx.WriteTimeout(str(error)) from error
        except OSError:
            pass

    def read(self) -> bytes:
        """The next bytes; none at the end. Raises httpx.ReadTimeout and httpx.ReadError."""
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

    def _limit(self, late: type[httpx.TimeoutException]) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise late(f"the exchange took longer than {self._seconds:.0f} s")
        self._socket.settimeout(left)


class _Exchange(httpx.SyncByteStream):
    """One request and its answer on a connection; the stream of the answer's body. Closing it gives the
    connection back to a pool, or ends it."""

    def __init__(
        self, connection: _Connection, request: httpx.Request, pool: deque[_Connection] | None
    ) -> None:
        self.connection, self._pool = connection, pool
        self._request = request
        self._answer = _Answer()
        self._bodiless = request.method == "HEAD"
        self._unread = 0

    @property
    def reusable(self) -> bool:
        """True if the connection may serve another request. After an answer that has no body by HTTP's rules
        it may not: a body that comes all the same may come later than the headers."""
        answer = self._answer
        return answer.complete and answer.keep_alive and not answer.excess and not self._bodiless

    def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Reads status and headers."""
        answer = self._answer
        while answer.status is None:
            self._read()
        if answer.status < 100:
            raise httpx.RemoteProtocolError(f"{answer.status} is no status of HTTP")
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
        """Reads once. Raises httpx.RemoteProtocolError for what is no HTTP, or is too long."""
        data, answer = self.connection.read(), self._answer
        if not data:
            self._closed()
            return
        received = self._request.extensions
        received[RECEIVED] = received.get(RECEIVED, 0) + len(data)
        self._unread += len(data)
        try:
            answer.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            answer.complete = answer.excess = True
        except httptools.HttpParserError as error:
            if not answer.complete:
                raise httpx.RemoteProtocolError(str(error)) from None
            answer.excess = True
        if answer.pieces or answer.complete:
            self._unread = 0
        elif self._unread > MAX_HEAD:
            raise httpx.RemoteProtocolError(f"more than {MAX_HEAD:,} bytes of headers")

    def _closed(self) -> None:
        answer = self._answer
        if not self._request.extensions.get(RECEIVED):
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        if answer.status is None or not answer.ends_with_connection:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
        answer.complete, answer.keep_alive = True, False


class Transport(httpx.BaseTransport):
    """Sends requests over connections that it keeps alive; follows no redirects, uses no proxies. Threads may
    share one."""

    def __init__(self, files: Tls = NO_FILES) -> None:
        self._files = files
        self._idle: dict[tuple[str, str, int], deque[_Connection]] = {}
        #: Server -> the answers after which its connections ended without a word, and how often.
        self._ended: defaultdict[tuple[str, str, int], Counter[int]] = defaultdict(Counter)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and returns its response, the body of which is still to be read. Raises httpx's
        transport errors."""
        data = _written(request)
        timeout: Mapping[str, float | None] = request.extensions.get("timeout", {})
        seconds = _seconds(timeout.get("read"))
        end = time.monotonic() + seconds
        url = request.url
        host = url.raw_host.decode("ascii")
        place = url.scheme, host, url.port or _PORTS.get(url.scheme, 0)
        fresh = bool(request.extensions.get(FRESH))
        idle = self._idle.setdefault(place, deque())
        # A server that ends connections after so many answers may do it while the next request is on its way.
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
            status, headers = exchange.head()
        except BaseException as error:
            connection.close()
            silent = not request.extensions.get(RECEIVED) and not isinstance(error, httpx.TimeoutException)
            if connection.answers and silent:
                self._ended[place][connection.answers] += 1
            raise
        return httpx.Response(status, headers=headers, stream=exchange)

    def close(self) -> None:
        """Closes all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def _connected(self, place: tuple[str, str, int], seconds: float) -> _Connection:
        """A new connection; a first failure to connect is not told."""
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
        return _Connection(opened)

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        # Reads all authorities, which takes a while, so only for servers that speak TLS.
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        tls.apply(context, self._files)
        return context


def _seconds(given: float | None) -> float:
    return 3600.0 if given is None else given


def _usable(idle: deque[_Connection], most: float) -> _Connection | None:
    """The connection that was idle longest, unless it went stale or has brought the most answers: by turns,
    requests reach every process of a server that has several."""
    while True:
        try:
            connection = idle.popleft()
        except IndexError:
            return None
        if connection.answers < most and not connection.stale:
            return connection
        connection.close()


def _written(request: httpx.Request) -> bytes:
    """The bytes of a request. Raises httpx.LocalProtocolError for what is not HTTP."""
    method, target, body = request.method.encode(), wire_target(request), request.content
    if not _TOKEN.fullmatch(method) or not _TARGET.fullmatch(target):
        raise httpx.LocalProtocolError("illegal method or request target")
    lines = [b"%s %s HTTP/1.1\r\n" % (method, target)]
    hosts, chunked = 0, False
    for name, value in request.headers.raw:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise httpx.LocalProtocolError(f"illegal header {name!r}")
        lines.append(b"%s: %s\r\n" % (name, value))
        lower = name.lower()
        if lower == b"host":
            hosts += 1
        elif lower == b"content-length" and value != b"%d" % len(body):
            raise httpx.LocalProtocolError("a Content-Length that is not that of the body")
        elif lower == b"transfer-encoding":
            if value.lower() != b"chunked":
                raise httpx.LocalProtocolError("Only Transfer-Encoding: chunked is supported")
            chunked = True
    if hosts != 1:
        raise httpx.LocalProtocolError("not one Host header")
    lines.append(b"\r\n")
    if chunked:
        lines += [b"%x\r\n%s\r\n" % (len(body), body)] * bool(body) + [b"0\r\n\r\n"]
    else:
        lines.append(body)
    return b"".join(lines)


def wire_target(request: httpx.Request) -> bytes:
    """The request target on the wire."""
    target: bytes = request.extensions.get("target", request.url.raw_path)
    return target


def new_transport(files: Tls = NO_FILES) -> httpx.BaseTransport:
    """The transport for live servers; `files` are those of the target's [tls]."""
    return Transport(files)
