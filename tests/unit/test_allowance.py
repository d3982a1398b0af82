"""What a run may still send: counted over threads and processes, and never blamed on the server."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import __version__
from conformance.judge.findings import Inconclusive
from conformance.plugin.waiting import wait_for
from conformance.wire.allowance import Account, Allowance, Kind, Turns
from conformance.wire.messages import Failure
from conformance.wire.throttle import Pace
from conformance.world.run_context import MORE
from tests.support.callers import connect, list_accounts, run_at
from tests.support.wire import OK, wire

FEW = {Kind.REQUESTS: (3, "three are enough")}

BUSY = b"HTTP/1.1 429 Too Many\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"


def pace(**more: object) -> Pace:
    return Pace(Allowance(**more))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- numbers


def test_no_more_requests_reach_the_server_than_allowed() -> None:
    with wire() as server:
        client = connect(server, pace=pace(most=FEW))
        exchanges = [client.send(list_accounts()) for _ in range(5)]
    assert len(server.requests) == 3
    assert [exchange.attempts for exchange in exchanges] == [1, 1, 1, 0, 0]
    assert [exchange.failure for exchange in exchanges[3:]] == [Failure.WITHHELD] * 2
    assert exchanges[3].unsent and not exchanges[3].lost
    assert exchanges[3].error == "three are enough"


def test_repetitions_count() -> None:
    with wire(lambda connection, index: connection.sendall(BUSY)) as server:
        exchange = connect(server, pace=pace(most=FEW)).send(list_accounts())
    assert (len(server.requests), exchange.attempts, exchange.failure) == (3, 3, Failure.WITHHELD)


def test_threads_share_an_allowance() -> None:
    allowance = Allowance(most={Kind.REQUESTS: (500, "enough")})
    with ThreadPoolExecutor(8) as pool:
        reasons = list(pool.map(lambda _: allowance.take(), range(800)))
    assert reasons.count("") == 500
    assert allowance.account.total(Kind.REQUESTS) == 500


def test_processes_share_an_account(tmp_path: Path) -> None:
    Account.create(tmp_path / "account")
    first, second = (Allowance(Account(tmp_path / "account", place), most=FEW) for place in (1, 2))
    assert [first.take(), second.take(), first.take()] == ["", "", ""]
    assert second.take() == first.take() == "three are enough"
    assert Account(tmp_path / "account").total(Kind.REQUESTS) == 3


def test_process_elsewhere_has_its_share(tmp_path: Path) -> None:
    alone = Allowance(Account(tmp_path / "no such file", 1), most=FEW, processes=3)
    assert [alone.take(), alone.take()] == ["", "three are enough"]


def test_creations_beyond_the_bound_end_the_run() -> None:
    allowance = Allowance(most={Kind.CREATIONS: (1, "one is enough")})
    allowance.made(Kind.CREATIONS)
    assert allowance.take() == ""
    allowance.made(Kind.CREATIONS)
    assert allowance.take() == "one is enough"


def test_run_that_may_send_no_more_is_inconclusive_and_blames_nothing() -> None:
    with wire() as server:
        run = run_at(server.url, pace=pace(most=FEW))
        for _ in range(3):
            run.send(run.client(), list_accounts(), "")
        for _ in range(20):
            with pytest.raises(Inconclusive) as caught:
                run.send(run.client(), list_accounts(), "")
    assert (caught.value.reason, caught.value.remedy, caught.value.cause) == ("three are enough", MORE, "")
    assert not run.lost
    assert run.sent == 3
    assert not any(
        tally.broken for key, tally in run.invariants.tallies.items() if key[0].startswith("http.no")
    )


# --------------------------------------------------------------------------- rate


def test_turns_of_all_threads_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    turns = Turns(20)
    assert [round(turns.next(), 6) for _ in range(4)] == [0.0, 0.05, 0.1, 0.15]
    assert Turns(0).next() == 0.0


def test_processes_divide_the_rate() -> None:
    assert Allowance(requests_per_second=20, processes=4).turns.interval == pytest.approx(0.2)


# --------------------------------------------------------------------------- time


def test_nothing_is_sent_after_the_end() -> None:
    with wire() as server:
        client = connect(server, pace=pace(end=time.time() - 1, over="it was late"))
        exchange = client.send(list_accounts())
    assert (exchange.failure, exchange.error, server.requests) == (Failure.WITHHELD, "it was late", [])


def test_answer_that_the_end_cuts_off_is_no_timeout_of_the_server() -> None:
    """The server holds its answer until the end of the run has come."""
    over = threading.Event()

    def reply(connection: socket.socket, index: int) -> None:
        over.wait(10)

    with wire(reply) as server:
        run = run_at(server.url, pace=pace(end=time.time() + 0.2, over="it was late"))
        with pytest.raises(Inconclusive, match="it was late"):
            run.send(run.client(), list_accounts(), "")
        over.set()
    [exchange] = run.record.values()
    assert (exchange.failure, exchange.lost, run.patience.timeouts) == (Failure.WITHHELD, False, 1)
    assert not any(tally.broken for tally in run.invariants.tallies.values())


def test_no_wait_for_a_rate_limit_goes_beyond_the_end() -> None:
    busy = b"HTTP/1.1 429 Too Many\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
    with wire(lambda connection, index: connection.sendall(busy)) as server:
        exchange = connect(server, pace=pace(end=time.time() + 30)).send(list_accounts())
    assert (exchange.status, len(server.requests)) == (429, 1)


def test_waits_are_counted() -> None:
    with wire(lambda connection, index: connection.sendall(OK if index > 1 else BUSY)) as server:
        paced = Pace()
        connect(server, pace=paced).send(list_accounts())
    assert (paced.waits, len(server.requests)) == (2, 3)


def test_target_says_how_long_an_answer_may_take() -> None:
    with wire() as server:
        run = run_at(server.url)
        assert run.patience.seconds == 30
        assert run.pace.budget == 120
    run = run_at(server.url, limits={"request_timeout": 2.5, "retry_seconds": 7})
    assert (run.patience.seconds, run.pace.budget) == (2.5, 7)
    run.patience.timeouts = 100
    assert run.patience.seconds == 2.5


# --------------------------------------------------------------------------- who it is


def test_requests_name_suite_and_version() -> None:
    with wire() as server:
        connect(server).send(list_accounts())
    assert server.last.values(b"user-agent") == [f"financial-accounts-conformance/{__version__}".encode()]


def test_whoever_waits_for_a_server_says_so_too() -> None:
    with wire() as server:
        wait_for(server.url, 5, print)
    assert server.last.values(b"user-agent") == [f"financial-accounts-conformance/{__version__}".encode()]
