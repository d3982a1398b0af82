"""Rate limits are waited out, races are sent at once, redirects are not followed."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from conformance.wire.throttle import Pace
from tests.support.callers import connect, list_accounts
from tests.support.wire import OK, answering, wire


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
def test_rate_limits_are_waited_out_with_fresh_nonces(status: bytes) -> None:
    limited = b"HTTP/1.1 " + status + b"\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    with wire(answering(limited, limited, OK)) as server:
        exchange = connect(server, pace=Pace(budget=1)).send(list_accounts())
    assert (exchange.status, exchange.attempts) == (200, 3)
    assert len({request.values(b"x-nonce")[0] for request in server.requests}) == 3


def test_503_without_retry_after_is_an_answer() -> None:
    with wire(answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.attempts, len(server.requests)) == (503, 1, 1)


def test_racing_requests_are_all_there_before_the_first_answer() -> None:
    everybody = threading.Barrier(8)

    def reply(connection: socket.socket, index: int) -> None:
        everybody.wait(10)
        connection.sendall(OK)

    with wire(reply) as server:
        exchanges = connect(server).race([list_accounts(f"/v1/{number}") for number in range(8)])
    assert [exchange.status for exchange in exchanges] == [200] * 8
    assert [exchange.target for exchange in exchanges] == [f"/v1/{number}" for number in range(8)]


def test_redirects_are_not_followed() -> None:
    moved = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/elsewhere\r\nContent-Length: 0\r\n\r\n"
    with wire(answering(moved)) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, len(server.requests)) == (307, 1)


def test_exchange_records_what_was_sent_and_answered() -> None:
    answer = b'HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 9\r\n\r\n{"a":"x"}'
    with wire(answering(answer)) as server:
        exchange = connect(server).send(list_accounts(), "purpose")
    assert json.loads(exchange.response_body) == exchange.document == {"a": "x"}
    assert [value for name, value in exchange.response_headers if name == "X-A"] == ["1", "2"]
    sent = {name.encode(): value.encode("latin-1") for name, value in exchange.request_headers}
    assert sent[b"X-Signature"] == server.last.values(b"x-signature")[0]
    assert list(sent) == list(server.last.names())
