"""The reference server beside Prism, which mocks the bundled document: signed GETs a second."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from conformance.contract import signing
from conformance.contract.rules import SPEC
from conformance.target.file import build
from conformance.world.run_context import RunContext

from . import servers
from .table import Row, in_turns, ratio

COMMAND = Path(__file__).parents[1] / "ecosystem" / "node_modules" / ".bin" / "prism"

WHAT, AIM = "requests a second of the reference server over Prism's", ">= 3"

#: Requests of one measurement.
REQUESTS = 300


@contextlib.contextmanager
def mocked() -> Iterator[str]:
    """The address of a Prism."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    document = str(SPEC / "openapi.bundled.json")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(COMMAND), "mock", "-p", str(port), document], stdout=output, stderr=output
        )
        try:
            url, end = f"http://127.0.0.1:{port}", time.monotonic() + 60
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("Prism did not start")
                time.sleep(0.1)
            yield url
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        httpx.get(url)
    except httpx.HTTPError:
        return False
    return True


def _seconds(base_url: str, target: str, key: str, secret: str) -> float:
    with httpx.Client(timeout=30) as client:
        begin = time.perf_counter()
        for _ in range(REQUESTS):
            headers = signing.signed_headers(key, secret, "GET", target.encode())
            client.get(base_url + target, headers=headers).raise_for_status()
        return time.perf_counter() - begin


def report(rounds: int) -> Row:
    """The ratio; none where Prism is not installed."""
    if not COMMAND.exists():
        return Row(
            WHAT, None, AIM, "not measured: npm ci --ignore-scripts --prefix tests/ecosystem installs Prism"
        )
    with servers.near() as tables, mocked() as mock:
        target = build(tables, "benchmark")
        call = RunContext(target).account().call("listWallets")
        key, secret = target.primary.api_key, target.primary.secret
        theirs, ours = in_turns(
            rounds,
            lambda: _seconds(mock, call.target, key, secret),
            lambda: _seconds(target.base_url, call.target, key, secret),
        )
    figures = f"{REQUESTS / min(ours):,.0f} to {REQUESTS / min(theirs):,.0f} GETs a second, one client"
    return Row(WHAT, ratio(theirs, ours), AIM, figures)
