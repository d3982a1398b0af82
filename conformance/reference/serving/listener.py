"""Serves over HTTP with uvicorn, on a socket bound in advance: its address is known, and errors are clear."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conformance._files import InputError
from conformance.reference.app import Server
from conformance.reference.core_messages import Request

Message = MutableMapping[str, Any]

#: Seconds between checks for the parent process.
POLL_INTERVAL = 0.5

_UPGRADE = re.compile(rb"\r\n(?i:upgrade):[^\r\n]*(?=\r\n)")


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with what ASGI leaves out in the scope: the transport, and the raw request target,
    as `/path?` and `/path` are signed differently.

    Ignores Upgrade (`h2c`, as Java's HttpClient asks for), after which httptools reads no body.
    """

    def data_received(self, data: bytes) -> None:
        super().data_received(_UPGRADE.sub(b"", data))

    def on_headers_complete(self) -> None:
        self.scope["extensions"] = {"connection": {"target": self.url, "transport": self.transport}}
        super().on_headers_complete()


class Application:
    """An ASGI application that answers with `server`.

    With `threads` each request is handled in its own thread, for faulty servers with race conditions; slower.
    """

    def __init__(self, server: Server, *, threads: bool = False) -> None:
        self.server = server
        self.threads = threads

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            if len(body) <= self.server.behaviour.body_limit:
                body += message["body"]
            more = message["more_body"]
        request = Request(
            scope["method"], scope["extensions"]["connection"]["target"], scope["headers"], body
        )
        if self.threads:
            response = await asyncio.to_thread(self.server.handle, request)
        else:
            response = self.server.handle(request)
        if response.delay:
            # After the body, receive() can only return a disconnect.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(receive(), response.delay)
                response.delivered = False
        if response.delivered:
            start = {"type": "http.response.start", "status": response.status, "headers": response.headers}
            await send(start)
            await send({"type": "http.response.body", "body": response.body})
        else:
            scope["extensions"]["connection"]["transport"].abort()
            await receive()
        if response.after is not None:
            response.after()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 for any free one. Raises InputError."""
    try:
        # Sockets of create_server do not know that they are TCP: asyncio would delay what it sends.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with contextlib.ExitStack() as stack:
            bound = stack.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(1024)
            stack.pop_all()
            return bound
    except (OSError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or "not a host name"
        raise InputError(
            f"{host}:{port}: this address cannot be listened on ({cause}); choose another host or port, or 0 "
            "for any free port."
        ) from None


def base_url(bound: socket.socket, host: str, prefix: str = "") -> str:
    """The base URL of a listening socket from this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{bound.getsockname()[1]}{prefix.rstrip('/')}"


@contextlib.contextmanager
def served(server: Server, *, threads: bool = False, at: socket.socket | None = None) -> Iterator[str]:
    """Serves in a thread while the context lasts, on a free port or a listening socket; yields the base
    URL."""
    options = uvicorn.Config(
        Application(server, threads=threads),
        http=Protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=2,
    )
    with at or listen("127.0.0.1", 0) as bound:
        listener = uvicorn.Server(options)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield base_url(bound, "127.0.0.1", server.prefix.decode())
        finally:
            listener.should_exit = True
            thread.join()


def serve(
    server: Server,
    bound: socket.socket,
    ready: Callable[[], None] = lambda: None,
    *,
    parent: int | None = None,
) -> None:
    """Serves on a listening socket until SIGINT, SIGTERM or, on POSIX, the end of its parent process, if
    given."""
    finished = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: finished.set()) for number in numbers}
    try:
        with served(server, at=bound):
            ready()
            while not finished.wait(POLL_INTERVAL):
                if parent is not None and os.name == "posix" and os.getppid() != parent:
                    break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
