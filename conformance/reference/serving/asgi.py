"""The server as an ASGI application, and the HTTP protocol that hands it request targets as sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conformance.reference.app import Server
from conformance.reference.core_messages import Request, encode

Message = MutableMapping[str, Any]

#: Bytes of an over-long body that are still read, so that the client comes to read the refusal.
DRAIN_LIMIT = 64 * 1024 * 1024


class Application:
    """Answers HTTP requests with `server`.

    With `threads` each request is handled in a thread of its own, so that simultaneous requests meet
    in the server and not in a queue before it: slower, for servers that get that wrong.
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
            # Nothing but the end of the connection can come in behind the body.
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
    """The request body; of one beyond the limit just enough to see that; None when the client is gone."""
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
    # As uvicorn has it: a request may come behind the last one of a connection.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


class _Parser:
    """httptools' parser for a server that speaks HTTP/1.1 alone.

    Where a request asks for another protocol (`Upgrade: h2c`, as Java's HttpClient sends at first), httptools
    takes what follows the head for that protocol. A server may ignore the wish (RFC 9110, 7.8): then the head
    is read anew without it, and the body is a body.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._parser = _new_parser(protocol)

    def feed_data(self, data: bytes) -> None:
        """Reads on. Raises HttpParserError for what is no HTTP."""
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
    """uvicorn's protocol, with target and headers in the scope byte for byte. ASGI alone cannot tell `/path?`
    from `/path`, which are signed differently, and has all header names in lower case. What is not HTTP is
    refused as JSON, like all else; a wish for another protocol is ignored."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self)  # type: ignore[assignment]

    def plain_head(self) -> bytes:
        """The head of the request that was just read, without its wish for another protocol."""
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
