"""Rate limits and simultaneous requests of the client."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from conformance.wire.budget import Budget, Retry
from conformance.wire.transport import GATE_TIMEOUT
from tests.support.callers import connect, list_accounts
from tests.support.wire import OK, answering, wire


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
def test_rate_limits_are_waited_out_with_fresh_nonces(status: bytes) -> None:
    limited = b"HTTP/1.1 " + status + b"\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    with wire(answering(limited, limited, OK)) as server:
        exchange = connect(server, retry=Retry(seconds=1)).send(list_accounts())
    assert (exchange.status, exchange.attempts) == (200, 3)
    assert len({request.values(b"x-nonce")[0] for request in server.requests}) == 3


def test_racing_requests_are_all_there_before_the_first_answer() -> None:
    everybody = threading.Barrier(8)

    def reply(connection: socket.socket, index: int) -> None:
        everybody.wait(10)
        connection.sendall(OK)

    with wire(reply) as server:
        exchanges = connect(server).race([list_accounts(f"/v1/{number}") for number in range(8)])
    assert [exchange.status for exchange in exchanges] == [200] * 8
    assert [exchange.target for exchange in exchanges] == [f"/v1/{number}" for number in range(8)]


def test_race_that_would_go_beyond_the_end_is_withheld_whole() -> None:
    with wire() as server:
        budget = Budget(requests_per_second=1, end=time.time() + 5, over="it was late")
        exchanges = connect(server, budget=budget).race([list_accounts()] * 8)
    assert [exchange.error for exchange in exchanges] == ["it was late"] * 8
    assert not server.requests


def test_race_goes_on_without_a_request_that_is_never_written() -> None:
    with wire() as server:
        client = connect(server)
        there = client.prepare(list_accounts())
        nowhere = list_accounts().but(headers=(("Bad\nname", "x"),))
        begin = time.monotonic()
        exchanges = client.race([nowhere, *[there.call] * 3])
    assert [exchange.status for exchange in exchanges] == [None, 200, 200, 200]
    assert time.monotonic() - begin < GATE_TIMEOUT
