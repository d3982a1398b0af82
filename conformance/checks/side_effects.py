"""Judges the effects of requests, as the owner of the resources sees them: in lists, reads and balances.

effects = SideEffects(at, fixture).start()
answers = [at.send(call, "a request that must be refused")]
effects.judge_refused("requests like this", answers)

A doubtful effect is confirmed by repeating the requests: it must recur each time. Other clients and jobs
also move money and add accounts between two snapshots, but do not match the suite's amounts, which differ in
each repetition, its names, and the times of its requests."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from conformance.checks.check import Check
from conformance.checks.watch import NotSeen, Round, Watch
from conformance.judge import effects
from conformance.judge.effects import EXACT, Effect
from conformance.judge.outcomes import unusable
from conformance.wire.messages import Call, Exchange
from conformance.world.calls import call, quoted
from conformance.world.corpora.amounts import respelled
from conformance.world.run import Account, Run

UNTOUCHED = "refusal.changes-nothing"


def owner(fixture: Account) -> str:
    """Returns the name of the organization that owns a fixture's resources."""
    return fixture.client.organization.name


class SideEffects(Watch):
    """Judges the effects of an operation on an account between `start` and `judge`."""

    def __init__(
        self, at: Check, fixture: Account, operation: str = "", ids: Mapping[str, str] | None = None
    ) -> None:
        self.at = at
        organization = owner(fixture)

        def look(request: Call, purpose: str) -> Exchange:
            return at.shown(request, purpose, organization)

        super().__init__(at.run, look, fixture, operation or at.operation.id, ids)

    def judge(self, rule: str, what: str, sent: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that `what`, answered as `sent`, changed nothing.

        `again` repeats the requests, to tell their effect from that of others at the same time. Does nothing
        where the check does not judge the rule."""
        if rule not in self.at.rules:
            return
        if self.at.operation.traits.shown_only_by_read:
            self._judge_named(rule, what, sent)
        if self.look is None:
            return
        refused = rule == UNTOUCHED
        try:
            turn = self.round(sent)
            recurring = confirm(self, turn, again, of_refusals=refused) if turn.effect.doubtful else turn
        except NotSeen as reason:
            if reason.look is None or self.at.usable(rule, reason.look):
                looks = [reason.look] if reason.look else []
                self.at.unclear(rule, reason.reason, *looks, remedy=reason.remedy)
            return
        expected = f"no effect of {what}"
        if recurring is not None and recurring.effect:
            proof = recurring.after.looks[-1], *recurring.sent[-1:], recurring.before.looks[-1]
            self.at.expect(rule, expected, recurring.effect.text, *proof)
        else:
            self.at.expect(rule, expected, "", *turn.after.looks, *turn.before.looks, *sent)

    def judge_refused(self, what: str, answers: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that refused requests changed nothing; notes where some were not refused."""
        if UNTOUCHED not in self.at.rules or not answers:
            return
        if not all(answer.refused for answer in answers):
            reason = f"not all of {what} were refused, so their effects cannot be told apart"
            self.at.not_exercised(UNTOUCHED, reason)
        else:
            self.judge(UNTOUCHED, what, answers, again)

    def _judge_named(self, rule: str, what: str, sent: Sequence[Exchange]) -> None:
        """Reads the beneficiaries that answers name, as no operation lists beneficiaries."""
        expected = f"no effect of {what}, as far as answers name it"
        named = {
            identifier: exchange
            for exchange in sent
            for identifier in effects.named_beneficiaries(exchange)
            if identifier not in exchange.call.target and identifier not in self.accepted
        }
        for identifier, answer in list(named.items())[:5]:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier}
            look = self.send(call("getBeneficiary", ids), "is there what the answer names?")
            got = f"{answer.status}, and getBeneficiary shows a new beneficiary" if look.succeeded else ""
            self.at.expect(rule, expected, unusable(answer) or got, answer, look)
        for last in () if named else sent[-1:]:
            self.at.expect(rule, expected, unusable(last) or "", last)


def judge_pair(
    at: Check, created: Exchange, refused: Sequence[Exchange], elsewhere: Callable[[], Exchange]
) -> Exchange | None:
    """Judges that `refused` wallets have not taken the pair of `created`: it is accepted if one of that pair
    is in a new account (`elsewhere`). Where both are refused, judges nothing and returns the second
    answer."""
    evidence: Sequence[Exchange] = ()
    if created.refused and not created.throttled:
        other = elsewhere()
        if not other.succeeded:
            return other
        evidence = refused
    what = "a valid wallet after refused ones, as in a new account"
    at.accepted(UNTOUCHED, what, created, *evidence)
    return None


#: Repetitions in which a doubtful effect must recur.
ROUNDS = 3

