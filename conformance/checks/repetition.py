"""Confirms a doubtful effect by repeating the requests: it must recur each time.

Other clients and background jobs also move money and add accounts between two snapshots. They do not match
the suite's amounts, which differ in each repetition, its names, and the times of its requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.checks.snapshots import BalancesSnapshot, NotSeen, Snapshot
from conformance.judge import effects
from conformance.judge.effects import Effect, Payment
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, call, quoted
from conformance.world.corpora.amounts import respelled
from conformance.world.run_context import RunContext

if TYPE_CHECKING:
    from conformance.checks.side_effects import Watch

#: Repetitions in which a doubtful effect must recur.
ROUNDS = 3

#: Repetitions in which money must match the amounts asked for: a single payment of others may match by
#: chance.
PAYMENTS = 5

#: Maximum number of repetitions that payments of others spoil.
MOST_SPOILT = 3

#: Maximum of a pause between repetitions, in seconds.
_LONGEST_PAUSE = 2.0

#: Repeats the requests, perhaps for another amount.
Again = Callable[[], Exchange | Sequence[Exchange]]


#: As Again; returns the effect and its evidence.
Repeat = Callable[[], tuple[Effect, "Evidence"]]


@dataclass(frozen=True)
class Evidence:
    """Snapshots before and after requests, the requests, the ids that only earlier looks have shown, and
    money moved beyond multiples of their amount."""

    before: Snapshot
    after: Snapshot
    sent: Sequence[Exchange]
    lagging: Set[str] = frozenset()
    fee: Decimal = Decimal(0)


def anew(run: RunContext, calls: Sequence[Call]) -> list[Call]:
    """Copies requests with one new amount of unusual digits, those that validly ask for an amount, or whose
    defect applies to another."""
    asking = next((call.operation for call in calls if effects.asked_amount(call) is not None), None)
    if asking is None:
        return list(calls)
    amount = run.samples.amount(asking)
    return [_asking(call, amount) for call in calls]


def _asking(call: Call, amount: str) -> Call:
    if effects.asked_amount(call) is None:
        return call
    if effects.sent_amount(call) is None:
        defective = respelled(call.document["amount"], amount)
        return call if defective is None else call.with_field("amount", defective)
    return call.with_field("amount", amount)


def confirm(
    watch: Watch, effect: Effect, first: Evidence, again: Again | None, *, of_refusals: bool
) -> Evidence | None:
    """Repeats the requests, which must all be refused if `of_refusals`; returns evidence of an effect that
    recurred each time, None where it did not, or came without the requests as well.

    Raises NotSeen where they cannot be repeated, or no snapshot shows their effect."""
    if effect.signature == "status":
        return first if _disables(watch, first.sent) else None
    if again is None:
        raise NotSeen("what others do as well cannot be told from what requests do once")

    def repeat() -> tuple[Effect, Evidence]:
        """Repeats the requests; returns their effect and the evidence. Raises NotSeen, also where one is
        accepted that must be refused."""
        watch.start()
        repeated = again()
        answers = [repeated] if isinstance(repeated, Exchange) else list(repeated)
        accepted = next((answer for answer in answers if answer.succeeded), None)
        if of_refusals and accepted is not None:
            raise NotSeen("which refused them before, accepted the requests when they came again", accepted)
        return watch.effect([request.call for request in answers]), watch.evidence(answers)

    if watch.kind is not BalancesSnapshot:
        return first if _repeated(watch, effect, repeat) else None
    confirmed = _followed(watch, repeat)
    originals = [request for request in first.sent[:1] if request.succeeded and not of_refusals]
    return confirmed and replace(confirmed, sent=[*originals, *confirmed.sent])


def _disables(watch: Watch, sent: Sequence[Exchange]) -> bool:
    """True if the requests, sent to new beneficiaries, disable each of these."""
    run, home, old = watch.run, watch.fixture, quoted(watch.ids["beneficiary_id"])
    for _ in range(ROUNDS):
        other = AccountFixture(run, home.client.organization.name, home.account_id)
        ids = {"account_id": home.account_id, "beneficiary_id": other.beneficiary_id}
        for exchange in sent:
            target = exchange.call.target.replace(old, quoted(other.beneficiary_id))
            client, what = run.client(exchange.organization), f"{exchange.purpose}, for a new beneficiary"
            if run.send(client, exchange.call.but(target=target), what).succeeded:
                return False
        look = watch.send(call("getBeneficiary", ids), "is this one disabled, too?")
        if look.get("status") != "disabled":
            return False
    return True


def _pause(watch: Watch, begun: float) -> Effect:
    """Returns the effect of a pause as long as the requests took. Raises NotSeen."""
    time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))
    watch.start()
    return watch.effect([])


def _repeated(watch: Watch, effect: Effect, repeat: Repeat) -> bool:
    """True if each repetition has the effect and no pause does."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        again, _ = repeat()
        if not again:
            return False
        rounds.append((again, _pause(watch, begun)))
    return effects.repeated(effect, rounds)


def _followed(watch: Watch, repeat: Repeat) -> Evidence | None:
    """Returns the evidence of the last repetition if money matches the amounts asked for. Repetitions spoilt
    by payments of others, such as checks in other lanes, are left out."""
    turns: list[tuple[Payment, Evidence]] = []
    spoilt = 0
    while len(turns) < PAYMENTS:
        begun = time.monotonic()
        effect, last = repeat()
        asked = [amount for each in last.sent if (amount := effects.asked_amount(each.call)) is not None]
        if not effect or not asked:
            return None
        again = any(asked[0] == payment.amount for payment, _ in turns)
        pause = _pause(watch, begun).signature if again else None
        turns.append((Payment(effect.signature, asked[0], len(asked), pause or {}), last))
        if len(turns) > 1 and effects.fee_of([payment for payment, _ in turns]) is None:
            exact = [turn for turn in turns if effects.fee_of([turn[0]]) is not None]
            spoilt += len(turns) - len(exact)
            turns = exact
            if spoilt > MOST_SPOILT:
                return None
    fee = effects.fee_of([payment for payment, _ in turns])
    return None if fee is None else replace(turns[-1][1], fee=fee)
