"""Payouts to other payees than the sample's: what they are made to is made once in an account."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from conformance.judge.findings import Inconclusive
from conformance.world.account import AccountFixture, call, identifier
from conformance.world.cache import Key

#: Account and currency -> the beneficiary, destination and currency of payouts unlike the sample.
_PAID = Key[tuple[str, str, str]]("what payouts of another kind are made to")


def paid(
    destinations: Callable[[AccountFixture], list[dict[str, Any]]],
    beneficiary: Callable[[AccountFixture], str],
    currency: str = "",
) -> Callable[[AccountFixture], list[dict[str, Any]]]:
    """A payout to the first of a beneficiary's destinations that the server accepts, in a currency or in the
    destination's."""

    def made(fixture: AccountFixture) -> tuple[str, str, str]:
        """A beneficiary, a destination of it, and a currency. Raises Inconclusive where there are none."""
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
