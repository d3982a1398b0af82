"""Ways of HTTP to answer, and to close connections without a word, for which no server is blamed."""

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
from conformance.judge.findings import Verdict
from conformance.reference.core_messages import Response
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.in_process import InProcessTransport
from conformance.target.file import build
from conformance.wire.transport import FRESH
from conformance.world.run_context import RunContext
from tests.support.runs import broken, judged, run_on
from tests.support.wire import as_request, rendered, wire

#: One that creates, one that lists: with their races.
OPERATIONS = {"createVirtualAccount", "listVirtualAccounts"}

#: Answers of a connection after which it closes, and seconds of idling.
ANSWERS, IDLE = 10, 0.02


#: Sends the answer that is the given number of its connection; returning False closes that.
Sends = Callable[[socket.socket, Response, int], object]


def few_answers(connection: socket.socket, response: Response, number: int) -> bool:
    """Closes after so many answers, without `Connection: close`, when the next request is on its way."""
    if number <= ANSWERS:
        connection.sendall(rendered(response))
    return number <= ANSWERS


def until_idle(connection: socket.socket, response: Response, number: int) -> None:
    """Closes when nothing comes for a moment."""
    connection.sendall(rendered(response))
    connection.settimeout(IDLE)


def in_the_old_way(connection: socket.socket, response: Response, number: int) -> bool:
    """Speaks HTTP/1.0: the end of the connection is that of the body."""
    connection.sendall(rendered(response.with_header(b"content-length", None), b"HTTP/1.0"))
    return False


def closing(connection: socket.socket, response: Response, number: int) -> bool:
    """Says that it closes after each answer, and does."""
    connection.sendall(rendered(response.with_header(b"connection", b"close")))
    return False


def in_chunks(connection: socket.socket, response: Response, number: int) -> None:
    """Answers in chunks, without a length."""
    chunked = response.with_header(b"content-length", None).with_header(b"transfer-encoding", b"chunked")
    halves = response.body[:9], response.body[9:]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(half), half) for half in halves if half)
    connection.sendall(rendered(replace(chunked, body=chunks + b"0\r\n\r\n")))


def slow(connection: socket.socket, response: Response, number: int) -> None:
    """Takes its time, now and then more of it."""
    threading.Event().wait(0.002 if number % 16 else 0.05)
    connection.sendall(rendered(response))


def early_and_packed(connection: socket.socket, response: Response, number: int) -> None:
    """Sends two interim answers first, and packs the final one: a request that does not say which codings it
    takes takes all."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </v1>; rel=preload\r\n\r\nHTTP/1.1 102 X\r\n\r\n"
    body = gzip.compress(response.body, mtime=0)
    response = response.with_header(b"content-length", b"%d" % len(body))
    packed = replace(response.with_header(b"content-encoding", b"gzip"), body=body)
    connection.sendall(early + rendered(packed))


@pytest.mark.parametrize(
    "sends", [few_answers, until_idle, in_the_old_way, closing, in_chunks, slow, early_and_packed]
)
def test_conforming_ways_to_answer_are_no_violation(sends: Sends) -> None:
    reference, seeded = new_server()
    answered: Counter[int] = Counter()

    def reply(connection: socket.socket, index: int) -> object:
        response = reference.handle(as_request(server.requests[index]))
        answered[id(connection)] += 1
        return sends(connection, response, answered[id(connection)])

    with wire(reply) as server:
        ledger = judged(
            RunContext(build(target_tables(seeded, server.url), "ways")), plan(operations=OPERATIONS)
        )
    bad = (Verdict.FAILED, Verdict.WARNING, Verdict.INCONCLUSIVE)
    assert [one.summary for one in ledger.findings if one.verdict in bad and one.exercised] == []
    assert len(answered) > 5


class BrokenOff(httpx.SyncByteStream):
    """The beginning of a body."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"{"
        raise httpx.ReadError("Connection reset by peer")


class BreaksOff(InProcessTransport):
    """Does all that it is asked for, and breaks off the answer to every so many requests of a method, and to
    their repetition."""

    METHOD, EVERY = "POST", 2
    seen = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        again = request.extensions.get(FRESH, False)
        self.seen += request.method == self.METHOD and not again
        if not again and (request.method != self.METHOD or self.seen % self.EVERY):
            return response
        return httpx.Response(response.status_code, headers=response.headers, stream=BrokenOff())


class BreaksOffReads(BreaksOff):
    """The same of reads and lists."""

    METHOD, EVERY = "GET", 7


@pytest.mark.parametrize("kind", [BreaksOff, BreaksOffReads])
def test_answers_that_break_off_break_no_other_rule(kind: type[BreaksOff]) -> None:
    """Resources whose answer was lost are in lists, and belong to nobody else."""
    run = run_on(transport=kind)
    tests = [
        test
        for test in plan(operations={*OPERATIONS, "createBeneficiary"})
        if test[0].rules[0].startswith(("list.", "idempotency.", "create."))
    ]
    blamed = {rule: finding.summary for rule, finding in broken(judged(run, tests).findings).items()}
    assert "http.no-server-error" in blamed
    assert blamed.keys() <= {"http.no-server-error", "http.lost-requests"}, blamed
