"""Races for a nonce: section 5.4."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.fuzz.histories.history import KINDS, HistoryRecorder, event
from conformance.fuzz.histories.linearizability import REFUSED, UNKNOWN, Event
from conformance.wire.messages import Exchange
from conformance.wire.provenance import new_nonce
from conformance.world.account import AccountFixture


def one_nonce(history: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients send different requests with one nonce: at most one passes authentication."""
    nonce = new_nonce()
    features = history.run.target.features
    absent = {"createPayout": not features.payouts, "createPayin": not features.payins}
    operation = history.rng.choice([name for name in OPERATIONS if not absent.get(name)])
    if TRAITS[operation].once:
        # What the one that passes uses up, others of the shared account still need.
        fixture = history.run.account(fresh=True)
    calls = [
        ("request", fixture.call(operation).signed(nonce=nonce)) for _ in range(history.rng.randint(3, 6))
    ]
    done = history.perform(history.clients(calls, len(calls)), "one nonce", whole=True)
    last = history.send(fixture.call(operation).signed(nonce=nonce), "one nonce: again")
    events = [
        event(name, exchange, refused=exchange.refused_authentication)
        for name, exchange in [*done, ("request", last)]
    ]
    history.judge("auth.nonce-race", operation, events, False, _step, "requests with one nonce at once")


def _step(used: bool, asked: Event[Any]) -> Iterable[bool]:
    if asked.outcome == REFUSED:
        return [used]
    if asked.outcome == UNKNOWN:
        return [used, True]
    return [] if used else [True]


def _event(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    return event(name, exchange, refused=exchange.refused_authentication)


KINDS["nonces"] = _event, lambda initial: False, _step
