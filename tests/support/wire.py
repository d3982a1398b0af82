"""A threaded socket server that records the bytes of each request and answers with a given function."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from conformance.reference.core_messages import Request, Response

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

#: First bytes of a TLS handshake, which a plain-text server refuses.
TLS = b"\x16\x03"


@dataclass
class Received:
    """One request as received."""

    head: bytes
    body: bytes

    @property
    def line(self) -> bytes:
        return self.head.partition(b"\r\n")[0]

    @property
    def target(self) -> bytes:
        return self.line.split(b" ", 1)[1].rpartition(b" ")[0]

    def values(self, name: bytes) -> list[bytes]:
        """Returns the values of a header, whose name is case-insensitive."""
        lines = self.head.split(b"\r\n")[1:]
        return [line.split(b": ", 1)[1] for line in lines if line.lower().startswith(name.lower() + b": ")]

    def names(self) -> list[bytes]:
        """Returns the header names as spelled."""
        return [line.partition(b":")[0] for line in self.head.split(b"\r\n")[1:]]

    def signed_by(self, secret: bytes) -> bool:
        """Verifies the signature over the received bytes (section 5.3), independently of the suite's
        signer."""
        method = self.line.partition(b" ")[0]
        (timestamp,), (nonce,) = self.values(b"x-timestamp"), self.values(b"x-nonce")
        string = method + self.target + timestamp + nonce + self.body
        return self.values(b"x-signature") == [hmac.new(secret, string, hashlib.sha256).hexdigest().encode()]


def as_request(received: Received) -> Request:
    """Converts a request for the reference server."""
    lines = (line.partition(b":") for line in received.head.split(b"\r\n")[1:])
    headers = [(name, value.strip()) for name, _, value in lines]
    return Request(received.line.split(b" ", 1)[0].decode(), received.target, headers, received.body)


def rendered(response: Response, version: bytes = b"HTTP/1.1") -> bytes:
    """Renders an answer of the reference server as bytes."""
    headers = b"".join(b"%s: %s\r\n" % pair for pair in response.headers)
    return b"%s %d X\r\n%s\r\n%s" % (version, response.status, headers, response.body)


#: Answers one request on a connection; `index` is its number on this server. False closes the connection.
Reply = Callable[[socket.socket, int], object]


def answering(*answers: bytes) -> Reply:
    """Returns a reply that sends the answers in order, and repeats the last."""
    return lambda connection, index: connection.sendall(answers[min(index, len(answers) - 1)])


@dataclass
class Wire:
    """The server: its base URL and the requests that it received."""

    url: str
    requests: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    sockets: list[socket.socket] = field(default_factory=list)

    def stop(self) -> None:
        """Stops listening and closes all connections."""
        self.closing.set()
        for opened in list(self.sockets):
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()

    @property
    def last(self) -> Received:
        return self.requests[-1]


@contextlib.contextmanager
def wire(reply: Reply | None = None, prefix: str = "", tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Serves on a free port while the context lasts; replies with OK by default."""
    reply = reply or answering(OK)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    server = Wire(f"http://127.0.0.1:{listener.getsockname()[1]}{prefix}")
    server.sockets.append(listener)
    lock = threading.Lock()

    def serve(plain: socket.socket) -> None:
        with plain, contextlib.suppress(OSError, EOFError), _secured(plain, tls) as connection:
            buffer = b""
            while True:
                received, buffer = _receive(connection, buffer)
                with lock:
                    index = len(server.requests)
                    server.requests.append(received)
                if reply(connection, index) is False:
                    return

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                server.sockets.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        server.stop()


def _secured(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> contextlib.AbstractContextManager[socket.socket]:
    """Returns the connection, after a TLS handshake if a context is given."""
    if tls is None:
        return contextlib.nullcontext(connection)
    return tls.wrap_socket(connection, server_side=True)


def _receive(connection: socket.socket, buffer: bytes) -> tuple[Received, bytes]:
    """Reads one request; returns it and the bytes read beyond it."""
    while b"\r\n\r\n" not in buffer:
        buffer += _more(connection)
        if buffer.startswith(TLS):
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            raise EOFError
    head, _, rest = buffer.partition(b"\r\n\r\n")
    received = Received(head, b"")
    if received.values(b"transfer-encoding") == [b"chunked"]:
        received.body, rest = _chunks(connection, rest)
        return received, rest
    length = int((received.values(b"content-length") or [b"0"])[0])
    while len(rest) < length:
        rest += _more(connection)
    received.body = rest[:length]
    return received, rest[length:]


def _chunks(connection: socket.socket, buffer: bytes) -> tuple[bytes, bytes]:
    """Reads a chunked body; returns it and the bytes read beyond it."""
    body = b""
    while True:
        while b"\r\n" not in buffer:
            buffer += _more(connection)
        size, _, buffer = buffer.partition(b"\r\n")
        length = int(size, 16)
        while len(buffer) < length + 2:
            buffer += _more(connection)
        body, buffer = body + buffer[:length], buffer[length + 2 :]
        if not length:
            return body, buffer


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise EOFError
    return data


@contextlib.contextmanager
def reserved() -> Iterator[int]:
    """Yields a port on which nothing listens, and which no other server or client gets meanwhile, as they ask
    for any. A process that is given its number may listen on it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
