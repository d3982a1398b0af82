"""Races for an account's only wallet of a pair: section 4.6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from conformance.fuzz.histories.history import KINDS, HistoryRecorder, event, ids
from conformance.fuzz.histories.linearizability import OK, UNKNOWN, Event
from conformance.judge.comparison import objects
from conformance.wire.messages import Exchange
from conformance.world.account import AccountFixture
from conformance.world.habits import added

State = frozenset[Any]


def only_wallet(history: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients create the wallet of one pair with keys of their own, others list: one wallet
    results."""
    calls = [("create", fixture.call("createWallet")) for _ in range(history.rng.randint(3, 5))]
    wallet = calls[0][1].document
    shown = fixture.call("listWallets").with_query({"page": 1, "size": 100})
    calls += [("read meanwhile", shown)] * history.rng.randint(0, 2)
    done = history.perform(history.clients(calls, len(calls)), "one wallet", whole=True)
    made = {exchange.get("id") for name, exchange in done if name == "create" and exchange.succeeded}
    last = history.look(
        shown, "one wallet: what is there?", lambda seen: not seen.succeeded or made <= ids(seen)
    )
    own = added(history.run, "listWallets", objects(last.get("items")), made)
    pair = [wallet["currency"], wallet["network"]] if own else None
    events = []
    for name, exchange in [*done, ("read", last)]:
        if name == "create" or exchange.succeeded:
            events.append(_event(name, exchange, pair))
    what = "creates of one pair at once"
    history.judge("wallet.race", "createWallet", events, frozenset(), _step, what, pair)


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


def _event(name: str, exchange: Exchange, pair: Sequence[Any] | None) -> Event[Any]:
    """A read as the wallets that it shows: of one currency and network where the server adds wallets of its
    own."""
    if name == "create":
        return event(name, exchange, exchange.get("id") if exchange.succeeded else None)
    wallets = objects(exchange.get("items"))
    if pair is not None:
        wallets = [wallet for wallet in wallets if [wallet.get("currency"), wallet.get("network")] == pair]
    return event(name, exchange, frozenset(str(wallet.get("id")) for wallet in wallets))


KINDS["wallets"] = _event, lambda initial: frozenset(), _step
