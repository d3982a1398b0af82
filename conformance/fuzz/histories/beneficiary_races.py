"""Races for the fields of a beneficiary: sections 3 and 4.2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.fuzz.histories.history import KINDS, HistoryRecorder, Named, event
from conformance.fuzz.histories.linearizability import OK, REFUSED, Event, legal_order
from conformance.judge.comparison import show
from conformance.judge.expectations import predicate
from conformance.wire.messages import Call, Exchange
from conformance.world.account import AccountFixture, call

FIELDS = ("note", "middle_name", "display_name", "title")

State = tuple[Any, ...]


def changed_beneficiary(history: HistoryRecorder, fixture: AccountFixture) -> None:
    """Clients change different fields of one beneficiary, or disable it, while others read it: nothing
    acknowledged is lost."""
    path = fixture.ids("getBeneficiary")
    read, rng = call("getBeneficiary", path), history.rng
    writes: list[tuple[str, Call]] = []
    for number in range(rng.randint(3, 5)):
        name = rng.choice(FIELDS)
        writes.append((f"set {name}", call("updateBeneficiary", path, {name: f"value{'abcdef'[number]}"})))
    if rng.random() < 0.5:
        writes.append(("disable", call("disableBeneficiary", path)))
    reads = [("read", read)] * rng.randint(0, 2)
    before = {name: fixture.beneficiary.get(name) for name in FIELDS}
    done = history.perform(history.clients([*writes, *reads], rng.randint(3, 5)), "one beneficiary")
    events = _writes(done)
    disabled = any(made.name == "disable" and made.outcome == OK for made in events)
    initial = (*before.values(), "")

    def legal(seen: Exchange) -> bool:
        return not seen.succeeded or bool(_agrees([*events, _read(seen, disabled)], initial))

    last = history.look(read, "one beneficiary: what is it now?", legal)
    _judge_meanwhile(history, done, before)
    if not last.succeeded:
        return
    lost = disabled and last.get("status") != "disabled"
    rule = "beneficiary.disable" if lost else "beneficiary.update"
    operation = "disableBeneficiary" if lost else "updateBeneficiary"
    what = "changes of one beneficiary at once"
    plain = {"fields": list(before.values()), "disabled": disabled}
    history.judge(rule, operation, [*events, _read(last, disabled)], initial, _step, what, plain)


def _writes(done: list[Named]) -> list[Event[Any]]:
    """The events of all but reads: how soon a write shows is open, so those made meanwhile are none."""
    events = []
    for name, exchange in done:
        if name == "disable":
            events.append(event(name, exchange))
        elif name != "read":
            events.append(event(name, exchange, exchange.call.document[name.removeprefix("set ")]))
    return events


def _read(exchange: Exchange, disabled: bool) -> Event[Any]:
    """The event of the last read. A status that nobody asked for is a job's."""
    status = exchange.get("status") if disabled else ""
    return event("read", exchange, (*(exchange.get(name) for name in FIELDS), status))


def _agrees(events: list[Event[Any]], initial: State) -> bool:
    return legal_order(events, initial, _step) is not None


def _judge_meanwhile(history: HistoryRecorder, done: list[Named], before: Mapping[str, Any]) -> None:
    """A read made meanwhile shows of each field what somebody has sent, or what was there before."""
    for _, seen in (pair for pair in done if pair[0] == "read" and pair[1].succeeded):
        for name, value in before.items():
            sent = [exchange.call.document[name] for kind, exchange in done if kind == f"set {name}"]
            sentence = f"{name} as it was or as somebody has set it"
            among = one_of(sentence, name=name, among=[value, *sent])
            history.expect("beneficiary.update", "updateBeneficiary", among, seen)


@predicate
def one_of(exchanges: Sequence[Exchange], name: str, among: Sequence[Any]) -> str:
    """A member of an answer is one of these values."""
    value = exchanges[0].get(name)
    return "" if value in among else show(value)


def _step(state: State, asked: Event[Any]) -> Iterable[State]:
    if asked.name == "read":
        return [state] if asked.value == state else []
    if asked.outcome == REFUSED:
        return [state]
    at = len(FIELDS) if asked.name == "disable" else FIELDS.index(asked.name.removeprefix("set "))
    after = (*state[:at], "disabled" if asked.name == "disable" else asked.value, *state[at + 1 :])
    return [after] if asked.outcome == OK else [state, after]


def _event(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    if name == "read":
        return _read(exchange, bool(initial["disabled"]))
    return event(
        name, exchange, None if name == "disable" else exchange.call.document[name.removeprefix("set ")]
    )


KINDS["beneficiaries"] = _event, lambda initial: (*initial["fields"], ""), _step
