"""Client and suite against servers that misbehave or are gone."""

from __future__ import annotations

import socket
import threading

import httpx
import pytest

from conformance.judge.verdicts import Inconclusive
from conformance.wire import budget
from conformance.wire.messages import Call, HangUp
from conformance.world.calls import call
from conformance.world.sender import LOST_AFTER_TIMEOUTS
from tests.support.callers import list_accounts, run_at
from tests.support.wire import OK, Reply, wire

# --------------------------------------------------------------------------- lost connections


#: The interim answer by which a server asks for the body of a request.
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def without(dropped: int, keep_open: bool, begun: bytes = b"") -> Reply:
    """Returns a reply that answers all requests but one, of whose answer it sends the beginning, and after
    which it may keep the connection open."""

    def reply(connection: socket.socket, index: int) -> bool:
        connection.sendall(begun if index == dropped else OK)
        return index != dropped or keep_open

    return reply


@pytest.mark.parametrize(
    "begun", [b"", CONTINUE, CONTINUE + OK[:20], OK[:-1]], ids=["nothing", "interim", "head", "body"]
)
def test_lost_request_is_sent_again_with_another_nonce_and_the_same_key(begun: bytes) -> None:
    with wire(without(0, keep_open=False, begun=begun)) as server:
        run = run_at(server.url)
        exchange = run.send(run.client(), list_accounts().but(idempotency_key="key"), "")
    assert (exchange.status, exchange.attempts, len(server.requests)) == (200, 1, 2)
    first, second = server.requests
    assert first.values(b"x-nonce") != second.values(b"x-nonce")
    assert exchange.nonce == second.values(b"x-nonce")[0].decode()
    assert first.values(b"idempotency-key") == second.values(b"idempotency-key")
    lost, told = run.recent
    assert (lost.repeated, lost.nonce, lost.status) == (True, first.values(b"x-nonce")[0].decode(), None)
    assert (told.repeated, told.begun, run.sent) == (False, lost.started, 2)
    assert not run.invariants.tallies["http.no-server-error", "listAccounts"].broken
    assert not run.invariants.tallies["http.lost-requests", "listAccounts"].broken


@pytest.mark.parametrize("late", [False, True], ids=["closed", "late"])
def test_lost_requests_of_a_race_are_sent_again(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "EXCHANGE_TIMEOUT", 2.0 if late else 60.0)
    with wire(without(2, keep_open=late)) as server:
        run = run_at(server.url)
        nonce = "0123456789abcdef" * 2
        exchanges = run.client().race([list_accounts().signed(nonce=nonce)] * 4)
    assert [exchange.status for exchange in exchanges] == [200] * 4
    assert [request.values(b"x-nonce") for request in server.requests] == [[nonce.encode()]] * 5
    assert [exchange.repeated for exchange in run.recent].count(True) == 1


@pytest.mark.parametrize(
    ("answer", "error", "sent"),
    [
        (b"", "RemoteProtocolError", 2),
        (CONTINUE, "RemoteProtocolError", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Len", "RemoteProtocolError", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", "RemoteProtocolError", 2),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "NotHttp", 1),
        (b"HTTP/1.1 -1 \xff\r\n\r\n", "NotHttp", 1),
    ],
    ids=["nothing", "an interim answer", "half a head", "half a body", "another protocol", "no status"],
)
def test_broken_answers_break_the_rule_on_server_errors(answer: bytes, error: str, sent: int) -> None:
    """A request is sent once more if its connection ends before its answer, not if the answer is not HTTP."""

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


GONE, LATE = httpx.ConnectError("refused"), httpx.ReadTimeout("late")


def answer() -> httpx.Response:
    return httpx.Response(200, json={})


def test_a_body_that_breaks_off_is_waited_for_until_the_server_ends_the_exchange() -> None:
    """Its effect is looked for next, and shows only where the server is through with it."""
    looked, early = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(65536):
                    pass
                early.append(looked.wait(0.2))

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        run = run_at(f"http://127.0.0.1:{listener.getsockname()[1]}")
        request = call("createAccount", {"customer_id": "cus_1"}, {"name": "A"})
        run.send(run.client(), request.but(hang_up=HangUp.WITHIN_BODY), "")
        looked.set()
        server.join(5)
    assert early == [False]


@pytest.mark.parametrize(
    ("times", "script"),
    [
        (6, [*[GONE] * 4, answer(), *[GONE] * 4, answer()]),
        (LOST_AFTER_TIMEOUTS, [*[LATE] * (2 * LOST_AFTER_TIMEOUTS - 2), answer(), LATE]),
    ],
    ids=["gone", "slow"],
)
def test_server_that_comes_back_is_not_given_up(times: int, script: list[Exception | httpx.Response]) -> None:
    run = run_at("http://test", transport=Scripted(*script))
    for _ in range(times):
        run.send(run.client(), list_accounts(), "")
    assert not run.lost


def test_hanging_server_gets_less_time_and_is_given_up() -> None:
    transport = Scripted(LATE)
    run = run_at("http://test", transport=transport)
    for _ in range(LOST_AFTER_TIMEOUTS):
        run.send(run.client(), list_accounts(), "")
    assert transport.timeouts == [30.0] * 5 + [5.0] * (2 * LOST_AFTER_TIMEOUTS - 5)
    assert run.invariants.tallies["http.no-server-error", "listAccounts"].broken == LOST_AFTER_TIMEOUTS
    with pytest.raises(Inconclusive, match="did not answer in time any more"):
        run.send(run.client(), list_accounts(), "")


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
    assert not (server.requests or run.invariants.tallies or run.lost)
