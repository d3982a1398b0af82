"""A reference server on a socket, whose answers a mode replaces."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.reference.app import Server
from conformance.reference.core_messages import Response
from conformance.reference.seed import Seeded, new_server, target_tables
from tests.support.wire import Received, Wire, as_request, reserved, wire

NOTHING: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class Scale:
    """Amounts: seconds between single bytes, bytes of a large body, number of headers, and requests until the
    behaviour changes."""

    pause: float = 1.0
    large: int = 100_000_000
    headers: int = 2_500
    after: int = 40


@dataclass
class Turn:
    """One request to a hostile server; `index` is its number."""

    connection: socket.socket
    index: int
    received: Received
    server: Hostile
    _right: Response | None = field(default=None, repr=False)

    @property
    def scale(self) -> Scale:
        return self.server.scale

    def right(self) -> Response:
        """Returns the answer of the reference server."""
        if self._right is None:
            self._right = self.server.reference.handle(as_request(self.received))
        return self._right

    def send(self, *parts: bytes) -> None:
        """Sends bytes. Raises OSError if the client has disconnected."""
        for part in parts:
            self.connection.sendall(part)

    def answer(self, response: Response, more: Mapping[str, bytes] = NOTHING) -> None:
        """Sends a complete answer; `more` are additional headers."""
        self.send(rendered(response, more))

    def reset(self) -> bool:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end of the server, or the timeout; returns True if the server ends."""
        return self.server.closing.wait(seconds)


def head(response: Response, length: int | None = None, *, more: Mapping[str, bytes] = NOTHING) -> bytes:
    """Renders the head of an answer. `length` replaces the true length (none if negative); `more` are headers
    that replace those of the same name."""
    other = {"content-length", *map(str.lower, more)}
    kept = [pair for pair in response.headers if pair[0].decode().lower() not in other]
    lines = [b"HTTP/1.1 %d X" % response.status]
    lines += [b"%s: %s" % pair for pair in kept]
    lines += [b"%s: %s" % (name.encode(), value) for name, value in more.items()]
    length = len(response.body) if length is None else length
    if length >= 0:
        lines.append(b"Content-Length: %d" % length)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def rendered(response: Response, more: Mapping[str, bytes] = NOTHING) -> bytes:
    return head(response, more=more) + response.body


#: Answers a turn; returning False closes the connection.
Behaviour = Callable[[Turn], object]

#: Returns True for a turn to which the mode applies.
When = Callable[[Turn], bool]


def honest(turn: Turn) -> object:
    """Sends the answer of the reference server."""
    turn.answer(turn.right())
    return True


def always(turn: Turn) -> bool:
    return True


@dataclass
class Hostile:
    """A running hostile server: its address, target file and redirect target."""

    reference: Server
    seeded: Seeded
    scale: Scale
    elsewhere: Wire
    closing: threading.Event
    wire: Wire | None = None
    url: str = ""

    @property
    def tables(self) -> dict[str, Any]:
        return target_tables(self.seeded, self.url)

    @property
    def seen(self) -> int:
        """Returns the number of requests received."""
        return len(self.wire.requests) if self.wire else 0

    def die(self) -> None:
        """Stops listening, and resets all connections."""
        if self.wire is not None:
            self.wire.stop()


@contextlib.contextmanager
def hostile(
    behave: Behaviour, when: When = always, *, scheme: str = "http", scale: Scale | None = None
) -> Iterator[Hostile]:
    """Serves while the context lasts: http, https, one under the other's scheme (`http as https`), or
    nothing."""
    reference, seeded = new_server()
    server: Hostile

    def reply(connection: socket.socket, index: int) -> object:
        assert server.wire is not None
        turn = Turn(connection, index, server.wire.requests[index], server)
        return (behave if when(turn) else honest)(turn)

    spoken, _, told = scheme.partition(" as ")
    context = certified() if spoken == "https" else None
    with wire() as elsewhere, wire(reply, tls=context) as served, reserved() as nobodys:
        server = Hostile(reference, seeded, scale or Scale(), elsewhere, served.closing, served)
        server.url = served.url.replace("http:", f"{told or spoken}:", 1)
        if scheme == "nothing":
            server.url = f"http://127.0.0.1:{nobodys}"
        yield server


def certified() -> ssl.SSLContext:
    """Returns a TLS context with a self-signed certificate. Raises FileNotFoundError without openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise FileNotFoundError("openssl, which makes a certificate")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = (
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        )
        subprocess.run(
            [openssl, *command.split(), "-keyout", "key.pem", "-out", "certificate.pem"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
