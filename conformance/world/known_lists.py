"""Lists whose elements are all known, created in accounts of their own, once for all lanes of a process.

A small list is filled in three batches that differ in `created`; its elements differ from one another as
much as the server allows.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance._text import brief
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.outcomes import Judgement, Unclear
from conformance.judge.paging import none_of_another
from conformance.judge.verdicts import Inconclusive, NotApplicable
from conformance.wire.clock import wait_past
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import page_of, query, walk
from conformance.world.cache import once_for_all_lanes
from conformance.world.habits import prepopulated
from conformance.world.lane import Fixture, Lane
from conformance.world.list_elements import LARGE, SMALL, Element, elements
from conformance.world.purposes import CREATED, LISTS, purpose_of
from conformance.world.refused_samples import refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import accepts
from conformance.world.text_turns import label_texts

#: Consecutive reads that must show all elements of a list; more where this server has shown a write late, as
#: a replica may lag.
_LOOKS, _LOOKS_OF_LATE = 4, 10

#: Elements of the lists of deep runs.
LONGEST_LIST = 501

MORE_PAIRS = "Name further pairs of currency and network in the target file: [samples.wallet] pairs."

#: Why a list is read before it is filled: a server may cache the first total.
_BEFORE = "a list before elements are added"

#: Batches in which a small list is filled.
BATCHES = 3

#: Accounts that a run adds to a customer's list: those of rows, and one with each text as its name.
_OWN_ACCOUNTS = 3 + sum(1 for _ in label_texts(fixed=False))

#: Refusals after which a quota, or a fixed set of accepted values, is assumed.
_MOST_REFUSALS = 3


@dataclass
class KnownList:
    """A list and its known elements; `fixture` holds them, `call` is the list's call without a query."""

    fixture: Fixture
    call: Call
    #: Id -> the exchange that created the element, in the order of creation.
    created: dict[str, Exchange] = field(default_factory=dict)
    #: Ids of further elements that must be in it, which the target file names.
    named: set[str] = field(default_factory=set)
    #: False if the list may hold other elements than `created`.
    exact: bool = True
    #: The last refusal of an element, and the number of those that were refused in every form.
    refusal: Exchange | None = None
    refusals: int = 0

    def shortage(self, count: int) -> Unclear | None:
        """Returns why the list has fewer than `count` elements, with the remedy; None if it has as many."""
        if len(self.created) >= count:
            return None
        why = refusal_of_valid(self.refusal).why if self.refusal else Unclear("")
        # A pair that is taken is refused with another status than what is not there, or not yet.
        taken = not why.cause and (self.refusal is None or self.refusal.status != 404)
        return Unclear(
            f"{self.call.operation} has {len(self.created)} of the {count} elements this needs"
            + (f": {why.reason}" if why.reason else ""),
            why.cause,
            MORE_PAIRS if taken and TRAITS[self.create].unique_pair else why.remedy,
            why.exchanges,
        )

    def need(self, count: int) -> None:
        """Raises Inconclusive if the list has fewer than `count` elements."""
        if why := self.shortage(count):
            raise Inconclusive(why)

    @property
    def operation(self) -> str:
        return str(self.call.operation)

    @property
    def create(self) -> str:
        """The operation that creates an element; empty if none does."""
        return OPERATIONS[self.operation].filled_by

    def send(self, request: Call, purpose: str) -> Exchange:
        return self.fixture.lane.send(self.fixture.client, request, purpose)

    def add(self, body: Body) -> bool:
        """Creates an element; True if the server made one, and did not answer with an existing one."""
        exchange = self._ended(self.fixture.call(self.create, body))
        created = exchange.get("id")
        if not exchange.succeeded or not isinstance(created, str):
            self.refusal = exchange
            # A request without an answer, or with a 5xx, may have taken effect.
            self.exact = self.exact and exchange.refused
            return False
        if created in self.created:
            return False
        self.created[created] = exchange
        return True

    def _ended(self, request: Call) -> Exchange:
        """Sends a create; again with its key, with back-off, while a gateway has answered in the place of the
        server, which may still be at work and add the element later."""
        name = TRAITS[self.create].free_text
        text = f", {name} {brief(request.document[name])}" if name in request.document else ""
        return self.fixture.lane.lag.eventually(
            self.create,
            lambda: self.send(request, f"an element to be listed{text}"),
            lambda answer: answer.status not in (None, 502, 504),
        )

    def attempt(self, element: Element) -> None:
        """Creates an element of its first body that the server accepts."""
        if not any(map(self.add, element.bodies)):
            self.refusals += 1

    def fill(self, sequence: Iterator[Element], count: int) -> None:
        """Creates elements until there are `count`, or the server has refused several."""
        while len(self.created) < count and self.refusals < _MOST_REFUSALS:
            if (element := next(sequence, None)) is None:
                return
            self.attempt(element)

    def provoke(self) -> None:
        """Sends creates that must add nothing to the list or its total: one without required fields, an
        idempotent replay of the last one, its key with another body, and a second wallet of a pair."""
        requests = [self.fixture.call(self.create, {})]
        for last in list(self.created.values())[-1:]:
            requests += [last.call, last.call.with_json(self.fixture.body(self.create))]
            if TRAITS[self.create].unique_pair:
                requests.append(self.fixture.call(self.create, last.call.document))
        for request in requests:
            exchange = self.send(request, "a create that adds nothing to a list")
            created = exchange.get("id")
            if exchange.succeeded and isinstance(created, str):
                # A violation, which other rules judge.
                self.created.setdefault(created, exchange)
            self.exact = self.exact and (exchange.refused or str(created) in self.created)

    def only_own(self, lane: Lane, what: str, exchanges: Sequence[Exchange]) -> Judgement:
        """Judges that pages of the list, read in a run, show no element created under another parent; if
        `exact`, only the created ones and those that the server pre-populates."""
        ids = {each for exchange in exchanges if (page := page_of(exchange)) for each in page.ids}
        exact = self.exact and not (ids - self.created.keys() and prepopulated(lane, self.operation))
        strangers = lane.created.strangers(ids, self.call)
        return none_of_another(what, exchanges, self.created, strangers, exact=exact)

    def add_elsewhere(self, fixture: Fixture) -> None:
        """Creates an element under another parent, if the server accepts it."""
        with contextlib.suppress(Inconclusive):
            fixture.lane.send(fixture.client, fixture.call(self.create), "an element of another list")

    def settle(self) -> None:
        """Waits until consecutive reads show all elements and count them in the total: lists may be
        eventually consistent, and replicas may differ."""
        lag, least = self.fixture.lane.lag, 0
        late = lag.waited > 0

        def send(call: Call, purpose: str) -> Exchange:
            # Once: a replica that answers 404 lacks elements, too.
            return self.fixture.lane.send_once(
                self.fixture.client, call, f"elements may show late: {purpose}"
            )

        def shows_all() -> bool:
            nonlocal late, least
            for _ in range(_LOOKS_OF_LATE if late else _LOOKS):
                read = walk(send, self.call)
                if read.cut:
                    # The walk stops before the last page, which may hold the element.
                    return True
                # Elements that other clients add meanwhile need not be counted.
                least = least or max(len(set(read.ids)), len(self.created))
                if not (self.created.keys() <= {*read.ids} and read.counts(least)):
                    late = True
                    return False
            return True

        if self.created:
            lag.eventually(self.operation, shows_all, bool)

    def wait(self) -> None:
        """Waits until an element created next must have a later `created`."""
        if self.created:
            last = list(self.created.values())[-1]
            wait_past(last.get("created"), last.arrived)


