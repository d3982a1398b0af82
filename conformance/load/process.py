"""The shared state of a process's users: budget, valid bodies, used keys and nonces, and the ledger."""

from __future__ import annotations

import itertools
import random
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from conformance._text import clean
from conformance.contract.rules import OPERATION_SETS
from conformance.contract.traits import traits_of
from conformance.fuzz.fixtures import OperationFixtures, pairs_are_free
from conformance.judge.cells import Cell
from conformance.judge.exchanges import exchange_record
from conformance.judge.invariants import INVARIANTS
from conformance.judge.ledger import CreatedRecord, Ledger
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.load.history import concurrently
from conformance.target.file import Target
from conformance.wire.budget import Budget, Retry
from conformance.wire.messages import Call, Exchange
from conformance.world.account import Account
from conformance.world.made import MadeList
from conformance.world.payments import PayoutRounds
from conformance.world.run import Run

if TYPE_CHECKING:
    from conformance.load.user_session import Session

#: Range of exchange numbers reserved for each process.
NUMBERS = 10**9

#: Maximum number of accepted POSTs, and of accepted requests, kept for later users; of the latter, one in
#: ONE_IN is kept.
POSTS, ACCEPTED, ONE_IN = 200, 600, 30

#: Maximum number of creates kept, to be evidence if another resource has the same id.
CREATES = 1000

#: Maximum number of reported errors of a process.
ERRORS = 20


class Report(msgspec.Struct, omit_defaults=True):
    """A report of a process to the controller: the ledger since the last one, and for each new
    resource its id, the number of its exchange, and the origin of its request. `unable` counts why sessions
    ended."""

    ledger: Ledger
    unable: dict[str, int] = {}
    ids: list[tuple[str, int, int]] = []


