"""Judges the effects of requests, as the owner of the resources sees them: in lists, reads and balances.

effects = SideEffects(at, fixture).start()
answers = [at.send(call, "a request that must be refused")]
effects.judge_refused("requests like this", answers)

judge/effects.py says which changes between two snapshots are effects. A doubtful one is confirmed by
repeating the requests: it must recur each time. Other clients and jobs also move money and add accounts
between two snapshots, but do not match the suite's amounts, which differ in each repetition, its names, and
the times of its requests."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

from conformance.checks.check import Check
from conformance.checks.watched import Snapshot, hidden, kind_of, unseen
from conformance.judge import effects
from conformance.judge.effects import Effect, below_cents
from conformance.judge.outcomes import unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.world.calls import call, quoted
from conformance.world.corpora.amounts import respelled
from conformance.world.lane import Fixture, Lane
from conformance.world.payments import shows_parts

UNTOUCHED = "refusal.changes-nothing"

#: Remedy where other traffic changes the balances.
UNDISTURBED = (
    "Name a funded account whose balances nobody else moves, no job either: [primary] funded_account_id."
)

#: Repetitions in which a doubtful effect must recur.
ROUNDS = 3

#: Repetitions in which money must match the amounts asked for, and those that payments of others may spoil.
PAYMENTS, MOST_SPOILT = 5, 3

#: Maximum of a pause between repetitions, in seconds.
_LONGEST_PAUSE = 2.0

#: Repeats the requests, perhaps for another amount.
Again = Callable[[], Exchange | Sequence[Exchange]]


def owner(fixture: Fixture) -> str:
    """Returns the name of the organization that owns a fixture's resources."""
    return fixture.client.organization.name


@dataclass(frozen=True)
class Round:
    """Requests between two snapshots, and their effect."""

    effect: Effect
    before: Snapshot
    after: Snapshot
    sent: Sequence[Exchange]


