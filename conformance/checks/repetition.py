"""Confirms a doubtful effect by repeating the requests: it must come again each time.

Other clients and jobs move money and add accounts between two snapshots. Their doings do not follow the
suite's own marks: amounts that are different in each repetition, names, and the moments of its requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.checks.snapshots import BalancesSnapshot, NotSeen, Snapshot
from conformance.judge import effects
from conformance.judge.effects import Effect, Payment
from conformance.wire.messages import Call, Exchange
from conformance.world.corpora.amounts import respelled
from conformance.world.run_context import RunContext

if TYPE_CHECKING:
    from conformance.checks.side_effects import Watch

#: Repetitions that must bring a doubtful effect again.
ROUNDS = 3

#: Repetitions in which money must follow the amounts asked for: two amounts of an account that others pay
#: from as well are equal now and then.
PAYMENTS = 5

#: Seconds that a pause between repetitions takes at most.
_LONGEST_PAUSE = 2.0

#: Sends the requests again, perhaps for another amount.
Again = Callable[[], Exchange | Sequence[Exchange]]


@dataclass(frozen=True)
class Evidence:
    """Snapshots before and after requests, the requests, and what money moved beyond multiples of their
    amount."""

    before: Snapshot
    after: Snapshot
    sent: Sequence[Exchange]
    fee: Decimal = Decimal(0)


def anew(run: RunContext, calls: Sequence[Call]) -> list[Call]:
    """The same requests, for another amount of unusual digits: where they validly ask for one, or with a
    defect that leaves room for another; all for the same."""
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
    """Repeats the requests, which must all be refused if `of_refusals`; evidence of an effect that came
    again each time, None where it did not, or also came without the requests.

    Raises NotSeen where they cannot be repeated, or no snapshot shows their effect."""
    if again is None:
        raise NotSeen("what others do as well cannot be told from what requests do once")
    repetition = _Repetition(watch, again, of_refusals)
    return repetition.of_money(first) if watch.kind is BalancesSnapshot else repetition.of(effect, first)


class _Repetition:
    def __init__(self, watch: Watch, again: Again, of_refusals: bool) -> None:
        self.watch = watch
        self.again = again
        self.of_refusals = of_refusals

    def _repeated(self) -> tuple[Effect, Evidence]:
        """The effect of the requests once more. Raises NotSeen, also where one is accepted that must be
        refused."""
        self.watch.start()
        repeated = self.again()
        answers = [repeated] if isinstance(repeated, Exchange) else list(repeated)
        accepted = next((answer for answer in answers if answer.succeeded), None)
        if self.of_refusals and accepted is not None:
            raise NotSeen("which refused them before, accepted the requests when they came again", accepted)
        effect = self.watch.effect([request.call for request in answers])
        return effect, self.watch.evidence(answers)

    def of(self, effect: Effect, first: Evidence) -> Evidence | None:
        """The first evidence, if each repetition has its effect and no pause does."""
        rounds = []
        for _ in range(ROUNDS):
            begun = time.monotonic()
            repeated, _ = self._repeated()
            if not repeated:
                return None
            rounds.append((repeated, self._pause(begun)))
        return first if effects.repeated(effect, rounds) else None

    def _pause(self, begun: float) -> Effect:
        """The effect of nothing in as much time as the requests took. Raises NotSeen."""
        time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))
        self.watch.start()
        return self.watch.effect([])

    def of_money(self, first: Evidence) -> Evidence | None:
        """The evidence of the last repetition, if money follows the amounts that are asked for."""
        payments: list[Payment] = []
        last, found = first, None
        for number in range(PAYMENTS):
            begun = time.monotonic()
            effect, last = self._repeated()
            asked = [amount for each in last.sent if (amount := effects.asked_amount(each.call)) is not None]
            if not effect or not asked:
                return None
            again = any(asked[0] == payment.amount for payment in payments)
            pause = self._pause(begun).signature if again else None
            payments.append(Payment(effect.signature, asked[0], len(asked), pause or {}))
            found = effects.paid(payments)
            if found is None and number > 0:
                break
        if found is None:
            return None
        originals = [request for request in first.sent[:1] if request.succeeded and not self.of_refusals]
        return replace(last, sent=[*originals, *last.sent], fee=found.fee)
