"""`conformance sign METHOD URL`: signs a request, and prints its headers or a curl command.

Prints the signature string and the headers of a request; sends nothing. The headers are valid for one request
within 300 seconds.
"""

from __future__ import annotations

import argparse
import shlex
import time
import uuid
from collections.abc import Iterator

from conformance.cli import signed_request
from conformance.contract import signing
from conformance.contract.signing_mistakes import Parts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    signed_request.add_arguments(parser)
    parser.add_argument("--timestamp", metavar="SECONDS", help="X-Timestamp (default: now)")
    parser.add_argument("--nonce", metavar="TEXT", help="X-Nonce (default: a new one)")
    parser.add_argument(
        "--idempotency-key", metavar="UUID", help="Idempotency-Key of a POST (default: a new one)"
    )
    parser.add_argument("--curl", action="store_true", help="print a curl command that sends the request")


def run(options: argparse.Namespace) -> int:
    """Prints the signed request. Raises InputError."""
    timestamp = options.timestamp or str(int(time.time()))
    nonce = options.nonce or signing.new_nonce()
    parts, secret = signed_request.described(options, timestamp, nonce)
    headers = dict(_headers(parts, secret, options.idempotency_key))
    print(_curl(parts, headers) if options.curl else "\n".join(_lines(parts, headers)))
    return 0


def _headers(parts: Parts, secret: str, key: str | None) -> Iterator[tuple[str, str]]:
    signed = signing.signed_headers(
        parts.api_key,
        secret,
        parts.method,
        parts.target,
        parts.body,
        timestamp=parts.timestamp,
        nonce=parts.nonce,
    )
    yield from signed.items()
    if parts.method.upper() == "POST":
        yield "Idempotency-Key", key or str(uuid.uuid4())
    if parts.body:
        yield "Content-Type", "application/json"


def _lines(parts: Parts, headers: dict[str, str]) -> Iterator[str]:
    string = signing.signature_string(parts.method, parts.target, parts.timestamp, parts.nonce, parts.body)
    yield "string to sign:"
    yield string.decode("utf-8", "backslashreplace")
    yield ""
    yield "headers:"
    for name, value in headers.items():
        yield f"{name}: {value}"


def _curl(parts: Parts, headers: dict[str, str]) -> str:
    """A curl command for POSIX shells. --globoff and --path-as-is keep curl from changing the target."""
    words = ["curl", "--globoff", "--path-as-is", "--request", parts.method.upper()]
    for name, value in headers.items():
        words += ["--header", f"{name}: {value}"]
    if parts.body:
        words += ["--data-raw", parts.body.decode("utf-8", "surrogateescape")]
    words.append((parts.origin + parts.target).decode())
    return shlex.join(words)