class SideEffects:
    """Snapshots of what an operation may change in an account, before and after requests, and the judgement
    of what the requests changed.

    `created` holds ids of resources that were rightly made meanwhile. `ids` are the path parameters of
    the resource that is read, where they are not the fixture's."""

    def __init__(
        self, at: Check, fixture: Fixture, operation: str = "", ids: Mapping[str, str] | None = None
    ) -> None:
        self.at, self.lane, self.fixture = at, at.lane, fixture
        own = operation or at.operation.id
        self.watched = kind_of(own)(at.lane, fixture, own, self._look, ids)
        #: The snapshot to compare with, or why there is none.
        self.before: Snapshot | Inconclusive = unseen("no snapshot was taken before the requests")
        #: The last snapshot since then.
        self.after: Snapshot | None = None
        #: True if whole cents that requests may move were not told from those of others.
        self._hidden = False

    @property
    def created(self) -> set[str]:
        return self.watched.created

    def start(self) -> Self:
        """Takes the snapshot to compare with; returns itself."""
        try:
            self.before = self.watched.read(None)
        except Inconclusive as stop:
            self.before = stop
        self.watched.begin(*(look for look in (self.before, self.after) if isinstance(look, Snapshot)))
        return self

    def round(self, sent: Sequence[Exchange] = ()) -> Round:
        """Returns the changes since the start that `sent` may have caused, with the snapshots. Raises
        Inconclusive."""
        if isinstance(self.before, Inconclusive):
            raise self.before
        before, after = self.before, self.watched.read(self.before, sent)
        self.after = after
        effect = self.watched.effect(before, after, [exchange.call for exchange in sent])
        return Round(effect, before, after, sent)

    # ------------------------------------------------------------------ judging

    def judge(self, rule: str, what: str, sent: Sequence[Exchange], again: Again | None = None) -> None:
        """Judges that `what`, answered as `sent`, changed nothing.

        `again` repeats the requests, to tell their effect from that of others at the same time. Does nothing
        where the check does not judge the rule."""
        if rule not in self.at.rules:
            return
        if self.at.operation.traits.shown_only_by_read:
            self._judge_named(rule, what, sent)
        if not self.watched.visible:
            return
        try:
            looked = self._looked(sent, again, rule == UNTOUCHED)
        except Inconclusive as stop:
            self.at.unclear(rule, stop.why)
            return
        expected = f"no effect of {what}"
        if looked.effect:
            proof = looked.after.looks[-1], *looked.sent[-1:], looked.before.looks[-1]
            self.at.expect(rule, expected, looked.effect.text, *proof)
        else:
            self.at.expect(rule, expected, "", *looked.after.looks, *looked.before.looks, *sent)
            if self._hidden:
                reason = f"whole cents that {what} may take are not told from those that others pay"
                self.at.unclear(rule, reason, remedy=UNDISTURBED, choice=True)

    def _looked(self, sent: Sequence[Exchange], again: Again | None, of_refusals: bool) -> Round:
        """The round of requests that were sent, confirmed where its effect is doubtful. Raises
        Inconclusive."""
        try:
            first = self.round(sent)
        except Inconclusive:
            if again is None or not self.watched.growing:
                raise
            with self.lane.adders.alone():
                first = self._repeated(again, of_refusals)
        return self._confirmed(first, again, of_refusals) if first.effect.doubtful else first

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
            if identifier not in exchange.call.ids.values() and identifier not in self.created
        }
        for identifier, answer in list(named.items())[:5]:
            ids = {"account_id": self.fixture.account_id, "beneficiary_id": identifier}
            look = self._look(call("getBeneficiary", ids), "a read of what the answer names")
            got = f"{answer.status}, and getBeneficiary shows a new beneficiary" if look.succeeded else ""
            self.at.expect(rule, expected, unusable(answer) or unusable(look) or got, answer, look)
        for last in () if named else sent[-1:]:
            self.at.expect(rule, expected, unusable(last) or "", last)

    def _look(self, request: Call, purpose: str) -> Exchange:
        return self.at.find(request, purpose, owner(self.fixture))

    # ------------------------------------------------------------------ repetition

    def _confirmed(self, first: Round, again: Again | None, of_refusals: bool) -> Round:
        """Repeats the requests, which must all be refused if `of_refusals`; returns a round with their effect
        if it recurred each time, one without where it did not, or came without the requests as well.

        Raises Inconclusive where they cannot be repeated, no snapshot shows their effect, or others spoil
        each."""
        not_theirs = replace(first, effect=Effect())
        if first.effect.signature == "status":
            return first if all(self._disables(first.sent) for _ in range(ROUNDS)) else not_theirs
        if again is None:
            raise unseen("what others do as well cannot be told from what requests do once")

        repeat = functools.partial(self._repeated, again, of_refusals)

        def recurs() -> bool:
            begun = time.monotonic()
            same = repeat().effect.signature == first.effect.signature
            return same and not self._pause(time.monotonic() - begun).effect

        if self.watched.money:
            try:
                # What the run itself pays meanwhile would be taken for an effect, or hide one.
                with self.lane.payers.alone():
                    return self._followed(repeat)
            except Inconclusive:
                # Not while others wait for this one: they may be about to find the same.
                if shows_parts(self.lane, self.watched.operation):
                    self.lane.common.in_parts.add(self.watched.operation)
                raise
        # What the run itself adds meanwhile would be taken for an effect.
        with self.lane.adders.alone() if self.watched.growing else contextlib.nullcontext():
            return first if all(recurs() for _ in range(ROUNDS)) else not_theirs

    def _repeated(self, again: Again, of_refusals: bool) -> Round:
        """Repeats the requests, which must all be refused if `of_refusals`. Raises Inconclusive."""
        self.start()
        repeated = again()
        answers = [repeated] if isinstance(repeated, Exchange) else list(repeated)
        assert answers, "nothing was sent, so that a look shows no effect of it"
        accepted = next((answer for answer in answers if answer.succeeded), None)
        if of_refusals and accepted is not None:
            raise unseen("which refused them before, accepted the requests when they came again", accepted)
        return self.round(answers)

    def _followed(self, repeat: Callable[[], Round]) -> Round:
        """Returns the last repetition if money follows the requests and not a pause as long: one balance
        moves by the same multiple of each amount asked for, exactly, but for repetitions that payments of
        others spoil; or, in PAYMENTS in a row, by the same multiple, perhaps none, and a fee. Without an
        effect the first that moves no money, or as much as the pause. An amount that comes again must be
        followed exactly. Raises Inconclusive where others spoil too many."""
        matches, asked = Counter[effects.Move](), set[Decimal]()
        for number in itertools.count(1):
            begun = time.monotonic()
            last = repeat()
            if not last.effect:
                return last
            pause = self._pause(time.monotonic() - begun)
            beside = pause.effect
            if beside.signature == last.effect.signature:
                return replace(last, effect=Effect())
            amounts = [each for sent in last.sent if (each := effects.asked_amount(sent.call)) is not None]
            # First the one that differs in each repetition.
            amounts.sort(key=amounts.count, reverse=True)
            if self.lane.samples.in_parts:
                parts, of_others = self._parts(last), self._parts(pause)
                if not parts and not of_others:
                    if not amounts or not all(map(below_cents, amounts)):
                        reason = "which shows the effect of requests, moves by whole cents, as others move it"
                        raise unseen(reason, last.after.looks[-1], UNDISTURBED)
                    # A charge of whole cents is hidden all the same.
                    self._hidden = True
                    return replace(last, effect=Effect())
                moves = set() if of_others else effects.multiples_in_parts(parts, amounts)
            else:
                moves = effects.multiples(last.effect, amounts) - effects.multiples(beside, amounts)
            if not asked.isdisjoint(amounts[:1]):
                moves = {move for move in moves if not (move.times and move.fee)}
            asked.update(amounts[:1])
            for move in [move for move in matches if move.fee and move not in moves]:
                del matches[move]
            matches.update(moves)
            if PAYMENTS in matches.values():
                return last
            if (spoilt := number - max(matches.values(), default=0)) > MOST_SPOILT:
                reason = "which shows the effect of requests, moves at each look by what others do"
                raise unseen(reason, last.after.looks[-1], UNDISTURBED)
            if spoilt:
                # Payments of before may show late.
                time.sleep(self.lane.lag.within / 2 ** (MOST_SPOILT + 1 - spoilt))
        raise AssertionError("no end of the repetitions")

    def _parts(self, between: Round) -> effects.Money:
        """What balances move by between two snapshots beyond whole cents, which others move."""
        moved = effects.changes(self.watched.operation, between.before.state, between.after.state)
        return {member: part for member, by in moved.items() if (part := below_cents(by))}

    def _disables(self, sent: Sequence[Exchange]) -> bool:
        """True if the requests, sent to a new beneficiary, disable that."""
        other = Fixture(self.lane, owner(self.fixture), self.fixture.account_id)
        old, new = quoted(self.watched.ids["beneficiary_id"]), quoted(other.beneficiary_id)
        for exchange in sent:
            request = exchange.call.but(target=exchange.call.target.replace(old, new))
            what = f"{exchange.purpose}, for a new beneficiary"
            if self.at.send(request, what, exchange.organization).succeeded:
                return False
        ids = {"account_id": self.fixture.account_id, "beneficiary_id": other.beneficiary_id}
        look = self._look(call("getBeneficiary", ids), "another beneficiary, to see whether it is disabled")
        if not look.succeeded:
            raise hidden(look)
        disabled: bool = look.get("status") == "disabled"
        return disabled

    def _pause(self, seconds: float) -> Round:
        """Returns a pause, of so many seconds at most, with its effect. Raises Inconclusive."""
        self.start()
        time.sleep(min(seconds, _LONGEST_PAUSE))
        return self.round()


def anew(lane: Lane, calls: Sequence[Call]) -> list[Call]:
    """Copies requests with one new amount of unusual digits that none of them has, those that validly ask for
    an amount, or whose defect applies to another; as they are where the target file fixes the amount."""
    asked = {each: call.operation for call in calls if (each := effects.asked_amount(call)) is not None}
    # As many as have one that differs, where amounts come again.
    drawn = (lane.samples.amount(operation) for operation in 2 * [*asked.values()] if operation)
    amount = next((each for each in drawn if effects.plain(each) not in asked), None)
    return list(calls) if amount is None else [_asking(call, amount) for call in calls]


def _asking(call: Call, amount: str) -> Call:
    if effects.asked_amount(call) is None:
        return call
    other = amount if effects.sent_amount(call) else respelled(call.document["amount"], amount)
    return call if other is None else call.with_field("amount", other)
