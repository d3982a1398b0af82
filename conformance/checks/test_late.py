"""Reads of resources written long before, and timestamps (sections 2 and 4.2 to 4.6), at the end of a run.

Within seconds of a write a replica may lag; later every read must be current. Reads are sent several at once
over new connections, so that several processes of a server answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import unquote

from conformance.checks.check import Check, check
from conformance.checks.members import judge_members, no_balance, showing
from conformance.checks.races import MOST_SPOILT
from conformance.contract.new_resources import stated
from conformance.contract.operations import request_problems
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.comparison import MOVING, document, objects, same_account, show
from conformance.judge.paging import listed
from conformance.judge.timeliness import before_account, untimely
from conformance.wire.messages import Auth, Call, Exchange
from conformance.wire.pages import MAX_SIZE, query
from conformance.world.calls import call, identifier
from conformance.world.creations import created_in, creations
from conformance.world.samples import marker

T = TypeVar("T")

#: Simultaneous reads: they find one stale process of three with a probability of 0.91, 1 - (2/3) ** 6.
LOOKS = 6

#: Most created elements of a list whose first page must show all: a server may pre-populate it.
_MOST = MAX_SIZE // 2

#: Operations that change a resource, and members that other requests or background jobs may change.
_CHANGES = ("updateBeneficiary", "disableBeneficiary")
_OTHERS_MOVE = {*MOVING, "payout_destinations"}


def _settled(at: Check, choose: Callable[[], T], written: Callable[[T], Iterable[Exchange]]) -> T:
    """Chooses what is to be read, and waits for the bound on eventual consistency after its last write; most
    often that has passed. Chooses once more after a wait, in which other checks may have changed it."""
    chosen = choose()
    for again in (True, False):
        left = max(exchange.arrived for exchange in written(chosen)) + at.run.lag.within - time.time()
        if left <= 0:
            break
        at.run.pause(left)
        at.run.answering()
        chosen = choose() if again else chosen
    return chosen


def _looks(at: Check, request: Call, what: str) -> list[Exchange]:
    """Sends a read several times at once, each over a new connection; repeats it after a wait where a rate
    limiter refuses all. Returns the answers that were not throttled, else the last ones."""
    for attempt in range(MOST_SPOILT + 1):
        at.run.answering()
        answers = at.run.client().race([request] * LOOKS, what)
        at.run.sent_all(answers)
        at.exchanges += [answer.number for answer in answers]
        passed = [answer for answer in answers if not answer.throttled]
        if passed or not at.run.retry.wait_out(answers[0], attempt):
            break
    return passed or answers


@check("read.equals-create", last=True, waits=True)
def test_reads_after_a_while(at: Check) -> None:
    """Reads a resource that was created long before and not changed since, several times at once: each answer
    shows what its create answered."""
    rule = "read.equals-create"
    (create,) = (
        name for name, traits in TRAITS.items() if traits.creates and traits.read_by == at.operation.id
    )
    create_answer = _settled(
        at,
        lambda: _unchanged(at, create) or at.run.account("created").create(create),
        lambda chosen: [chosen],
    )
    at.exchanges.append(create_answer.number)
    account = create_answer.call.path.split("/")[3]
    ids = {"account_id": account, f"{TRAITS[create].creates}_id": identifier(create_answer)}
    truth = stated(create, create_answer.call.document, ids)
    what = "one of several reads, long after it was created"
    for answer in _looks(at, call(at.operation.id, ids), what):
        if at.accepted(rule, what, answer):
            created = document(create_answer)
            judge_members(
                at, rule, answer, created, what, but=_OTHERS_MOVE, otherwise=truth, shown_by=[create_answer]
            )


def _unchanged(at: Check, create: str) -> Exchange | None:
    """The first create of the run with a valid body, usual authentication and an unchanged resource."""
    changes = [unquote(exchange.call.target) for exchange in _changes(at)]
    for exchange in _own(at.run.accepted):
        if exchange.operation == create and isinstance(exchange.get("id"), str):
            plain = not request_problems(create, exchange.call.body) and exchange.call.auth == Auth()
            if plain and not any(exchange.get("id") in path for path in changes):
                return exchange
    return None


@check("beneficiary.update", last=True, waits=True)
def test_updates_after_a_while(at: Check) -> None:
    """Reads a beneficiary that was read first and changed long before, several times at once: each answer
    shows what its last PATCH answered."""
    rule = "beneficiary.update"
    changed = _settled(at, lambda: _changed(at) or _change(at), lambda chosen: [chosen])
    at.exchanges.append(changed.number)
    what = "one of several reads, long after a PATCH"
    for answer in _looks(at, Call("getBeneficiary", "GET", changed.call.path), what):
        if at.accepted(rule, what, answer):
            judge_members(at, rule, answer, document(changed), what, but=_OTHERS_MOVE, shown_by=[changed])


def _change(at: Check) -> Exchange:
    """Reads a new beneficiary, and changes it."""
    fixture = at.account(fresh=True)
    _looks(at, fixture.call("getBeneficiary"), "a read, before a PATCH")
    return at.accept(fixture.call(at.operation.id, {"note": f"changed {marker()}"}), "a PATCH")


def _changed(at: Check) -> Exchange | None:
    """The earliest of the last PATCHes of each beneficiary that was read before."""
    last: dict[str, Exchange] = {}
    for exchange in _own(at.run.accepted):
        if exchange.operation == at.operation.id:
            last[unquote(exchange.call.path)] = exchange
    # A PATCH without an answer, or with another spelling of the path, may have taken effect.
    unsure = [
        unquote(each.call.target)
        for each in _changes(at)
        if each.raced or not each.succeeded or each.operation is None
    ]
    first = _first_reads(at, "getBeneficiary", "")
    return min(
        (
            exchange
            for path, exchange in last.items()
            if path in first
            and first[path].number < exchange.number
            and not any(path.rpartition("/")[2] in target for target in unsure)
        ),
        key=lambda exchange: exchange.number,
        default=None,
    )


@check("list.complete", last=True, waits=True)
def test_lists_after_a_while(at: Check) -> None:
    """Reads a list that was read first and grew long before, several times at once: each answer counts every
    created element in its total, and shows them where it is short."""
    grown = _grown(at)
    first, elements = _settled(at, lambda: grown, lambda chosen: chosen[1].values())
    at.exchanges += [exchange.number for exchange in elements.values()]
    what = "one of several reads of a list, long after its last element was created"
    counted, added = first.get("total"), [each for each in elements.values() if each.number > first.number]
    least = (counted if isinstance(counted, int) else 0) + len(added)
    for answer in _looks(at, first.call, what):
        if at.accepted("list.complete", what, answer):
            if not at.operation.traits.others_add:
                at.expect("list.complete", *listed(what, list(elements), [answer]))
            total = answer.get("total")
            old = f"total {total}" if isinstance(total, int) and total < least else ""
            at.expect("list.complete", f"{what}: total at least {least}", old, answer, first, *added[-1:])


def _grown(at: Check) -> tuple[Exchange, dict[str, Exchange]]:
    """A first page of a list that has grown since, long enough ago to show, and the elements created in it
    until then: the latest one, else the first one of a list that grew, else one of a new list."""
    create, read = ADDS_TO[at.operation.id], f"page=1&size={MAX_SIZE}"
    long, settled = at.operation.traits.others_add, time.time() - at.run.lag.within
    lists: dict[str, dict[str, Exchange]] = {}
    for exchange in _own(at.run.accepted):
        if exchange.operation == create and isinstance(exchange.get("id"), str):
            lists.setdefault(exchange.call.path, {}).setdefault(str(exchange.get("id")), exchange)
    first = _first_reads(at, at.operation.id, read)
    #: Path -> when its list first grew after it was read.
    grown = {
        path: min(since)
        for path, elements in lists.items()
        if path in first
        and (long or len(elements) <= _MOST)
        and (since := [each.arrived for each in elements.values() if each.number > first[path].number])
    }
    if grown:
        old = [path for path in grown if grown[path] <= settled]
        path = max(old, key=grown.__getitem__) if old else min(grown, key=grown.__getitem__)
        latest = max(grown[path], settled)
        return first[path], {name: each for name, each in lists[path].items() if each.arrived <= latest}
    fixture = at.run.account(fresh=True)
    bodies = [at.run.samples.wallet(engine) if TRAITS[create].unique_pair else None for engine in range(2)]
    elements = [fixture.create(create, bodies[0])]
    look, *_ = _looks(at, fixture.call(at.operation.id).with_query(read), "a list, before it grows")
    if len(at.run.samples.wallet_pairs) > 1 or bodies[1] is None:
        elements.append(fixture.create(create, bodies[1]))
    return look, {identifier(each): each for each in elements}


def _changes(at: Check) -> Iterable[Exchange]:
    """Changes of beneficiaries that were not refused, those on undocumented paths included."""
    return (
        each
        for each in at.run.record.values()
        if each.operation in (*_CHANGES, None) and each.method != "GET" and not each.refused
    )


def _own(exchanges: Iterable[Exchange]) -> Iterable[Exchange]:
    return (exchange for exchange in exchanges if exchange.organization == "primary" and exchange.succeeded)


def _first_reads(at: Check, operation: str, query: str) -> dict[str, Exchange]:
    """Path -> first read of an operation with exactly this query."""
    first: dict[str, Exchange] = {}
    for exchange in _own(at.run.record.values()):
        if exchange.operation == operation and exchange.call.query == query:
            first.setdefault(exchange.call.path, exchange)
    return first


# ---------------------------------------------------------------------- the time

#: Seconds after which the timestamps of two resources must differ.
APART = 2.0


@check("format.timestamp-current", last=True)
def test_timestamps_tell_the_time(at: Check) -> None:
    """A new resource shows a `created` near now, other than that of one made two seconds before; no `updated`
    is before its `created`, and no `updated_at` of a balance in the future."""
    rule, operation = "format.timestamp-current", at.operation.id
    if at.operation.traits.creates:
        first = next((each for each in at.run.accepted if each.operation == operation), None)
        earlier = first or creations(at.run, operation)[0].exchange
        left = earlier.arrived + APART - time.time()
        if left > 0:
            at.run.pause(left)
        new = created_in(at.run, operation).call(operation)
        answers = [at.accept(new, "a new resource, to tell the time by")]
        latest = _latest_before(at, answers[0]) or earlier
        for name in ("created", "initiated_at") if TRAITS[operation].draws_on_funds else ("created",):
            value = answers[0].get(name)
            got = show(value) if isinstance(value, str) and value == latest.get(name) else ""
            at.expect(rule, f"{name} of a resource made {APART:g} s later", got, answers[0], latest)
    else:
        answers = [showing(at, "a resource that was made before")]
    for answer in answers:
        if TRAITS[operation].shows_balances and answer.get("balances") == []:
            no_balance(at, rule, answer)
            continue
        at.expect(rule, "created of about now, updated not before it", untimely(answer), answer)
        if TRAITS[operation].shows_balances:
            _judge_balances_time(at, rule, answer)


def _latest_before(at: Check, newer: Exchange) -> Exchange | None:
    """The last create that was answered APART seconds before another was sent: an older one would also differ
    in times truncated to minutes."""
    before = [
        create
        for create in at.run.accepted
        if create.operation == newer.operation and create.arrived + APART <= newer.started
    ]
    return max(before, key=lambda create: create.arrived, default=None)


def _judge_balances_time(at: Check, rule: str, balances: Exchange) -> None:
    """Judges the times of balances against the creation of their account, if the first page of accounts shows
    it."""
    accounts = at.run.account().call("listAccounts").with_query(query(1, MAX_SIZE))
    listing = at.send(accounts, "when was the account created?")
    if any(same_account(item.get("id"), balances.get("id")) for item in objects(listing.get("items"))):
        got = before_account(balances, listing)
        at.expect(rule, "updated_at not before the account's created", got, balances, listing)
