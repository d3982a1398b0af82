"""Sending: the clients of a run, every exchange with the server, and what it has shown of itself."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

import httpx

from conformance.contract.operations import request_problems
from conformance.contract.traits import traits_of
from conformance.judge.invariants import Invariants
from conformance.judge.ledger import Ledger
from conformance.judge.outcomes import Unclear
from conformance.judge.verdicts import Inconclusive, InternalError, NotApplicable
from conformance.target.applicability import NO_SECOND, UNNAMED_SECOND
from conformance.target.file import Target
from conformance.target.redaction import Redactor
from conformance.wire.budget import Retry, TimeoutPolicy
from conformance.wire.client import Client, Racer, race
from conformance.wire.clock import ServerClock
from conformance.wire.messages import NO_SERVER, Auth, Call, Exchange, Failure
from conformance.wire.transport import Transport
from conformance.world.cache import Cache
from conformance.world.calls import renewed
from conformance.world.common import Common
from conformance.world.lag import MOST_IN_VAIN, exists
from conformance.world.payers import Payers
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Samples

#: What `Lag` calls the replays of all operations.
REPLAYS = "replays"

#: Remedy where the budget of requests is spent.
MORE = "Raise the limit, or judge a part at a time: --operation, --section, --rule."

#: Parts of paths that move money, and that add to a customer's accounts.
_PAYING, _ADDING = re.compile("/pay(out|in)s"), re.compile("/customers/[^/]*/accounts$")

#: Statuses of a refusal of a body for an id that is not known yet.
_UNKNOWN_IN_BODY = (400, 409, 422)

#: Consecutive refused connections, or timeouts, after which the run sends nothing more.
LOST_AFTER_REFUSED = 3
LOST_AFTER_TIMEOUTS = 10

#: Bytes of a body that are kept once its check has ended.
KEPT_BODY = 64 * 1024

#: Seconds between two accepted reads of an operation that are kept.
SAMPLED = 5.0


class Sender:
    """The requests of one lane of a run, and the values that it makes once. `common` is what the lanes of a
    process share."""

    def __init__(
        self,
        target: Target,
        transport: httpx.BaseTransport | None = None,
        *,
        first_number: int = 1,
        common: Common | None = None,
    ) -> None:
        self.target = target
        self.common = common or Common(target)
        self.budget, self.lag, self.created = self.common.budget, self.common.lag, self.common.created
        #: Sleeps some seconds, or until the run's time is over.
        self.pause: Callable[[float], None] = self._sleep
        self.redactor = Redactor(target)
        self.samples = Samples(target)
        self.cache = Cache()
        #: Exchanges since the last `release`, earlier ones that cells of checks since then may name, and what
        #: was counted by then.
        self.recent: list[Exchange] = []
        self.evidence: list[Exchange] = []
        self.counted = Ledger()
        #: Accepted writes in their order, and of the accepted reads of each operation one in so many seconds.
        self.accepted: list[Exchange] = []
        self.common.accepted.append(self.accepted)
        self._sampled: dict[str, float] = {}
        self.sent = 0
        self.retry = Retry(self.budget, target.limits.retry_seconds)
        #: Seconds left for what shows by chance, or after a time: a race is repeated so long.
        self.patience = 0.0
        self.timeouts = TimeoutPolicy(target.limits.request_timeout)
        self.invariants = Invariants(target, self.common.keys, self.common.invalid, self.common.rates)
        #: Whoever moves money; the transport of a test has no other processes.
        self.payers = Payers("" if transport else target.base_url)
        #: Whoever adds to a list that others add to, too: a customer's accounts.
        self.adders = Payers("" if transport else target.base_url, "adding")
        self.clock = ServerClock()
        #: Reason why nothing more is sent, in one paragraph; empty while the server answers.
        self.lost = ""
        self._unanswered: list[Failure] = []
        #: Organization and Idempotency-Key -> time of the first success, or of a failure that may be none.
        self._keys: dict[tuple[str, str], float] = {}
        #: The operations that have answered 2xx.
        self.succeeded: set[str] = set()
        self._numbers = itertools.count(first_number)
        self._transport = transport or Transport(target.tls)
        self._clients: dict[str, Client] = {}

    def exchange(self, number: int) -> Exchange | None:
        """The exchange of a number, of this lane or of another one; None where nothing refers to it."""
        return self.common.exchanges.get(number)

    def release(self) -> None:
        """Counts recent exchanges, and lets go of them: those stay to which something refers."""
        recent, self.recent, self.evidence = self.recent, [], []
        for exchange in recent:
            exchange.trim(KEPT_BODY)
            # Parsed documents take several times the memory of their text, and are seldom used again.
            exchange.forget()
            if exchange.attempts:
                self.counted.measure(exchange)

    def alone(self, target: Target | None = None) -> Self:
        """Returns a run on the same server with connections, limits, clock and list of created resources in
        common, but accounts and values of its own; perhaps for another customer, as in `target`."""
        target = target or self.target
        other = type(self)(target, self._transport, common=self.common.renewed(target))
        other.retry, other.pause, other.clock = self.retry, self.pause, self.clock
        other._numbers, other.lost, other.payers = self._numbers, self.lost, self.payers
        other._keys, other.adders = self._keys, self.adders
        return other

    def include(self, other: Sender) -> None:
        """Adds the exchanges of a run made by `alone`."""
        self.recent += other.recent
        self.evidence += other.evidence
        self.accepted += other.accepted
        self.sent += other.sent
        self.lost = self.lost or other.lost

    def _sleep(self, seconds: float) -> None:
        left = self.budget.left
        time.sleep(max(0.0, seconds if left is None else min(seconds, left)))

    # ------------------------------------------------------------------ clients

    def client(self, organization: str = "primary") -> Client:
        """The client of the primary or the secondary organization. Raises NotApplicable or Inconclusive where
        the target has no secondary one."""
        if organization not in self._clients:
            owner = self.target.primary if organization == "primary" else self.target.secondary
            if owner is None and self.target.features.secondary is False:
                raise NotApplicable(NO_SECOND)
            if owner is None:
                raise Inconclusive(Unclear(UNNAMED_SECOND[0], remedy=UNNAMED_SECOND[1]))
            self._clients[organization] = Client(
                self.target.base_url,
                owner,
                self._transport,
                clock=self.clock,
                budget=self.budget,
                retry=self.retry,
                timeouts=self.timeouts,
                nonces=self.common.nonces,
                numbers=self._numbers,
                watchers=[self._watch],
            )
        return self._clients[organization]

    def _watch(self, exchange: Exchange) -> None:
        self.sent += exchange.attempts
        self.recent.append(exchange)
        self.common.exchanges[exchange.number] = exchange
        self.common.sent.append(exchange.started)
        if exchange.succeeded:
            self.succeeded.add(str(exchange.operation))
            if exchange.method != "GET" or self._is_sample(exchange):
                self.accepted.append(exchange)
        ended = exchange.succeeded or exchange.refused
        if exchange.call.idempotency_key and (exchange.succeeded or not ended):
            first = self._keys.setdefault(_key(exchange), exchange.arrived)
            if exchange.succeeded and not exchange.raced and first == exchange.arrived:
                self.common.latencies[str(exchange.operation)].append(exchange.elapsed)
        if not self.clock.calibrated:
            self.clock.observe(exchange)
        if not exchange.repeated:
            self._look_for_server(exchange)
        self.created.inspect(exchange)
        self.invariants.inspect(exchange)

    def _is_sample(self, exchange: Exchange) -> bool:
        """True for a correctly signed read, once in SAMPLED seconds for each operation."""
        operation = str(exchange.operation)
        if exchange.started < self._sampled.get(operation, 0.0) + SAMPLED or exchange.call.auth != Auth():
            return False
        self._sampled[operation] = exchange.started
        return True

    def _look_for_server(self, exchange: Exchange) -> None:
        """Sets `lost` after repeated refused connections or timeouts."""
        error = exchange.error or ""
        if exchange.failure in (Failure.WITHHELD, Failure.HUNG_UP):
            return
        if exchange.failure in (*NO_SERVER, Failure.NOT_CONNECTED, Failure.TIMED_OUT):
            self._unanswered.append(exchange.failure)
        else:
            self._unanswered.clear()
        last = self._unanswered[-LOST_AFTER_REFUSED:]
        refused = len(last) == LOST_AFTER_REFUSED and all(failure in NO_SERVER for failure in last)
        if not self.lost and (refused or len(self._unanswered) >= LOST_AFTER_TIMEOUTS):
            what = "could no longer be reached" if refused else "did not answer in time any more"
            self.lost = (
                f"{self.target.base_url} {what} ({self.redactor.text(error)}): {len(self._unanswered)} "
                f"requests in a row, the last of them {exchange.method} {exchange.call.path[:120]}. Nothing "
                "was sent after that. Look in the server's log for why it stopped, start it again and repeat "
                "the run."
            )

    def interrupt(self, reason: str) -> None:
        """Ends the requests that are under way in other threads, and sends no more, for a reason."""
        self.budget.stop(reason)
        if isinstance(self._transport, Transport):
            self._transport.abort()

    def answering(self) -> None:
        """Raises Inconclusive if the server is lost or the budget spent."""
        if self.lost:
            raise Inconclusive(Unclear(self.lost))
        if ended := self.budget.ended:
            raise Inconclusive(Unclear(ended, remedy=MORE))

    def sent_all(self, exchanges: Iterable[Exchange]) -> None:
        """Raises Inconclusive if one of the exchanges was withheld."""
        for exchange in exchanges:
            if exchange.failure is Failure.WITHHELD:
                raise Inconclusive(Unclear(exchange.error or "", remedy=MORE))

    # ------------------------------------------------------------------ sending

    def send(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a call; again, with back-off, while it is answered 404 and names what is too new to show.
        Raises Inconclusive if the server is lost, the budget spent or the call withheld."""
        first = self.send_once(client, call, purpose)
        if not self.too_new(first) or call.auth != Auth():
            return first
        return self._until(exists, first, lambda: self.send_once(client, call, purpose))

    def find(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a sound call as `send` does, but each time with a new Idempotency-Key, as a server may repeat
        a refusal, and whatever the refusal of a body that names a new resource."""

        def sound(exchange: Exchange) -> bool:
            body = traits_of(call.operation).draws_on_funds and exchange.status in _UNKNOWN_IN_BODY
            return exists(exchange) and not body

        first = self.send_once(client, call, purpose)
        if sound(first):
            return first
        return self._until(sound, first, lambda: self.send_once(client, renewed(call), purpose))

    def too_new(self, exchange: Exchange) -> bool:
        """True if what an unsuccessful request names may be too new to be found."""
        return (
            not exists(exchange)
            and self.created.newest(exchange.call, exchange.organization) + self.lag.within > time.time()
        )

    def race(self, racers: Sequence[Racer]) -> list[Exchange]:
        """Sends calls simultaneously. Raises Inconclusive as `send` does."""
        self.answering()
        self._rest((call, client.organization.name) for client, call, _ in racers)
        with self._in_turn([call for _, call, _ in racers]):
            exchanges = race(racers)
        self.sent_all(exchanges)
        return exchanges

    def send_once(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a call once, whatever its answer; again, with back-off, only while its key is refused as that
        of a request in progress. Raises Inconclusive as `send` does."""
        first = self._once(client, call, purpose)
        if not _in_progress(first) or call.auth != Auth():
            return first
        until = self._keys.get(_key(first), 0.0) + self.lag.within
        if until < time.time():
            return first
        return self.lag.eventually(
            REPLAYS,
            lambda: self._once(client, call, purpose),
            lambda answer: not _in_progress(answer),
            first=first,
            until=until,
        )

    def _once(self, client: Client, call: Call, purpose: str) -> Exchange:
        self.answering()
        self._rest([(call, client.organization.name)])
        with self._in_turn([call]):
            exchange = client.send(call, purpose)
        self.sent_all([exchange])
        return exchange

    def _rest(self, calls: Iterable[tuple[Call, str]]) -> None:
        """Waits until what writes of organizations name is old enough to be found, as this server's lag has
        shown."""
        if self.lag.of_writes:
            newest = max(
                (self.created.newest(*each) for each in calls if each[0].method != "GET"), default=0.0
            )
            time.sleep(max(0.0, newest + 1.5 * self.lag.of_writes - time.time()))

    @contextlib.contextmanager
    def _in_turn(self, calls: Sequence[Call]) -> Iterator[None]:
        """The context in which calls are sent: shared by those that may move money, and by those that may add
        to a list at which another lane looks."""
        posts = [call.path for call in calls if call.method == "POST"]
        with contextlib.ExitStack() as stack:
            if any(map(_PAYING.search, posts)):
                stack.enter_context(self.payers.share())
            if any(map(_ADDING.search, posts)):
                stack.enter_context(self.adders.share())
            yield

    def _until(
        self, good: Callable[[Exchange], bool], first: Exchange, again: Callable[[], Exchange]
    ) -> Exchange:
        """Repeats a call until its answer is good, or what it names must show. An operation that never
        succeeded is waited for once."""
        operation, newest = str(first.operation), self.created.newest(first.call, first.organization)
        last = self.lag.eventually(
            operation,
            again,
            good,
            first=first,
            in_vain=MOST_IN_VAIN if operation in self.succeeded else 1,
            until=newest + self.lag.within,
        )
        if newest and good(last) and last.method != "GET":
            self.lag.of_writes = max(self.lag.of_writes, last.started - newest)
        return last

    def accept(self, client: Client, call: Call, purpose: str) -> Exchange:
        """Sends a valid call. Raises Inconclusive unless it is answered with 2xx and a JSON object,
        InternalError for a call that breaks openapi.yaml."""
        assert call.operation is not None
        for problem in request_problems(call.operation, call.body):
            # These ids are the server's: their format is judged by format.id.
            if not problem.startswith(("/beneficiary_id ", "/payout_destination_id ")):
                raise InternalError(
                    f"the suite's own valid request for {call.operation} breaks openapi.yaml: {problem}"
                )
        exchange = self.find(client, call, purpose)
        if not exchange.succeeded or not isinstance(exchange.document, dict):
            raise refusal_of_valid(exchange)
        return exchange


def _key(exchange: Exchange) -> tuple[str, str]:
    return exchange.organization, (exchange.call.idempotency_key or "").lower()


def _in_progress(exchange: Exchange) -> bool:
    """True for a refusal that may say that an earlier request with the key is not committed yet."""
    used = exchange.call.idempotency_key is not None and exchange.error_code != "idempotency_key_conflict"
    return used and exchange.status in (409, 425)
