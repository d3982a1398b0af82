"""Reads of resources written long before, and timestamps (sections 2 and 4.2 to 4.6).

Within seconds of a write a replica may lag; later every read must be current. Reads are sent several at once
over new connections, so that several processes of a server answer.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise

from conformance.checks.auth_probes import later
from conformance.checks.check import Check, check
from conformance.checks.list_judging import judge_whole
from conformance.checks.members import judge_members, mismatches, no_balance, showing
from conformance.checks.races import MOST_SPOILT
from conformance.contract import timestamps
from conformance.contract.new_resources import stated
from conformance.contract.operations import request_problems
from conformance.contract.traits import CHANGING, TRAITS, create_read_by
from conformance.judge.comparison import MOVING, document, objects, same_account, show
from conformance.judge.paging import ids_of, listed
from conformance.judge.timeliness import before_account, untimely
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Auth, Call, Exchange
from conformance.wire.pages import MAX_SIZE, integer, page_of, query, walk
from conformance.world.calls import call, identifier
from conformance.world.creations import created_in, creations
from conformance.world.known_lists import listed_customer
from conformance.world.purposes import CREATED, names_account
from conformance.world.samples import marker

#: Simultaneous reads: they find one stale process of three with a probability of 0.91, 1 - (2/3) ** 6.
LOOKS = 6

#: Members that move by themselves, or as others are created.
_MOVING = {*MOVING, "payout_destinations"}


def _looks(at: Check, request: Call, what: str) -> list[Exchange]:
    """Sends a read several times at once, each over a new connection; those that a rate limiter refuses once
    more after a wait. Returns the answers."""
    answers, limited = list[Exchange](), list[Exchange]()
    for attempt in range(MOST_SPOILT + 1):
        at.lane.answering()
        sent = at.lane.client().race([request] * (LOOKS - len(answers)), what)
        at.lane.sent_all(sent)
        at.exchanges += sent
        answers += [answer for answer in sent if not answer.throttled]
        limited = [answer for answer in sent if answer.throttled]
        if not limited or not at.lane.retry.wait_out(limited[0], attempt):
            break
    return [*answers, *limited]


@check("read.equals-create", waits=True)
def test_reads_after_a_while(at: Check) -> Iterator[float]:
    """Reads a resource that was created long before and not changed since, several times at once: each answer
    shows what its create answered."""
    create = create_read_by(at.operation.id)
    fixture = at.lane.account(CREATED)
    created = at.accept(fixture.call(create), "a resource to be read a while later")
    # The bound on eventual consistency.
    yield at.lane.lag.within
    what = "one of several reads, long after it was created"
    _judge_reads(at, create, created, _looks(at, _reading(create, created), what))


@check("read.equals-create", last=True)
def test_reads_at_the_end(at: Check) -> Iterator[float]:
    """Reads the first resource of the run several times at once at its end: each answer shows what its create
    answered."""
    create = create_read_by(at.operation.id)
    try:
        first = creations(at.lane, create)[0].exchange
    except Inconclusive as stop:
        # Its place may be full.
        if (oldest := _oldest(at, create)) is None:
            at.not_exercised("read.equals-create", stop.why.reason, stop.why.remedy)
            return
        first = oldest

    def look() -> list[Exchange]:
        return _looks(at, _reading(create, first), f"one of several reads, {later(at, first)}")

    answers = look()
    left = first.arrived + at.lane.lag.within - time.time()
    alike = (each.succeeded and not mismatches(each, document(first), but=_MOVING) for each in answers)
    if left > 0 and not all(alike):
        # Where few checks run, it is as new as theirs, and a replica may not have it yet.
        yield left
        answers = look()
    _judge_reads(at, create, first, answers)


def _oldest(at: Check, create: str) -> Exchange | None:
    """The first create of a run that was accepted, of those in accounts in which nothing was changed since; a
    change without an answer, which is not among what was accepted, has others beside it."""
    accepted = [each for one in list(at.lane.common.accepted) for each in list(one)]
    changed = {each.call.ids.get("account_id") for each in accepted if each.operation in CHANGING}
    valid = (
        each
        for each in accepted
        if (each.operation, each.organization, each.call.auth) == (create, "primary", Auth())
        and each.call.ids.get("account_id", "") not in changed
        and not request_problems(create, each.call.body)
    )
    return min(valid, key=lambda each: each.started, default=None)


def _reading(create: str, created: Exchange) -> Call:
    """The read of what a request has created."""
    ids = {**created.call.ids, f"{TRAITS[create].creates}_id": identifier(created)}
    return call(str(TRAITS[create].read_by), ids)


def _judge_reads(at: Check, create: str, created: Exchange, answers: Sequence[Exchange]) -> None:
    """Judges several reads at once of a resource that nobody has changed."""
    truth = stated(create, created.call.document, _reading(create, created).ids)
    for answer in answers:
        if at.accepted("read.equals-create", answer):
            shown_by, members = [created], document(created)
            judge_members(
                at, "read.equals-create", answer, members, but=_MOVING, otherwise=truth, shown_by=shown_by
            )


@check("beneficiary.update", waits=True)
def test_updates_after_a_while(at: Check) -> Iterator[float]:
    """Reads a beneficiary that was read first and changed long before, several times at once: each answer
    shows what its PATCH answered."""
    rule, fixture = "beneficiary.update", at.account(fresh=True)
    reading = fixture.call("getBeneficiary")
    _looks(at, reading, "a read, before a PATCH")
    changed = at.accept(fixture.call(at.operation.id, {"note": f"changed {marker()}"}), "a PATCH")
    what = "one of several reads, long after a PATCH"
    # The bound on eventual consistency.
    yield at.lane.lag.within
    for answer in _looks(at, reading, what):
        if at.accepted(rule, answer):
            judge_members(at, rule, answer, document(changed), but=_MOVING, shown_by=[changed])


@check("list.complete", "read.delay", waits=True)
def test_lists_after_a_while(at: Check) -> Iterator[float]:
    """Reads a list that was read first and grew long before, several times at once: each answer counts every
    created element in its total, and shows them and what it showed before, or its pages together do."""
    create, growing = at.operation.filled_by, at.operation.traits.others_add
    fixture = listed_customer(at.lane) if growing else at.account(fresh=True)
    listing = fixture.call(at.operation.id).with_query(query(1, MAX_SIZE))
    wallets = TRAITS[create].unique_pair
    bodies = at.lane.samples.wallets()[:2] if wallets else [None, None]
    elements = [at.accept(fixture.call(create, bodies[0]), "an element to be listed")]
    first, *_ = _looks(at, listing, "a list, before it grows")
    for body in bodies[1:]:
        elements.append(at.accept(fixture.call(create, body), "another element to be listed"))
    what = "one of several reads of a list, long after its last element was created"
    least = (integer(first.get("total")) or 0) + len(elements) - 1
    # What the list showed before stays.
    ids = list(dict.fromkeys([*ids_of(filter(None, [page_of(first)])), *map(identifier, elements)]))
    full = False
    # The bound on eventual consistency.
    yield at.lane.lag.within
    for answer in _looks(at, listing, what):
        if at.accepted("list.complete", answer):
            full = len(objects(answer.get("items"))) >= MAX_SIZE
            if not full:
                at.expect("list.complete", *listed(what, ids, [answer]))
            total = integer(answer.get("total"))
            old = f"total {total}" if total is not None and total < least else ""
            expected = f"{what}: total at least {least}"
            at.expect("list.complete", expected, old, answer, first, *elements[1:])
    for _ in range(LOOKS if full else 0):
        done = walk(at.send, fixture.call(at.operation.id))
        # Where not all pages are read, the total tells whether the others are there.
        judge_whole(at, "list.complete", done, ids, "a list after it grew", full=False)
    at.observe_delay("when does a new element show?")


# ---------------------------------------------------------------------- the time

#: Seconds after which the timestamps of two resources must differ.
APART = 2.0


@check("format.timestamp-current", last=True)
def test_timestamps_tell_the_time(at: Check) -> Iterator[float]:
    """A new resource shows a `created` near now, other than that of one made two seconds before; no `updated`
    is before its `created`, and no `updated_at` of a balance in the future."""
    rule, operation = "format.timestamp-current", at.operation.id
    if at.operation.traits.creates:
        names = ("created", "initiated_at") if TRAITS[operation].draws_on_funds else ("created",)
        try:
            latest, *answers = yield from _new_resources(at, names)
        except Inconclusive:
            # What takes no more has taken some before.
            if (of_the_run := _of_the_run(at, names)) is None:
                raise
            latest, *answers = of_the_run
        for name in names:
            value, expected = answers[0].get(name), f"{name} of a resource made {APART:g} s"
            got = show(value) if _stale(name, latest, *answers) else ""
            at.expect(rule, f"{expected} after another", got, *answers, latest, member=name)
    else:
        answers = [showing(at, "a resource that was made before")]
    for answer in answers:
        if TRAITS[operation].shows_balances and answer.get("balances") == []:
            no_balance(at, rule, answer)
            continue
        at.expect(rule, "created of about now, updated not before it", untimely(answer), answer)
        if TRAITS[operation].shows_balances:
            _judge_balances_time(at, rule, answer)


#: An earlier create, one at least APART after it, and one after that, to tell the time by.
_Creates = tuple[Exchange, Exchange, Exchange]


def _new_resources(at: Check, names: Sequence[str]) -> Generator[float, None, _Creates]:
    """Creates two resources APART after another one, again where the first shows an old time; the processes
    of a server may differ in theirs."""
    operation = at.operation.id
    earlier = [each for each in at.lane.accepted if each.operation == operation]
    latest = earlier[-1] if earlier else creations(at.lane, operation)[0].exchange
    for _ in range(2):
        if (left := latest.arrived + APART - time.time()) > 0:
            yield left
        first = _new_resource(at, f"a new resource, {APART:g} s after another one")
        creates = latest, first, _new_resource(at, "one right after it, to tell the time by")
        if not any(_stale(name, *creates) for name in names):
            break
        latest = creates[-1]
    return creates


def _of_the_run(at: Check, names: Sequence[str]) -> _Creates | None:
    """Such creates among those of the run, the last ones, or others where the first of them shows an old
    time, as one does that was performed when its caller had hung up, and answered later."""
    accepted = [each for one in list(at.lane.common.accepted) for each in list(one)]
    own = sorted(
        (each for each in accepted if each.operation == at.operation.id), key=lambda each: each.started
    )
    # Of each resource its create, not the replays of that.
    creates = list({str(each.get("id")): each for each in reversed(own)}.values())
    creates.sort(key=lambda each: each.started, reverse=True)
    latest: _Creates | None = None
    for second, first in pairwise(creates):
        if earlier := next((each for each in creates if each.arrived + APART <= first.started), None):
            latest = earlier, first, second
            if not any(_stale(name, *latest) for name in names):
                break
    return latest


def _new_resource(at: Check, purpose: str) -> Exchange:
    """A new resource: among others or, where their place takes no more, elsewhere, in the end in an account
    without funds, or of the other customer."""
    operation = at.operation.id
    for place in (created_in(at.lane, operation), at.account(fresh=True)):
        if (answer := at.send(place.call(operation), purpose)).succeeded:
            return answer
    if names_account(operation):
        elsewhere = at.lane.account(fresh=True, operation=operation)
    else:
        elsewhere = listed_customer(at.lane)
    return at.accept(elsewhere.call(operation), purpose)


def _stale(name: str, earlier: Exchange, first: Exchange, second: Exchange) -> bool:
    """True if a resource shows the time of one made APART before, or one right after it a much later one."""
    before, value, after = (each.get(name) for each in (earlier, first, second))
    start, end = timestamps.parse(value), timestamps.parse(after)
    if isinstance(value, str) and value == before:
        return True
    # A second more, as a server may show whole seconds.
    return bool(start and end and end - start > max(second.arrived - first.started, 0) + APART / 2)


def _judge_balances_time(at: Check, rule: str, balances: Exchange) -> None:
    """Judges the times of balances against the creation of their account, if the first page of accounts shows
    it."""
    accounts = at.lane.account().call("listAccounts").with_query(query(1, MAX_SIZE))
    listing = at.send(accounts, "the accounts, for the time when one was created")
    if any(same_account(item.get("id"), balances.get("id")) for item in objects(listing.get("items"))):
        got = before_account(balances, listing)
        at.expect(rule, "updated_at not before the account's created", got, balances, listing)
