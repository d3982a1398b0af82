"""Servers that let one account or beneficiary have so many of a kind and no more: when a place that checks
share is full, they go on in a new one."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.contract.operations import match
from conformance.judge.findings import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.account import call
from conformance.world.cache import Key
from conformance.world.run_context import RunContext

#: What a server may let there be so many of, and no more, in one place.
LIMITED = ("createBeneficiary", "createPayoutDestination", "createVirtualAccount")

#: Places that are left in one run at most.
_MOST_LEFT = 20

_LEFT = Key[int]("how many full places were left")


def moved(run: RunContext, exchanges: Sequence[Exchange]) -> bool:
    """Whether checks find another account now than before, as the one there was is full: it refuses a valid
    request, and a new one takes it. `exchanges` are those of a check that could not judge, of which the last
    refused create tells the place."""
    refused = [exchange for exchange in exchanges if exchange.operation in LIMITED and exchange.refused]
    left = run.cache.find(_LEFT) or 0
    if run.read_only or not refused or refused[-1].organization != "primary" or left >= _MOST_LEFT:
        return False
    account = _full(run, refused[-1])
    if not account:
        return False
    run.cache.put(_LEFT, left + 1)
    run.accounts.leave(account)
    return True


def _full(run: RunContext, refused: Exchange) -> str:
    """The account in which a place takes no more of what a request creates, although a new one does; empty
    where there is room."""
    called = match(refused.method, refused.call.path)
    if called is None:
        return ""
    operation, ids = called[0].id, called[1]
    try:
        fixture = run.account(fresh=True)
        body = fixture.body(operation)
        again = run.send(fixture.client, call(operation, ids, body), "is there room for one more?")
        if (
            again.succeeded
            or not run.send(fixture.client, fixture.call(operation), "in a new account?").succeeded
        ):
            return ""
    except Inconclusive:
        return ""
    return ids["account_id"]
