"""On a server nearby, where the suite's own time is what counts."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from conformance.checks import plan
from conformance.checks.check import run_check
from conformance.contract import signing
from conformance.target.file import Organization, Target, build
from conformance.wire.messages import Exchange
from conformance.world.run_context import RunContext

from . import runs, servers
from .table import Row, in_turns, ratio, shown

#: Methods that a bare client can send: whatever else the suite sends is made for its own transport.
_METHODS = ("GET", "POST", "PATCH")


def sent(tables: dict[str, Any], operations: Sequence[str] = ()) -> list[Exchange]:
    """Requests of the checks of some operations, or of all, to a server, without the generated requests."""
    run = RunContext(build(tables, "benchmark"))
    for check, operation in plan(operations=set(operations) or None):
        run_check(check, operation, run)
    return list(run.record.values())


def bare(target: Target, exchanges: Sequence[Exchange]) -> tuple[float, int]:
    """Sends the same requests again, freshly signed and with fresh keys, by httpx alone; seconds and
    number."""
    number, begin = 0, time.perf_counter()
    with httpx.Client(timeout=30) as client:
        for exchange in exchanges:
            if _plain(exchange):
                organization = target.secondary if exchange.organization == "secondary" else target.primary
                headers = _headers(organization or target.primary, exchange)
                client.request(
                    exchange.method,
                    target.base_url + exchange.target,
                    content=exchange.request_body,
                    headers=headers,
                )
                number += 1
    return time.perf_counter() - begin, number


def _plain(exchange: Exchange) -> bool:
    """True if httpx sends a request as it is."""
    return (
        exchange.method in _METHODS and exchange.target.isascii() and not set(exchange.target) & set(" \\{}")
    )


def _headers(organization: Organization, exchange: Exchange) -> dict[str, str]:
    headers = signing.signed_headers(
        organization.api_key,
        organization.secret,
        exchange.method,
        exchange.target.encode(),
        exchange.request_body,
    )
    headers["Content-Type"] = "application/json"
    if exchange.method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    return headers


def report(rounds: int, operations: Sequence[str] = ()) -> Iterator[Row]:
    """The ratios of a server nearby, with the tests of some operations or of all."""
    with servers.near() as tables:
        target = build(tables, "benchmark")
        requests: list[int] = []
        exchanges: list[Exchange] = []

        def checks() -> float:
            begin = time.perf_counter()
            exchanges[:] = sent(tables, operations)
            requests.append(len(exchanges))
            return (time.perf_counter() - begin) / len(exchanges)

        def client() -> float:
            seconds, number = bare(target, exchanges)
            return seconds / number

        suite, alone = in_turns(rounds, checks, client)
    yield Row(
        "the checks, without pytest and the generated requests, over a bare client for the same requests",
        ratio(suite, alone),
        "<= 2",
        f"{1000 * min(suite):.2f} to {1000 * min(alone):.2f} ms a request, {requests[-1]:,} requests",
    )
    yield _collection(rounds)


def _collection(rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        bare_test = Path(folder) / "test_nothing.py"
        bare_test.write_text("def test_nothing():\n    pass\n", "utf-8")
        ours = ["-m", "pytest", "--pyargs", "conformance", "--collect-only", "-q", "-p", "no:cacheprovider"]
        other = ["-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(bare_test)]
        suite, alone = in_turns(
            rounds, lambda: runs.command(ours).seconds, lambda: runs.command(other, Path(folder)).seconds
        )
    return Row(
        "--collect-only over that of one empty test",
        ratio(suite, alone),
        "<= 3",
        f"{shown(suite)} to {shown(alone)}",
    )
