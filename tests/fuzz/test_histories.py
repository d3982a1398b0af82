"""The linearizability search, and histories of concurrent clients on conforming and faulty servers."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable
from typing import Any

import pytest

from conformance.fuzz.exploration import FuzzSettings
from conformance.fuzz.histories.linearizability import OK, REFUSED, UNKNOWN, Event, legal_order, smallest
from conformance.fuzz.test_histories import test_has_legal_order as has_legal_order
from conformance.reference.behaviour import Behaviour
from tests.replay.samples import NoNonces, PerformsAgain
from tests.support.mistakes import TwoWallets
from tests.support.runs import broken, run_on
from tests.variants.choice import compose
from tests.variants.policies import FrozenWhenDisabled

pytestmark = pytest.mark.usefixtures("no_waiting")


# ---------------------------------------------------------------------- the search


def register(state: int, event: Event[int]) -> Iterable[int]:
    """A register that is written and read."""
    if event.name == "read":
        return [state] if event.value == state else []
    if event.outcome == REFUSED:
        return [state]
    return [event.value] if event.outcome == OK else [state, event.value]


def history(*events: tuple[str, Any, float, float] | tuple[str, Any, float, float, str]) -> list[Event[int]]:
    return [
        Event(event[0], event[4] if len(event) == 5 else OK, event[2], event[3], event[1]) for event in events
    ]


@pytest.mark.parametrize(
    ("events", "legal"),
    [
        (history(("write", 1, 0, 1), ("read", 1, 2, 3)), True),
        (history(("write", 1, 0, 1), ("read", 0, 2, 3)), False),
        (history(("write", 1, 0, 3), ("read", 0, 1, 2)), True),
        (history(("write", 1, 0, 3), ("read", 1, 1, 2)), True),
        (history(("write", 1, 0, 5), ("read", 1, 1, 2), ("read", 0, 3, 4)), False),
        (history(("write", 1, 0, 5), ("read", 0, 1, 2), ("read", 1, 3, 4)), True),
        (history(("write", 1, 0, 2), ("write", 2, 0, 2), ("read", 1, 3, 4), ("read", 2, 5, 6)), False),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 0, 2, 3), ("read", 1, 4, 5)), True),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 0, 2, 3)), True),
        (history(("write", 1, 0, 1, UNKNOWN), ("read", 1, 2, 3), ("read", 0, 4, 5)), False),
        (history(("write", 1, 0, 1, REFUSED), ("read", 1, 2, 3)), False),
        ([], True),
    ],
)
def test_legal_order(events: list[Event[int]], legal: bool) -> None:
    order = legal_order(events, 0, register)
    assert (order is not None) is legal
    if order is not None:
        for first, second in itertools.pairwise(order):
            assert UNKNOWN in (first.outcome, second.outcome) or second.answered >= first.invoked


def test_search_agrees_with_trying_every_order() -> None:
    rng = random.Random(1)

    def brute(events: list[Event[int]]) -> bool:
        for order in itertools.permutations(events):
            if any(
                later.answered < earlier.invoked
                for at, earlier in enumerate(order)
                for later in order[at + 1 :]
            ):
                continue
            state = 0
            for event in order:
                after = list(register(state, event))
                if not after:
                    break
                state = after[0]
            else:
                return True
        return False

    verdicts = []
    for _ in range(300):
        events: list[Event[Any]] = []
        for _ in range(rng.randint(1, 5)):
            invoked = rng.randint(0, 6)
            events.append(
                Event(
                    rng.choice(("read", "write")), OK, invoked, invoked + rng.randint(1, 4), rng.randint(0, 2)
                )
            )
        verdicts.append(legal_order(events, 0, register) is not None)
        assert verdicts[-1] == brute(events), events
    assert 50 < sum(verdicts) < 250


def test_smallest_history() -> None:
    events = history(("write", 1, 0, 1), ("read", 1, 2, 3), ("read", 1, 3, 4), ("read", 0, 5, 6))
    small = smallest(events, 0, register, lambda event: event.name == "read")
    assert [event.value for event in small] == [1, 0]


def test_search_remembers_states() -> None:
    events = history(*(("write", number % 2, 0, 10) for number in range(14)), ("read", 5, 11, 12))
    begin = time.process_time()
    assert legal_order(events, 0, register) is None
    assert time.process_time() - begin < 5


# ---------------------------------------------------------------------- servers


class NoWallet(Behaviour):
    """Refuses every wallet except the two with which a check finds that each account may have the pair."""

    claimed = 0

    def claim_wallet_pair(self, ctx: Any) -> bool:
        self.claimed += 1
        return self.claimed <= 2 and super().claim_wallet_pair(ctx)


class LosesChanges(Behaviour):
    def patched(self, ctx: Any, record: dict[str, Any]) -> dict[str, Any]:
        after = super().patched(ctx, record)
        return {**after, "title": record["title"]} if ctx.values.get("title") else after


class StaysActive(Behaviour):
    def disabled(self, ctx: Any, record: dict[str, Any]) -> dict[str, Any]:
        return {**super().disabled(ctx, record), "status": "active"}


@pytest.mark.parametrize(
    ("behaviour", "race", "rule"),
    [
        (PerformsAgain, "keys", "idempotency.race"),
        (TwoWallets, "wallets", "wallet.race"),
        (NoWallet, "wallets", "wallet.race"),
        (LosesChanges, "beneficiaries", "beneficiary.update"),
        (StaysActive, "beneficiaries", "beneficiary.disable"),
        (NoNonces, "nonces", "auth.nonce-race"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_finds(behaviour: type[Behaviour], race: str, rule: str) -> None:
    findings = broken(has_legal_order(run_on(behaviour()), race, FuzzSettings(1, examples=40)))
    assert rule in findings
    assert findings[rule].exchanges


def test_all_requests_of_a_race_are_judged() -> None:
    """On a conforming server another one of them may be accepted the next time."""
    run = run_on(TwoWallets())
    found = broken(has_legal_order(run, "wallets", FuzzSettings(1, examples=40)))["wallet.race"]
    assert found.judgement
    judged = found.judgement.exchanges
    races = {run.record[number].raced for number in judged} - {0}
    assert races
    assert {number for number, one in run.record.items() if one.raced in races} <= set(judged)


def test_a_race_leaves_the_shared_account_usable() -> None:
    run = run_on(compose(FrozenWhenDisabled))
    # Enough examples for every operation to be drawn.
    has_legal_order(run, "nonces", FuzzSettings(1, 400))
    assert run.account().beneficiary.succeeded
    assert run.account().create("createPayoutDestination").succeeded
    assert run.account().create("createWallet").succeeded


def test_unanswered_requests_may_have_had_effect() -> None:
    class Crashes(Behaviour):
        calls = itertools.count(1)

        def finish(self, ctx: Any, response: Any) -> Any:
            answer = super().finish(ctx, response)
            if ctx.operation == "createWallet" and next(self.calls) % 3 == 0:
                answer.status = 500
            return answer

    findings = broken(has_legal_order(run_on(Crashes()), "wallets", FuzzSettings(1)))
    assert "wallet.race" not in findings