def small_list(lane: Lane, operation: str) -> KnownList:
    """The small list of an operation. One that no create fills may hold anything.

    Raises Inconclusive where the server accepts no element.
    """
    create = OPERATIONS[operation].filled_by
    if not create:
        fixture = lane.account(LISTS)
        return KnownList(fixture, fixture.call(operation), exact=False)
    if TRAITS[create].creates == "account":
        known = _accounts(lane)
    elif TRAITS[operation].others_add:
        known = _growing_list(lane, operation)
    else:
        known = _small_lists(lane).get(operation) or _new_list(lane.account(LISTS), operation)
    known.need(1)
    return known


def large_list(lane: Lane, operation: str, count: int = LARGE) -> KnownList:
    """A list of `count` elements, by default more than the largest page holds. Raises Inconclusive where the
    server accepts fewer than 3."""
    if TRAITS[operation].others_add:
        return small_list(lane, operation)
    known = _large_list(lane, operation, count)
    known.need(3)
    return known


def _new_list(fixture: Fixture, operation: str) -> KnownList:
    return KnownList(fixture, fixture.call(operation))


@once_for_all_lanes
def _growing_list(lane: Lane, operation: str) -> KnownList:
    """A small list to which others add, in the account in which its create can succeed."""
    fixture = lane.account(purpose_of(OPERATIONS[operation].filled_by, LISTS))
    known = KnownList(fixture, fixture.call(operation), exact=False)
    known.send(known.call, _BEFORE)
    known.fill(elements(fixture, known.create), SMALL)
    known.provoke()
    known.settle()
    return known


