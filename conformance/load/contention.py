"""Histories of clients that contend for an Idempotency-Key (section 4.0), an account's only wallet of a pair
(4.6), a beneficiary's fields (4.2), a nonce (5.4), or the funds of an account (2.2)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.fuzz.fixtures import pairs_are_free
from conformance.judge.comparison import objects, show
from conformance.judge.conservation import conserved
from conformance.load.history import Contention, HistoryRecorder, Named, event, ids, in_some_order
from conformance.load.linearizability import OK, REFUSED, UNKNOWN, Event
from conformance.wire.forms import new_nonce
from conformance.wire.messages import Call, Exchange
from conformance.world.account import Account, call
from conformance.world.habits import added, made_by
from conformance.world.payments import PayoutRounds
from conformance.world.run import Run

FIELDS = ("note", "middle_name", "display_name", "title")

#: Maximum of rounds of payouts while a violation is suspected.
ROUNDS = 6


def _created(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    """The event of a POST; its value is the id in the answer, and the time of a change."""
    value = exchange.get("id")
    if OPERATIONS[str(exchange.operation)].traits.disables:
        value = f"{value} of {exchange.get('updated')}"
    return event(name, exchange, value if exchange.succeeded else None)


# ---------------------------------------------------------------------- one idempotency key


def idempotent_create(history: HistoryRecorder, fixture: Account) -> None:
    """Several clients send one key and body, one the key with another body: one resource, one answer."""
    rule = "idempotency.race"
    operation = _next_post(history.run)
    request = fixture.call(operation)
    calls = [("create", request)] * history.rng.randint(3, 5)
    if request.body is not None and (field := TRAITS[operation].free_text) in request.document:
        other = request.with_field(field, f"{request.document[field]} otherwise")
        calls += [("create otherwise", other)] * history.rng.randint(0, 1)
    listing = TRAITS[operation].listed_by
    # Other users add accounts meanwhile.
    own = listing and not TRAITS[listing].others_add
    lookup = fixture.call(listing).with_query({"page": 1, "size": 100}) if own else None
    before = _known(history, lookup) if lookup else None
    done = history.perform(history.clients(calls, len(calls)), "one key")
    last = history.send(request, "one key: create again")
    named = [*done, ("create", last)]
    history.judge(_KEYS, rule, operation, named, "requests with one key at once")
    events = _KEYS.events(named, None)
    if lookup is None or before is None or any(made.outcome == UNKNOWN for made in events):
        return
    answered = {made.value for made in events if made.outcome == OK}
    found = history.look(
        lookup, "one key: what is there?", lambda answer: not answer.succeeded or answered <= ids(answer)
    )
    # By id: an item of a list need not show the label (section 2.4). Further pages would not be seen.
    if found.succeeded and found.get("pages") == 1:
        known = before | added(history.run, str(found.operation), objects(found.get("items")), answered)
        answers = [exchange for _, exchange in done]
        got = _one_more(found, [*answers, last], known)
        history.expect(rule, operation, "one resource of one key", got, found, *answers, last)


#: Counts the races of a process for keys, so that every POST has its turn.
_TURNS = itertools.count()


def _next_post(run: Run) -> str:
    """The POST whose turn it is, but for payouts, which users repeat at once in the account that pays."""
    left_out = {
        "createPayout": True,
        "createPayin": not run.target.features.payins,
        "createWallet": not pairs_are_free(run),
    }
    posts = [name for name in RULES["idempotency.race"].operations if not left_out.get(name)]
    return posts[next(_TURNS) % len(posts)]


def _one_more(found: Exchange, answers: Sequence[Exchange], known: Collection[str]) -> str:
    """A list shows one element beside the known ones if one of the answers accepts it, else at most one."""
    made = ids(found) - set(known)
    accepted = any(answer.succeeded for answer in answers)
    return "" if len(made) == 1 or (not made and not accepted) else f"{len(made)} of them"


def _known(history: HistoryRecorder, lookup: Call) -> frozenset[str] | None:
    """The ids of existing elements, those that the list does not show yet included; None if it is refused."""
    before = history.send(lookup, "one key: what is there before?")
    if not before.succeeded:
        return None
    return ids(before) | made_by(history.run, str(lookup.operation))


def _by_key(state: Any, made: Event[Any]) -> Iterable[Any]:
    if made.outcome == REFUSED:
        return [state]  # while another request is in progress, or for the other body
    after = (made.name, made.value)
    if state is None:
        return [after] if made.outcome == OK else [state, (made.name, None)]
    if made.outcome == UNKNOWN or state == after:
        return [state]
    return [after] if state[1] is None and state[0] == made.name else []


_KEYS = Contention(_created, lambda _: None, _by_key)

# ---------------------------------------------------------------------- the only wallet of a pair


def only_wallet(history: HistoryRecorder, fixture: Account) -> None:
    """Several clients create the wallet of one pair with different keys, others list: one wallet results."""
    calls = [("create", fixture.call("createWallet")) for _ in range(history.rng.randint(3, 5))]
    wallet = calls[0][1].document
    lookup = fixture.call("listWallets").with_query({"page": 1, "size": 100})
    calls += [("read meanwhile", lookup)] * history.rng.randint(0, 2)
    done = history.perform(history.clients(calls, len(calls)), "one wallet", whole=True)
    created = {exchange.get("id") for name, exchange in done if name == "create" and exchange.succeeded}
    last = history.look(
        lookup, "one wallet: what is there?", lambda answer: not answer.succeeded or created <= ids(answer)
    )
    own = added(history.run, "listWallets", objects(last.get("items")), created)
    pair = [wallet["currency"], wallet["network"]] if own else None
    telling = [(name, each) for name, each in [*done, ("read", last)] if name == "create" or each.succeeded]
    history.judge(_WALLETS, "wallet.race", "createWallet", telling, "creates of one pair at once", pair)


def _wallets(name: str, exchange: Exchange, pair: Sequence[Any] | None) -> Event[Any]:
    """The event of a create, or of a read with the ids of wallets: those of `pair` where the server
    pre-populates lists."""
    if name == "create":
        return _created(name, exchange, pair)
    wallets = objects(exchange.get("items"))
    if pair is not None:
        wallets = [wallet for wallet in wallets if [wallet.get("currency"), wallet.get("network")] == pair]
    return event(name, exchange, frozenset(str(wallet.get("id")) for wallet in wallets))


def _by_pair(state: frozenset[Any], asked: Event[Any]) -> Iterable[frozenset[Any]]:
    if asked.name.startswith("read"):
        # A list may lag, but shows no other wallet.
        behind = asked.name == "read meanwhile" and not asked.value
        unnamed = None in state and len(asked.value) == len(state)
        return [state] if behind or asked.value == state or unnamed else []
    if state:
        return [] if asked.outcome == OK else [state]
    if asked.outcome == OK:
        return [frozenset({asked.value})]
    return [state, frozenset({None})] if asked.outcome == UNKNOWN else []


_WALLETS = Contention(_wallets, lambda _: frozenset(), _by_pair)

# ---------------------------------------------------------------------- the fields of a beneficiary


def changed_beneficiary(history: HistoryRecorder, fixture: Account) -> None:
    """Clients change fields of one beneficiary, or disable it, while others read it: no acknowledged change
    is lost."""
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
    # When a write shows is open: concurrent reads are no events.
    written = [(name, exchange) for name, exchange in done if name != "read"]
    disabled = any(name == "disable" and exchange.succeeded for name, exchange in written)
    plain = {"fields": list(before.values()), "disabled": disabled}
    last = history.look(
        read,
        "one beneficiary: what is it now?",
        lambda answer: (
            not answer.succeeded or not in_some_order(_BENEFICIARIES, [*written, ("read", answer)], plain)
        ),
    )
    _judge_meanwhile(history, done, before)
    if not last.succeeded:
        return
    lost = disabled and last.get("status") != "disabled"
    rule = "beneficiary.disable" if lost else "beneficiary.update"
    operation = "disableBeneficiary" if lost else "updateBeneficiary"
    what = "changes of one beneficiary at once"
    history.judge(_BENEFICIARIES, rule, operation, [*written, ("read", last)], what, plain)


def _judge_meanwhile(history: HistoryRecorder, done: list[Named], before: Mapping[str, Any]) -> None:
    """Judges that concurrent reads show the former value of each field or one that was sent."""
    for _, seen in (pair for pair in done if pair[0] == "read" and pair[1].succeeded):
        for name, value in before.items():
            sent = [exchange.call.document[name] for kind, exchange in done if kind == f"set {name}"]
            sentence = f"{name} as it was or as somebody has set it"
            now = seen.get(name)
            got = "" if now in (value, *sent) else show(now)
            history.expect("beneficiary.update", "updateBeneficiary", sentence, got, seen)


def _changes(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    """The event of a change with its value, or of a read with fields and status. The status counts only
    where the beneficiary was disabled: jobs may change it."""
    if name == "read":
        status = exchange.get("status") if initial["disabled"] else ""
        return event(name, exchange, (*(exchange.get(field) for field in FIELDS), status))
    value = None if name == "disable" else exchange.call.document[name.removeprefix("set ")]
    return event(name, exchange, value)


def _by_field(state: tuple[Any, ...], asked: Event[Any]) -> Iterable[tuple[Any, ...]]:
    if asked.name == "read":
        return [state] if asked.value == state else []
    if asked.outcome == REFUSED:
        return [state]
    at = len(FIELDS) if asked.name == "disable" else FIELDS.index(asked.name.removeprefix("set "))
    after = (*state[:at], "disabled" if asked.name == "disable" else asked.value, *state[at + 1 :])
    return [after] if asked.outcome == OK else [state, after]


_BENEFICIARIES = Contention(_changes, lambda initial: (*initial["fields"], ""), _by_field)

# ---------------------------------------------------------------------- one nonce


def one_nonce(history: HistoryRecorder, fixture: Account) -> None:
    """Several clients send different requests with one nonce: at most one passes authentication."""
    nonce = new_nonce()
    features = history.run.target.features
    absent = {"createPayout": not features.payouts, "createPayin": not features.payins}
    operation = history.rng.choice([name for name in OPERATIONS if not absent.get(name)])
    if TRAITS[operation].once:
        # The request that passes uses up a resource that the shared account must keep.
        fixture = history.run.account(fresh=True)
    calls = [
        ("request", fixture.call(operation).signed(nonce=nonce)) for _ in range(history.rng.randint(3, 6))
    ]
    done = history.perform(history.clients(calls, len(calls)), "one nonce", whole=True)
    last = history.send(fixture.call(operation).signed(nonce=nonce), "one nonce: again")
    what = "requests with one nonce at once"
    history.judge(_NONCES, "auth.nonce-race", operation, [*done, ("request", last)], what)


def _passed(name: str, exchange: Exchange, initial: Any) -> Event[Any]:
    """The event of a request that passed authentication or was refused by it."""
    return event(name, exchange, refused=exchange.refused_authentication)


def _by_nonce(used: bool, asked: Event[Any]) -> Iterable[bool]:
    if asked.outcome == REFUSED:
        return [used]
    if asked.outcome == UNKNOWN:
        return [used, True]
    return [] if used else [True]


_NONCES = Contention(_passed, lambda _: False, _by_nonce)

#: Kind of a race for one resource -> the function that performs and judges one.
RACES = {
    "keys": idempotent_create,
    "wallets": only_wallet,
    "beneficiaries": changed_beneficiary,
    "nonces": one_nonce,
}


# ---------------------------------------------------------------------- the funds of an account


def payouts_at_once(history: HistoryRecorder, payouts: PayoutRounds) -> None:
    """Judges that concurrent payouts take from the balance what sequential ones take, in further rounds after
    a suspicion. Nobody else may pay from the account meanwhile."""

    def at_once(calls: list[Call], purpose: str) -> list[Exchange]:
        scripts = [[("payout", payout)] for payout in calls]
        return [answer for _, answer in history.perform(scripts, purpose, whole=True)]

    if payouts.done:
        return
    with payouts:
        for _ in range(ROUNDS):
            if payouts.take(payouts.turn(history.send, at_once)):
                break
    history.run.record |= {exchange.number: exchange for exchange in payouts.judged}
    if payouts.judged:
        what = "payouts at once to take from the balance what they take one after the other"
        history.expect("payout.race", "createPayout", what, conserved(payouts.judged), *payouts.judged)
