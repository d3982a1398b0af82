"""`conformance serve`: the reference server as a sandbox to develop clients against.

Runs a complete, correct Financial Accounts API server. Prints the target file for it on standard output and
one line for each request on standard error. Stops on SIGINT (Ctrl-C) and SIGTERM.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
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


def run(options: argparse.Namespace) -> int:
    """Serves until a signal. Raises UsageError."""
    prefix = _checked_prefix(options.prefix)
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port {options.port}: a port is a number from 0 to 65535.")
    try:
        with contextlib.ExitStack() as stack:
            store = stack.enter_context(contextlib.closing(Store(options.database)))
            if options.seed is not None and store.meta("seeded") is not None:
                raise UsageError(
                    f"--seed {options.seed}: the organizations in {options.database} are there already and "
                    "stay as they are; leave --seed out, or name a new --database."
                )
            seeded = seed(store, options.seed)
            bound = stack.enter_context(listen(options.host, options.port))
            url = base_url(bound, options.host, prefix)
            text = target_text(seeded, url)
            _write_target(options.write_target, text)
            server = Server(store, prefix=prefix, observer=log)
            serve(server, bound, lambda: _announce(text, options.write_target, url))
            return 0
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


def _write_target(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        written(path, text, private=True)
    except OSError as error:
        raise UsageError(f"--write-target {path}: the file cannot be written ({error.strerror}).") from None


def _announce(text: str, written: Path | None, url: str) -> None:
    """Prints the target file, with hints as TOML comments, and the address to standard error."""
    if written is None:
        print(f"# Save this as {TARGET_FILE}, then run the suite against this server with")
    else:
        print("# The suite runs against this server with")
    print(f"#   pytest --pyargs conformance --target {written or TARGET_FILE}\n\n{text}", end="", flush=True)
    print(f"listening on {url}", file=sys.stderr, flush=True)


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
