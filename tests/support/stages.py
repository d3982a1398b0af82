"""Servers under construction: implement some of the operations and answer 404 for the others."""

from __future__ import annotations

from collections.abc import Collection

from conformance.reference.app import Server
from conformance.reference.core_messages import Request, Response
from conformance.reference.routes import match


class Stage(Server):
    """A reference server that implements only the operations in `built`."""

    built: Collection[str] = ()

    @classmethod
    def of(cls, server: Server, *built: str) -> Stage:
        """Returns the server with only these operations."""
        stage = cls(server.store, server.behaviour, server.clock)
        stage.built = built
        return stage

    def handle(self, request: Request) -> Response:
        path = request.target.partition(b"?")[0]
        found = match(path)
        if found is not None and found.methods.get(request.method) in self.built:
            return super().handle(request)
        response = Response.of(404, {"detail": "Not Found"})
        response.headers.append((b"content-length", b"%d" % len(response.body)))
        return response
