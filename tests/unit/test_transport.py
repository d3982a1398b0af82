"""The transport reads what most HTTP clients read, within bounds, and writes nothing that is not HTTP."""

from __future__ import annotations

import socket

import httpx
import pytest

from conformance.wire.transport import MAX_HEAD, new_transport
from tests.support.callers import connect, list_accounts
from tests.support.wire import OK, answering, wire

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"1\r\n{\r\n1;extension\r\n}\r\n0\r\nX-Trailer: a\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK,
        OK + b"HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["line feeds", "no reason", "folded", "length and chunks", "chunks", "early hints", "two answers"],
)
def test_unusual_answers_are_read(answer: bytes) -> None:
    with wire(answering(answer)) as server:
        client = connect(server)
        exchanges = [client.send(list_accounts()) for _ in range(2)]
    assert [(exchange.status, exchange.document, exchange.error) for exchange in exchanges] == [
        (200, {}, None)
    ] * 2
    assert not any(exchange.header("link") or exchange.header("x-trailer") for exchange in exchanges)


@pytest.mark.parametrize(
    ("answer", "status"), [(b"HTTP/1.0 200 OK\r\n\r\n{}", 200), (b"HTTP/1.0 ", None)], ids=["whole", "half"]
)
def test_end_of_connection_ends_a_body_but_no_headers(answer: bytes, status: int | None) -> None:
    def reply(connection: socket.socket, index: int) -> bool:
        connection.sendall(answer)
        return False

    with wire(reply) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.error is None) == (status, status is not None)


@pytest.mark.parametrize(
    "endless",
    [
        b"HTTP/1.1 200 OK\r\nX: ",
        CHUNKED + b"0\r\nX: ",
        CHUNKED + b"1;x=",
    ],
    ids=["header", "trailer", "chunk extension"],
)
def test_answers_without_end_are_given_up(endless: bytes) -> None:
    def reply(connection: socket.socket, index: int) -> None:
        connection.sendall(endless)
        for _ in range(MAX_HEAD // 1000):
            connection.sendall(b"x" * 2000)

    with wire(reply) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.error) == (
        None,
        f"RemoteProtocolError: more than {MAX_HEAD:,} bytes of headers",
    )


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "a"), ("Content-Length", "3")],
        [("Host", "a"), ("Host", "b")],
        [("Host", "a"), ("X Y", "b")],
        [("Host", "a"), ("X", " b")],
        [("Host", "a"), ("Transfer-Encoding", "gzip")],
    ],
    ids=["length", "hosts", "name", "value", "coding"],
)
def test_request_that_is_no_http_is_not_sent(headers: list[tuple[str, str]]) -> None:
    with wire() as server:
        request = httpx.Request("POST", server.url, content=b"{}")
        request.headers = httpx.Headers(headers)
        with pytest.raises(httpx.LocalProtocolError):
            new_transport().handle_request(request)
    assert not server.requests
