"""Serves a conforming server and its proxy over HTTP."""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import new_server, seed, target_tables
from conformance.reference.serving.listener import base_url, listen, serve, served
from conformance.reference.store import Store
from tests.support.in_process import InProcessTransport
from tests.support.wire import Received, as_request, wire

from .variant import Variant

#: Base URL of requests to a transport.
NOWHERE = "http://variant.test"


@contextlib.contextmanager
def serving(variant: Variant, number: int | None = None) -> Iterator[dict[str, Any]]:
    """Serves a new server of a variant from threads of this process while the context lasts; yields the
    tables of its target file. `number` determines the ids of the initial resources."""
    server, seeded = new_server(variant.behaviour(), variant.clock, number=number)
    variant.fill(server.store, seeded)
    front: contextlib.AbstractContextManager[str] = (
        _between(variant.wrap(InProcessTransport(server))) if variant.wrap else served(server, threads=True)
    )
    with front as url:
        tables = target_tables(seeded, url)
        yield variant.change(tables) if variant.change else tables


@contextlib.contextmanager
def _between(transport: httpx.BaseTransport) -> Iterator[str]:
    """Serves a transport over a socket; yields its base URL. Closes the connection without an answer if the
    transport raises."""
    begun: set[socket.socket] = set()

    def reply(connection: socket.socket, index: int) -> bool:
        fresh = connection not in begun
        begun.add(connection)
        try:
            connection.sendall(_answer(transport, listener.requests[index], fresh=fresh))
        except httpx.TransportError:
            return False
        return True

    with wire(reply) as listener:
        yield listener.url


def _answer(transport: httpx.BaseTransport, received: Received, *, fresh: bool) -> bytes:
    """Returns the answer as bytes; `fresh` is True for the first request of its connection."""
    request = as_request(received)
    sent = httpx.Request(
        request.method,
        NOWHERE + quote(request.target.partition(b"?")[0], safe="/%"),
        headers=request.headers,
        content=request.body,
        extensions={"target": request.target, "fresh_connection": fresh},
    )
    response = transport.handle_request(sent)
    # Still encoded, unlike after read().
    assert isinstance(response.stream, httpx.SyncByteStream)
    body = b"" if request.method == "HEAD" else b"".join(response.stream)
    lines = [b"HTTP/1.1 %d X" % response.status_code]
    lines += [b"%s: %s" % pair for pair in response.headers.raw]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


# ---------------------------------------------------------------------- processes


PROCESSES = 3

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def _serve(path: Path, behaviour: Behaviour, bound: socket.socket, ready: object, threads: bool) -> None:
    with contextlib.closing(Store(path)) as store:
        ready.release()  # type: ignore[attr-defined]
        serve(Server(store, behaviour), bound, threads=threads)


@contextlib.contextmanager
def several_processes(
    folder: Path, behaviour: Behaviour, count: int = PROCESSES, *, threads: bool = False
) -> Iterator[dict[str, Any]]:
    """Serves from several processes that share a socket and a database file in `folder`; yields the tables of
    the target file. With `threads` each of them handles requests in threads.

    `behaviour` is pickled: its class has to be at the top level of a module.
    """
    path = folder / "reference.sqlite3"
    ready = _CONTEXT.Semaphore(0)
    with contextlib.closing(Store(path)) as store, listen("127.0.0.1", 0) as bound:
        seeded = seed(store)
        processes = [
            _CONTEXT.Process(target=_serve, args=(path, behaviour, bound, ready, threads), daemon=True)
            for _ in range(count)
        ]
        try:
            for process in processes:
                process.start()
            for _ in processes:
                assert ready.acquire(timeout=60), "a process of the server does not start"
            yield target_tables(seeded, base_url(bound, "127.0.0.1"))
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()