class LoadProcess:
    """The users of one process, the `index`th. `watchers` are called with each exchange. Sends nothing before
    `prepare`.

    Limits hold for all processes together: each has its share of the budget.
    """

    def __init__(
        self, target: Target, index: int = 0, watchers: Sequence[Callable[[Exchange], None]] = ()
    ) -> None:
        self.target = target
        self.budget = Budget(requests_per_second=target.limits.requests_per_second)
        self.watchers = list(watchers)
        self.setup = self._watched(Run(target, first_number=index * NUMBERS + 1, budget=self.budget))
        self.sessions: set[Session] = set()
        self.valid: dict[str, Any] = {}
        self.elsewhere: dict[str, Account] = {}
        #: The account for payouts; None if they are not accepted.
        self.payer: Account | None = None
        #: Number of payouts in progress, and whether new ones are held.
        self.paying, self.held = 0, False
        #: Rounds of payouts from it; None before the first.
        self.payouts: PayoutRounds | None = None
        #: Accepted requests, and creates by number.
        self.posts: deque[Exchange] = deque(maxlen=POSTS)
        self.accepted: deque[Exchange] = deque(maxlen=ACCEPTED)
        self.creates: dict[int, Exchange] = {}
        #: Why the server could not be reached; empty once it answers again.
        self.lost = ""
        self._lock, self._admitted = threading.Lock(), threading.Event()
        self._counter = itertools.count()
        self._report = Report(Ledger())
        #: Rule and operation -> number of passed judgements since the last report.
        self._held: Counter[tuple[str, str]] = Counter()

    def limit(self, rate: float) -> None:
        """Sets this process's share of the requests a second (0: no limit)."""
        self._admitted.set()
        self.budget.limit(rate)

    # ------------------------------------------------------------------ preparing

    def prepare(self) -> None:
        """Determines which bodies the server accepts, and creates what all users share: a sibling account
        and one of the other organization, which are only read, and one for payouts. Raises Inconclusive."""
        run, valid = self.setup, {}
        for operation in OPERATION_SETS["body"]:
            with suppress(Inconclusive):
                if (body := OperationFixtures(run, operation, shared=True).valid) is not None:
                    valid[operation] = body
        self.elsewhere = {"sibling": run.account()}
        # Accounts are created when their id is first asked for.
        _ = self.elsewhere["sibling"].account_id
        with suppress(Inconclusive, NotApplicable):
            secondary = run.account(owner="secondary")
            _ = secondary.account_id
            self.elsewhere["secondary"] = secondary
        pairs_are_free(run)
        if run.target.features.payouts:
            with suppress(Inconclusive, NotApplicable):
                payer = run.account("payouts")
                _ = payer.payee
                self.payer, self.payouts = payer, PayoutRounds(payer, time.sleep)
        self.valid = valid

    def ready(self) -> None:
        """Prepares once, by the first user when limits are known; others wait. Raises Inconclusive."""
        self._admitted.wait()
        with self._lock:
            if not self.valid:
                self.prepare()

    def begin(self) -> Run:
        """The run of a new session, which shares connections, budget, clock and numbers."""
        run = self.setup.alone()
        run.made = MadeList()
        run.retry = Retry(self.budget, self.target.limits.retry_seconds)
        run.cache = self.setup.cache.copy()
        run.record |= self.setup.record
        run.lost = ""
        return self._watched(run)

    def _watched(self, run: Run) -> Run:
        for organization in ("primary", "secondary") if self.target.secondary else ("primary",):
            run.client(organization).watchers.append(self._watch)
        return run

    # ------------------------------------------------------------------ watching

    def _watch(self, exchange: Exchange) -> None:
        ledger = self._report.ledger
        if exchange.status is not None:
            self.lost = ""
        if exchange.attempts:
            ledger.sent += exchange.attempts
            ledger.measure(exchange)
        for watcher in self.watchers:
            watcher(exchange)
        if not exchange.succeeded:
            return
        if next(self._counter) % ONE_IN == 0:
            self.accepted.append(exchange)
        identifier = exchange.get("id") if _creates(exchange) else None
        if isinstance(identifier, str):
            # An idempotent replay shows the same id, from the same origin.
            self._report.ids.append((identifier, exchange.number, _origin(exchange)))
            self.creates[exchange.number] = exchange
            if len(self.creates) > CREATES:
                del self.creates[next(iter(self.creates))]

    # ------------------------------------------------------------------ reporting

    def end(self, session: Session) -> None:
        """Merges the cells of a session, once."""
        if session not in self.sessions:
            return
        self.sessions.discard(session)
        self._take(session.run, session.recorder.cells.values())
        for post in random.sample(session.model.posts, min(2, len(session.model.posts))):
            self.posts.append(post.answer)

    def _take(self, run: Run, cells: Iterable[Cell]) -> None:
        ledger = self._report.ledger
        own = [cell for cell in cells if cell.rule not in INVARIANTS]
        for cell in [*own, *run.invariants.tallies.values()]:
            if cell.violations:
                broken = cell.concluded()
                evidence = [run.record[number] for number in broken.exchanges if number in run.record]
                ledger.exchanges |= {one.number: exchange_record(one, run.redactor) for one in evidence}
                ledger.add(broken, run.redactor.clean)
            else:
                self._held[cell.key] += cell.judged
        for made in run.made.resources:
            ledger.created.append(
                CreatedRecord(made.organization, made.operation, clean(made.id), clean(made.path))
            )
        ledger.waits, ledger.waited = ledger.waits + run.retry.waits, ledger.waited + run.retry.waited
        self.lost = run.redactor.text(run.lost) or self.lost

    def stopped(self, error: Exception) -> None:
        """Counts why a session ended, or records an internal error."""
        if not isinstance(error, (Inconclusive, NotApplicable)):
            if len(self._report.ledger.errors) < ERRORS:
                self._report.ledger.errors.append(f"{type(error).__name__}: {str(error)[:500]}")
            return
        reason, unable = self.setup.redactor.text(error.reason)[:200], self._report.unable
        if reason in unable or len(unable) < ERRORS:
            unable[reason] = unable.get(reason, 0) + 1

    # ------------------------------------------------------------------ questions of the controller

    def report(self) -> bytes:
        """The redacted report since the last one."""
        report, held, self._report, self._held = self._report, self._held, Report(Ledger()), Counter()
        for (rule, operation), judged in held.items():
            report.ledger.add(Cell(rule, operation, judged=judged).concluded())
        report.ledger.lost = self.lost
        return msgspec.msgpack.encode(report)

    def finished(self) -> bytes:
        """Ends all requests and sessions, and returns the last report."""
        self.budget.stop("the run was over")
        for session in list(self.sessions):
            self.end(session)
        self._take(self.setup, ())
        return self.report()

    def find(self, numbers: Iterable[int]) -> bytes:
        """The exchanges with these numbers that are still kept."""
        return self._packed(self.creates[number] for number in numbers if number in self.creates)

    def hold(self, held: bool) -> bytes:
        """Holds new payouts and waits for those in progress, or releases them."""
        self.held = held
        while self.held and self.paying:
            time.sleep(0.02)
        return b""

    def race(self, scripts: Sequence[Sequence[tuple[str, dict[str, Any]]]], purpose: str) -> bytes:
        """Runs scripts of named requests concurrently; returns the exchanges."""
        run = self.begin()
        calls = [[(name, msgspec.convert(plain, Call)) for name, plain in script] for script in scripts]
        done = concurrently(run, calls, purpose)
        self._take(run, ())
        return self._packed(exchange for _, exchange in done)

    def _packed(self, exchanges: Iterable[Exchange]) -> bytes:
        """Serializes exchanges, with credentials abbreviated."""
        redacted = self.setup.redactor.headers
        safe = [replace(one, request_headers=redacted(one.request_headers), _read=None) for one in exchanges]
        return msgspec.msgpack.encode(safe)


def unpacked(data: bytes) -> list[Exchange]:
    """Deserializes the answers of `find` and `race`."""
    return msgspec.msgpack.decode(data, type=list[Exchange])


def _origin(exchange: Exchange) -> int:
    """A hash of organization and idempotency key, equal in all processes; of the exchange's number without a
    key."""
    key = exchange.call.idempotency_key
    return zlib.crc32(f"{exchange.organization} {key.lower() if key else exchange.number}".encode())


def _creates(exchange: Exchange) -> bool:
    """True if an exchange created a resource."""
    return exchange.succeeded and bool(traits_of(exchange.operation).creates)
