"""Whatever schemathesis generates is signed over the bytes that reach the server."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import pytest
import requests

from conformance.contract import signing
from conformance.wire.signers import RequestsSigner

SECRET = "secret_for_tests"


class RawServer:
    """Checks signatures over the bytes of the socket, without any HTTP library in between."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        # Whatever goes wrong closes the connection, so that no client waits for an answer for ever.
        with connection, connection.makefile("rwb") as stream:
            self._answer(cast(BinaryIO, stream))

    def _answer(self, stream: BinaryIO) -> None:
        while line := stream.readline():
            method, target, _ = line.rstrip(b"\r\n").split(b" ")
            headers = {}
            while (header := stream.readline()) not in (b"\r\n", b""):
                name, _, value = header.partition(b":")
                headers[name.lower()] = value.strip()
            if headers.get(b"transfer-encoding") == b"chunked":
                body = b"".join(_chunks(stream))
            else:
                body = stream.read(int(headers.get(b"content-length", b"0")))
            string = method + target + headers[b"x-timestamp"] + headers[b"x-nonce"] + body
            expected = hmac.new(SECRET.encode(), string, "sha256").hexdigest().encode()
            status = b"200 OK" if expected == headers[b"x-signature"] else b"401 Unauthorized"
            stream.write(
                b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"
            )
            stream.flush()


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        stream.readline()
    stream.readline()


@pytest.fixture
def server() -> Iterator[RawServer]:
    server = RawServer()
    yield server
    server.listener.close()


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/things/{name}": {
            "post": {
                "parameters": [
                    {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "q", "in": "query", "schema": {"type": "string"}},
                    {
                        "name": "several",
                        "in": "query",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {}},
                        "application/x-www-form-urlencoded": {
                            "schema": {"type": "object", "properties": {"a": {"type": "string"}}}
                        },
                        "application/octet-stream": {"schema": {"type": "string"}},
                    }
                },
                "responses": {"2XX": {"description": "d"}},
            }
        }
    },
}


def test_generated_requests_are_accepted(server: RawServer) -> None:
    import hypothesis
    import schemathesis
    from hypothesis import HealthCheck, Phase
    from schemathesis import GenerationMode
    from schemathesis.core.result import Ok

    schema = schemathesis.openapi.from_dict(
        DOCUMENT, config=schemathesis.Config.from_dict({"generation": {"allow-x00": True}})
    )
    found = next(iter(schema.get_all_operations()))
    assert isinstance(found, Ok)
    operation = found.ok()
    signer, session, statuses = RequestsSigner("key", SECRET), requests.Session(), []
    session.trust_env = False
    base = f"http://127.0.0.1:{server.port}"
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @hypothesis.seed(1)
        @hypothesis.settings(
            max_examples=60,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def send(case: schemathesis.Case[Any]) -> None:
            statuses.append(
                session.request(
                    **case.as_transport_kwargs(base_url=base), auth=signer, allow_redirects=False, timeout=10
                ).status_code
            )

        send()
    assert len(statuses) > 80 and set(statuses) == {200}


@pytest.mark.parametrize(
    "url",
    [
        "/%zz",
        "/a%2fb?x=%20&x=&y",
        "//double//slash",
        "/a/../b",
        "/\u00e9?\u00fc=\u4e2d",
        "/[x]|y?a=[1]",
        "/p?",
    ],
)
@pytest.mark.parametrize("body", [None, b"", b"\xff\x00", "\u00e9\u4e2d", {"form": "\u00e9"}])
def test_odd_requests_are_accepted(server: RawServer, url: str, body: Any) -> None:
    answer = requests.post(
        f"http://127.0.0.1:{server.port}{url}", data=body, auth=RequestsSigner("key", SECRET), timeout=10
    )
    assert answer.status_code == 200


def test_repetition_has_a_nonce_of_its_own() -> None:
    prepared = requests.Request("GET", "http://h/x").prepare()
    signer = RequestsSigner("key", SECRET)
    first = dict(signer(prepared).headers)
    assert first[signing.NONCE] != signer(prepared).headers[signing.NONCE]


def test_streamed_body_cannot_be_signed() -> None:
    with pytest.raises(TypeError, match="streamed"):
        requests.Request(
            "POST", "http://h/x", data=iter([b"a"]), auth=RequestsSigner("key", SECRET)
        ).prepare()


def test_secret_is_not_shown() -> None:
    assert SECRET not in repr(RequestsSigner("key", SECRET))
