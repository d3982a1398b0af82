"""Reference servers in processes of their own, near and far."""

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
    """Answers `latency` seconds late, any number of requests at once, as a long way to a server does; with
    the status `unauthorized` in the place of 401."""

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
    """The embedded server; gives the tables of the target file that goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder))
        try:
            yield server.tables()
        finally:
            server.stop()


@contextlib.contextmanager
def target(latency: float = 0.0, unauthorized: int | None = None) -> Iterator[Path]:
    """The target file of a new server that answers so many seconds late, with a status in the place of
    401."""
    with tempfile.TemporaryDirectory() as folder:
        words = (str(latency), str(unauthorized or 401))
        with server_of("tests.benchmarks.servers", Path(folder) / "target.toml", *words) as path:
            yield path


def processor_seconds(target: Path) -> float:
    """Processor seconds so far of the server of a target file (Linux)."""
    process = target.with_suffix(".pid").read_text("utf-8")
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Serves until it is terminated."""
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
        # Whole, or not at all: somebody waits for it.
        os.replace(part, options.target)
        uvicorn.Server(configuration(application)).run(sockets=[bound])


if __name__ == "__main__":
    main()