#: Repetitions in which money must match the amounts asked for, and those that payments of others may spoil.
PAYMENTS, MOST_SPOILT = 5, 3

#: Maximum number of times that a faulty server carries out one request.
_TIMES_EACH = 2

#: Maximum of a pause between repetitions, in seconds.
_LONGEST_PAUSE = 2.0

#: Repeats the requests, perhaps for another amount.
Again = Callable[[], Exchange | Sequence[Exchange]]


def anew(run: Run, calls: Sequence[Call]) -> list[Call]:
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


def confirm(watch: Watch, first: Round, again: Again | None, *, of_refusals: bool) -> Round | None:
    """Repeats the requests, which must all be refused if `of_refusals`; returns a repetition if the effect
    recurred each time, None where it did not, or came without the requests as well.

    Raises NotSeen where they cannot be repeated, or no snapshot shows their effect."""
    if first.effect.signature == "status":
        return first if _disables(watch, first.sent) else None
    if again is None:
        raise NotSeen("what others do as well cannot be told from what requests do once")

    def repeat() -> Round:
        watch.start()
        repeated = again()
        answers = [repeated] if isinstance(repeated, Exchange) else list(repeated)
        accepted = next((answer for answer in answers if answer.succeeded), None)
        if of_refusals and accepted is not None:
            raise NotSeen("which refused them before, accepted the requests when they came again", accepted)
        return watch.round(answers)

    if not watch.traits.moves_money:
        return first if _recurs(watch, first.effect, repeat) else None
    confirmed = followed(repeat, lambda seconds: _pause(watch, seconds))
    originals = [request for request in first.sent[:1] if request.succeeded and not of_refusals]
    return confirmed and replace(confirmed, sent=[*originals, *confirmed.sent])


def _disables(watch: Watch, sent: Sequence[Exchange]) -> bool:
    """True if the requests, sent to new beneficiaries, disable each of these."""
    run, home, old = watch.run, watch.fixture, quoted(watch.ids["beneficiary_id"])
    for _ in range(ROUNDS):
        other = Account(run, home.client.organization.name, home.account_id)
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


def _recurs(watch: Watch, effect: Effect, repeat: Callable[[], Round]) -> bool:
    """True if each repetition has the effect and no pause of the same length does."""
    for _ in range(ROUNDS):
        begun = time.monotonic()
        again = repeat().effect
        if not again or again.signature != effect.signature:
            return False
        if _pause(watch, time.monotonic() - begun):
            return False
    return True


def _pause(watch: Watch, seconds: float) -> Effect:
    """Returns the effect of a pause, of so many seconds at most. Raises NotSeen."""
    time.sleep(min(seconds, _LONGEST_PAUSE))
    watch.start()
    return watch.round().effect


#: Currency and member of a balance, a multiple of the amount asked for, and the money moved beyond it.
_Move = tuple[tuple[str, str], int, Decimal]


def followed(repeat: Callable[[], Round], pause: Callable[[float], Effect]) -> Round | None:
    """Returns the last repetition if money follows the amounts asked for: one balance moves by the same
    multiple of each, exactly, but for repetitions that payments of others spoil; or, without any such, by the
    same multiple and a fee. An amount that comes again must be followed exactly, and not in a pause, too."""
    exact, common, asked = Counter[tuple[tuple[str, str], int]](), set[_Move](), set[Decimal]()
    for number in itertools.count(1):
        begun = time.monotonic()
        last = repeat()
        moves, amount = _moves(last.effect, last.sent)
        if moves and amount in asked:
            by_others, _ = _moves(pause(time.monotonic() - begun), last.sent)
            moves = {move for move in moves - by_others if not move[2]}
        if not moves:
            return None
        asked.add(amount)
        exact.update((member, times) for member, times, beyond in moves if not beyond)
        common = moves if number == 1 else common & moves
        most = max(exact.values(), default=0)
        if most == PAYMENTS or (common and number == PAYMENTS):
            return last
        if number - most > MOST_SPOILT and not common:
            return None
    return None


def _moves(effect: Effect, sent: Sequence[Exchange]) -> tuple[set[_Move], Decimal]:
    """Returns movements of money as multiples of the amount asked for, and that amount."""
    amounts = [amount for each in sent if (amount := effects.asked_amount(each.call)) is not None]
    if not amounts or not effect:
        return set(), Decimal(0)
    return {
        (member, times, beyond)
        for member, moved in effect.signature.items()
        for times in range(1, _TIMES_EACH * len(amounts) + 1)
        if (beyond := EXACT.subtract(moved, EXACT.multiply(amounts[0], Decimal(times)))) >= 0
    }, amounts[0]
