"""Odd bodies are taken by the reference server, and no request makes it fail."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

from conformance.contract import signing
from conformance.reference import routes
from conformance.reference.core_messages import Request
from tests.support.reference_world import ADDRESS, BODIES, World


def test_legal_oddities_are_answered(world: World) -> None:
    for body in (
        b'{"name": "a\\u0000b"}',
        b'{"name": 1, "name": "last"}',
        b'{"name": "x", "n": 1e400}',
        b'{"name": "x", "\\ud800": "\\udfff"}',
        b'{"name": "x", "__proto__": {}}',
    ):
        assert world.send(world.call("createAccount").but(body=body)).succeeded, body
    address = {**ADDRESS, "\ud800": "\udfff", "deep": [[]]}
    body = json.dumps({**BODIES["createBeneficiary"], "address": address}).encode()
    assert world.send(world.call("createBeneficiary").but(body=body)).get("address") == ADDRESS
    assert world.send(world.call("createAccount").but(body=b" " * 3_000_000)).status == 413
    assert world.make("createAccount", {"name": "a\0b"})["name"] == "a\0b"


def test_no_mutation_of_a_request_is_answered_with_5xx(world: World) -> None:
    source = random.Random(7)
    calls = [world.call(operation) for operation in routes.ROUTES]
    for call in calls[:]:
        if call.method == "GET":
            calls.append(call.with_query("page=1&size=5&statuses=active&start_date=2026-01-01&currency=EUR"))
    tenant = world.seeded.primary

    def mutated(text: bytes) -> bytes:
        data = bytearray(text)
        for _ in range(source.randint(1, 4)):
            place = source.randrange(len(data) + 1)
            data[place : place + source.randint(0, 3)] = source.choice(
                (
                    b"",
                    b"%",
                    b"%zz",
                    b"%00",
                    b"\xff",
                    b"\xc3\xa9",
                    b"?",
                    b"&",
                    b"=",
                    b"/",
                    b'"',
                    b"\\",
                    b"{",
                    b"[1]",
                    b"null",
                    b"9" * 30,
                    b"-1",
                    b"\\ud83d",
                    b"\0",
                    b"..",
                    source.randbytes(3),
                )
            )
        return bytes(data)

    def odd(document: dict[str, Any]) -> dict[str, Any]:
        name = source.choice([*document, "\ud800", "company_name", "network"])
        value = document.get(name)
        if isinstance(value, dict) and source.random() < 0.7:
            return {**document, name: odd(value)}
        return {
            **document,
            name: source.choice(
                (
                    None,
                    True,
                    -1,
                    1.5,
                    10**400,
                    "",
                    "\0",
                    "\udfff",
                    "🙂" * 60,
                    [[]],
                    {"\ud800": "\ud800"},
                    "1e999999999",
                    "-0",
                    "9" * 100,
                    "USD",
                    "US",
                    "wallet",
                    "business",
                )
            ),
        }

    for number in range(4000):
        call = source.choice(calls)
        method, target, body = call.method, call.target.encode(), call.body or b""
        match number % 5:
            case 4:
                body = json.dumps(odd(json.loads(body or b"{}"))).encode()
            case 0:
                target = mutated(target)
            case 1:
                body = mutated(body)
            case 2:
                method = source.choice(("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"))
        head = signing.signed_headers(
            tenant.api_key, tenant.secret, method, target, body, timestamp=str(world.clock.now // 1_000_000)
        )
        headers = [(name.encode(), value.encode()) for name, value in head.items()]
        headers.append((b"Idempotency-Key", str(uuid.uuid4()).encode()))
        if number % 5 == 3:
            place = source.randrange(len(headers))
            headers[place] = (headers[place][0], mutated(headers[place][1]))
        response = world.server.handle(Request(method, target, headers, body))
        assert response.status < 500, (method, target, headers, body)
        assert isinstance(response.document, dict)
