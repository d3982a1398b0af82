"""Reference servers in subprocesses, with and without latency."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from conformance.plugin.embedded_server import EmbeddedServer
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.listener import Application, Message, base_url, configuration, listen
from tests.support.running import server_of, write_target


class Measured(Application):
    """Delays answers by `latency` seconds, concurrently, like a distant server; sends the status
    `unauthorized` instead of 401."""

    latency = 0.0
    unauthorized = 401

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] == "http" and self.latency:
            await asyncio.sleep(self.latency)

        async def sent(message: Message) -> None:
            if message.get("status") == 401:
                message["status"] = self.unauthorized
            await send(message)

        await super().__call__(scope, receive, sent)


@contextlib.contextmanager
def near() -> Iterator[dict[str, Any]]:
    """Starts the embedded server; yields the tables of its target file."""
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder))
        try:
            yield server.tables()
        finally:
            server.stop()


@contextlib.contextmanager
def target(latency: float = 0.0, unauthorized: int | None = None) -> Iterator[Path]:
    """Starts a new server with this latency in seconds and status instead of 401; yields its target file."""
    with tempfile.TemporaryDirectory() as folder:
        words = (str(latency), str(unauthorized or 401))
        with server_of("tests.benchmarks.servers", Path(folder) / "target.toml", *words) as path:
            yield path


def processor_seconds(target: Path) -> float:
    """Returns the CPU seconds so far of the server of a target file (Linux)."""
    process = target.with_suffix(".pid").read_text("utf-8")
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Serves until terminated."""
    parser = argparse.ArgumentParser()
    parser.add_argument("latency", type=float)
    parser.add_argument("unauthorized", type=int)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    server, seeded = new_server()
    with listen("127.0.0.1", 0) as bound:
        application = Measured(server)
        application.latency, application.unauthorized = options.latency, options.unauthorized
        part = options.target.with_suffix(".part")
        write_target(part, target_tables(seeded, base_url(bound, "127.0.0.1")))
        options.target.with_suffix(".pid").write_text(str(os.getpid()), "utf-8")
        # Atomic, since the parent process polls for the file.
        os.replace(part, options.target)
        uvicorn.Server(configuration(application)).run(sockets=[bound])


if __name__ == "__main__":
    main()
