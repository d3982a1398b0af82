"""Checks that only load runs have: keys and nonces of minutes ago, and races that seldom show."""

from __future__ import annotations

import functools
import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.checks.check import Check, CheckDefinition, check
from conformance.checks.races import Rounds
from conformance.contract.traits import CHANGING
from conformance.judge import outcomes
from conformance.judge.comparison import same, show
from conformance.judge.conservation import conserved
from conformance.wire.messages import Auth, Call, Exchange
from conformance.world.calls import call
from conformance.world.lane import Fixture
from conformance.world.payments import PayoutRounds
from conformance.world.samples import marker

#: Name -> check of load runs.
LONG_CHECKS: dict[str, CheckDefinition] = {}

_long_check = functools.partial(check, registry=LONG_CHECKS)

#: Maximum number of accepted POSTs of an operation that are sent again, and of used nonces; of the requests
#: that are accepted, one in ONE_IN is among these.
POSTS, NONCES, ONE_IN = 50, 600, 30

#: Rounds of payouts before others may pay.
ROUNDS = 3

#: Maximum age of a reused nonce in seconds: the window of 300 (section 8) less a margin.
NONCE_AGE = 240


@dataclass
class Memory:
    """What the sessions of a process have sent before, as far as later ones repeat it."""

    #: Operation -> answers to accepted POSTs.
    posts: dict[str, deque[Exchange]] = field(default_factory=dict)
    nonces: deque[Exchange] = field(default_factory=lambda: deque(maxlen=NONCES))
    #: Rounds of payouts, of which those that lost amounts add up.
    payouts: PayoutRounds | None = None
    _accepted: int = 0

    def add(self, exchange: Exchange) -> None:
        """Remembers the nonce of one in ONE_IN accepted requests."""
        if exchange.succeeded and exchange.call.auth == Auth() and exchange.organization == "primary":
            self._accepted += 1
            if self._accepted % ONE_IN == 0:
                self.nonces.append(exchange)


#: Its key in the cache of a run.
MEMORY = "what earlier sessions have sent"


@_long_check("idempotency.replay")
def test_keys_of_earlier_sessions(at: Check) -> None:
    """A POST of an earlier session is repeated: the same answer as then."""
    known = at.lane.cache.get(MEMORY, Memory).posts.setdefault(at.operation.id, deque(maxlen=POSTS))
    earlier = random.choice(known) if known else None
    known.append(at.accept(at.valid(), "a request that later sessions repeat"))
    if earlier is None:
        at.not_exercised("idempotency.replay", "no earlier session has sent such a request")
        return
    at.exchanges.append(earlier)
    what = "the key and body of an earlier session again"
    again = at.send(earlier.call, what)
    if at.usable("idempotency.replay", again):
        at.same("idempotency.replay", earlier, again)


@_long_check("auth.nonce-replay")
def test_nonces_of_earlier_requests(at: Check) -> None:
    """A nonce of one of many earlier requests is refused."""
    nonces = at.lane.cache.get(MEMORY, Memory).nonces
    while nonces and nonces[0].started < time.time() - NONCE_AGE:
        nonces.popleft()
    if not nonces:
        at.not_exercised("auth.nonce-replay", "no earlier request was accepted")
        return
    earlier = random.choice(nonces)
    at.exchanges.append(earlier)
    what = "a nonce that was used before"
    again = at.send(at.valid().signed(nonce=earlier.nonce), what)
    # After a 429 the request was repeated with a new nonce.
    if again.nonce == earlier.nonce and at.usable("auth.nonce-replay", again):
        refused = outcomes.refused(what, again, 401, "authentication_error", "nonce_replay")
        at.expect("auth.nonce-replay", *refused, earlier)


@_long_check("payout.race")
def test_payouts_at_once_in_many_rounds(at: Check) -> None:
    """Payouts at once debit the balances by as much as sequential ones; rounds that lost amounts add up over
    all sessions."""
    memory, rounds = at.lane.cache.get(MEMORY, Memory), Rounds(at, ROUNDS)
    payouts = memory.payouts = memory.payouts or PayoutRounds(at.account(), at.lane.pause)
    if not payouts.done:
        with payouts:
            for _ in rounds:
                turn = payouts.turn(at.send, rounds.race)
                if not rounds.spoilt and payouts.take(turn):
                    break
    if payouts.judged:
        at.exchanges += payouts.judged
        what = "payouts at once to take from the balance what they take one after the other"
        at.expect("payout.race", what, *conserved(payouts.judged))
    else:
        at.not_exercised("payout.race", payouts.unclear or "the balances stay as they are")


