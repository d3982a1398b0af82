"""An httpx transport that calls a server in the same process, without sockets."""

from __future__ import annotations

from time import sleep

import httpx

from conformance.reference.app import Server
from conformance.reference.core_messages import Request


class InProcessTransport(httpx.BaseTransport):
    """Answers httpx requests with `server`. Thread-safe.

    The request target is the one httpx would send (the `target` extension, if set).
    """

    def __init__(self, server: Server) -> None:
        self.server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if "gate" in request.extensions:
            # Yields as a socket would, so that all threads of a race start before the first answer.
            sleep(0)
        target = request.extensions.get("target", request.url.raw_path)
        hung_up = request.extensions.get("hang_up")
        received = Request(
            request.method,
            target,
            request.headers.raw,
            request.read(),
            whole=hung_up != "within the body",
            gone=lambda seconds: hung_up is not None,
        )
        response = self.server.handle(received)
        return httpx.Response(response.status, headers=response.headers, content=response.body)
