"""An httpx transport that calls a server in the same process, without sockets."""

from __future__ import annotations

import time
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
        hung_up, begun = request.extensions.get("hang_up"), time.perf_counter()

        def gone(seconds: float) -> bool:
            end = time.perf_counter() + seconds
            left = begun + request.extensions.get("hang_up_after", 0.0) if hung_up else end + 1
            # Looked up late, as tests replace it.
            time.sleep(max(0.0, min(end, left) - time.perf_counter()))
            return left <= end

        received = Request(
            request.method,
            target,
            request.headers.raw,
            request.read(),
            whole=hung_up != "within the body",
            gone=gone,
        )
        response = self.server.handle(received)
        return httpx.Response(response.status, headers=response.headers, content=response.body)
