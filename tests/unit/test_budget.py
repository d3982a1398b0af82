"""Limits of a run, divided by processes and never a failure of the server; rate limits and races."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

from conformance.judge.verdicts import Inconclusive
from conformance.plugin.preparation import share
from conformance.wire import transport
from conformance.wire.budget import Budget
from conformance.wire.messages import Failure
from conformance.wire.pace import Pace
from tests.support.callers import connect, list_accounts, run_at
from tests.support.wire import OK, wire

# --------------------------------------------------------------------------- the end


def test_nothing_is_sent_after_a_stop() -> None:
    with wire() as server:
        budget = Budget()
        client = connect(server, budget=budget)
        assert not client.send(list_accounts()).unsent
        budget.stop("enough")
        budget.stop("more than enough")
        exchange = client.send(list_accounts())
    assert len(server.requests) == budget.admitted == 1
    assert (exchange.attempts, exchange.failure, exchange.error) == (0, Failure.WITHHELD, "enough")
    assert exchange.unsent and not exchange.lost


def test_processes_divide_the_rate_and_end_together() -> None:
    limits = {"requests_per_second": 20.0, "run_timeout": 60.0}
    begin = time.time() - 50
    before = begin + 60 - time.time()
    shared = share(run_at("http://127.0.0.1:1", limits=limits).target, begin, 4)
    left = shared.left or 0.0
    assert shared.pace.overall.rate == pytest.approx(5)
    assert begin + 60 - time.time() - 0.1 <= left <= before + 0.1 and "60 s, --run-timeout" in shared.over


def test_an_interruption_ends_the_request_under_way_and_blames_nothing() -> None:
    received = threading.Event()

    def reply(connection: socket.socket, index: int) -> None:
        received.set()
        connection.recv(1)

    with wire(reply) as server, ThreadPoolExecutor(1) as pool:
        run = run_at(server.url)
        sent = pool.submit(run.send, run.client(), list_accounts(), "")
        received.wait(60)
        run.interrupt("the run was interrupted")
        with pytest.raises(Inconclusive, match="interrupted"):
            sent.result(60)
    [exchange] = run.recent
    assert exchange.failure is Failure.WITHHELD and not exchange.lost
    assert not any(tally.broken for tally in run.invariants.tallies.values())


# --------------------------------------------------------------------------- rate


def test_requests_keep_the_interval_of_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(time, "sleep", lambda seconds: waits.append(round(seconds, 6)))
    monkeypatch.setattr(time, "time", lambda: 1000 + sum(waits))
    budget = Budget(pace=Pace(20, lanes=10))
    assert [budget.take("").withheld for _ in range(4)] == [""] * 4
    assert waits == [0.05, 0.1, 0.15]
    assert budget.waits()[-1] == pytest.approx((1000.15, 1000.3))
    assert budget.waits() == []
    Budget().take("")
    assert len(waits) == 3


@pytest.mark.parametrize(("rate", "noted"), [(0.0, 0), (100.0, 1)])
def test_a_wait_where_nothing_is_limited_is_none_for_a_limit(
    rate: float, noted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits behind a race of another lane, too."""
    monkeypatch.setattr(time, "time", itertools.count(1000.0).__next__)
    budget = Budget(pace=Pace(rate, lanes=2))
    budget.take("createPayout")
    assert len(budget.waits()) == noted


# --------------------------------------------------------------------------- time


def test_answer_that_the_end_cuts_off_is_no_timeout_of_the_server() -> None:
    """The server delays its answer until the run has ended."""
    over = threading.Event()

    def reply(connection: socket.socket, index: int) -> None:
        over.wait(60)

    with wire(reply) as server:
        run = run_at(server.url, budget=Budget(end=time.time() + 1, over="it was late"))
        with pytest.raises(Inconclusive, match="it was late"):
            run.send(run.client(), list_accounts(), "")
        over.set()
    [exchange] = run.recent
    assert (exchange.failure, exchange.lost, run.timeouts.timeouts) == (Failure.WITHHELD, False, 1)
    assert not any(tally.broken for tally in run.invariants.tallies.values())


def test_no_wait_for_a_rate_limit_goes_beyond_the_end() -> None:
    busy = b"HTTP/1.1 429 Too Many\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
    with wire(lambda connection, index: connection.sendall(busy)) as server:
        exchange = connect(server, budget=Budget(end=time.time() + 30)).send(list_accounts())
    assert (exchange.status, len(server.requests)) == (429, 1)


# --------------------------------------------------------------------------- races


def test_racing_requests_are_all_there_before_the_first_answer() -> None:
    everybody = threading.Barrier(8)

    def reply(connection: socket.socket, index: int) -> None:
        everybody.wait(60)
        connection.sendall(OK)

    with wire(reply) as server:
        exchanges = connect(server).race([list_accounts(f"/v1/{number}") for number in range(8)])
    assert [exchange.status for exchange in exchanges] == [200] * 8
    assert [exchange.target for exchange in exchanges] == [f"/v1/{number}" for number in range(8)]


def test_race_that_would_go_beyond_the_end_is_withheld_whole() -> None:
    with wire() as server:
        budget = Budget(pace=Pace(1), end=time.time() + 5, over="it was late")
        exchanges = connect(server, budget=budget).race([list_accounts()] * 8)
    assert [exchange.error for exchange in exchanges] == ["it was late"] * 8
    assert not server.requests


def test_race_goes_on_without_a_request_that_is_never_written() -> None:
    with wire() as server, mock.patch.object(transport, "GATE_TIMEOUT", 60.0):
        client = connect(server)
        there = client.prepare(list_accounts())
        nowhere = list_accounts().but(headers=(("Bad\nname", "x"),))
        begin = time.monotonic()
        exchanges = client.race([nowhere, *[there.call] * 3])
    assert [exchange.status for exchange in exchanges] == [None, 200, 200, 200]
    # Far less than the longest wait at the gate, however busy the machine is: it was opened.
    assert time.monotonic() - begin < 30
