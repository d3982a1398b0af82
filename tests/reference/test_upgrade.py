"""Requests that ask for another protocol, as Java's HttpClient sends at first, are answered in HTTP/1.1."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pytest

from conformance.contract import signing
from conformance.reference.seed import Seeded, new_server
from conformance.reference.serving.listener import served

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"

BODY = json.dumps({"name": "x" * 200}).encode()


@contextlib.contextmanager
def connected() -> Iterator[tuple[socket.socket, BinaryIO, Seeded]]:
    """A connection to a new server, what it answers there, and what was seeded."""
    server, seeded = new_server()
    with served(server) as url:
        address = urlsplit(url)
        with (
            socket.create_connection((address.hostname, address.port), timeout=10) as connection,
            connection.makefile("rb") as answers,
        ):
            yield connection, answers, seeded


def signed(seeded: Seeded, method: str, body: bytes = b"", more: bytes = b"") -> tuple[bytes, bytes]:
    """Head and body of a request for the accounts of the customer."""
    own = seeded.primary
    target = f"/v1/customers/{own.customer_id}/accounts"
    headers = signing.signed_headers(own.api_key, own.secret, method, target.encode(), body)
    headers |= {"Host": "x", "Idempotency-Key": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}
    if b"chunked" not in more:
        headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    return f"{method} {target} HTTP/1.1\r\n".encode() + lines + more + b"\r\n", body


def answered(answers: BinaryIO) -> tuple[int, Any]:
    """Status and document of the next answer of a connection."""
    status = int(answers.readline().split()[1])
    length = 0
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return status, json.loads(answers.read(length))


@pytest.mark.parametrize("size", [1, 7, 100, 100_000], ids=lambda size: f"{size} at once")
def test_the_body_arrives_however_the_request_is_cut(size: int) -> None:
    with connected() as (connection, answers, seeded):
        whole = b"".join(signed(seeded, "POST", BODY, H2C))
        for at in range(0, len(whole), size):
            connection.sendall(whole[at : at + size])
        status, document = answered(answers)
    assert status < 300
    assert document["name"] == "x" * 200


def test_a_body_in_chunks_arrives() -> None:
    with connected() as (connection, answers, seeded):
        head, body = signed(seeded, "POST", BODY, H2C + b"Transfer-Encoding: chunked\r\n")
        connection.sendall(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        status, document = answered(answers)
    assert status < 300
    assert document["name"] == "x" * 200


def test_the_connection_goes_on_with_several_requests_at_once() -> None:
    with connected() as (connection, answers, seeded):
        for _ in range(2):
            connection.sendall(b"".join([*signed(seeded, "GET", b"", H2C), *signed(seeded, "GET")]))
            for _ in range(2):
                status, document = answered(answers)
                assert (status, document["total"]) == (200, 1)


def test_a_tunnel_is_refused() -> None:
    with connected() as (connection, answers, _):
        connection.sendall(b"CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n")
        status, _ = answered(answers)
    assert status == 400
