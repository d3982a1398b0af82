"""What the users of a process share: limits, earlier requests, and the ledger since the last report."""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from conformance._text import clean
from conformance.checks import judged_on_answers, presence
from conformance.checks.check import CheckDefinition
from conformance.checks.running import run_check
from conformance.contract.rules import RULES
from conformance.contract.traits import traits_of
from conformance.judge.cells import Cell
from conformance.judge.exchanges import exchange_record
from conformance.judge.ledger import CreatedRecord, Ledger
from conformance.judge.oracle import Known, expect
from conformance.judge.verdicts import Verdict
from conformance.judge.waits import PACE
from conformance.load.long_checks import MEMORY, Memory
from conformance.target.file import Target
from conformance.wire.budget import Budget, Retry
from conformance.wire.messages import Auth, Exchange
from conformance.wire.pace import Pace
from conformance.world.common import Common
from conformance.world.created_resources import CreatedResources
from conformance.world.lane import Lane
from conformance.world.vacant import VacantAccounts

#: Range of exchange numbers reserved for each process.
NUMBERS = 10**9

#: Maximum number of reported errors of a process, and of reasons why checks could not judge.
ERRORS = 20

#: A path that all servers read alike.
_PLAIN = re.compile(r"[\w/-]+", re.ASCII)


class Created(msgspec.Struct, frozen=True):
    """A created resource, the session and the request that created it (equal for repetitions in all
    sessions), and the encoded record of the exchange, its evidence."""

    resource: CreatedRecord
    session: str
    origin: str
    exchange: bytes


class Report(msgspec.Struct, omit_defaults=True):
    """A report of a process to the controller: the ledger since the last one, and what was created. `unable`
    counts why checks could not judge."""

    ledger: Ledger
    unable: dict[str, int] = {}
    created: list[Created] = []


