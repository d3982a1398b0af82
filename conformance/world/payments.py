"""Payouts to other payees than the sample's, and rounds of payouts for `judge.conservation`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from conformance.judge.conservation import MOST_DISTURBED, SINGLE, TOGETHER, Unsteady, taken
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import Send
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.cache import Key
from conformance.world.habits import eventually, within

#: Account and currency -> beneficiary id, destination id and currency of payouts unlike the sample.
_PAID = Key[tuple[str, str, str]]("what payouts of another kind are made to")

#: Sends several requests at once for a purpose.
SendAtOnce = Callable[[list[Call], str], Sequence[Exchange]]


def paid(
    destinations: Callable[[AccountFixture], list[dict[str, Any]]],
    beneficiary: Callable[[AccountFixture], str],
    currency: str = "",
) -> Callable[[AccountFixture], list[dict[str, Any]]]:
    """Returns a row of bodies: a payout to the first destination that the server accepts, in the given
    currency or the destination's."""

    def made(fixture: AccountFixture) -> tuple[str, str, str]:
        """Creates the payee. Raises Inconclusive where the server accepts no destination."""
        ids = {"account_id": fixture.account_id, "beneficiary_id": beneficiary(fixture)}
        for details in destinations(fixture):
            attempt = call("createPayoutDestination", ids, details)
            made = fixture.run.send(fixture.client, attempt, "a destination of another kind, to pay to")
            code = currency or made.get("currency")
            if made.succeeded and isinstance(code, str):
                return ids["beneficiary_id"], identifier(made), code
        raise Inconclusive("the server accepts no destination of another kind")

    def make(fixture: AccountFixture) -> list[dict[str, Any]]:
        with contextlib.suppress(Inconclusive):
            key = _PAID.of(f"{fixture.account_id} {currency}")
            payee = fixture.run.cache.get(key, lambda: made(fixture))
            return [{**fixture.run.samples.payout(*payee), "currency": payee[2]}]
        return []

    return make


def round_of_payouts(
    fixture: AccountFixture, send: Send, at_once: SendAtOnce, disturbed: int = 0
) -> list[Exchange]:
    """Sends sequential, then concurrent payouts, with reads of the balances before, between and after, each
    repeated until it shows the payouts or time is up; returns all exchanges.

    After `disturbed` rounds it first waits, with back-off, for earlier payouts to show and for those of other
    lanes to end. Raises Inconclusive where the fixture's payee cannot be created."""
    if disturbed:
        time.sleep(within(fixture.run.cache) / 2 ** max(0, MOST_DISTURBED - 1 - disturbed))
    look = fixture.call("getAccountBalances")
    calls = [fixture.call("createPayout") for _ in range(SINGLE + TOGETHER)]
    before = send(look, "the balances before payouts")
    single = [send(payout, "one payout after the other") for payout in calls[:SINGLE]]
    between = _shown(fixture, send, look, before, single)
    together = list(at_once(calls[SINGLE:], "payouts at once"))
    return [before, *single, between, *together, _shown(fixture, send, look, between, together)]


def _shown(
    fixture: AccountFixture, send: Send, look: Call, before: Exchange, payouts: list[Exchange]
) -> Exchange:
    """Reads the balances until they show the payouts, or time is up; returns the last read."""

    def whole(after: Exchange) -> bool:
        try:
            return any(beyond >= 0 for _, beyond in taken(before, payouts, after))
        except Unsteady:
            return True

    kind = f"balances after {len(payouts)} payouts"
    again = lambda: send(look, "the balances after payouts")  # noqa: E731
    return eventually(fixture.run.cache, kind, again, whole, in_vain=1)
