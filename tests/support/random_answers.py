"""Fuzzed responses: random status, headers, JSON or bytes in place of the server's, or no response."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from typing import Any

import httpx

from conformance.contract.operations import OPERATIONS, match

STATUSES = (
    100, 200, 200, 200, 201, 202, 204, 206, 302, 304, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503, 599,
    999,
)  # fmt: skip

#: Strings that parsers often mishandle.
TEXTS = (
    "", "\ud800", "\udfff\ud83d", "\x00", "a\nb", "acc_\n", "../..", "%2F{account_id}", "1e400", "-0", "١٢",
    "9" * 400, "NaN", "2026-02-30T25:61:61Z", "9999-12-31T23:59:59.999999999Z", "0000-00-00T00:00:00Z",
    "2026-01-01T00:00:00." + "1" * 300 + "Z", "x" * 30_000, "1" * 30_000, "a-" * 15_000,
    "\u202e\ufeff🏦e\u0301", "=cmd|' /C calc'!A0", "<script>alert(1)</script>",
)  # fmt: skip

#: Values that fit many members.
USUAL = ("acc_1", "bene_1", "cus_1", "active", "USD", "1.00", "2026-01-01T00:00:00Z")

NAMES = ("id", "object", "items", "error", "status", "pages", "created", "balances", "", "\ud800")

NUMBERS = (0, -1, 1, 2**63, 10**400, 1.5, 12.0, 1e308, -0.0, True, False)


def value(source: random.Random, depth: int = 0) -> Any:
    """Returns a random JSON value."""
    match source.randrange(9 if depth < 4 else 6):
        case 0 | 1:
            return source.choice(TEXTS)
        case 2:
            return source.choice(NUMBERS)
        case 3:
            return None
        case 4:
            return "".join(source.choices(string.printable, k=source.randrange(40)))
        case 5:
            return source.choice(USUAL)
        case 6:
            return [value(source, depth + 1) for _ in range(source.randrange(4))]
        case _:
            return {source.choice(NAMES): value(source, depth + 1) for _ in range(source.randrange(5))}


def nested(depth: int) -> Any:
    """Returns an array nested to a depth."""
    document: Any = []
    for _ in range(depth):
        document = [document]
    return document


def mutated(source: random.Random, document: Any, depth: int = 0) -> Any:
    """Returns the document with some values replaced and some members added or removed."""
    if source.random() < 0.12 * (depth > 0):
        return value(source, depth)
    if isinstance(document, dict):
        kept = {
            name: mutated(source, item, depth + 1)
            for name, item in document.items()
            if source.random() > 0.04
        }
        if source.random() < 0.1:
            kept[source.choice(TEXTS)] = value(source, depth)
        return kept
    if isinstance(document, list):
        return [mutated(source, item, depth + 1) for item in document] * source.choice((1, 1, 1, 0, 2))
    return document


Spoil = Callable[[random.Random, httpx.Response], httpx.Response]


def _json(document: Any) -> bytes:
    # Escapes unpaired surrogates, as any ASCII encoder does.
    return json.dumps(document).encode()


def _made(status: int, body: bytes, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={"Content-Type": "application/json", **headers}, content=body)


def _document(response: httpx.Response) -> Any:
    try:
        return json.loads(response.read())
    except ValueError:
        return None


def other_bytes(source: random.Random, body: bytes) -> bytes:
    at = source.randrange(len(body) + 1)
    return source.choice((
        source.randbytes(source.randrange(200)), body[:at], body[:at] + source.randbytes(3) + body[at + 3 :],
        body + body, b"\xef\xbb\xbf" + body, b'{"a":NaN,' + body[1:], b'"' * 3000, b"<html>",
    ))  # fmt: skip


HEADERS = (
    "Content-Type", "Date", "Retry-After", "Location", "Content-Encoding", "Idempotency-Key", "X-Odd",
)  # fmt: skip

ODD_HEADERS = (
    "", "x" * 20_000, "ü", "application/json", "-1", "1e9", "nan", "Thu, 32 Jan 9999 00:00:00 GMT", "gzip",
)  # fmt: skip


def other_headers(source: random.Random, response: httpx.Response) -> httpx.Response:
    headers = list(response.headers.raw)
    headers += [(source.choice(HEADERS).encode(), source.choice(ODD_HEADERS).encode()) for _ in range(3)]
    source.shuffle(headers)
    # Sent as a stream, so that httpx does not fail to decode it here.
    return httpx.Response(response.status_code, headers=headers, stream=httpx.ByteStream(response.read()))


ERRORS = (
    httpx.RemoteProtocolError("Server disconnected without sending a response."),
    httpx.ReadError("[Errno 104] Connection reset by peer"),
    httpx.ReadTimeout("timed out"),
)


def no_answer(source: random.Random, response: httpx.Response) -> httpx.Response:
    raise source.choice(ERRORS)


#: What is spoilt -> how.
SPOILS: dict[str, Spoil] = {
    "status": lambda source, response: httpx.Response(
        source.choice(STATUSES), headers=response.headers, content=response.read()
    ),
    "no body": lambda source, response: httpx.Response(source.choice((204, response.status_code))),
    "members": lambda source, response: _made(
        response.status_code, _json(mutated(source, _document(response)))
    ),
    "document": lambda source, response: _made(
        source.choice((response.status_code, source.choice(STATUSES))), _json(value(source))
    ),
    "depth": lambda source, response: _made(
        response.status_code, b'{"id":' + _json(nested(source.choice((50, 99, 101, 900)))) + b"}"
    ),
    "bytes": lambda source, response: _made(response.status_code, other_bytes(source, response.read())),
    "headers": other_headers,
    "answer": no_answer,
}


class RandomAnswers(httpx.BaseTransport):
    """Replaces responses of a server in one to three random ways: on some or all operations, for successes,
    refusals or both, with a random frequency. The seed determines all choices."""

    def __init__(self, inner: httpx.BaseTransport, seed: int) -> None:
        self.inner = inner
        self.source = random.Random(seed)
        names = list(OPERATIONS)
        few = self.source.sample(names, self.source.randrange(1, 5))
        self.operations = set(self.source.choice((names, few, few)))
        # Members are spoilt most often.
        kinds = [*SPOILS, "members", "members"]
        self.spoils = [self.source.choice(kinds) for _ in range(self.source.randrange(1, 4))]
        self.often = self.source.choice((0.02, 0.1, 0.5, 1.0))
        self.families = self.source.choice(({2}, {4}, {2, 4}))

    def __str__(self) -> str:
        kinds = ", ".join(sorted(set(self.spoils)))
        return f"{kinds} for {self.often:.0%} of {sorted(self.families)} on {sorted(self.operations)}"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        found = match(request.method, request.url.path)
        if (
            found is None
            or found[0].id not in self.operations
            or response.status_code // 100 not in self.families
            or self.source.random() >= self.often
        ):
            return response
        return SPOILS[self.source.choice(self.spoils)](self.source, response)
