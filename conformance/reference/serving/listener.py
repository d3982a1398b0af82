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

_UPGRADE = re.compile(rb"\r\n(?i:upgrade):[^\r\n]*(?=\r\n)")


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with what ASGI leaves out in the scope: the transport, and the raw request target,
    as `/path?` and `/path` are signed differently.

    Ignores Upgrade (`h2c`, as Java's HttpClient asks for), after which httptools reads no body.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.gone = threading.Event()

    def data_received(self, data: bytes) -> None:
        super().data_received(_UPGRADE.sub(b"", data))

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        self.scope["extensions"] = {
            "connection": {"target": self.url, "transport": self.transport, "gone": self.gone}
        }
        super().on_headers_complete()


def application(server: Server, threads: bool) -> Callable[..., Awaitable[None]]:
    """An ASGI application that answers with `server`.

    With `threads` each request is handled in its own thread, for faulty servers with race conditions; slower.
    """

    async def answer(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        body, more, whole = b"", True, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                whole = False
                break
            if len(body) <= server.behaviour.body_limit:
                body += message["body"]
            more = message["more_body"]
        connection = scope["extensions"]["connection"]
        request = Request(
            scope["method"], connection["target"], scope["headers"], body, whole, connection["gone"].wait
        )
        response = await asyncio.to_thread(server.handle, request) if threads else server.handle(request)
        if not whole:
            return
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
            connection["transport"].abort()
            await receive()
        if response.after is not None:
            response.after()

    return answer


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 for any free one. Raises InputError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        bound = socket.create_server((host, port), family=family, backlog=1024, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        cause = (getattr(error, "strerror", None) or "not a host name").partition(" (")[0]
        raise InputError(
            f"{host}:{port}: this address cannot be listened on ({cause}); choose another host or port, or 0 "
            "for any free port."
        ) from None
    # Connections inherit it; asyncio sets it on sockets with a protocol only.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def base_url(bound: socket.socket, host: str, prefix: str = "") -> str:
    """The base URL of a listening socket from this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{bound.getsockname()[1]}{prefix.rstrip('/')}"


def _listener(server: Server, *, threads: bool, **options: Any) -> uvicorn.Server:
    config = uvicorn.Config(
        application(server, threads),
        http=Protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=2,
        **options,
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def served(server: Server, *, threads: bool = False, at: socket.socket | None = None) -> Iterator[str]:
    """Serves in a thread while the context lasts, on a free port or a listening socket; yields the base
    URL."""
    with at or listen("127.0.0.1", 0) as bound:
        listener = _listener(server, threads=threads)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield base_url(bound, "127.0.0.1", server.prefix.decode())
        finally:
            listener.should_exit = True
            thread.join()


def serve(server: Server, bound: socket.socket, *, parent: int | None = None, threads: bool = False) -> None:
    """Serves on a listening socket until SIGINT, SIGTERM or, on POSIX, the end of its parent process, if
    given."""

    async def look_for_parent() -> None:
        if parent is not None and os.name == "posix" and os.getppid() != parent:
            listener.should_exit = True

    listener = _listener(server, threads=threads, callback_notify=look_for_parent, timeout_notify=0)
    # uvicorn raises the signal again once it has stopped.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            listener.run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, before)
