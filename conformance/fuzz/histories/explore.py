"""Concurrent clients on shared resources, and whether their history has a legal order.

Four kinds of things are raced for: an idempotency key, an account's only wallet of a pair, a beneficiary's
fields, and a nonce. What an answer shows while a change is still under way is open; what was acknowledged is
not."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conformance.contract import signing
from conformance.contract.operations import OPERATIONS
from conformance.fixtures.account import AccountFixture, call
from conformance.fixtures.run_context import RunContext
from conformance.fuzz.engine.recorder import Recorder, Violation
from conformance.fuzz.engine.seeds import source
from conformance.fuzz.histories.linearizability import (
    OK,
    REFUSED,
    UNKNOWN,
    Event,
    Step,
    legal_order,
    smallest,
)
from conformance.fuzz.schema.operation_fixtures import pairs_are_free
from conformance.harness.exploration import FuzzSettings
from conformance.judging.findings import Finding, Inconclusive
from conformance.wire.client import Prepared
from conformance.wire.messages import Call, Exchange

#: Cases of the budget that one history counts for.
CASES_PER_HISTORY = 4

#: What one client does, one request after the other.
Script = list[tuple[str, Call]]


def concurrently(run: RunContext, scripts: Sequence[Script], purpose: str) -> list[tuple[str, Exchange]]:
    """Runs scripts at once, each in a thread of its own; returns what was asked with its exchange, as they
    were sent."""
    client = run.client()
    barrier = threading.Barrier(len(scripts))

    prepared = [
        [(name, client.prepare(request, f"{purpose}: {name}")) for name, request in script]
        for script in scripts
    ]

    def perform(requests: list[tuple[str, Prepared]]) -> list[tuple[str, list[Exchange]]]:
        barrier.wait()
        return [(name, client.deliver(request)) for name, request in requests]

    with ThreadPoolExecutor(len(scripts)) as pool:
        done = [pair for pairs in pool.map(perform, prepared) for pair in pairs]
    done.sort(key=lambda pair: pair[1][-1].begun)
    for _, exchanges in done:
        client.watch(exchanges)
    return [(name, exchanges[-1]) for name, exchanges in done]


def event(name: str, exchange: Exchange, value: Any = None, *, refused: bool | None = None) -> Event[Any]:
    """The event of an exchange: unknown where nothing tells whether it took effect."""
    if exchange.throttled:
        outcome = REFUSED
    elif exchange.status is None or exchange.status >= 500:
        outcome = UNKNOWN
    else:
        outcome = REFUSED if (refused if refused is not None else not exchange.succeeded) else OK
    # What was lost on the way may have taken effect since it was first sent.
    return Event(name, outcome, exchange.begun, exchange.started + exchange.elapsed, value, exchange.number)


class HistoryRecorder:
    """Records histories into a ledger and judges them."""

    def __init__(self, run: RunContext, recorder: Recorder, rng: random.Random) -> None:
        self.run, self.recorder, self.rng = run, recorder, rng
        self.record: list[Exchange] = []

    def perform(self, scripts: Sequence[Script], purpose: str) -> list[tuple[str, Exchange]]:
        done = concurrently(self.run, scripts, purpose)
        exchanges = [exchange for _, exchange in done]
        self.record += exchanges
        for exchange in exchanges:
            self.recorder.count(exchange)
        self.recorder.keep(*exchanges)
        return done

    def send(self, request: Call, purpose: str) -> Exchange:
        exchange = self.run.send(self.run.client(), request, purpose)
        self.record.append(exchange)
        self.recorder.keep(exchange)
        return exchange

    def judge(
        self,
        rule: str,
        operation: str,
        events: Sequence[Event[Any]],
        initial: Any,
        step: Step[Any],
        what: str,
    ) -> bool:
        """Judges a history; the smallest illegal part of it is what a failure shows."""
        if legal_order(events, initial, step) is not None:
            return self.recorder.judge(rule, operation, True, "", "", *self._of(events[-1:]))
        small = smallest(events, initial, step, lambda one: one.outcome != OK or one.name.startswith("read"))
        told = "; ".join(f"{one.name} {one.outcome}{_told(one.value)}" for one in small)[:400]
        return self.recorder.judge(
            rule,
            operation,
            False,
            f"{what}: an order in which every answer is right",
            f"none for: {told}",
            *self._of(small),
        )

    def _of(self, events: Iterable[Event[Any]]) -> list[Exchange]:
        return [self.run.record[one.exchange] for one in events if one.exchange in self.run.record]

    def clients(self, calls: list[tuple[str, Call]], at_once: int) -> list[Script]:
        """Deals calls out to so many clients."""
        self.rng.shuffle(calls)
        return [script for script in (calls[at::at_once] for at in range(at_once)) if script]


def _told(value: Any) -> str:
    if value is None:
        return ""
    return (
        f" ({', '.join(sorted(map(str, value))) or 'nothing'})"
        if isinstance(value, (frozenset, tuple))
        else f" ({value})"
    )


# ---------------------------------------------------------------------- one key


def idempotent_create(historian: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients send one key and body, one sends the key with another body: done once, one answer."""
    operation = historian.rng.choice(("createVirtualAccount", "createPayoutDestination", "createBeneficiary"))
    request = fixture.call(operation)
    field = "note" if operation == "createBeneficiary" else "label"
    other = request.with_field(field, f"{request.document.get(field)} otherwise")
    calls = [("create", request)] * historian.rng.randint(3, 5) + [
        ("create otherwise", other)
    ] * historian.rng.randint(0, 1)
    listing = {
        "createVirtualAccount": "listVirtualAccounts",
        "createPayoutDestination": "listPayoutDestinations",
    }.get(operation)
    shown = fixture.call(listing).with_query({"page": 1, "size": 100}) if listing else None
    before = historian.send(shown, "one key: what is there before?") if shown else None
    done = historian.perform(historian.clients(calls, len(calls)), "one key")
    last = historian.send(request, "one key: create again")
    events = [
        event(name, exchange, exchange.get("id") if exchange.succeeded else None)
        for name, exchange in [*done, ("create", last)]
    ]

    def step(state: Any, one: Event[Any]) -> Iterable[Any]:
        if one.outcome == REFUSED:
            return [state]  # while another is under way, or for the other body
        made = (one.name, one.value)
        if state is None:
            return [made] if one.outcome == OK else [state, (one.name, None)]
        if one.outcome == UNKNOWN or state == made:
            return [state]
        return [made] if state[1] is None and state[0] == one.name else []

    historian.judge("idempotency.race", operation, events, None, step, "requests with one key at once")
    if shown is None or before is None or any(one.outcome == UNKNOWN for one in events):
        return
    found = historian.send(shown, "one key: what is there?")
    # By id: an item of a list need not show the label (section 2.4). A list that goes on is no witness.
    if before.succeeded and found.succeeded and found.get("pages") == 1:
        made = _ids(found) - _ids(before)
        accepted = any(exchange.succeeded for _, exchange in done) or last.succeeded
        historian.recorder.judge(
            "idempotency.race",
            operation,
            len(made) <= 1 and (bool(made) or not accepted),
            "one resource of one key",
            f"{len(made)} of them",
            found,
            *(exchange for _, exchange in done),
        )


