"""Whatever schemathesis generates is signed over the bytes that reach the server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from conformance.contract import signing
from conformance.wire.signers import RequestsSigner
from tests.support.wire import OK, wire

SECRET = "secret_for_tests"


@pytest.fixture
def url() -> Iterator[str]:
    """A server that answers 200 where the signature is that of the bytes on the socket, else 401."""

    def reply(connection: socket.socket, index: int) -> None:
        right = server.requests[index].signed_by(SECRET.encode())
        connection.sendall(OK if right else OK.replace(b"200 OK", b"401 Unauthorized"))

    with wire(reply) as server:
        yield server.url


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


def test_generated_requests_are_accepted(url: str) -> None:
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
                    **case.as_transport_kwargs(base_url=url), auth=signer, allow_redirects=False, timeout=10
                ).status_code
            )

        send()
    assert len(statuses) > 80 and set(statuses) == {200}


@pytest.mark.parametrize(
    "target",
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
def test_odd_requests_are_accepted(url: str, target: str, body: Any) -> None:
    answer = requests.post(f"{url}{target}", data=body, auth=RequestsSigner("key", SECRET), timeout=10)
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
