"""What the lanes of a process have in common."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from weakref import WeakValueDictionary

from conformance.judge.lost_requests import Rate
from conformance.target.file import Target
from conformance.wire.budget import Budget
from conformance.wire.messages import Exchange
from conformance.wire.nonces import Nonces
from conformance.wire.pace import Pace
from conformance.world.cache import Cache
from conformance.world.created_resources import CreatedResources
from conformance.world.lag import Lag
from conformance.world.vacant import VacantAccounts

#: Latencies of an operation that are kept.
LATENCIES = 9


class Common:
    """What the runs of the lanes of a process have in common: the budget, nonces, how late writes show, what
    was created, and values that are made once and no check changes, such as filled lists."""

    def __init__(self, target: Target, budget: Budget | None = None) -> None:
        self.budget = budget or Budget(pace=Pace(target.limits.requests_per_second))
        self.lag = Lag(target.limits.shows_within)
        named = target.primary
        self.created = CreatedResources(
            {named.funded_account_id, named.beneficiary_id, named.payout_destination_id}
        )
        self.cache = Cache()
        self.vacant = VacantAccounts(self.created)
        #: One lane may use again what another one has sent.
        self.nonces = Nonces()
        #: Organizations and idempotency keys that were accepted: a replay is as old as its original.
        self.keys: set[tuple[str, str]] = set()
        #: Members against the contract that were sent and shown, as JSON, with the exchange that sent each.
        self.invalid: dict[str, int] = {}
        #: The rate of lost requests of each lane.
        self.rates: list[Rate] = []
        #: Number -> exchange, as long as anything refers to it.
        self.exchanges = WeakValueDictionary[int, Exchange]()
        #: The `accepted` of each lane.
        self.accepted: list[list[Exchange]] = []
        #: When requests were sent, in Unix seconds.
        self.sent = array("d")
        #: Operation -> the last latencies of accepted requests that were neither raced nor replays.
        self.latencies = defaultdict[str, deque[float]](lambda: deque(maxlen=LATENCIES))
        #: Payments that balances show among those of others by their ten-thousandths, which the server takes.
        self.in_parts: set[str] = set()
        #: True once a check has found a rule broken that is run alone.
        self.broken = False
        #: Operation -> repetitions of checks in a row that could not judge either.
        self.in_vain = Counter[str]()

    def renewed(self, target: Target) -> Common:
        """Copies it without values, accepted requests and failed waits."""
        other = Common(target, self.budget)
        other.lag, other.created, other.nonces = self.lag.renewed(), self.created, self.nonces
        other.keys, other.invalid, other.rates = self.keys, self.invalid, self.rates
        other.exchanges, other.sent, other.latencies = self.exchanges, self.sent, self.latencies
        other.vacant = VacantAccounts(self.created)
        return other
