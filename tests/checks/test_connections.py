"""A server that closes connections without a word, as proxies and idle timers do, is not blamed for it."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterator

import httpx
import pytest

from conformance.checks import plan
from conformance.fixtures.run_context import RunContext
from conformance.harness.check import run_check
from conformance.judging.findings import Finding, Verdict
from conformance.reference.seed import new_server, target_tables
from conformance.reference.serving.transport import InProcessTransport
from conformance.target.file import build
from conformance.wire.transport import FRESH
from tests.support.runs import broken, run_on
from tests.support.wire import Wire, as_request, wire

#: One that creates, one that lists: with their races.
OPERATIONS = {"createVirtualAccount", "listVirtualAccounts"}

#: Answers of a connection after which it closes, and seconds of idling.
ANSWERS, IDLE = 10, 0.02


def after_answers(connection: socket.socket, answered: int) -> bool:
    """Closes after so many answers, without `Connection: close`."""
    return answered < ANSWERS


def after_idling(connection: socket.socket, answered: int) -> bool:
    """Closes when nothing comes for a moment."""
    connection.settimeout(IDLE)
    return True


@pytest.mark.parametrize("keeps", [after_answers, after_idling])
def test_closed_connections_are_no_violation(keeps: Callable[[socket.socket, int], bool]) -> None:
    reference, seeded = new_server()
    servers: list[Wire] = []
    answered: Counter[int] = Counter()

    def reply(connection: socket.socket, index: int) -> bool:
        response = reference.handle(as_request(servers[0].requests[index]))
        headers = b"".join(b"%s: %s\r\n" % pair for pair in response.headers)
        connection.sendall(b"HTTP/1.1 %d X\r\n%s\r\n%s" % (response.status, headers, response.body))
        answered[id(connection)] += 1
        return keeps(connection, answered[id(connection)])

    blamed = []
    with wire(reply) as server:
        servers.append(server)
        run = RunContext(build(target_tables(seeded, server.url), "closing"))
        for check, operation in plan(operations=OPERATIONS):
            blamed += [
                finding.summary
                for finding in run_check(check, operation, run)[0]
                if finding.verdict in (Verdict.FAILED, Verdict.WARNING, Verdict.INCONCLUSIVE)
                and finding.exercised
            ]
    blamed += [f"{rule}: {tally.got}" for (rule, _), tally in run.invariants.tallies.items() if tally.broken]
    assert blamed == []
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
    """What was created without being told is in lists, and nobody else's."""
    run = run_on(transport=kind)
    blamed: dict[str, Finding] = {}
    for check, operation in plan(operations={*OPERATIONS, "createBeneficiary"}):
        if check.rules[0].startswith(("list.", "idempotency.", "create.")):
            blamed |= broken(run_check(check, operation, run)[0])
    assert {rule: finding.summary for rule, finding in blamed.items()} == {}
    told = {rule for (rule, _), tally in run.invariants.tallies.items() if tally.broken}
    assert "http.no-server-error" in told <= {"http.no-server-error", "http.lost-requests"}
