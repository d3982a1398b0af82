"""Client and suite against servers that misbehave or are gone."""

from __future__ import annotations

import socket

import httpx
import pytest

from conformance.judge.verdicts import Inconclusive
from conformance.wire import budget
from conformance.wire.messages import Call
from conformance.world.sender import LOST_AFTER_TIMEOUTS
from tests.support.callers import connect, list_accounts, run_at
from tests.support.wire import OK, answering, wire

# --------------------------------------------------------------------------- unusual answers


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 304 Not Modified\r\n", b"HTTP/1.1 204 No Content\r\n", b"HTTP/1.1 200 OK\r\n"]
)
def test_bytes_beyond_an_answer_do_not_reach_the_next_answer(start: bytes) -> None:
    too_much = start + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}and more"

    with wire(answering(too_much, OK)) as server:
        client = connect(server)
        first, second = client.send(list_accounts()), client.send(list_accounts())
    assert first.status == int(start.split()[1])
    assert (second.status, second.attempts, second.error) == (200, 1, None)
    assert len(server.requests) == 2


# --------------------------------------------------------------------------- lost connections


def sent(connection: socket.socket) -> bool:
    """Answers; returns True to keep the connection open."""
    connection.sendall(OK)
    return True


def dropped_once(connection: socket.socket, index: int) -> bool:
    return index > 0 and sent(connection)


def test_lost_request_is_sent_again_with_another_nonce_and_the_same_key() -> None:
    with wire(dropped_once) as server:
        run = run_at(server.url)
        exchange = run.send(run.client(), list_accounts().but(idempotency_key="key"), "")
    assert (exchange.status, exchange.attempts, len(server.requests)) == (200, 1, 2)
    first, second = server.requests
    assert first.values(b"x-nonce") != second.values(b"x-nonce")
    assert exchange.nonce == second.values(b"x-nonce")[0].decode()
    assert first.values(b"idempotency-key") == second.values(b"idempotency-key")
    lost, told = run.record.values()
    assert (lost.repeated, lost.nonce, lost.status) == (True, first.values(b"x-nonce")[0].decode(), None)
    assert (told.repeated, told.begun, run.sent) == (False, lost.started, 2)
    assert not run.invariants.tallies["http.no-server-error", "listAccounts"].broken
    assert not run.invariants.tallies["http.lost-requests", "listAccounts"].broken


@pytest.mark.parametrize("answer", [b"", b"once more"], ids=["closed", "late"])
def test_lost_requests_of_a_race_are_sent_again(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "EXCHANGE_TIMEOUT", 0.3)

    def reply(connection: socket.socket, index: int) -> bool:
        if index == 2:
            return bool(answer)
        return sent(connection)

    with wire(reply) as server:
        run = run_at(server.url)
        nonce = "0123456789abcdef" * 2
        exchanges = run.client().race([list_accounts().signed(nonce=nonce)] * 4)
    assert [exchange.status for exchange in exchanges] == [200] * 4
    assert [request.values(b"x-nonce") for request in server.requests] == [[nonce.encode()]] * 5
    assert [exchange.repeated for exchange in run.record.values()].count(True) == 1


@pytest.mark.parametrize(
    ("answer", "error", "sent"),
    [
        (b"", "RemoteProtocolError", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Len", "RemoteProtocolError", 1),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", "RemoteProtocolError", 1),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "RemoteProtocolError", 1),
        (b"HTTP/1.1 -1 \xff\r\n\r\n", "RemoteProtocolError", 1),
    ],
    ids=["nothing", "half a head", "half a body", "another protocol", "no status"],
)
def test_broken_answers_break_the_rule_on_server_errors(answer: bytes, error: str, sent: int) -> None:
    """Only a request without a single byte of answer is sent once more."""

    def reply(connection: socket.socket, index: int) -> bool:
        connection.sendall(answer)
        return False

    with wire(reply) as server:
        run = run_at(server.url)
        exchange = run.send(run.client(), list_accounts(), "")
    assert (exchange.error or "").startswith(error)
    assert len(server.requests) == sent
    tally = run.invariants.tallies["http.no-server-error", "listAccounts"]
    assert (tally.judged, tally.broken) == (1, 1)


class Scripted(httpx.BaseTransport):
    """Raises or answers one step for each transmission, repeats the last, and records the timeouts."""

    def __init__(self, *script: Exception | httpx.Response) -> None:
        self.script = list(script)
        self.timeouts: list[float] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.timeouts.append(request.extensions["timeout"]["read"])
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, Exception):
            raise step
        return step


def gone() -> Exception:
    return httpx.ConnectError("refused")


def test_server_that_comes_back_is_not_given_up() -> None:
    answered = httpx.Response(200, json={})
    script: list[Exception | httpx.Response] = [
        *(gone() for _ in range(4)),
        answered,
        *(gone() for _ in range(4)),
    ]
    run = run_at("http://test", transport=Scripted(*script, httpx.Response(200, json={})))
    for _ in range(6):
        run.send(run.client(), list_accounts(), "")
    assert not run.lost


def test_hanging_server_gets_less_time_and_is_given_up() -> None:
    transport = Scripted(httpx.ReadTimeout("late"))
    run = run_at("http://test", transport=transport)
    for _ in range(LOST_AFTER_TIMEOUTS):
        run.send(run.client(), list_accounts(), "")
    assert transport.timeouts == [30.0] * 5 + [5.0] * (2 * LOST_AFTER_TIMEOUTS - 5)
    assert run.invariants.tallies["http.no-server-error", "listAccounts"].broken == LOST_AFTER_TIMEOUTS
    with pytest.raises(Inconclusive, match="did not answer in time any more"):
        run.send(run.client(), list_accounts(), "")


def test_one_answer_in_time_keeps_a_slow_server() -> None:
    late = [httpx.ReadTimeout("late")] * (2 * LOST_AFTER_TIMEOUTS - 2)
    run = run_at("http://test", transport=Scripted(*late, httpx.Response(200, json={}), *late))
    for _ in range(LOST_AFTER_TIMEOUTS):
        run.send(run.client(), list_accounts(), "")
    assert not run.lost


@pytest.mark.parametrize(
    "call",
    [
        list_accounts().but(headers=(("X-Extra", "a\nb"),)),
        list_accounts("/v1/a b"),
        list_accounts("/v1/\n"),
        list_accounts("/v1/\ud800"),
    ],
    ids=["header", "space", "line feed", "surrogate"],
)
def test_an_unsendable_request_breaks_no_rule(call: Call) -> None:
    with wire() as server:
        run = run_at(server.url)
        exchange = run.send(run.client(), call, "")
    assert exchange.unsent
    assert not server.requests
    assert not run.invariants.tallies
    assert not run.lost
