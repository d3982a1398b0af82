"""A server of several processes over one SQLite database file, as a production server behind one port."""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.reference.app import Server
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import seed, target_tables
from conformance.reference.serving.listener import base_url, listen, serve
from conformance.reference.store import Store

PROCESSES = 3

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def _serve(path: Path, behaviour: Behaviour, bound: socket.socket, ready: object) -> None:
    with contextlib.closing(Store(path)) as store:
        serve(Server(store, behaviour), bound, ready.release)  # type: ignore[attr-defined]


@contextlib.contextmanager
def several_processes(
    folder: Path, behaviour: Behaviour | None = None, count: int = PROCESSES
) -> Iterator[dict[str, Any]]:
    """Serves from processes that share a socket and a database file in `folder`; gives the tables of the
    target file.

    `behaviour` is sent to each process, so that its class stands at the top of a module.
    """
    path = folder / "reference.sqlite3"
    ready = _CONTEXT.Semaphore(0)
    with contextlib.closing(Store(path)) as store, listen("127.0.0.1", 0) as bound:
        seeded = seed(store)
        processes = [
            _CONTEXT.Process(target=_serve, args=(path, behaviour or Behaviour(), bound, ready), daemon=True)
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