# ---------------------------------------------------------------------- changes of one resource at once

#: Fields that are changed, and the number of changes at once.
FIELDS, CHANGES = ("note", "middle_name", "display_name"), 4


@_long_check(
    "beneficiary.update",
    "beneficiary.disable",
    operations=CHANGING,
)
def test_changes_of_one_beneficiary_at_once(at: Check) -> None:
    """Clients change fields of one beneficiary, or disable it, while others read it: no acknowledged change
    is lost, and nothing is read that nobody has set."""
    fixture, rounds = at.lane.account(), Rounds(at, 1)
    for _ in rounds:
        person = Fixture(at.lane, account_id=fixture.account_id)
        ids, before = person.ids("getBeneficiary"), person.beneficiary
        read = call("getBeneficiary", ids)
        calls = [_change(ids) for _ in range(CHANGES)]
        disables = at.operation.traits.disables or random.random() < 0.5
        calls += [call("disableBeneficiary", ids) if disables else read, read]
        random.shuffle(calls)
        answers = rounds.race(calls, "changes of one beneficiary at once")
        if not rounds.spoilt:
            _judge_changes(at, read, answers, before)


def _judge_changes(at: Check, read: Call, answers: list[Exchange], before: Exchange) -> None:
    """Judges changes at once of a beneficiary by a later read, and reads among them."""
    (rule,), disables = at.rules, at.operation.traits.disables
    changes = [answer for answer in answers if answer.method != "GET"]
    if disables and not any(change.succeeded and change.operation == at.operation.id for change in changes):
        at.not_exercised(rule, "the beneficiary was not disabled")
        return

    def lost(answer: Exchange) -> str:
        return _not_disabled(answer) if disables else _lost(answer, changes, before)

    last = at.eventually(
        lambda: at.send(read, "the beneficiary after changes at once"),
        lambda answer: not answer.succeeded or not lost(answer),
        "getBeneficiary",
    )
    if at.usable(rule, last) and last.succeeded:
        at.expect(rule, "none of several acknowledged changes at once lost", lost(last), last, *changes)
    for meanwhile in answers if not disables else ():
        if meanwhile.method == "GET" and meanwhile.succeeded:
            _judge_meanwhile(at, rule, meanwhile, changes, before)


def _change(ids: dict[str, str]) -> Call:
    return call("updateBeneficiary", ids, {random.choice(FIELDS): f"changed {marker()}"})


def _not_disabled(answer: Exchange) -> str:
    status = answer.get("status")
    return "" if status == "disabled" else f"the status {show(status)}"


def _lost(answer: Exchange, changes: Sequence[Exchange], first: Exchange) -> str:
    """What a read shows of the first field of which an acknowledged change is lost; "" without one."""
    for name in FIELDS:
        if not any(same(answer.get(name), value) for value in _last_values(name, changes, first)):
            return f"{name} {show(answer.get(name))}"
    return ""


def _last_values(name: str, changes: Sequence[Exchange], first: Exchange) -> list[object]:
    """The values that a field may have after changes of it at once: those of changes that no acknowledged one
    has followed, and the first one unless a change is acknowledged."""
    changes = [change for change in changes if name in _body(change)]
    acknowledged = [change for change in changes if change.succeeded]
    values = [
        _body(change)[name]
        for change in changes
        if not change.refused and not any(change.arrived < later.begun for later in acknowledged)
    ]
    return values if acknowledged else [*values, first.get(name)]


def _body(change: Exchange) -> dict[str, object]:
    return change.call.document if change.call.body else {}


def _judge_meanwhile(
    at: Check, rule: str, answer: Exchange, changes: Sequence[Exchange], first: Exchange
) -> None:
    """Judges that a read among changes shows each field as it was, or as one of them sets it."""
    for name in FIELDS:
        values = [first.get(name), *(_body(change)[name] for change in changes if name in _body(change))]
        got = "" if any(same(answer.get(name), value) for value in values) else show(answer.get(name))
        at.expect(rule, f"{name} as it was or as one of the changes sets it", got, answer, *changes)
