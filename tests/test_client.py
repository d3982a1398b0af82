"""What the signing client puts on the wire, byte for byte, and how it bears servers that misbehave."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from wire import OK, Wire, answering, nowhere, wire

from conformance import client as client_module
from conformance import signing
from conformance.client import Client, HttpxSigner, Pace, new_transport
from conformance.deadline import deadline
from conformance.exchange import Auth, Call
from conformance.suite import LOST_AFTER_REFUSED, LOST_AFTER_TIMEOUTS, Suite
from conformance.target import Organization, build
from conformance.verdict import Inconclusive

SECRET = "s\u00e9cret-\u6771"
KEY = "key_1"

#: One for all tests: making one reads the certificates of all authorities.
TRANSPORT = new_transport()


def organization() -> Organization:
    return Organization("primary", KEY, SECRET, "cus_1")


def connect(server: Wire, **more: Any) -> Client:
    return Client(server.url, organization(), TRANSPORT, **more)


def new_suite(url: str, **more: Any) -> Suite:
    tables = {"base_url": url, "primary": {"api_key": KEY, "secret": "secret_1", "customer_id": "cus_1"}}
    return Suite(build(tables, "test"), **{"transport": TRANSPORT, **more})


def list_accounts(target: str = "/v1/customers/cus_1/accounts") -> Call:
    return Call("listAccounts", "GET", target)


# --------------------------------------------------------------------------- the request target

TARGETS = {
    "plain": "/v1/customers/cus_1/accounts",
    "upper-case escapes": "/v1/accounts/acc%5F1/wallets?start_date=2020-01-01T00%3A00%3A00Z",
    "lower-case escapes": "/v1/accounts/acc%5f1/wallets?start_date=2020-01-01T00%3a00%3a00Z",
    "escapes that need not be": "/v1/accounts/%61cc_1/wallets?p%61ge=1&si%7Ae=2",
    "escaped non-ASCII letters": "/v1/accounts/%E6%9D%B1/wallets?label=%c3%a9",
    "an encoded slash and dots": "/v1/accounts/%2e%2E%2f/wallets",
    "literal dots": "/v1/accounts/../wallets/./x",
    "doubled slashes": "/v1//accounts///wallets",
    "reserved characters": "/v1/accounts/a'(b)*!$;:@,/wallets?start_date=00:00:00+00:00&x[]=a,b&y=/?@'",
    "one order": "/v1/accounts/a/wallets?page=1&size=2",
    "the other order": "/v1/accounts/a/wallets?size=2&page=1",
    "repeated parameters": "/v1/accounts/a/wallets?statuses=b&statuses=a&statuses=b",
    "plus and escaped space": "/v1/accounts/a/wallets?q=a+b%20c%2Bd",
    "parameters without value": "/v1/accounts/a/wallets?flag&empty=&&=x",
    "an empty query": "/v1/accounts/a/wallets?",
    "a NUL and broken escapes": "/v1/accounts/%00/wallets?q=%zz%",
    "characters httpx would escape": '/v1/accounts/{a}/wallets?q="<x>`|^\\',
    "a long target": "/v1/accounts/a/wallets?q=" + "x" * 3900,
    "a target too long for httpx": "/v1/accounts/" + "x" * 70_000,
}


@pytest.mark.parametrize("prefix", ["", "/api/pay"], ids=["no prefix", "prefix"])
@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_target_goes_out_and_is_signed_as_it_stands(target: str, prefix: str) -> None:
    with wire(prefix=prefix) as server:
        exchange = connect(server).send(list_accounts(target))
    assert exchange.error is None
    assert server.last.target == prefix.encode() + target.encode()
    assert server.last.signed_by(SECRET.encode())
    assert exchange.target == prefix + target


def test_signed_target_gets_the_prefix_and_is_not_sent() -> None:
    with wire(prefix="/api") as server:
        connect(server).send(list_accounts().signed(signed_target="/v1/other"))
    assert server.last.target == b"/api/v1/customers/cus_1/accounts"
    assert not server.last.signed_by(SECRET.encode())
    (timestamp,), (nonce,) = server.last.values(b"x-timestamp"), server.last.values(b"x-nonce")
    string = b"GET/api/v1/other" + timestamp + nonce
    assert server.last.values(b"x-signature") == [signing.signature(SECRET, string).encode()]


# --------------------------------------------------------------------------- the body

BODIES = {
    "none": None,
    "empty": b"",
    "compact": b'{"name":"x"}',
    "white space": b' \r\n\t{ "b" : 1,\n  "a" : 2 }\r\n ',
    "non-ASCII letters": '{"name":"é東🏦"}'.encode(),
    "escapes": b'{"name":"\\u00e9\\u00E9\\ud83c\\udfe6\\/"}',
    "no UTF-8": b'{"name":"caf\xe9\xff"}',
    "NUL": b'{"name":"\x00"}',
    "long": b'{"name":"' + b"x" * 300_000 + b'"}',
}


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_body_goes_out_and_is_signed_as_it_stands(method: str, body: bytes | None) -> None:
    call = Call(None, method, "/v1/x", body, "key")
    with wire() as server:
        exchange = connect(server).send(call)
    assert server.last.body == (body or b"") == exchange.request_body
    assert server.last.values(b"content-length") == [str(len(body or b"")).encode()]
    assert server.last.values(b"content-type") == ([] if body is None else [b"application/json"])
    assert server.last.signed_by(SECRET.encode())


def test_get_has_neither_body_nor_content_headers() -> None:
    with wire() as server:
        connect(server).send(list_accounts())
    assert not {b"content-length", b"content-type", b"transfer-encoding"} & set(
        server.last.head.lower().split(b": ")
    )
    assert server.last.line == b"GET /v1/customers/cus_1/accounts HTTP/1.1"


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/json; charset=utf-16"])
def test_content_type_is_the_one_of_the_call(content_type: str | None) -> None:
    with wire() as server:
        connect(server).send(Call(None, "POST", "/v1/x", b"{}", content_type=content_type))
    assert server.last.values(b"content-type") == ([] if content_type is None else [content_type.encode()])


# --------------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("", [b"X-API-Key", b"X-Timestamp", b"X-Nonce", b"X-Signature"]),
        ("lower", [b"x-api-key", b"x-timestamp", b"x-nonce", b"x-signature"]),
        ("upper", [b"X-API-KEY", b"X-TIMESTAMP", b"X-NONCE", b"X-SIGNATURE"]),
        ("swapped", [b"x-api-kEY", b"x-tIMESTAMP", b"x-nONCE", b"x-sIGNATURE"]),
    ],
)
def test_header_names_are_spelled_as_the_call_wants(case: str, names: list[bytes]) -> None:
    with wire() as server:
        connect(server).send(list_accounts().signed(name_case=case))
    assert [name for name in server.last.names() if name.lower().startswith(b"x-")] == names
    assert server.last.signed_by(SECRET.encode())


def test_headers_are_left_out_and_empty_as_the_call_wants() -> None:
    with wire() as server:
        connect(server).send(list_accounts().signed(omit=("X-Nonce",), empty=("X-API-Key",)))
    assert server.last.values(b"x-nonce") == []
    assert server.last.head.count(b"X-API-Key: \r\n") == 1


@pytest.mark.parametrize("name", ["timestamp", "nonce"])
def test_empty_timestamp_and_nonce_are_signed_as_empty(name: str) -> None:
    with wire() as server:
        connect(server).send(list_accounts().signed(**{name: ""}))
    assert f"X-{name.title()}: \r\n".encode() in server.last.head
    assert server.last.signed_by(SECRET.encode())


def test_header_values_outside_ascii_go_out_as_the_utf8_that_is_signed() -> None:
    call = Call(
        None,
        "POST",
        "/v1/x",
        b"{}",
        "ключ",
        headers=(("X-Extra", "naïve"),),
        auth=Auth(nonce="é☃", api_key="東"),
    )
    with wire() as server:
        exchange = connect(server).send(call)
    assert exchange.error is None
    assert server.last.values(b"x-nonce") == ["é☃".encode()]
    assert server.last.values(b"x-api-key") == ["東".encode()]
    assert server.last.values(b"idempotency-key") == ["ключ".encode()]
    assert server.last.values(b"x-extra") == ["naïve".encode()]
    assert server.last.signed_by(SECRET.encode())


def test_header_values_may_be_long() -> None:
    with wire() as server:
        exchange = connect(server).send(list_accounts().signed(nonce="f" * 4000))
    assert exchange.error is None
    assert server.last.values(b"x-nonce") == [b"f" * 4000]


@pytest.mark.parametrize(
    ("auth", "parts"),
    [
        (Auth(signed_method="PUT"), b"PUT/v1/x?q=1100ab{}"),
        (Auth(signed_method=""), b"/v1/x?q=1100ab{}"),
        (Auth(signed_target="/v1/x"), b"POST/v1/x100ab{}"),
        (Auth(signed_target=""), b"POST100ab{}"),
        (Auth(signed_timestamp="99"), b"POST/v1/x?q=199ab{}"),
        (Auth(signed_nonce=""), b"POST/v1/x?q=1100{}"),
        (Auth(signed_body=b""), b"POST/v1/x?q=1100ab"),
        (Auth(separator="\n"), b"POST\n/v1/x?q=1\n100\nab\n{}"),
    ],
)
def test_each_part_can_be_signed_otherwise_than_it_is_sent(auth: Auth, parts: bytes) -> None:
    call = Call(None, "POST", "/v1/x?q=1", b"{}", auth=auth).signed(timestamp="100", nonce="ab")
    with wire() as server:
        connect(server).send(call)
    assert server.last.values(b"x-signature") == [signing.signature(SECRET, parts).encode()]
    assert (server.last.line, server.last.body) == (b"POST /v1/x?q=1 HTTP/1.1", b"{}")
    assert server.last.values(b"x-timestamp") + server.last.values(b"x-nonce") == [b"100", b"ab"]


# --------------------------------------------------------------------------- users' own httpx clients


def _use_sync(url: str, **request: Any) -> None:
    with httpx.Client(auth=HttpxSigner(KEY, SECRET), trust_env=False, verify=False) as own:
        own.request(url=url, **request).raise_for_status()


def _use_async(url: str, **request: Any) -> None:
    async def use() -> None:
        async with httpx.AsyncClient(auth=HttpxSigner(KEY, SECRET), trust_env=False, verify=False) as own:
            (await own.request(url=url, **request)).raise_for_status()

    asyncio.run(use())


@pytest.mark.parametrize("use", [_use_sync, _use_async])
@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/x", {"method": "GET"}),
        ("/v1/x?size=2&page=1", {"method": "GET"}),
        ("/v1/x?a=%3A%3a:é b+c", {"method": "GET"}),
        ("/v1/x?", {"method": "GET"}),
        ("/v1/x", {"method": "GET", "params": [("statuses", "b"), ("statuses", "a é/")]}),
        ("/v1/x", {"method": "POST", "json": {"name": "é東🏦"}}),
        ("/v1/x", {"method": "POST"}),
        ("/v1/x", {"method": "PATCH", "content": b' {"raw": "\xff"}\n'}),
    ],
    ids=str,
)
def test_httpx_signer_signs_what_httpx_sends(
    use: Callable[..., None], path: str, request_: dict[str, Any]
) -> None:
    with wire() as server:
        use(server.url + path, **request_)
    assert server.last.signed_by(SECRET.encode())
    assert server.last.values(b"x-api-key") == [KEY.encode()]


# --------------------------------------------------------------------------- answers that never end


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


ENDLESS_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_endless_body_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_BODY", 100_000)

    def endless(connection: socket.socket, index: int) -> None:
        connection.sendall(ENDLESS_HEAD)
        while True:
            connection.sendall(chunked(b"x" * 10_000))

    with wire(endless) as server:
        exchange = connect(server).send(list_accounts())
        assert (exchange.status, exchange.truncated, len(exchange.response_body)) == (200, True, 100_000)
        assert not exchange.document
        assert len(server.requests) == 1


def drip(server: list[Wire], start: bytes, drop: bytes) -> Callable[[socket.socket, int], None]:
    """Sends a start at once and then drop by drop, each long before a read would time out."""

    def reply(connection: socket.socket, index: int) -> None:
        connection.sendall(start)
        while not server[0].closing.wait(0.02):
            connection.sendall(drop)

    return reply


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Drip: 1\r\n"),
        (ENDLESS_HEAD, chunked(b"x")),
    ],
    ids=["status line", "headers", "body"],
)
def test_answer_that_drips_in_runs_out_of_time(
    start: bytes, drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "EXCHANGE_TIMEOUT", 0.2)
    servers: list[Wire] = []
    with wire(drip(servers, start, drop)) as server:
        servers.append(server)
        begin = time.perf_counter()
        exchange = connect(server).send(list_accounts())
        assert time.perf_counter() - begin < 5
    assert exchange.status is None
    assert (exchange.error or "").startswith("ReadTimeout")
    assert exchange.attempts == 2


def test_answer_that_never_comes_runs_out_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "EXCHANGE_TIMEOUT", 0.1)
    with wire(lambda connection, index: None) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.error or "").startswith("ReadTimeout")


def test_deadline_holds_within_its_block_only() -> None:
    with wire() as server, httpx.Client(transport=new_transport()) as own:
        with deadline(0), pytest.raises(httpx.TimeoutException):
            own.get(server.url)
        assert own.get(server.url).status_code == 200


def test_deadline_ends_with_its_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "EXCHANGE_TIMEOUT", 0.1)
    with wire(lambda connection, index: connection.sendall(OK) if index > 1 else None) as server:
        client = connect(server)
        assert client.send(list_accounts()).status is None
        assert client.send(list_accounts()).status == 200


# --------------------------------------------------------------------------- connections that break


def hang_up(connection: socket.socket, index: int) -> bool:
    return False


def test_one_dropped_connection_is_tried_again_with_another_nonce() -> None:
    with wire(lambda connection, index: index > 0 and connection.sendall(OK) is None) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.attempts, len(server.requests)) == (200, 2, 2)
    assert server.requests[0].values(b"x-nonce") != server.requests[1].values(b"x-nonce")
    assert exchange.nonce == server.requests[1].values(b"x-nonce")[0].decode()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\nContent-Len", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", "RemoteProtocolError"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "RemoteProtocolError"),
        (b"HTTP/1.1 -1 \xff\r\n\r\n", "RemoteProtocolError"),
    ],
    ids=["nothing", "half a head", "half a body", "another protocol", "no status"],
)
def test_broken_answers_break_the_rule_on_server_errors(answer: bytes, error: str) -> None:
    def reply(connection: socket.socket, index: int) -> bool:
        connection.sendall(answer)
        return False

    with wire(reply) as server:
        suite = new_suite(server.url)
        exchange = suite.send(suite.client(), list_accounts(), "")
    assert (exchange.error or "").startswith(error)
    assert (exchange.attempts, len(server.requests)) == (2, 2)
    tally = suite.passive.tallies["http.no-server-error", "listAccounts"]
    assert (tally.judged, tally.broken) == (1, 1)


def test_server_that_is_gone_breaks_no_rule_and_ends_the_sending() -> None:
    suite = new_suite(nowhere())
    for _ in range(LOST_AFTER_REFUSED):
        assert not suite.lost
        exchange = suite.send(suite.client(), list_accounts(), "")
        assert exchange.unsent
        assert (exchange.error or "").startswith("ConnectError")
    assert not suite.passive.tallies
    sent = suite.sent
    with pytest.raises(Inconclusive, match="could no longer be connected to") as stop:
        suite.send(suite.client(), list_accounts(), "")
    assert stop.value.reason == suite.lost
    assert "\n" not in suite.lost
    assert suite.sent == sent


class Scripted(httpx.BaseTransport):
    """Raises or answers one step a transmission, the last for ever; keeps the timeouts it was given."""

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
    script = [gone(), gone(), gone(), gone(), httpx.Response(200, json={}), gone(), gone(), gone(), gone()]
    suite = new_suite("http://test", transport=Scripted(*script, httpx.Response(200, json={})))
    for _ in range(6):
        suite.send(suite.client(), list_accounts(), "")
    assert not suite.lost


def test_hanging_server_gets_less_time_and_is_given_up() -> None:
    transport = Scripted(httpx.ReadTimeout("late"))
    suite = new_suite("http://test", transport=transport)
    for _ in range(LOST_AFTER_TIMEOUTS):
        suite.send(suite.client(), list_accounts(), "")
    assert transport.timeouts == [30.0] * 5 + [5.0] * (2 * LOST_AFTER_TIMEOUTS - 5)
    assert suite.passive.tallies["http.no-server-error", "listAccounts"].broken == LOST_AFTER_TIMEOUTS
    with pytest.raises(Inconclusive, match="did not answer in time any more"):
        suite.send(suite.client(), list_accounts(), "")


def test_one_answer_in_time_keeps_a_slow_server() -> None:
    late = [httpx.ReadTimeout("late")] * (2 * LOST_AFTER_TIMEOUTS - 2)
    suite = new_suite("http://test", transport=Scripted(*late, httpx.Response(200, json={}), *late))
    for _ in range(LOST_AFTER_TIMEOUTS):
        suite.send(suite.client(), list_accounts(), "")
    assert not suite.lost


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
def test_request_that_is_no_http_is_nobodys_fault(call: Call) -> None:
    with wire() as server:
        suite = new_suite(server.url)
        exchange = suite.send(suite.client(), call, "")
    assert exchange.unsent
    assert not server.requests
    assert not suite.passive.tallies
    assert not suite.lost


# --------------------------------------------------------------------------- rate limits and races


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
def test_rate_limits_are_waited_out_with_fresh_nonces(status: bytes) -> None:
    limited = b"HTTP/1.1 " + status + b"\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    with wire(answering(limited, limited, OK)) as server:
        exchange = connect(server, pace=Pace(budget=1)).send(list_accounts())
    assert (exchange.status, exchange.attempts) == (200, 3)
    assert len({one.values(b"x-nonce")[0] for one in server.requests}) == 3


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
    assert list(sent) == [name for name in server.last.names()]
