"""Requests a second of the sandbox, with and without --judge."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

from conformance.contract import signing
from conformance.target.file import Target, load
from tests.support.running import ROOT, environment

from .table import Row, in_turns, ratio

REQUESTS = 3000


def seconds(*options: str) -> float:
    """The time of a bare client for REQUESTS on one connection, every second one a create."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "target.toml"
        command = [
            sys.executable,
            "-m",
            "conformance.cli",
            "serve",
            "--port",
            "0",
            "--write-target",
            str(path),
        ]
        command += [*options, *(["--report-dir", folder] if options else [])]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=quiet)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            return _sent(load(path, {}))
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _sent(target: Target) -> float:
    connection = http.client.HTTPConnection(urlsplit(target.base_url).netloc, timeout=30)
    primary = target.primary
    accounts = f"/v1/customers/{primary.customer_id}/accounts"
    begin = time.perf_counter()
    for number in range(REQUESTS):
        method = "POST" if number % 2 else "GET"
        path = accounts if number % 2 else f"{accounts}/{primary.funded_account_id}/balances"
        body = json.dumps({"name": f"Account {number}"}).encode() if number % 2 else b""
        headers = signing.signed_headers(primary.api_key, primary.secret, method, path.encode(), body)
        if body:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, answer.status
    return time.perf_counter() - begin


def report(rounds: int) -> Row:
    """The ratio of a bare client's times."""
    judged, plain = in_turns(rounds, lambda: seconds("--judge"), seconds)
    return Row(
        "requests to the sandbox with --judge over those without",
        ratio(judged, plain),
        "<= 1.3",
        f"{1000 * min(judged) / REQUESTS:.2f} to {1000 * min(plain) / REQUESTS:.2f} ms a request",
    )
