"""Rounds of payouts between reads of the balances, as `judge.conservation` takes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from conformance.judge.conservation import MOST_DISTURBED, SINGLE, TOGETHER, taken
from conformance.judge.expectations import CannotTell
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Send
from conformance.world.account import AccountFixture, call
from conformance.world.habits import eventually, within

#: Sends several requests at once for a purpose.
SendAtOnce = Callable[[list[Call], str], Sequence[Exchange]]


def round_of_payouts(
    fixture: AccountFixture, send: Send, at_once: SendAtOnce, disturbed: int = 0
) -> list[Exchange]:
    """Makes payouts one after the other and at once, and reads the balances until they show them, or are not
    waited for any more; the exchanges that are judged.

    After so many `disturbed` rounds it first waits, longer each time: for payouts of before to show in reads,
    and for those of other lanes to end. Raises Inconclusive where the fixture's payee cannot be made."""
    if disturbed:
        time.sleep(within(fixture.run.cache) / 2 ** max(0, MOST_DISTURBED - 1 - disturbed))
    look = call("getAccountBalances", {"customer_id": fixture.customer_id, "account_id": fixture.account_id})
    calls = [fixture.call("createPayout") for _ in range(SINGLE + TOGETHER)]
    before = send(look, "the balances before payouts")
    single = [send(payout, "one payout after the other") for payout in calls[:SINGLE]]
    between = _shown(fixture, send, look, before, single)
    together = list(at_once(calls[SINGLE:], "payouts at once"))
    return [before, *single, between, *together, _shown(fixture, send, look, between, together)]


def _shown(
    fixture: AccountFixture, send: Send, look: Call, before: Exchange, payouts: list[Exchange]
) -> Exchange:
    """A read of the balances that shows what payouts took, if it comes in time."""

    def whole(after: Exchange) -> bool:
        try:
            return any(beyond >= 0 for _, beyond in taken(before, payouts, after))
        except CannotTell:
            return True

    kind = f"balances after {len(payouts)} payouts"
    again = lambda: send(look, "the balances after payouts")  # noqa: E731
    return eventually(fixture.run.cache, kind, again, whole, in_vain=1)
