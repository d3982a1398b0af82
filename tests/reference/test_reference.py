"""The reference server: routes, database, balances, date parsing and HTTP framing."""

from __future__ import annotations

import contextlib
import inspect
import json
import multiprocessing
import re
import socket
import time
import uuid
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
from conformance.world.lane import Lane
from conformance.world.purposes import PAYOUTS
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
    lane = run_on()
    client, listed = lane.client(), lane.account().call("listAccounts").signed(nonce="a" * 32)
    ahead = listed.signed(timestamp=str(int(time.time()) + 300))
    assert client.send(ahead).succeeded
    time.sleep(599)
    again = client.send(ahead)
    assert (again.status, again.error_code) == (401, "nonce_replay")
    time.sleep(60)
    assert client.send(listed).succeeded
    time.sleep(400)
    client.send(lane.account().call("listAccounts"))
    transport: Any = lane._transport
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
def test_payouts_move_money_exactly(lane: Lane, amount: str) -> None:
    fixture = lane.account(PAYOUTS)

    def paid(amount: str, currency: str = "USD") -> Exchange:
        body = {**lane.samples.payout(*fixture.payee), "amount": amount, "currency": currency}
        return lane.send(fixture.client, fixture.call("createPayout", body), "a payout")

    made = paid(amount)
    assert (made.get("amount"), made.get("amount_in_usd")) == (amount, amount)
    shown = lane.send(fixture.client, fixture.call("getAccountBalances"), "the balances")
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


# ---------------------------------------------------------------------- HTTP


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"

BODY = ' {"name": "Zoë"}\n'.encode()


class Connection:
    """A connection to a new server."""

    def __init__(self, seeded: Seeded, connection: socket.socket, answers: BinaryIO) -> None:
        self.tenant, self.send, self.answers = seeded.primary, connection.sendall, answers
        self.accounts = f"/v1/customers/{self.tenant.customer_id}/accounts"

    def signed(self, method: str, target: str = "", body: bytes = b"", more: bytes = b"") -> bytes:
        """Returns the head of a signed request, of the accounts by default."""
        target = target or self.accounts
        key, secret = self.tenant.api_key, self.tenant.secret
        headers = signing.signed_headers(key, secret, method, target.encode(), body)
        headers |= {"Host": "x", "Idempotency-Key": str(uuid.uuid4())}
        if b"chunked" not in more:
            headers["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
        return f"{method} {target} HTTP/1.1\r\n".encode() + lines + more + b"\r\n"

    def answer(self, *, head: bool = False) -> tuple[int, dict[bytes, bytes], Any]:
        """Reads status, headers and document of the next answer, to HEAD without a document."""
        status, headers = int(self.answers.readline().split()[1]), {}
        while line := self.answers.readline().strip():
            name, _, value = line.partition(b": ")
            headers[name.lower()] = value
        body = b"" if head else self.answers.read(int(headers[b"content-length"]))
        return status, headers, json.loads(body) if headers.get(b"content-type") == JSON and body else body


JSON = b"application/json"


@pytest.fixture
def connection() -> Iterator[Connection]:
    server, seeded = new_server()
    with served(server) as url:
        address = urlsplit(url)
        with (
            socket.create_connection((address.hostname, address.port), timeout=10) as connected,
            connected.makefile("rb") as answers,
        ):
            yield Connection(seeded, connected, answers)


@pytest.mark.parametrize(("size", "more"), [(1, b""), (7, b""), (100_000, H2C)])
def test_the_body_arrives_however_the_request_is_cut(connection: Connection, size: int, more: bytes) -> None:
    whole = connection.signed("POST", "", BODY, more) + BODY
    for at in range(0, len(whole), size):
        connection.send(whole[at : at + size])
    status, _, document = connection.answer()
    assert (status, document["name"]) == (201, "Zoë")


@pytest.mark.parametrize("more", [b"", H2C])
def test_a_body_in_chunks_arrives(connection: Connection, more: bytes) -> None:
    head = connection.signed("POST", "", BODY, more + b"Transfer-Encoding: chunked\r\n")
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:5], BODY[5:], b""))
    connection.send(head + chunks)
    status, _, document = connection.answer()
    assert (status, document["name"]) == (201, "Zoë")


def test_a_large_body_is_refused(connection: Connection) -> None:
    large = b" " * 3_000_000
    connection.send(connection.signed("POST", "", large) + large)
    status, headers, document = connection.answer()
    assert (status, headers[b"content-type"], document["error"]["code"]) == (413, JSON, "body_too_large")


def test_the_connection_goes_on_with_several_requests_at_once(connection: Connection) -> None:
    for _ in range(2):
        connection.send(connection.signed("GET", more=H2C) + connection.signed("GET"))
        for _ in range(2):
            status, _, document = connection.answer()
            assert (status, document["total"]) == (200, 1)


def test_other_methods_and_paths_are_refused(connection: Connection) -> None:
    for method, path, wanted in (
        ("HEAD", "", 405),
        ("OPTIONS", "", 405),
        ("DELETE", "", 405),
        ("GET", "/v1/nothing", 404),
        ("POST", "/v1/transfers/payouts", 404),
        ("GET", "//v1", 404),
    ):
        connection.send(connection.signed(method, path))
        status, headers, document = connection.answer(head=method == "HEAD")
        assert (status, headers[b"content-type"], b"allow" in headers) == (wanted, JSON, wanted == 405), (
            method
        )
        assert method == "HEAD" or document["error"].keys() == {"type", "code", "message"}


@pytest.mark.parametrize(
    ("garbage", "statuses"),
    [
        (b"CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n", (400,)),
        (b"nonsense\r\n\r\n", (400,)),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404)),
        (b"GET / HTTP/9.9\r\n\r\n", (400, 404)),
    ],
)
def test_tunnels_and_what_is_no_http_are_refused(
    connection: Connection, garbage: bytes, statuses: tuple[int, ...]
) -> None:
    connection.send(garbage)
    assert int(connection.answers.readline().split()[1]) in statuses
