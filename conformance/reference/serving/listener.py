"""Serving over HTTP with uvicorn, on a socket that is bound first: its address is known, errors are clear."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from conformance._files import InputError
from conformance.reference.app import Server
from conformance.reference.serving.asgi import Application, Protocol

BACKLOG = 1024

#: Seconds between two looks at whether the parent process still runs.
POLL_INTERVAL = 0.5


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose one. Raises InputError."""
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
    """The base URL at which a listening socket is reached from this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{bound.getsockname()[1]}{prefix.rstrip('/')}"


class _Listener(uvicorn.Server):
    """A uvicorn server that says when it accepts requests and lets its caller clean up after a signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own raises the signal anew at the end, which kills the process before it can clean up.
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
    threads: bool = False,
) -> None:
    """Serves on a listening socket until SIGINT, SIGTERM or, where given, the end of process `parent`."""
    listener = _Listener(configuration(Application(server, threads=threads)), ready)
    finished = threading.Event()

    def watch(process: int) -> None:
        # An own parent that ended shows at once, even while nobody has waited for it yet.
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
    """Serves from a thread of this process while the context lasts, on a free port or on a listening socket;
    gives the base URL."""
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
    """Configuration of uvicorn: target and headers as sent, no header of its own."""
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
    """True if a process exists; always True where asking could harm it (not on POSIX)."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
