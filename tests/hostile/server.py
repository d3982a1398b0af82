"""A reference server on sockets of its own, whose answers a mode spoils before they go out."""

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
from tests.support.wire import Received, Wire, as_request, nowhere, wire

NOTHING: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class Scale:
    """Amounts: seconds between two bytes that drip in, bytes of a body that is too large,
    headers of a flood, and requests after which a server changes its mind."""

    pause: float = 1.0
    large: int = 100_000_000
    headers: int = 2_500
    after: int = 40


@dataclass
class Turn:
    """One request to a hostile server: `index` counts those before it."""

    connection: socket.socket
    index: int
    received: Received
    server: Hostile
    _right: Response | None = field(default=None, repr=False)

    @property
    def scale(self) -> Scale:
        return self.server.scale

    def right(self) -> Response:
        """The answer of the reference server."""
        if self._right is None:
            self._right = self.server.reference.handle(as_request(self.received))
        return self._right

    def send(self, *parts: bytes) -> None:
        """Puts bytes on the wire. Raises OSError when the client has gone."""
        for part in parts:
            self.connection.sendall(part)

    def answer(self, response: Response, more: Mapping[str, bytes] = NOTHING) -> None:
        """Sends a whole answer; `more` are further headers."""
        self.send(rendered(response, more))

    def reset(self) -> bool:
        """Breaks the connection off, without its usual end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the server closes, or for so long; returns True where it closes."""
        return self.server.closing.wait(seconds)


def head(response: Response, length: int | None = None, *, more: Mapping[str, bytes] = NOTHING) -> bytes:
    """The head of an answer; `length` in the place of its true one (below 0: none), and more headers, which
    replace those of the same name."""
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
    """An answer as bytes."""
    return head(response, more=more) + response.body


#: Answers a turn in the mode's own way; returning False closes the connection.
Behaviour = Callable[[Turn], object]

#: Returns True for a turn that the mode spoils.
When = Callable[[Turn], bool]


def honest(turn: Turn) -> object:
    """Answers as the reference server does."""
    turn.answer(turn.right())
    return True


def always(turn: Turn) -> bool:
    return True


@dataclass
class Hostile:
    """A hostile server at work: where it is, what its target file says, and whom it sends clients to."""

    reference: Server
    seeded: Seeded
    scale: Scale
    elsewhere: Wire
    closing: threading.Event
    wire: Wire | None = None
    url: str = ""

    @property
    def tables(self) -> dict[str, Any]:
        """The tables of the target file."""
        return target_tables(self.seeded, self.url)

    @property
    def seen(self) -> int:
        """Number of requests that came."""
        return len(self.wire.requests) if self.wire else 0

    def die(self) -> None:
        """Listens no more, and breaks off all connections."""
        if self.wire is not None:
            self.wire.stop()


@contextlib.contextmanager
def hostile(
    behave: Behaviour, when: When = always, *, scheme: str = "http", scale: Scale | None = None
) -> Iterator[Hostile]:
    """Serves while the context lasts: http, https, either under the other's name (`http as https`), or
    nothing."""
    reference, seeded = new_server()
    server: Hostile

    def reply(connection: socket.socket, index: int) -> object:
        assert server.wire is not None
        turn = Turn(connection, index, server.wire.requests[index], server)
        return (behave if when(turn) else honest)(turn)

    spoken, _, told = scheme.partition(" as ")
    context = certified() if spoken == "https" else None
    with wire() as elsewhere, wire(reply, tls=context) as served:
        server = Hostile(reference, seeded, scale or Scale(), elsewhere, served.closing, served)
        server.url = (
            nowhere() if scheme == "nothing" else served.url.replace("http:", f"{told or spoken}:", 1)
        )
        yield server


def certified() -> ssl.SSLContext:
    """TLS with a certificate that nobody trusts. Raises FileNotFoundError where there is no openssl."""
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
