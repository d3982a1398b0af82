"""Each probe arrives as planned: the bytes on the wire are those on record, the signature has its one defect.

Checks run against a socket server that records the requests and has the reference server answer.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections import Counter

import pytest

from conformance.checks import plan
from conformance.checks.running import run_check
from conformance.contract import signing
from conformance.contract.signing_mistakes import BY_NAME, Parts
from conformance.reference.seed import Seeded, new_server, target_tables
from conformance.target.file import build
from conformance.world.lane import Lane
from tests.support.wire import Received, as_request, rendered, wire

PREFIX = "/gateway"

#: One operation of each kind: create, update, without body, list, read.
OPERATIONS = (
    "createVirtualAccount",
    "updateBeneficiary",
    "disableBeneficiary",
    "listPayoutDestinations",
    "getAccountBalances",
)


@pytest.fixture(
    scope="module",
    params=[OPERATIONS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in OPERATIONS[1:])],
)
def wired(request: pytest.FixtureRequest) -> tuple[Lane, Seeded, list[Received]]:
    """Runs all checks of an operation; yields the run's record and the received requests."""
    reference, seeded = new_server(prefix=PREFIX)

    def reply(connection: socket.socket, index: int) -> None:
        connection.sendall(rendered(reference.handle(as_request(server.requests[index]))))

    with wire(reply, PREFIX) as server:
        lane = Lane(build(target_tables(seeded, server.url), "wire"))
        for check, operation in plan(operations={request.param}):
            run_check(check, operation, lane)
        return lane, seeded, list(server.requests)


def test_recorded_requests_equal_those_on_the_wire(wired: tuple[Lane, Seeded, list[Received]]) -> None:
    lane, _, received = wired
    recorded = Counter(
        (
            exchange.method.encode(),
            exchange.target.encode(),
            tuple((name.encode(), value.encode("latin-1")) for name, value in exchange.request_headers),
            exchange.request_body,
        )
        for exchange in lane.recent
        # What breaks off need not arrive whole.
        if exchange.call.hang_up is None
    )
    arrived = Counter(
        (request.method.encode(), request.target, tuple(request.headers), request.body)
        for request in map(as_request, received)
    )
    # For a request that was sent several times, the record keeps the last attempt.
    assert recorded - arrived == Counter()
    assert sum(arrived.values()) >= sum(recorded.values()) > 100


def test_signatures_are_right_but_for_the_planned_defect(
    wired: tuple[Lane, Seeded, list[Received]],
) -> None:
    """Recomputed from the recorded request and the planned mistake."""
    lane, seeded, _ = wired
    broken = 0
    for exchange in lane.recent:
        auth, timestamp, nonce = exchange.call.auth, exchange.timestamp or "", exchange.nonce or ""
        hidden = {*auth.omit, *auth.empty} or exchange.call.headers or auth.signature is not None
        if hidden or not timestamp or not nonce or not (timestamp + nonce).isascii():
            continue
        own = getattr(seeded, exchange.organization).secret
        target = exchange.target if auth.signed_target is None else PREFIX + auth.signed_target
        parts = Parts(
            exchange.method,
            target.encode(),
            timestamp,
            nonce if auth.signed_nonce is None else auth.signed_nonce,
            exchange.request_body if auth.signed_body is None else auth.signed_body,
            exchange.request_header(signing.API_KEY) or "",
            lane.target.base_url.removesuffix(PREFIX).encode(),
        )
        secret = own if auth.secret is None else auth.secret
        right = hmac_of(secret, *parts.pieces.values())
        planned = BY_NAME[auth.mistake].sign(parts, secret) if auth.mistake else right
        assert exchange.request_header(signing.SIGNATURE) == planned, exchange.purpose
        whole = exchange.method + exchange.target + timestamp + nonce
        broken += planned != hmac_of(own, whole.encode(), exchange.request_body)
    assert broken > 10


def hmac_of(secret: str, *parts: bytes) -> str:
    return hmac.new(secret.encode(), b"".join(parts), hashlib.sha256).hexdigest()
