"""`conformance serve` and the embedded server as processes, over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conformance.cli.main import main
from conformance.cli.serve import log_line
from conformance.reference.core_messages import Request, Response
from conformance.target.file import Organization, load
from conformance.wire.client import Client
from conformance.wire.messages import Call, Exchange
from conformance.wire.transport import Transport
from tests.support.running import PATIENCE, sandbox

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the processes are ended by POSIX signals")


@dataclass
class Running:
    """A server process and its target."""

    process: subprocess.Popen[str]
    target: dict[str, Any]

    @property
    def accounts(self) -> str:
        return f"/v1/customers/{self.target['primary']['customer_id']}/accounts"

    def client(self) -> Client:
        organization = Organization(name="primary", **self.target["primary"])
        return Client(self.target["base_url"], organization, Transport())

    def stop(self, number: int = signal.SIGTERM) -> str:
        """Sends a signal to the process; returns its standard error."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=PATIENCE)[1]


@contextlib.contextmanager
def serving(*options: str) -> Iterator[Running]:
    """Starts `conformance serve` and waits until it accepts requests."""
    with sandbox(*options, errors=subprocess.PIPE) as (process, target):
        yield Running(process, target)


def _create(accounts: str) -> Call:
    return Call("createAccount", "POST", accounts, b'{"name": "x"}', str(uuid.uuid4()))


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --------------------------------------------------------------------------- the command


def test_serve_prints_its_target_and_logs_requests(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    with serving("--prefix", "/api/", "--seed", "5", "--write-target", str(file)) as running:
        assert tomllib.loads(file.read_text()) == running.target
        assert load(file, {}).primary.funded_account_id
        assert file.stat().st_mode & 0o077 == 0
        assert running.target["base_url"].endswith("/api")
        client = running.client()
        assert client.send(_create(running.accounts)).status == 201
        assert client.send(_create(running.accounts).with_json({"name": 5})).status == 422
        assert client.send(_create(running.accounts).signed(secret="x")).status == 401
        log = running.stop(signal.SIGINT)
        assert running.process.returncode == 0
    path = f"POST /api{running.accounts}"
    assert log.splitlines() == [
        f"listening on {running.target['base_url']}",
        f"{path} 201 createAccount",
        f"{path} 422 createAccount wrong_type (name)",
        f"{path} 401 createAccount invalid_signature",
    ]
    with serving("--seed", "5") as again:
        assert again.target["primary"] == running.target["primary"]


def test_log_lines_hold_no_control_characters() -> None:
    request = Request("GET", b"/a\x1b[2J\r\n\xff?" + b"y" * 5000, [(b"X-API-Key", b"key")], b"body")
    line = log_line(request, "", Response(404, reason="unknown_path"))
    assert line.startswith("GET /a[2J\\xff?yyy") and line.endswith("... 404 - unknown_path")
    assert line.isprintable() and len(line) < 600


def test_database_keeps_everything_across_restarts_and_kill(tmp_path: Path) -> None:
    database = str(tmp_path / "sandbox.sqlite3")
    acknowledged: list[Exchange] = []
    with serving("--database", database) as first:
        client = first.client()
        killed = threading.Event()

        def create() -> None:
            while not killed.is_set():
                exchange = client.transmit(client.prepare(_create(first.accounts)))
                if exchange.succeeded:
                    acknowledged.append(exchange)

        with ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(create)
            _wait_for(lambda: len(acknowledged) > 100)
            first.stop(signal.SIGKILL)
            killed.set()
    assert first.process.returncode == -signal.SIGKILL
    with serving("--database", database) as second:
        assert second.target["primary"] == first.target["primary"]
        assert Path(database).stat().st_mode & 0o077 == 0
        client = second.client()
        pages = client.send(Call("listAccounts", "GET", second.accounts + "?size=100")).get("pages")
        listed = [
            client.send(Call("listAccounts", "GET", f"{second.accounts}?size=100&page={page}")).document
            for page in range(1, pages + 1)
        ]
        there = {item["id"] for page in listed for item in page["items"]}
        assert {exchange.get("id") for exchange in acknowledged} <= there
        last = acknowledged[-1]
        replay = client.send(last.call)
        assert (replay.status, replay.response_body) == (201, last.response_body)
        reused = client.send(last.call.signed(nonce=last.nonce))
        assert (reused.status, reused.error_code) == (401, "nonce_replay")
        second.stop()
    assert second.process.returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["sandbox.sqlite3"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "70000"], "0 to 65535"),
        (["--port", "http"], "0 to 65535"),
        (["--prefix", "api"], "a path such as /api"),
        (["--prefix", "/api/v1"], "without /v1"),
        (["--prefix", "/a b"], "a path such as /api"),
        (["--host", "no.such.host.invalid"], "cannot be listened on"),
        (["--host", "x" * 300], "cannot be listened on"),
        (["--database", "/no/such/folder/x"], "/no/such/folder/x: the database cannot be used"),
        (["--database", "."], "the database cannot be used"),
        (["--database", __file__], "not a database"),
        (["--port", "0", "--write-target", "/no/such/folder/x"], "cannot be written"),
    ],
)
def test_wrong_usage_is_one_clear_sentence(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status: str | int | None
    try:
        status = main(["serve", *options])
    except SystemExit as exit:
        status = exit.code
    error = capfd.readouterr().err
    assert status == 2
    assert said in error.splitlines()[-1] and error.splitlines()[-1].startswith("conformance serve: ")
    assert "Traceback" not in error


def test_a_port_in_use_and_a_foreign_database_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "Address already in use" in capfd.readouterr().err
    foreign = tmp_path / "foreign.sqlite3"
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE precious (x)")
    before = foreign.read_bytes()
    assert main(["serve", "--database", str(foreign)]) == 2
    assert foreign.read_bytes() == before
    assert "not one of this server's" in capfd.readouterr().err


def test_the_command_without_a_subcommand_says_which_there_are(capfd: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["nonsense"]):
        with pytest.raises(SystemExit) as exit:
            main(words)
        assert exit.value.code == 2
    assert "serve" in capfd.readouterr().err


# --------------------------------------------------------------------------- the embedded server


EMBEDDED = ["-m", "conformance.reference.serving.child_process"]

#: Starts the embedded server, and ends when it is told to.
PARENT = """
import os, subprocess, sys
subprocess.Popen([sys.executable, *sys.argv[1:], str(os.getpid())])
input()
"""


def test_embedded_ends_with_its_parent() -> None:
    command = [sys.executable, "-c", PARENT, *EMBEDDED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        address = urlsplit(json.loads(parent.stdout.readline())["base_url"])
        # Longer than uvicorn takes to look for the parent again.
        time.sleep(1.2)
        socket.create_connection((address.hostname, address.port), timeout=PATIENCE).close()
        parent.communicate(b"\n", timeout=PATIENCE)

    def ended() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex((address.hostname, address.port)) != 0

    _wait_for(ended)
