"""`conformance serve`: the reference server as a sandbox to develop clients against."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance._files import written
from conformance.cli.main import UsageError
from conformance.reference.app import Server
from conformance.reference.messages import Request, Response
from conformance.reference.seed import seed, target_text
from conformance.reference.serving.listener import ListenError, base_url, listen, serve
from conformance.reference.store import Store, StoreError

DEFAULT_PORT = 8000
TARGET_FILE = "target.toml"

_LONGEST_TARGET = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Runs a complete, correct Financial Accounts API server. Prints the target file for it on standard "
        "output and one line for each request on standard error. Stops on SIGINT (Ctrl-C) and SIGTERM."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help="port to listen on, 0 for any free one (default: %(default)s)",
    )
    parser.add_argument(
        "--database",
        type=Path,
        metavar="FILE",
        help="keep organizations and everything else in this SQLite file across restarts "
        "(default: all is gone when the server stops)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="seed of the organizations: the same N, the same ids, keys and secrets",
    )
    parser.add_argument("--write-target", type=Path, metavar="FILE", help="write the target file there, too")
    parser.add_argument("--prefix", default="", help="serve under this path, such as /api")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes to serve with (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Serves until a signal; 0, or 1 when a worker process died. Raises UsageError."""
    prefix = _checked_prefix(options.prefix)
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port {options.port}: a port is a number from 0 to 65535.")
    if options.workers < 1:
        raise UsageError(f"--workers {options.workers}: at least one process must serve.")
    try:
        with contextlib.ExitStack() as stack:
            path = _database(options, stack)
            store = stack.enter_context(contextlib.closing(Store(path)))
            if options.seed is not None and store.meta("seeded") is not None:
                raise UsageError(
                    f"--seed {options.seed}: the organizations in {options.database} are there already and "
                    "stay as they are; leave --seed out, or name a new --database."
                )
            seeded = seed(store, options.seed)
            bound = stack.enter_context(listen(options.host, options.port))
            text = target_text(seeded, base_url(bound, options.host, prefix))
            _write_target(options.write_target, text)
            if options.workers == 1:
                server = Server(store, prefix=prefix, observer=log)
                serve(server, bound, lambda: _announce(text, options.write_target))
                return 0
            assert path is not None
            _announce(text, options.write_target)
            return _supervise(Worker(path, prefix), bound, options.workers)
    except (StoreError, ListenError) as error:
        raise UsageError(str(error)) from None


def _checked_prefix(prefix: str) -> str:
    prefix = prefix.rstrip("/")
    if prefix and not (
        prefix.startswith("/")
        and prefix.isascii()
        and prefix.isprintable()
        and not set(prefix) & set(' ?#%"<>\\^`{|}')
    ):
        raise UsageError(f"--prefix {prefix!r}: it should be a path such as /api.")
    if prefix.endswith("/v1"):
        raise UsageError("--prefix: the server adds /v1 itself; leave it out.")
    return prefix


def _database(options: argparse.Namespace, stack: contextlib.ExitStack) -> Path | None:
    """The database file; None keeps everything in memory, which several processes cannot share."""
    given: Path | None = options.database
    if given is not None or options.workers == 1:
        return given
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-"))
    return Path(folder) / "reference.sqlite3"


def _write_target(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        written(path, text, private=True)
    except OSError as error:
        raise UsageError(f"--write-target {path}: the file cannot be written ({error.strerror}).") from None


def _announce(text: str, written: Path | None) -> None:
    """Prints the target file; what is said besides is TOML comments, so the output is a target file."""
    if written is None:
        print(f"# Save this as {TARGET_FILE}, then run the suite against this server with")
    else:
        print("# The suite runs against this server with")
    print(f"#   pytest --pyargs conformance --target {written or TARGET_FILE}\n\n{text}", end="", flush=True)


# ------------------------------------------------------------------ the access log


def log(request: Request, operation: str, response: Response) -> None:
    """Prints one line for a request: method, target, status, operation, and why it was refused."""
    # A log that nobody reads any more is no reason to stop answering.
    with contextlib.suppress(OSError, ValueError):
        print(log_line(request, operation, response), file=sys.stderr, flush=True)


def log_line(request: Request, operation: str, response: Response) -> str:
    """The line of a request, free of control characters, headers and bodies."""
    target = request.target.decode("ascii", "backslashreplace")
    if len(target) > _LONGEST_TARGET:
        target = target[:_LONGEST_TARGET] + "..."
    words = [request.method, target, str(response.status), operation or "-", response.reason]
    return "".join(character for character in " ".join(words).rstrip() if character.isprintable())


# ------------------------------------------------------------------ several processes


@dataclass(frozen=True)
class Worker:
    """One of several processes that serve the same socket and database; it ends with its parent."""

    path: Path
    prefix: str

    def __call__(self, bound: socket.socket, parent: int) -> None:
        with contextlib.closing(Store(self.path)) as store:
            serve(Server(store, prefix=self.prefix, observer=log), bound, parent=parent)


@contextlib.contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _supervise(worker: Worker, bound: socket.socket, count: int) -> int:
    """Runs the workers until a signal comes or one of them dies."""
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=worker, args=(bound, os.getpid())) for _ in range(count)]
    died: Sequence[object] = []
    try:
        # Workers inherit this until they listen for signals themselves.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for process in processes:
            process.start()
        with _signals_as_interrupt():
            died = multiprocessing.connection.wait([process.sentinel for process in processes])
    except KeyboardInterrupt:
        pass
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        if process.pid is not None:
            process.join()
    if died:
        print("conformance serve: a worker process ended unexpectedly.", file=sys.stderr)
    return 1 if died else 0