# ---------------------------------------------------------------------- one wallet


def only_wallet(historian: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients create the wallet of one pair with keys of their own, others list: one wallet
    results."""
    calls = [("create", fixture.call("createWallet")) for _ in range(historian.rng.randint(3, 5))]
    calls += [
        ("read", fixture.call("listWallets").with_query({"page": 1, "size": 100}))
    ] * historian.rng.randint(0, 2)
    done = historian.perform(historian.clients(calls, len(calls)), "one wallet")
    last = historian.send(
        fixture.call("listWallets").with_query({"page": 1, "size": 100}), "one wallet: what is there?"
    )
    events = []
    for name, exchange in [*done, ("read", last)]:
        if name == "read":
            if exchange.succeeded:
                events.append(event(name, exchange, _ids(exchange)))
        else:
            events.append(event(name, exchange, exchange.get("id") if exchange.succeeded else None))

    def step(state: frozenset[Any], one: Event[Any]) -> Iterable[frozenset[Any]]:
        if one.name == "read":
            return [state] if one.value == state or (None in state and len(one.value) == len(state)) else []
        if one.outcome == OK:
            return [] if state else [frozenset({one.value})]
        if one.outcome == UNKNOWN:
            return [state] if state else [state, frozenset({None})]
        return [state] if state else []

    if any(exchange.throttled for _, exchange in done):
        return
    historian.judge("wallet.race", "createWallet", events, frozenset(), step, "creates of one pair at once")


def _ids(exchange: Exchange) -> frozenset[Any]:
    items = exchange.get("items")
    return (
        frozenset(str(one.get("id")) for one in items if isinstance(one, dict))
        if isinstance(items, list)
        else frozenset()
    )


# ---------------------------------------------------------------------- one beneficiary


def changed_beneficiary(historian: HistoryRecorder, fixture: AccountFixture) -> None:
    """Clients change different fields of one beneficiary, or disable it, while others read it: nothing
    acknowledged is lost."""
    ids = fixture.ids("getBeneficiary")
    names = ["note", "middle_name", "display_name", "title"]
    rng = historian.rng
    writes: list[tuple[str, Call]] = []
    for number in range(rng.randint(3, 5)):
        name = rng.choice(names)
        writes.append((f"set {name}", call("updateBeneficiary", ids, {name: f"value{'abcdef'[number]}"})))
    if rng.random() < 0.5:
        writes.append(("disable", call("disableBeneficiary", ids)))
    reads = [("read", call("getBeneficiary", ids))] * rng.randint(0, 2)
    before = {name: fixture.beneficiary.get(name) for name in (*names, "status")}
    done = historian.perform(historian.clients([*writes, *reads], rng.randint(3, 5)), "one beneficiary")
    last = historian.send(call("getBeneficiary", ids), "one beneficiary: what is it now?")
    changes = [
        (exchange.started, exchange.started + exchange.elapsed) for name, exchange in done if name != "read"
    ]
    events = []
    for name, exchange in [*done, ("read", last)]:
        if name == "read":
            # Which of two values a read shows while it is being changed is open.
            begin, end = exchange.started, exchange.started + exchange.elapsed
            if exchange.succeeded and not any(start < end and begin < stop for start, stop in changes):
                events.append(event(name, exchange, tuple(exchange.get(one) for one in before)))
        elif name == "disable":
            events.append(event(name, exchange))
        else:
            field = name.removeprefix("set ")
            events.append(event(name, exchange, exchange.call.document[field]))
    order = list(before)

    def step(state: tuple[Any, ...], one: Event[Any]) -> Iterable[tuple[Any, ...]]:
        if one.name == "read":
            return [state] if one.value == state else []
        if one.outcome == REFUSED:
            return [state]
        at = order.index("status" if one.name == "disable" else one.name.removeprefix("set "))
        after = (*state[:at], "disabled" if one.name == "disable" else one.value, *state[at + 1 :])
        return [after] if one.outcome == OK else [state, after]

    rule, operation = ("beneficiary.update", "updateBeneficiary")
    if (
        last.succeeded
        and last.get("status") != "disabled"
        and any(one.name == "disable" and one.outcome == OK for one in events)
    ):
        rule, operation = ("beneficiary.disable", "disableBeneficiary")
    historian.judge(
        rule, operation, events, tuple(before.values()), step, "changes of one beneficiary at once"
    )


# ---------------------------------------------------------------------- one nonce


def one_nonce(historian: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients send different requests with one nonce: at most one passes authentication."""
    nonce = signing.new_nonce()
    features = historian.run.target.features
    absent = {"createPayout": not features.payouts, "createPayin": not features.payins}
    operation = historian.rng.choice([one for one in OPERATIONS if not absent.get(one)])
    calls = [
        ("request", fixture.call(operation).signed(nonce=nonce)) for _ in range(historian.rng.randint(3, 6))
    ]
    done = historian.perform(historian.clients(calls, len(calls)), "one nonce")
    if any(exchange.throttled for _, exchange in done):
        return
    last = historian.send(fixture.call(operation).signed(nonce=nonce), "one nonce: again")
    events = [
        event(name, exchange, refused=exchange.refused_authentication)
        for name, exchange in [*done, ("request", last)]
    ]

    def step(used: bool, one: Event[Any]) -> Iterable[bool]:
        if one.outcome == REFUSED:
            return [used]
        if one.outcome == UNKNOWN:
            return [used, True]
        return [] if used else [True]

    historian.judge("auth.nonce-race", operation, events, False, step, "requests with one nonce at once")


KINDS: dict[str, Callable[[HistoryRecorder, AccountFixture], None]] = {
    "keys": idempotent_create,
    "wallets": only_wallet,
    "beneficiaries": changed_beneficiary,
    "nonces": one_nonce,
}


def explore_histories(run: RunContext, kind: str, settings: FuzzSettings, check: str) -> list[Finding]:
    """Records histories of one kind and returns a finding for each rule that came to be judged.

    Raises Inconclusive when the server refuses what they rest on.
    """
    if kind == "wallets" and not pairs_are_free(run):
        raise Inconclusive(
            "this server takes a pair of currency and network in one account only, "
            "so no account is left to race for it"
        )
    recorder = Recorder(run, check)
    rng = source(settings.seed, "histories", kind)
    share = settings.share()
    end = None if share is None else time.monotonic() + share
    for _ in range(max(2, settings.cases // CASES_PER_HISTORY)):
        if end is not None and time.monotonic() > end:
            break
        fixture = run.fresh() if kind in ("wallets", "beneficiaries") else run.shared()
        if kind != "wallets":
            fixture.ids("getBeneficiary")
        recorder.focus = None
        recorder.begin()
        historian = HistoryRecorder(run, recorder, rng)
        try:
            KINDS[kind](historian, fixture)
            recorder.inspect(*historian.record)
        except Violation as violation:
            recorder.settled.add(violation.key)
    return recorder.findings(settings.replay_folder)