class LoadProcess:
    """The users of one process, the `index`th. `watch` is called with each exchange. Sends nothing before
    `limit`.

    Limits hold for all processes together: each has its share of the budget.
    """

    def __init__(
        self, target: Target, index: int = 0, watch: Callable[[Exchange], None] = lambda exchange: None
    ) -> None:
        self.target = target
        self.budget = Budget(pace=Pace(target.limits.requests_per_second, learns=False))
        self.memory = Memory()
        self.sessions: dict[int, Lane] = {}
        #: Sessions whose check has had a valid request refused by authentication.
        self._confused: set[int] = set()
        #: Why the server could not be reached; empty once it answers again.
        self.lost = ""
        self._first = Lane(target, first_number=index * NUMBERS + 1, common=Common(target, self.budget))
        self._index, self._numbers = index, itertools.count(1)
        self._observe, self._admitted = watch, threading.Event()
        self._report = Report(Ledger())
        #: Rule and operation -> number of passed judgements since the last report.
        self._passed: Counter[tuple[str, str]] = Counter()

    def limit(self, rate: float) -> None:
        """Sets this process's share of the requests a second (0: no limit), and admits its users."""
        self.budget.pace.limit(rate)
        self._admitted.set()

    # ------------------------------------------------------------------ sessions

    def begin(self) -> int:
        """Begins a session, once limits are known; returns its number. Its run shares connections, limits and
        clock with others."""
        self._admitted.wait()
        number, lane = next(self._numbers), self._first.alone()
        lane.created = lane.common.created = CreatedResources(self._first.created.known)
        lane.common.vacant = VacantAccounts(lane.created)
        lane.retry = Retry(self.budget, self.target.limits.retry_seconds)
        lane.cache.put(MEMORY, self.memory)
        for organization in ("primary", "secondary") if self.target.secondary else ("primary",):
            lane.client(organization).watchers.append(lambda exchange: self._watch(number, lane, exchange))
        self.sessions[number] = lane
        return number

    def judge(self, session: int, check: CheckDefinition, operation: str) -> bool:
        """Runs a check in a session; False where it judged nothing. Ends the session where the server is
        lost."""
        lane = self.sessions[session]
        self._confused.discard(session)
        cells, exchanges = run_check(check, operation, lane)
        # A check of which a valid request was refused proves no other rule broken.
        cells = [] if session in self._confused else cells
        self._add(lane, cells, exchanges)
        lane.release()
        judged = any(cell.judged for cell in cells)
        for cell in cells[:1]:
            if cell.unclear and not judged:
                self._count(lane.redactor.clean(cell.summary)[:200])
        if lane.lost:
            self.end(session)
        return judged

    def end(self, session: int) -> None:
        """Ends a session, once: adds its judgements of every response."""
        lane = self.sessions.pop(session, None)
        if lane is None:
            return
        self._add(lane, map(judged_on_answers, lane.invariants.tallies.values()))
        ledger = self._report.ledger
        ledger.measure_limits(lane.retry.take())
        ledger.waited(PACE, *lane.budget.waits())

    def stopped(self, error: Exception) -> None:
        """Records an error of the suite, which ended a session."""
        if len(self._report.ledger.errors) < ERRORS:
            self._report.ledger.errors.append(f"{type(error).__name__}: {str(error)[:500]}")

    def _count(self, reason: str) -> None:
        unable = self._report.unable
        if reason in unable or len(unable) < ERRORS:
            unable[reason] = unable.get(reason, 0) + 1

    def _add(self, lane: Lane, cells: Iterable[Cell], exchanges: Sequence[Exchange] = ()) -> None:
        """Counts what holds; adds violations with their exchanges, unless these only show that an operation
        does not exist."""
        ledger = self._report.ledger
        for cell in cells:
            if cell.verdict is Verdict.PASSED:
                self._passed[cell.key] += cell.looks
            if not cell.violations:
                continue
            explained = presence.explained(lane, cell, exchanges)
            if explained.violations:
                evidence = filter(None, map(lane.exchange, cell.exchanges))
                ledger.exchanges |= {one.number: exchange_record(one, lane.redactor) for one in evidence}
                ledger.add(cell, lane.redactor.clean)

    # ------------------------------------------------------------------ watching

    def _watch(self, session: int, lane: Lane, exchange: Exchange) -> None:
        ledger = self._report.ledger
        self.lost = "" if exchange.status is not None else lane.redactor.text(lane.lost)
        if exchange.attempts:
            ledger.sent += exchange.attempts
            ledger.measure(exchange)
        self._observe(exchange)
        self.memory.add(exchange)
        if not self._authenticated(lane, exchange):
            self._confused.add(session)
        operation = exchange.operation
        creates = traits_of(operation).creates if operation else exchange.method == "POST"
        identifier = exchange.get("id") if creates and exchange.succeeded else None
        if isinstance(identifier, str):
            resource = CreatedRecord(
                exchange.organization, operation or "", clean(identifier), clean(exchange.call.path)
            )
            key = exchange.call.idempotency_key
            origin = f"{exchange.organization} {key.lower() if key else exchange.number}"
            record = msgspec.msgpack.encode(exchange_record(exchange, lane.redactor))
            self._report.created.append(Created(resource, f"{self._index} {session}", origin, record))

    def _authenticated(self, lane: Lane, exchange: Exchange) -> bool:
        """Judges that a correctly signed request passes authentication, whichever check sends it; False if
        not."""
        call, rule = exchange.call, "auth.accepts-valid"
        usual = call.auth == Auth() and not call.headers and _PLAIN.fullmatch(call.path)
        if not usual or call.operation not in RULES[rule].operations or exchange.status is None:
            return True
        if not exchange.refused_authentication:
            return True
        reason = next(iter(expect(call, lane.target, Known(now=lane.clock.now())).passes), None)
        if reason is not None:
            cell = Cell(reason.rule, call.operation)
            cell.expect(*reason.judge(exchange))
            self._add(lane, [cell.concluded()])
        return reason is None

    # ------------------------------------------------------------------ reporting

    def report(self) -> bytes:
        """The redacted report since the last one."""
        report, passed, self._report, self._passed = self._report, self._passed, Report(Ledger()), Counter()
        for (rule, operation), judged in passed.items():
            report.ledger.add(Cell(rule, operation, judged=judged).concluded())
        report.ledger.lost = self.lost
        return msgspec.msgpack.encode(report)

    def finished(self) -> bytes:
        """Ends all requests and sessions, and returns the last report."""
        self.budget.stop("the run was over")
        for session in list(self.sessions):
            self.end(session)
        return self.report()
