"""Requests of the signing client byte for byte, and the transport's reading of answers."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from conformance.wire.messages import Auth, Call
from conformance.wire.signers import HttpxSigner
from conformance.wire.transport import MAX_HEAD
from tests.support.callers import KEY, SECRET, connect, list_accounts
from tests.support.wire import OK, answering, wire

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


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_target_goes_out_and_is_signed_as_it_stands(target: str) -> None:
    with wire(prefix="/api/pay") as server:
        exchange = connect(server).send(list_accounts(target))
    assert exchange.error is None
    assert server.last.target == b"/api/pay" + target.encode()
    assert server.last.signed_by(SECRET.encode())
    assert exchange.target == "/api/pay" + target


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


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_body_goes_out_and_is_signed_as_it_stands(body: bytes | None) -> None:
    with wire() as server:
        exchange = connect(server).send(Call(None, "PATCH", "/v1/x", body, "key"))
    assert server.last.body == (body or b"") == exchange.request_body
    assert server.last.values(b"content-length") == [str(len(body or b"")).encode()]
    assert server.last.values(b"content-type") == ([] if body is None else [b"application/json"])
    assert server.last.signed_by(SECRET.encode())


# --------------------------------------------------------------------------- headers


def test_header_values_outside_ascii_go_out_as_the_utf8_that_is_signed() -> None:
    auth, extra = Auth(nonce="é☃", api_key="東"), (("X-Extra", "naïve"),)
    call = Call(None, "POST", "/v1/x", b"{}", "ключ", headers=extra, auth=auth)
    with wire() as server:
        exchange = connect(server).send(call)
    assert exchange.error is None
    for name, value in {
        "x-nonce": "é☃",
        "x-api-key": "東",
        "idempotency-key": "ключ",
        "x-extra": "naïve",
    }.items():
        assert server.last.values(name.encode()) == [value.encode()]
    assert server.last.signed_by(SECRET.encode())


# --------------------------------------------------------------------------- users' own httpx clients


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
def test_httpx_signer_signs_what_httpx_sends(path: str, request_: dict[str, Any]) -> None:
    signer = HttpxSigner(KEY, SECRET)
    with wire() as server, httpx.Client(auth=signer, trust_env=False, verify=False) as own:
        own.request(url=server.url + path, **request_).raise_for_status()
    assert server.last.signed_by(SECRET.encode())
    assert server.last.values(b"x-api-key") == [KEY.encode()]


# ---------------------------------------------------------------------- transport


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"1\r\n{\r\n1;extension\r\n}\r\n0\r\nX-Trailer: a\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK,
        OK + b"HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["line feeds", "no reason", "folded", "length and chunks", "chunks", "early hints", "two answers"],
)
def test_unusual_answers_are_read(answer: bytes) -> None:
    with wire(answering(answer)) as server:
        client = connect(server)
        exchanges = [client.send(list_accounts()) for _ in range(2)]
    for exchange in exchanges:
        assert (exchange.status, exchange.document, exchange.error) == (200, {}, None)
    assert not any(exchange.header("link") or exchange.header("x-trailer") for exchange in exchanges)


@pytest.mark.parametrize("start", [b"304 Not Modified", b"204 No Content"])
def test_bytes_beyond_an_answer_do_not_reach_the_next_answer(start: bytes) -> None:
    with wire(answering(b"HTTP/1.1 " + start + b"\r\nContent-Length: 2\r\n\r\n{}and more", OK)) as server:
        first, second = (connect(server).send(list_accounts()) for _ in range(2))
    assert first.status == int(start[:3])
    assert (second.status, second.attempts, second.error, len(server.requests)) == (200, 1, None, 2)


@pytest.mark.parametrize(
    ("answer", "status"), [(b"HTTP/1.0 200 OK\r\n\r\n{}", 200), (b"HTTP/1.0 ", None)], ids=["whole", "half"]
)
def test_end_of_connection_ends_a_body_but_no_headers(answer: bytes, status: int | None) -> None:
    def reply(connection: socket.socket, index: int) -> bool:
        connection.sendall(answer)
        return False

    with wire(reply) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.error is None) == (status, status is not None)


@pytest.mark.parametrize(
    "endless",
    [b"HTTP/1.1 200 OK\r\nX: ", CHUNKED + b"0\r\nX: ", CHUNKED + b"1;x="],
    ids=["header", "trailer", "chunk extension"],
)
def test_answers_without_end_are_given_up(endless: bytes) -> None:
    def reply(connection: socket.socket, index: int) -> None:
        connection.sendall(endless)
        for _ in range(MAX_HEAD // 1000):
            connection.sendall(b"x" * 2000)

    with wire(reply) as server:
        exchange = connect(server).send(list_accounts())
    assert (exchange.status, exchange.error) == (
        None,
        f"NotHttp: more than {MAX_HEAD:,} bytes of headers",
    )
