"""Framing and connection handling that HTTP allows, for which no server may be blamed."""

from __future__ import annotations

import gzip
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest

from conformance.checks import plan
from conformance.judge.verdicts import Verdict
from conformance.reference.core_messages import Response
from conformance.reference.seed import new_server, target_tables
from conformance.target.file import build
from conformance.wire.transport import FRESH
from conformance.world.lane import Lane
from tests.support.in_process import InProcessTransport
from tests.support.overrides import with_header
from tests.support.runs import broken, judged, run_on
from tests.support.wire import as_request, rendered, wire

#: A creating and a listing operation, with their races.
OPERATIONS = {"createVirtualAccount", "listVirtualAccounts"}

#: Number of answers before a connection closes, and idle timeout in seconds.
ANSWERS, IDLE = 10, 0.02


#: Sends an answer with its number on the connection; returning False closes the connection.
Sends = Callable[[socket.socket, Response, int], object]


def few_answers(connection: socket.socket, response: Response, number: int) -> bool:
    """Closes after ANSWERS answers, without `Connection: close`, when the next request arrives."""
    if number <= ANSWERS:
        connection.sendall(rendered(response))
    return number <= ANSWERS


def until_idle(connection: socket.socket, response: Response, number: int) -> None:
    """Closes idle connections."""
    connection.sendall(rendered(response))
    connection.settimeout(IDLE)


def closing(connection: socket.socket, response: Response, number: int) -> bool:
    """Announces `Connection: close` in each answer and closes."""
    connection.sendall(rendered(with_header(response, b"connection", b"close")))
    return False


def slow(connection: socket.socket, response: Response, number: int) -> None:
    """Delays each answer, some of them longer."""
    threading.Event().wait(0.002 if number % 16 else 0.05)
    connection.sendall(rendered(response))


def early_and_packed(connection: socket.socket, response: Response, number: int) -> None:
    """Sends two interim responses and a compressed final one: without Accept-Encoding in the request any
    coding is acceptable."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </v1>; rel=preload\r\n\r\nHTTP/1.1 102 X\r\n\r\n"
    body = gzip.compress(response.body, mtime=0)
    response = with_header(response, b"content-length", b"%d" % len(body))
    packed = replace(with_header(response, b"content-encoding", b"gzip"), body=body)
    connection.sendall(early + rendered(packed))


@pytest.mark.slow
@pytest.mark.parametrize("sends", [few_answers, until_idle, closing, slow, early_and_packed])
def test_conforming_ways_to_answer_are_no_violation(sends: Sends) -> None:
    reference, seeded = new_server()
    answered: Counter[int] = Counter()

    def reply(connection: socket.socket, index: int) -> object:
        response = reference.handle(as_request(server.requests[index]))
        answered[id(connection)] += 1
        return sends(connection, response, answered[id(connection)])

    with wire(reply) as server:
        ledger = judged(Lane(build(target_tables(seeded, server.url), "ways")), plan(operations=OPERATIONS))
    bad = (Verdict.FAILED, Verdict.WARNING, Verdict.INCONCLUSIVE)
    assert [one.summary for one in ledger.cells if one.verdict in bad] == []
    assert len(answered) > 5


class BrokenOff(httpx.SyncByteStream):
    """A truncated body."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"{"
        raise httpx.ReadError("Connection reset by peer")


class BreaksOff(InProcessTransport):
    """Performs every request, but truncates the answer to every second POST, and to its repetition."""

    posts = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        again = request.extensions.get(FRESH, False)
        self.posts += request.method == "POST" and not again
        if not again and (request.method != "POST" or self.posts % 2):
            return response
        return httpx.Response(response.status_code, headers=response.headers, stream=BrokenOff())


@pytest.mark.slow
def test_answers_that_break_off_break_no_other_rule() -> None:
    """Resources with a lost answer show up in lists, and are not taken for those of another client."""
    lane = run_on(transport=BreaksOff)
    tests = [
        test
        for test in plan(operations={*OPERATIONS, "createBeneficiary"})
        if test[0].rules[0].startswith(("list.", "idempotency.", "create."))
    ]
    blamed = {rule: cell.summary for rule, cell in broken(judged(lane, tests).cells).items()}
    assert "http.no-server-error" in blamed
    assert blamed.keys() <= {"http.no-server-error", "http.lost-requests"}, blamed