@once_for_all_lanes
def _large_list(lane: Lane, operation: str, count: int) -> KnownList:
    accepts(lane, OPERATIONS[operation].filled_by)
    known = _new_list(lane.account(fresh=True, operation=operation), operation)
    # A beneficiary shows its destinations as well, of all kinds.
    embedded = OPERATIONS[operation].resource == "payout_destination"
    known.fill(elements(known.fixture, known.create, plain=not embedded), count)
    known.settle()
    return known


@once_for_all_lanes
def _small_lists(lane: Lane) -> dict[str, KnownList]:
    """Fills the three lists of one account together, so that one pause separates the batches of all."""
    accepts(lane, "createPayoutDestination")
    fixture, lists = lane.account(LISTS), dict[str, KnownList]()
    for operation in OPERATIONS.values():
        if operation.filled_by and not operation.traits.others_add:
            with contextlib.suppress(Inconclusive):
                lists[operation.id] = _new_list(fixture, operation.id)
    batches = [_batches(known) for known in lists.values()]
    for batch in range(BATCHES):
        for each in batches:
            next(each)
        if batch == 1:
            # Between the others, so that most filters by date keep it.
            for known in lists.values():
                known.add_elsewhere(lane.account(CREATED))
                known.provoke()
            if destinations := lists.get("listPayoutDestinations"):
                # A second fixture of the account creates another beneficiary.
                destinations.add_elsewhere(Fixture(lane, account_id=fixture.account_id))
    for known in lists.values():
        known.settle()
    return lists


def _batches(known: KnownList) -> Iterator[None]:
    """Fills a small list; yields after each batch of its elements."""
    plan = list(itertools.islice(elements(known.fixture, known.create), 2 * SMALL))
    certain, spare = ([each for each in plan if each.spare is is_spare] for is_spare in (False, True))
    others = iter(spare)
    known.send(known.call, _BEFORE)
    for batch in range(BATCHES):
        known.wait()
        # What the server must accept is always tried, in each batch a part of it.
        for element in certain[batch::BATCHES]:
            known.attempt(element)
        known.fill(others, SMALL * (batch + 1) // BATCHES)
        yield


# ---------------------------------------------------------------------- a customer's accounts


def listed_customer(lane: Lane) -> Fixture:
    """The customer whose list of accounts is judged: the other one of the organization, where there is one.

    Less can be judged of a list that grows while it is read, and other lanes create accounts of the first
    customer.
    """
    return lane.account(owner="primary" if lane.target.primary.other_customer_id is None else "cousin")


@once_for_all_lanes
def _accounts(lane: Lane) -> KnownList:
    fixture, primary = listed_customer(lane), lane.target.primary
    known = KnownList(fixture, fixture.call("listAccounts"), exact=False)
    # A server may cache the first total.
    known.send(known.call, "a list of accounts before others are added to it")
    known.fill(elements(fixture, known.create), _OWN_ACCOUNTS)
    if len(known.created) > 2:
        known.provoke()
    if known.refusal is None:
        _furnish(lane, next(iter(known.created)))
    known.settle()
    lane.common.vacant.leave(list(known.created.values())[1:])
    if primary.other_customer_id is None and primary.funded_account_id:
        known.named.add(primary.funded_account_id)
    # Accounts of another customer, and of another organization.
    for owner in ("primary", "secondary"):
        with contextlib.suppress(Inconclusive, NotApplicable):
            _ = lane.account(owner=owner).account_id
    return known


def accounts_of_the_run(lane: Lane) -> KnownList:
    """The list of the accounts of the customer in which checks work, which a whole run makes longer than a
    page; `created` are those that a shorter one needs besides, `named` those in which checks have worked."""
    fixture = lane.account()
    known = KnownList(fixture, fixture.call("listAccounts"), exact=False)
    first = known.call.with_query(query(1, 1))
    page = page_of(known.send(first, "one account, for the number of all"))
    length = LARGE if page is None or page.total is None else page.total
    known.fill(elements(fixture, known.create, plain=True), LARGE - length)
    known.named |= lane.common.vacant.known(fixture.client.organization.name, known.call.path)
    return known


def _furnish(lane: Lane, account_id: str) -> None:
    """Creates two resources of each kind in an account, so that a list joined with them repeats the account.
    Wallets are left out, as a server may count their pairs in all accounts together: other lists have
    them (see `account_with_wallets`)."""
    inside = Fixture(lane, account_id=account_id)
    for operation in ("createBeneficiary", "createVirtualAccount") * 2:
        lane.send(inside.client, inside.call(operation), "a resource in an account of a list")


def account_with_wallets(lane: Lane) -> str:
    """Returns the id of the account with the small lists, if it has two wallets; else "", as where the server
    refuses them."""
    with contextlib.suppress(Inconclusive):
        known = small_list(lane, "listWallets")
        known.need(2)
        return known.fixture.account_id
    return ""
