"""Races for the funds of an account: section 2.2."""

from __future__ import annotations

from conformance.fuzz.histories.history import HistoryRecorder
from conformance.judge.conservation import MOST_DISTURBED, Suspicions, conserved
from conformance.judge.expectations import CannotTell
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture
from conformance.world.payments import round_of_payouts

#: Rounds while a suspicion lasts.
ROUNDS = 6


def payouts_at_once(history: HistoryRecorder, fixture: AccountFixture, suspicions: Suspicions) -> None:
    """Payouts are made one after the other and at once, again where some lose amounts: conserved. Nobody else
    may pay from the account meanwhile."""

    def at_once(calls: list[Call], purpose: str) -> list[Exchange]:
        scripts = [[("payout", payout)] for payout in calls]
        return [answer for _, answer in history.perform(scripts, purpose, whole=True)]

    for _ in range(ROUNDS if suspicions.disturbed < MOST_DISTURBED else 0):
        turn = round_of_payouts(fixture, history.send, at_once)
        try:
            judged = suspicions.add(turn)
        except CannotTell:
            return
        history.run.record |= {exchange.number: exchange for exchange in judged}
        what = "payouts at once to take from the balance what they take one after the other"
        good = history.expect("payout.race", "createPayout", conserved(what), *judged)
        if not suspicions.turns or not good:
            return
