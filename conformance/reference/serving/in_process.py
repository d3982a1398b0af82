"""An httpx transport that calls a server in the same process: no sockets, no threads, no waiting."""

from __future__ import annotations

from time import sleep

import httpx

from conformance.reference.app import Server
from conformance.reference.core_messages import Request


class InProcessTransport(httpx.BaseTransport):
    """Answers httpx requests with `server`. May be used from several threads at once.

    The request target is what httpx would put on the wire (the `target` extension, if set).
    """

    def __init__(self, server: Server) -> None:
        self.server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if "gate" in request.extensions:
            # As a socket would: the other threads of a race begin before one has its answer.
            sleep(0)
        target = request.extensions.get("target", request.url.raw_path)
        response = self.server.handle(Request(request.method, target, request.headers.raw, request.read()))
        return httpx.Response(response.status, headers=response.headers, content=response.body)
