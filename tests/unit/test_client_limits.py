"""Rate limits, simultaneous requests, redirects and size limits of the client."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from conformance.wire import transport
from conformance.wire.budget import Budget, Retry
from conformance.wire.client import simultaneous
from conformance.wire.transport import GATE_TIMEOUT
from tests.support.callers import connect, list_accounts
from tests.support.report_samples import exchange
from tests.support.wire import OK, answering, wire


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
def test_rate_limits_are_waited_out_with_fresh_nonces(status: bytes) -> None:
    limited = b"HTTP/1.1 " + status + b"\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    with wire(answering(limited, limited, OK)) as server:
        exchange = connect(server, retry=Retry(seconds=1)).send(list_accounts())
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


def test_race_takes_all_its_turns_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[str, float]] = []
    monkeypatch.setattr(
        time, "sleep", lambda seconds: waits.append((threading.current_thread().name, round(seconds, 2)))
    )
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    with wire() as server:
        client = connect(server, budget=Budget(requests_per_second=2))
        client.race([list_accounts()] * 8)
        client.send(list_accounts())
    assert waits == [(threading.current_thread().name, wait) for wait in (3.5, 4.0)]


def test_race_that_would_go_beyond_the_end_is_withheld_whole() -> None:
    with wire() as server:
        budget = Budget(requests_per_second=1, end=time.time() + 5, over="it was late")
        exchanges = connect(server, budget=budget).race([list_accounts()] * 8)
    assert [exchange.error for exchange in exchanges] == ["it was late"] * 8
    assert not server.requests


@pytest.mark.parametrize(
    ("spans", "most"),
    [
        ([], 0),
        ([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], 1),
        ([(0.0, 3.0), (1.0, 1.0), (2.0, 1.0)], 2),
        ([(0.0, 3.0), (1.0, 1.0, 429), (2.0, 1.0, None)], 1),
    ],
)
def test_simultaneous_requests_are_counted(spans: list[tuple[float, float]], most: int) -> None:
    assert most == simultaneous(
        exchange(1, status=(*span, 200)[2], started=span[0], elapsed=span[1]) for span in spans
    )


def test_requests_of_a_race_have_connections_of_their_own() -> None:
    opened: list[int] = []

    def reply(connection: socket.socket, index: int) -> None:
        opened.append(id(connection))
        connection.sendall(OK)

    with wire(reply) as server:
        client = connect(server)
        client.send(list_accounts())
        client.race([list_accounts()] * 8)
    assert len(set(opened)) == 9


def test_race_goes_on_without_a_request_that_is_never_written() -> None:
    with wire() as server:
        client = connect(server)
        there = client.prepare(list_accounts())
        nowhere = list_accounts().but(headers=(("Bad\nname", "x"),))
        begin = time.monotonic()
        exchanges = client.race([nowhere, *[there.call] * 3])
    assert [exchange.status for exchange in exchanges] == [None, 200, 200, 200]
    assert time.monotonic() - begin < GATE_TIMEOUT


def test_gate_lets_go_of_those_that_wait_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "GATE_TIMEOUT", 0.05)
    barrier = threading.Barrier(2)
    with wire() as server:
        client = connect(server)
        request = client.prepare(list_accounts())
        request.gate = transport.Gate(barrier)
        exchange = client.transmit(request)
        again = client.transmit(request)
    assert (exchange.status, again.status, barrier.broken) == (200, 200, True)
    assert exchange.elapsed < 0.05 <= request.gate.held


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


@pytest.mark.parametrize(("status", "kept"), [(200, 5), (413, 5), (500, 19), (None, 19)])
def test_long_request_body_is_cut_unless_the_server_failed_at_it(status: int | None, kept: int) -> None:
    long = exchange(1, status=status)
    long.trim(5)
    assert len(long.request_body) == len(long.call.body or b"") == kept
