"""Lists whose elements are all known, created in accounts of their own and cached for the run.

A small list is filled in three batches that differ in `created`; its elements differ from one another as
much as the server allows.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conformance.contract.operations import match
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.outcomes import Judgement
from conformance.judge.verdicts import Inconclusive
from conformance.wire.clock import wait_past
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import page_of, query, walk
from conformance.world.account import Account
from conformance.world.cache import Key
from conformance.world.habits import only_own
from conformance.world.lag import eventually, waited
from conformance.world.planned_elements import (
    LARGE,
    SMALL,
    Planned,
    accounts_of_customer,
    destinations,
    labelled,
    virtual_accounts,
    wallets,
)
from conformance.world.run import Run, refusal_of_valid
from conformance.world.samples import Body
from conformance.world.shapes import accepts

#: Consecutive reads that must show all elements of a list; more where this server has shown a write late, as
#: a replica may lag.
_LOOKS, _LOOKS_OF_LATE = 4, 10

#: Elements of the lists of deep runs.
LONGEST_LIST = 501

MORE_PAIRS = "Name further pairs of currency and network in the target file: [samples.wallet] pairs."

#: Accounts that a run adds to a customer's list at least.
_OWN_ACCOUNTS = 3

#: Refusals after which a quota, or a fixed set of accepted values, is assumed.
_MOST_REFUSALS = 3

_SMALL_LISTS = Key["dict[str, ListFixture | Inconclusive]"]("the small lists, by operation")
_LARGE_LIST = Key["ListFixture"]("the large list")
_ACCOUNTS = Key["ListFixture"]("the customer's accounts")


@dataclass
class ListFixture:
    """A list and its known elements; `fixture` holds them, `call` is the list's call without a query."""

    fixture: Account
    call: Call
    #: Id -> the exchange that created the element, in the order of creation.
    created: dict[str, Exchange] = field(default_factory=dict)
    #: Ids of further elements that must be in it.
    known: set[str] = field(default_factory=set)
    #: Ids of elements of other parents -> whose they are.
    strangers: dict[str, str] = field(default_factory=dict)
    #: False if the list may hold other elements than `created`.
    exact: bool = True
    #: The last refusal of an element, the number of refused plain elements, and the refused kinds of others.
    refusal: Exchange | None = None
    refusals: int = 0
    refused_kinds: set[str] = field(default_factory=set)

    def shortage(self, count: int) -> Inconclusive | None:
        """Returns why the list has fewer than `count` elements, with the remedy; None if it has as many."""
        if len(self.created) >= count:
            return None
        stop = refusal_of_valid(self.refusal) if self.refusal else Inconclusive("")
        # A pair that is taken is refused with another status than what is not there, or not yet.
        pairs = TRAITS[self.create].unique_pair and not stop.cause
        pairs = pairs and (self.refusal is None or self.refusal.status != 404)
        return Inconclusive(
            f"{self.call.operation} has {len(self.created)} of the {count} elements this needs"
            + (f": {stop.reason}" if stop.reason else ""),
            MORE_PAIRS if pairs else stop.remedy,
            stop.cause,
        )

    def need(self, count: int) -> None:
        """Raises Inconclusive if the list has fewer than `count` elements."""
        if stop := self.shortage(count):
            raise stop

    @property
    def operation(self) -> str:
        return str(self.call.operation)

    @property
    def create(self) -> str:
        """The operation that creates an element."""
        return ADDS_TO[self.operation]

    def _send(self, request: Call, purpose: str) -> Exchange:
        return self.fixture.run.send(self.fixture.client, request, purpose)

    def add(self, body: Body) -> bool:
        """Creates an element; True if the server made one, and did not answer with an existing one."""
        exchange = self._send(self.fixture.call(self.create, body), "an element to be listed")
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

    def add_planned(self, planned: Planned) -> None:
        """Creates a planned element, or its plain variant where the server refuses it."""
        if planned.plain is not None and planned.kind not in self.refused_kinds:
            if self.add(planned.body):
                return
            self.refused_kinds.add(planned.kind)
        if not self.add(planned.plain or planned.body):
            self.refusals += 1

    def extend(self, planned: Iterator[Planned], count: int) -> bool:
        """Adds planned elements until there are `count`; False when the server accepts no more."""
        while (before := len(self.created)) < count:
            self.add_planned(next(planned))
            if len(self.created) == before:
                return False
        return True

    def provoke(self) -> None:
        """Sends creates that must add nothing to the list or its total: one without required fields, an
        idempotent replay of the last one, its key with another body, and a second wallet of a pair."""
        requests = [self.fixture.call(self.create, {})]
        for made in list(self.created.values())[-1:]:
            requests += [made.call, made.call.with_json(self.fixture.body(self.create))]
            if TRAITS[self.create].unique_pair:
                requests.append(self.fixture.call(self.create, made.call.document))
        for request in requests:
            exchange = self._send(request, "a create that adds nothing to a list")
            created = exchange.get("id")
            if exchange.succeeded and isinstance(created, str):
                # A violation, which other rules judge.
                self.created.setdefault(created, exchange)
            self.exact = self.exact and (exchange.refused or str(created) in self.created)

    def only_own(self, what: str, exchanges: Sequence[Exchange]) -> Judgement:
        """Judges that pages of the list show no element of another parent; if `exact`, no unknown element
        either."""
        run = self.fixture.run
        return only_own(run, self.operation, what, exchanges, self.created, self.strangers, exact=self.exact)

    def settle(self) -> None:
        """Waits until consecutive reads show all elements and count them in the total: lists may be
        eventually consistent, and replicas may differ."""
        cache = self.fixture.run.cache
        late, least = waited(cache) > 0, 0

        def send(call: Call, purpose: str) -> Exchange:
            # Once: a replica that answers 404 lacks elements, too.
            return self.fixture.run.once(self.fixture.client, call, f"elements may show late: {purpose}")

        def shown() -> set[str]:
            nonlocal late, least
            ids, looks = set(self.created), 0
            while ids >= self.created.keys() and looks < (_LOOKS_OF_LATE if late else _LOOKS):
                read = walk(send, self.call)
                if read.cut:
                    # The walk stops before the last page, which may hold the element.
                    return set(self.created)
                # Elements that other clients add meanwhile need not be counted.
                least = least or max(len(set(read.ids)), len(self.created))
                ids &= set(read.ids) if read.counts(least) else set()
                looks += 1
            late = late or not ids >= self.created.keys()
            return ids

        if self.created:
            eventually(cache, self.operation, shown, lambda ids: ids >= self.created.keys())

    def wait(self) -> None:
        """Waits until an element created next must have a later `created`."""
        if self.created:
            last = list(self.created.values())[-1]
            wait_past(last.get("created"), last.arrived)


