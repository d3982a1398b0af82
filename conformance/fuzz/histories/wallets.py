"""Races for an account's only wallet of a pair: section 4.6."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.fixtures.account import AccountFixture
from conformance.fuzz.histories.history import KINDS, HistoryRecorder, event, ids
from conformance.fuzz.histories.linearizability import OK, UNKNOWN, Event
from conformance.wire.messages import Exchange

State = frozenset[Any]


def only_wallet(history: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients create the wallet of one pair with keys of their own, others list: one wallet
    results."""
    calls = [("create", fixture.call("createWallet")) for _ in range(history.rng.randint(3, 5))]
    shown = fixture.call("listWallets").with_query({"page": 1, "size": 100})
    calls += [("read meanwhile", shown)] * history.rng.randint(0, 2)
    done = history.perform(history.clients(calls, len(calls)), "one wallet", whole=True)
    made = {exchange.get("id") for name, exchange in done if name == "create" and exchange.succeeded}
    last = history.look(
        shown, "one wallet: what is there?", lambda seen: not seen.succeeded or made <= ids(seen)
    )
    events = []
    for name, exchange in [*done, ("read", last)]:
        if name == "create":
            events.append(event(name, exchange, exchange.get("id") if exchange.succeeded else None))
        elif exchange.succeeded:
            events.append(event(name, exchange, ids(exchange)))
    history.judge("wallet.race", "createWallet", events, frozenset(), _step, "creates of one pair at once")


def _step(state: State, asked: Event[Any]) -> Iterable[State]:
    if asked.name.startswith("read"):
        # A list may be behind, but it shows no other wallet than the one there is.
        behind = asked.name == "read meanwhile" and not asked.value
        unnamed = None in state and len(asked.value) == len(state)
        return [state] if behind or asked.value == state or unnamed else []
    if asked.outcome == OK:
        return [] if state else [frozenset({asked.value})]
    if asked.outcome == UNKNOWN:
        return [state] if state else [state, frozenset({None})]
    return [state] if state else []


def _event(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    if name == "create":
        return event(name, exchange, exchange.get("id") if exchange.succeeded else None)
    return event(name, exchange, ids(exchange))


KINDS["wallets"] = _event, lambda initial: frozenset(), _step
