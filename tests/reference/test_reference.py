"""The reference server: routes, database, balances, date parsing and HTTP framing."""

from __future__ import annotations

import contextlib
import inspect
import json
import multiprocessing
import re
import socket
import time
from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pytest

from conformance.contract import signing
from conformance.contract.rules import RULES
from conformance.reference.behaviour import Behaviour
from conformance.reference.core_messages import Request
from conformance.reference.seams.lists import parse_instant
from conformance.reference.seed import Seeded, new_server, seed
from conformance.reference.serving.listener import served
from conformance.reference.store import Store
from conformance.wire.messages import Exchange
from conformance.world.run import Run
from tests.support.runs import run_on
from tests.variants.hurry import hurried


def test_seams_name_rules_that_there_are() -> None:
    seams = {name: seam.__doc__ for name, seam in inspect.getmembers(Behaviour, inspect.isfunction)}
    assert not [name for name, text in seams.items() if not text]
    families = "|".join({rule.partition(".")[0] for rule in RULES})
    named = set(re.findall(rf"\b(?:{families})\.[a-z0-9-]*[a-z0-9]", " ".join(map(str, seams.values()))))
    assert named - set(RULES) == set()


@pytest.mark.parametrize(("path", "status"), [("/api", 200), ("/API", 404), ("/xyz", 404), ("", 404)])
def test_everything_is_under_the_prefix(path: str, status: int) -> None:
    server, seeded = new_server(prefix="/api/")
    tenant = seeded.primary
    target = f"{path}/v1/customers/{tenant.customer_id}/accounts".encode()
    head = signing.signed_headers(tenant.api_key, tenant.secret, "GET", target)
    request = Request("GET", target, [(name.encode(), value.encode()) for name, value in head.items()])
    assert server.handle(request).status == status


@hurried()
def test_nonce_is_remembered_as_long_as_its_request_could_be_replayed() -> None:
    run = run_on()
    client, listed = run.client(), run.account().call("listAccounts").signed(nonce="a" * 32)
    ahead = listed.signed(timestamp=str(int(time.time()) + 300))
    assert client.send(ahead).succeeded
    time.sleep(599)
    again = client.send(ahead)
    assert (again.status, again.error_code) == (401, "nonce_replay")
    time.sleep(60)
    assert client.send(listed).succeeded
    time.sleep(400)
    client.send(run.account().call("listAccounts"))
    transport: Any = run._transport
    assert transport.server.store.query("SELECT COUNT(*) FROM nonces")[0][0] == 1


# ---------------------------------------------------------------------- database


def _open(paths: list[Path], together: Any, answers: Any) -> None:
    for path in paths:
        together.wait(30)
        try:
            with contextlib.closing(Store(path)) as store:
                answers.put((path, seed(store).primary.api_key))
        except Exception as error:
            answers.put((path, repr(error)))


def test_processes_agree_on_a_new_database(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    paths, processes = [tmp_path / f"{number}.sqlite3" for number in range(15)], 4
    together, answers = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=_open, args=(paths, together, answers)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = {answers.get(timeout=60) for _ in workers for _ in paths}
    for worker in workers:
        worker.join()
    assert {path for path, _ in found} == set(paths) and len(found) == len(paths), found
    assert all(key.startswith("key_") for _, key in found)


# ---------------------------------------------------------------------- effects


@pytest.mark.parametrize("amount", ["0.01", "1000000000000000000.000000000000000001", "007.50", "3"])
def test_payouts_move_money_exactly(run: Run, amount: str) -> None:
    fixture = run.account("payouts")

    def paid(amount: str, currency: str = "USD") -> Exchange:
        body = {**run.samples.payout(*fixture.payee), "amount": amount, "currency": currency}
        return run.send(fixture.client, fixture.call("createPayout", body), "a payout")

    made = paid(amount)
    assert (made.get("amount"), made.get("amount_in_usd")) == (amount, amount)
    shown = run.send(fixture.client, fixture.call("getAccountBalances"), "the balances")
    [dollars] = [balance for balance in shown.document["balances"] if balance["currency"] == "USD"]
    with localcontext(prec=100):
        moved = Decimal("1" + "0" * 24) - Decimal(dollars["available_balance"])
        assert moved == Decimal(dollars["pending_payout"]) == Decimal(amount)
        assert Decimal(dollars["total_balance"]) == Decimal("1" + "0" * 24)
    beyond = paid("1" + "0" * 25)
    assert (beyond.status, beyond.error_code) == (422, "insufficient_funds")
    assert paid("9" * 100, "AFN").get("amount") == "9" * 100
    assert paid("9" * 101, "AFN").status == 422


# --------------------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.0000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-0030", 0),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000),
        ("10000-01-01", None),
        ("1970-01-01T24:00:00Z", None),
        ("1970-13-01", None),
        ("now", None),
        ("1970-01-01T00:00:00+99:00", None),
    ],
)
def test_dates(text: str, micros: int | None) -> None:
    assert parse_instant(text) == micros


# ---------------------------------------------------------------------- upgrade


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"

BODY = json.dumps({"name": "x" * 200}).encode()


@contextlib.contextmanager
def connected() -> Iterator[tuple[socket.socket, BinaryIO, Seeded]]:
    """A connection to a new server as socket and file, and the seeded data."""
    server, seeded = new_server()
    with served(server) as url:
        address = urlsplit(url)
        with (
            socket.create_connection((address.hostname, address.port), timeout=10) as connection,
            connection.makefile("rb") as answers,
        ):
            yield connection, answers, seeded


def signed(seeded: Seeded, method: str, body: bytes = b"", more: bytes = b"") -> tuple[bytes, bytes]:
    """Returns head and body of a request for the accounts of the customer."""
    own = seeded.primary
    target = f"/v1/customers/{own.customer_id}/accounts"
    headers = signing.signed_headers(own.api_key, own.secret, method, target.encode(), body)
    headers |= {"Host": "x", "Idempotency-Key": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}
    if b"chunked" not in more:
        headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    return f"{method} {target} HTTP/1.1\r\n".encode() + lines + more + b"\r\n", body


def answered(answers: BinaryIO) -> tuple[int, Any]:
    """Returns status and document of the next answer on a connection."""
    status = int(answers.readline().split()[1])
    length = 0
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return status, json.loads(answers.read(length))


@pytest.mark.parametrize(("size", "more"), [(1, b""), (7, b""), (100_000, H2C)])
def test_the_body_arrives_however_the_request_is_cut(size: int, more: bytes) -> None:
    with connected() as (connection, answers, seeded):
        whole = b"".join(signed(seeded, "POST", BODY, more))
        for at in range(0, len(whole), size):
            connection.sendall(whole[at : at + size])
        status, document = answered(answers)
    assert status < 300
    assert document["name"] == "x" * 200


def test_a_body_in_chunks_arrives() -> None:
    with connected() as (connection, answers, seeded):
        head, body = signed(seeded, "POST", BODY, H2C + b"Transfer-Encoding: chunked\r\n")
        connection.sendall(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        status, document = answered(answers)
    assert status < 300
    assert document["name"] == "x" * 200


def test_the_connection_goes_on_with_several_requests_at_once() -> None:
    with connected() as (connection, answers, seeded):
        for _ in range(2):
            connection.sendall(b"".join([*signed(seeded, "GET", b"", H2C), *signed(seeded, "GET")]))
            for _ in range(2):
                status, document = answered(answers)
                assert (status, document["total"]) == (200, 1)


def test_a_tunnel_is_refused() -> None:
    with connected() as (connection, answers, _):
        connection.sendall(b"CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n")
        assert answers.readline().split()[1] == b"400"