def small_list(run: Run, operation: str) -> ListFixture:
    """The small list of an operation; for accounts the same as the large one.

    Raises Inconclusive where the server accepts no element.
    """
    if TRAITS[operation].others_add:
        return _accounts(run)
    made = run.cache.get(_SMALL_LISTS, lambda: _populate(run))[operation]
    if isinstance(made, Inconclusive):
        raise Inconclusive(made.reason, made.remedy, made.cause)
    made.need(1)
    return made


def large_list(run: Run, operation: str, count: int = LARGE) -> ListFixture:
    """A list of `count` elements, by default more than the largest page holds. Raises Inconclusive where the
    server accepts fewer than 3."""
    if TRAITS[operation].others_add:
        return _accounts(run)
    made = run.cache.get(_LARGE_LIST.of(f"{operation} {count}"), lambda: _fill(run, operation, count))
    made.need(3)
    return made


def _fill(run: Run, operation: str, count: int) -> ListFixture:
    accepts(run, ADDS_TO[operation])
    fixture = run.account(fresh=True)
    list_fixture = ListFixture(fixture, fixture.call(operation))
    list_fixture.extend(labelled(fixture, list_fixture.create), count)
    list_fixture.settle()
    return list_fixture


# ---------------------------------------------------------------------- a customer's accounts


def _accounts(run: Run) -> ListFixture:
    made = run.cache.get(_ACCOUNTS, lambda: _fill_accounts(run))
    made.need(1)
    return made


def listed_customer(run: Run) -> Account:
    """The customer whose list of accounts is judged: the other one of the organization, where there is one.

    Less can be judged of a list that grows while it is read, and other lanes create accounts of the first
    customer.
    """
    return run.account(owner="primary" if run.target.primary.other_customer_id is None else "cousin")


def _fill_accounts(run: Run) -> ListFixture:
    fixture = listed_customer(run)
    list_fixture = ListFixture(fixture, fixture.call("listAccounts"), exact=False)

    planned = accounts_of_customer(fixture)
    if list_fixture.extend(planned, _OWN_ACCOUNTS):
        list_fixture.provoke()
        first = list_fixture.call.with_query(query(1, 1))
        page = page_of(run.send(fixture.client, first, "how many accounts are there?"))
        there = LARGE if page is None or page.total is None else page.total
        list_fixture.extend(planned, min(LARGE, LARGE - there + _OWN_ACCOUNTS))
    if list_fixture.refusal is None:
        _furnish(run, next(iter(list_fixture.created)))
    list_fixture.settle()
    if run.target.primary.other_customer_id is not None:
        other = run.account()
        others = run.created_accounts(other.customer_id)
        list_fixture.strangers |= dict.fromkeys(others[-1:], "another customer's")
        if not others:
            _add_stranger(list_fixture, other, "another customer's")
    elif run.target.primary.funded_account_id:
        list_fixture.known.add(run.target.primary.funded_account_id)
    if run.target.secondary is not None:
        _add_stranger(list_fixture, run.account(owner="secondary"), "another organization's")
    return list_fixture


