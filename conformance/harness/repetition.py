"""Whether a doubtful effect is that of requests or somebody else's: it must come again each time they do.

Other clients and jobs move money and add accounts while a check looks. What they do does not follow the
suite's own marks: amounts that are different in each repetition, names, and the moments at which it asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.judge import effects
from conformance.judge.effects import NONE, Effect, Payment
from conformance.wire.messages import Call, Exchange
from conformance.world.corpora.amounts import respelled
from conformance.world.run_context import RunContext

if TYPE_CHECKING:
    from conformance.harness.side_effects import Watch

#: How often a doubtful effect must come again.
ROUNDS = 3

#: How often money must follow the amounts that are asked for: two amounts of an account that others pay
#: from as well are alike now and then.
PAYMENTS = 5

#: Seconds that a pause between repetitions takes at most.
_LONGEST_PAUSE = 2.0

#: Sends the requests again, perhaps for another amount.
Again = Callable[[], Exchange | Sequence[Exchange]]


@dataclass
class Shown:
    """What looks show of requests: the effect (None where it cannot be told), the looks before and after,
    the requests, the ids of accounts that are new, and what was moved beyond multiples of the amount."""

    effect: Effect | None
    before: list[Exchange]
    after: list[Exchange]
    sent: Sequence[Exchange]
    fresh: list[str] = field(default_factory=list)
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


def confirmed(watch: Watch, first: Shown, again: Again | None, *, of_refusals: bool) -> Shown:
    """The effect, if it comes again each time the requests do; none where it does not, and an unknown one
    where they cannot be repeated. `of_refusals` says that they must be refused each time."""
    assert first.effect is not None
    if again is None:
        watch.unseen = ("what others do as well cannot be told from what requests do once", None, "")
        first.effect = None
        return first
    repetition = _Repetition(watch, again, of_refusals)
    if isinstance(first.effect.signature, dict) and watch.moves_money:
        return repetition.of_money(first)
    first.effect = repetition.of(first.effect)
    return first


class _Repetition:
    def __init__(self, watch: Watch, again: Again, of_refusals: bool) -> None:
        self.watch = watch
        self.again = again
        self.of_refusals = of_refusals

    def _repeated(self) -> list[Exchange] | None:
        """The answers to the requests once more; None, noted, where one is accepted that must be refused."""
        repeated = self.again()
        answers = [repeated] if isinstance(repeated, Exchange) else list(repeated)
        accepted = next((answer for answer in answers if answer.succeeded), None)
        if self.of_refusals and accepted is not None:
            self.watch.unseen = (
                "which refused them before, accepted the requests when they came again",
                accepted,
                "",
            )
            return None
        return answers

    def of(self, first: Effect) -> Effect | None:
        """The effect, if each repetition has it and no pause does."""
        rounds = []
        for _ in range(ROUNDS):
            begun = time.monotonic()
            self.watch.start()
            repeated = self._repeated()
            effect = None if repeated is None else self.watch.effect([request.call for request in repeated])
            if not effect:
                return effect
            pause = self._pause(begun)
            if pause is None:
                return None
            rounds.append((effect, pause))
        return first if effects.repeated(first, rounds) else NONE

    def _pause(self, begun: float) -> Effect | None:
        """What happens without the requests in as much time as they took."""
        time.sleep(min(time.monotonic() - begun, _LONGEST_PAUSE))
        self.watch.start()
        return self.watch.effect([])

    def of_money(self, first: Shown) -> Shown:
        """The effect as the last repetition shows it, if money follows the amounts that are asked for."""
        assert first.effect is not None
        payments: list[Payment] = []
        last, found = first, None
        for number in range(PAYMENTS):
            repeated = self._payment(payments)
            if repeated is None:
                return replace(first, effect=None)
            last, found = repeated, effects.paid(payments)
            if not last.effect or (found is None and number > 0):
                break
        if found is None or not last.effect:
            return replace(first, effect=NONE)
        effect = Effect(f"{last.effect.found}; each time it is repeated: {found}", doubtful=True)
        originals = [request for request in first.sent[:1] if request.succeeded and not self.of_refusals]
        return replace(last, effect=effect, sent=[*originals, *last.sent], fee=found.fee)

    def _payment(self, payments: list[Payment]) -> Shown | None:
        """What a repetition shows, added to the payments where money moved; None where it cannot be told."""
        begun = time.monotonic()
        self.watch.start()
        repeated = self._repeated()
        if repeated is None:
            return None
        effect = self.watch.effect([request.call for request in repeated])
        if effect is None:
            return None
        shown = Shown(effect, self.watch.looks_before, self.watch.looks, repeated)
        amounts = [
            amount for request in repeated if (amount := effects.asked_amount(request.call)) is not None
        ]
        if not effect or not amounts:
            return replace(shown, effect=NONE)
        again = any(amounts[0] == payment.amount for payment in payments)
        pause = self._pause(begun) if again else NONE
        if pause is None:
            return None
        payments.append(Payment(effect.signature, amounts[0], len(amounts), pause.signature or {}))
        return shown
