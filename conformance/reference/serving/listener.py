"""Serves over HTTP with uvicorn: the ASGI application, a protocol that preserves raw request targets, and a
socket bound in advance, for a known address and clear errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conformance._files import InputError
from conformance.reference.app import Server
from conformance.reference.core_messages import Request, encode

Message = MutableMapping[str, Any]

#: Maximum bytes read of an oversized body, so that the client can read the refusal.
DRAIN_LIMIT = 64 * 1024 * 1024

BACKLOG = 1024

#: Seconds between checks for the parent process.
POLL_INTERVAL = 0.5


# ---------------------------------------------------------------------- the application


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
        if scope["type"] != "http":
            raise RuntimeError(f"this application serves HTTP, not {scope['type']}")
        body = await _read(receive, self.server.behaviour.body_limit)
        if body is None:
            return
        request = Request(scope["method"], _target(scope), scope.get("raw_headers") or scope["headers"], body)
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
            scope["transport"].abort()
            await receive()
        if response.after is not None:
            response.after()


async def _read(receive: Callable[[], Awaitable[Message]], limit: int) -> bytes | None:
    """The request body; truncated above the limit; None if the client disconnected."""
    chunks: list[bytes] = []
    kept = read = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        read += len(chunk)
        if kept <= limit:
            chunks.append(chunk)
            kept += len(chunk)
        if not message.get("more_body") or read > DRAIN_LIMIT:
            return b"".join(chunks)


def _target(scope: Message) -> bytes:
    path: bytes = scope["raw_path"]
    query: bytes = scope["query_string"]
    target: bytes = scope.get("raw_target") or (path + b"?" + query if query else path)
    return target


def _new_parser(protocol: Protocol) -> Any:
    parser = httptools.HttpRequestParser(protocol)
    # As in uvicorn: data may follow the last request of a connection.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


class _Parser:
    """httptools' parser for a server of HTTP/1.1 only.

    If a request asks for an upgrade (`Upgrade: h2c`, as Java's HttpClient sends first), httptools treats what
    follows the head as the other protocol. A server may ignore the upgrade (RFC 9110, 7.8): the head is then
    parsed again without it, so that the body is read.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._parser = _new_parser(protocol)

    def feed_data(self, data: bytes) -> None:
        """Parses data. Raises HttpParserError if it is not HTTP."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as wish:
                if self._parser.get_method() == b"CONNECT":
                    raise httptools.HttpParserError("this is no proxy") from None
                data = self._protocol.plain_head() + data[wish.args[0] :]
                self._parser = _new_parser(self._protocol)
            else:
                return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with raw target and headers in the scope: ASGI does not distinguish `/path?` from
    `/path`, which are signed differently, and lower-cases header names. Malformed HTTP is refused in JSON,
    and upgrades are ignored."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self)  # type: ignore[assignment]

    def plain_head(self) -> bytes:
        """The head of the current request without its Upgrade header."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % pair for pair in self.raw_headers if pair[0].lower() != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.raw_headers: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.raw_headers.append((name, value))
        super().on_header(name, value)

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        scope = cast(Message, self.scope)
        scope["raw_target"] = self.url
        scope["raw_headers"] = self.raw_headers
        scope["transport"] = self.transport
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        body = encode({"error": {"type": "validation_error", "code": "bad_request", "message": msg}})
        head = (
            f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


# ---------------------------------------------------------------------- the socket


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 for any free one. Raises InputError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or "not a host name"
        raise InputError(f"{host}: this host cannot be listened on ({cause}); choose another.") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"{host}:{port}: this address cannot be listened on ({error.strerror}); "
            "choose another port, or 0 for any free one."
        ) from None
    return bound


def base_url(bound: socket.socket, host: str, prefix: str = "") -> str:
    """The base URL of a listening socket from this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{bound.getsockname()[1]}{prefix.rstrip('/')}"


class _Listener(uvicorn.Server):
    """A uvicorn server that reports when it accepts requests, and lets its caller clean up after a signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's version raises the signal again at the end, which kills the process before cleanup.
        handled = (signal.SIGINT, signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    server: Server,
    bound: socket.socket,
    ready: Callable[[], None] = lambda: None,
    *,
    parent: int | None = None,
) -> None:
    """Serves on a listening socket until SIGINT, SIGTERM or the end of process `parent`, if given."""
    listener = _Listener(configuration(Application(server)), ready)
    finished = threading.Event()

    def watch(process: int) -> None:
        # getppid() also detects a parent that is a zombie.
        own = os.getppid() == process
        while not finished.wait(POLL_INTERVAL):
            if os.getppid() != process if own else not running(process):
                listener.should_exit = True
                return

    if parent is not None:
        threading.Thread(target=watch, args=(parent,), daemon=True).start()
    try:
        listener.run(sockets=[bound])
    finally:
        finished.set()


@contextlib.contextmanager
def served(server: Server, *, threads: bool = False, at: socket.socket | None = None) -> Iterator[str]:
    """Serves in a thread while the context lasts, on a free port or a listening socket; yields the base
    URL."""
    ready = threading.Event()
    with at or listen("127.0.0.1", 0) as bound:
        listener = _Listener(configuration(Application(server, threads=threads)), ready.set)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        ready.wait()
        try:
            yield base_url(bound, "127.0.0.1", server.prefix.decode())
        finally:
            listener.should_exit = True
            thread.join()


def configuration(application: Application) -> uvicorn.Config:
    """uvicorn's configuration: raw target and headers, no headers of its own."""
    return uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=2,
        backlog=BACKLOG,
    )


def running(process: int) -> bool:
    """True if a process exists; always True outside POSIX, where the check could kill it."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
