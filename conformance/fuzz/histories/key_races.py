"""Races for an idempotency key: section 4.0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from conformance.contract.traits import TRAITS
from conformance.fuzz.histories.history import KINDS, HistoryRecorder, event, ids
from conformance.fuzz.histories.linearizability import OK, REFUSED, UNKNOWN, Event
from conformance.judge.comparison import objects
from conformance.judge.expectations import CannotTell, predicate
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture
from conformance.world.habits import added

RULE = "idempotency.race"


def idempotent_create(history: HistoryRecorder, fixture: AccountFixture) -> None:
    """Several clients send one key and body, one sends the key with another body: done once, one answer."""
    operation = history.rng.choice(("createVirtualAccount", "createPayoutDestination", "createBeneficiary"))
    request = fixture.call(operation)
    field = "note" if TRAITS[operation].creates == "beneficiary" else "label"
    other = request.with_field(field, f"{request.document.get(field)} otherwise")
    calls = [("create", request)] * history.rng.randint(3, 5)
    calls += [("create otherwise", other)] * history.rng.randint(0, 1)
    listing = TRAITS[operation].listed_by
    shown = fixture.call(listing).with_query({"page": 1, "size": 100}) if listing else None
    before = _known(history, shown) if shown else None
    done = history.perform(history.clients(calls, len(calls)), "one key")
    last = history.send(request, "one key: create again")
    events = [
        event(name, exchange, exchange.get("id") if exchange.succeeded else None)
        for name, exchange in [*done, ("create", last)]
    ]
    history.judge(RULE, operation, events, None, _step, "requests with one key at once")
    if shown is None or before is None or any(made.outcome == UNKNOWN for made in events):
        return
    answered = {made.value for made in events if made.outcome == OK}
    found = history.look(
        shown, "one key: what is there?", lambda seen: not seen.succeeded or answered <= ids(seen)
    )
    # By id: an item of a list need not show the label (section 2.4). A list that goes on is no witness.
    if found.succeeded and found.get("pages") == 1:
        known = before | added(history.run, str(found.operation), objects(found.get("items")), answered)
        made = one_more("one resource of one key", known=sorted(known & ids(found)))
        history.expect(RULE, operation, made, found, *(exchange for _, exchange in done), last)


@predicate
def one_more(exchanges: Sequence[Exchange], known: Sequence[str]) -> str:
    """A list, first, shows one element beside the known ones, where one of the other requests was accepted;
    none, if none was."""
    found, *answers = exchanges
    if not found.succeeded:
        raise CannotTell(f"{found.operation} was answered {found.described()}")
    made = ids(found) - set(known)
    accepted = any(answer.succeeded for answer in answers)
    return "" if len(made) == 1 or (not made and not accepted) else f"{len(made)} of them"


def _known(history: HistoryRecorder, shown: Call) -> frozenset[str] | None:
    """The ids of what is there already, also of what a list does not show yet; None where it cannot tell."""
    before = history.send(shown, "one key: what is there before?")
    if not before.succeeded:
        return None
    lists = {name for name, traits in TRAITS.items() if traits.listed_by == shown.operation}
    told = {
        str(exchange.get("id"))
        for exchange in history.run.record.values()
        if exchange.succeeded and exchange.operation in lists
    }
    return ids(before) | told


def _step(state: Any, made: Event[Any]) -> Iterable[Any]:
    if made.outcome == REFUSED:
        return [state]  # while another is under way, or for the other body
    after = (made.name, made.value)
    if state is None:
        return [after] if made.outcome == OK else [state, (made.name, None)]
    if made.outcome == UNKNOWN or state == after:
        return [state]
    return [after] if state[1] is None and state[0] == made.name else []


def _event(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    return event(name, exchange, exchange.get("id") if exchange.succeeded else None)


KINDS["keys"] = _event, lambda initial: None, _step