def _furnish(run: Run, account_id: str) -> None:
    """Creates two resources of each kind in an account, so that a list joined with them repeats the account.
    Wallets are left out, as a server may count their pairs in all accounts together: other lists have
    them (see `account_with_wallets`)."""
    inside = Account(run, account_id=account_id)
    for operation in ("createBeneficiary", "createVirtualAccount") * 2:
        run.send(inside.client, inside.call(operation), "a resource in an account of a list")


def account_with_wallets(run: Run) -> str:
    """Returns the id of an account of the first customer in which the run has made two wallets, after making
    them where there is none yet; "" where the server refuses that."""
    if not (held := _with_wallets(run)):
        # A run that gets no account does without.
        with contextlib.suppress(Inconclusive):
            fixture = run.account("created")
            for body in run.samples.wallets()[:2]:
                request = fixture.call("createWallet", body)
                run.send(fixture.client, request, "a wallet in an account of a list")
        held = _with_wallets(run)
    return held[0] if held else ""


def _with_wallets(run: Run) -> list[str]:
    """The ids of the first customer's accounts in which the run has made two wallets or more."""
    ours = run.created_accounts(run.target.primary.customer_id)
    called = [match("POST", made.path) for made in run.made.resources if made.operation == "createWallet"]
    held = Counter(found[1]["account_id"] for found in called if found)
    return [account for account, wallets in held.items() if wallets > 1 and account in ours]


def _add_stranger(list_fixture: ListFixture, fixture: Account, whose: str) -> None:
    """Creates an element under another parent, if the server accepts it."""
    try:
        request = fixture.call(list_fixture.create)
        exchange = fixture.run.send(fixture.client, request, "an element of another list")
    except Inconclusive:
        return
    created = exchange.get("id")
    if exchange.succeeded and isinstance(created, str):
        list_fixture.strangers[created] = whose


# ---------------------------------------------------------------------- lists in an account


def _populate(run: Run) -> dict[str, ListFixture | Inconclusive]:
    """Fills the three lists of one account together, so that one pause separates the batches of all."""
    accepts(run, "createPayoutDestination")
    fixture = run.account("lists")
    made: dict[str, ListFixture | Inconclusive] = {}
    list_fixtures: dict[str, ListFixture] = {}
    plans: dict[str, list[Planned]] = {}
    for operation, plan in (
        ("listPayoutDestinations", destinations),
        ("listVirtualAccounts", virtual_accounts),
        ("listWallets", wallets),
    ):
        try:
            listed = ListFixture(fixture, fixture.call(operation))
            plans[operation] = list(plan(fixture))
            made[operation] = list_fixtures[operation] = listed
        except Inconclusive as stop:
            made[operation] = stop
    known = {operation: _thirds([each for each in plan if each.known]) for operation, plan in plans.items()}
    others = {operation: iter([each for each in plan if not each.known]) for operation, plan in plans.items()}
    for list_fixture in list_fixtures.values():
        # A server may cache the first total.
        run.send(fixture.client, list_fixture.call, "a list with nothing in it yet")
    for batch in range(3):
        for operation, list_fixture in list_fixtures.items():
            # Bodies that the server must accept are always tried, the others until it has refused several.
            for planned in known[operation][batch]:
                list_fixture.add_planned(planned)
            while (
                len(list_fixture.created) < SMALL * (batch + 1) // 3
                and list_fixture.refusals < _MOST_REFUSALS
                and (other := next(others[operation], None)) is not None
            ):
                list_fixture.add_planned(other)
        if batch == 1:
            _add_strangers(run, list_fixtures)
        if batch < 2:
            for list_fixture in list_fixtures.values():
                list_fixture.wait()
    for list_fixture in list_fixtures.values():
        list_fixture.settle()
    return made


def _thirds(plan: Sequence[Planned]) -> list[Sequence[Planned]]:
    """Splits a plan into three parts whose lengths differ by one at most, the longer ones first."""
    ends = [0, *itertools.accumulate((len(plan) + longer) // 3 for longer in (2, 1, 0))]
    return [plan[start:end] for start, end in itertools.pairwise(ends)]


def _add_strangers(run: Run, list_fixtures: dict[str, ListFixture]) -> None:
    """Creates an element of each list under another parent, between the batches, so that most filters by
    date keep it."""
    elsewhere = run.account("created")
    for list_fixture in list_fixtures.values():
        _add_stranger(list_fixture, elsewhere, "another account's")
        list_fixture.provoke()
    if destinations := list_fixtures.get("listPayoutDestinations"):
        # A second fixture of the account creates another beneficiary.
        sibling = Account(run, account_id=destinations.fixture.account_id)
        _add_stranger(destinations, sibling, "another beneficiary's")
