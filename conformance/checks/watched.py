"""What requests may change, as the owner of the resources sees it: balances, a resource, a list, or a
customer's accounts. One class for each: how it is read, and which changes between two reads are effects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.comparison import identifiers, objects, sent_document
from conformance.judge.effects import Document, Effect
from conformance.judge.outcomes import Unclear, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Page, Walk, identity, page_of, query, walk
from conformance.world.calls import call
from conformance.world.habits import FEWER_ACCOUNTS, added, newest_accounts
from conformance.world.lane import Fixture, Lane

_FUNDED = "Name an account that payouts may draw on: [primary] funded_account_id."

#: Further looks at what seems changed.
_TURNS = 3

#: Sends a call for a purpose, as the owner of an account.
Look = Callable[[Call, str], Exchange]


@dataclass(frozen=True)
class Snapshot:
    """State that the reads `looks` show: money by balance, a document, or elements by id. Of a customer's
    accounts, `fresh` ids are new although the snapshot before does not show it; `whole`: these are all."""

    looks: Sequence[Exchange]
    state: Any
    fresh: Collection[str] = ()
    whole: bool = True

    @property
    def ids(self) -> set[str]:
        """The ids on the pages read."""
        return {identifier for look in self.looks if (page := page_of(look)) for identifier in page.ids}


class Watched:
    """What an operation may change in an account: here nothing that a read shows.

    `created` holds ids of resources that were rightly made meanwhile. `own_ids` are the path parameters
    of the resource that is read, where they are not the account's."""

    #: True if something shows the effects of requests.
    visible = False
    #: True if it is money, of which others move some as well.
    money = False
    #: True if the run itself adds to it meanwhile, which cannot be told apart in a long list.
    growing = False

    def __init__(
        self, lane: Lane, fixture: Fixture, operation: str, look: Look, own_ids: Mapping[str, str] | None
    ) -> None:
        self.lane, self.fixture, self.operation, self.look = lane, fixture, operation, look
        self.traits = TRAITS[operation]
        self.created: set[str] = set()
        self._own_ids = own_ids
        #: Ids that snapshots up to the start have shown.
        self._ids_before: set[str] = set()
        #: Numbers of changes accepted, and of resources created, before the start.
        self._earlier = self._created = 0
        #: Ids of elements that the server added itself.
        self._own: set[str] = set()

    @property
    def ids(self) -> Mapping[str, str]:
        """Path parameters of the resource that is read."""
        return self._own_ids or self.fixture.ids(self.traits.read_by)

    def read(self, before: Snapshot | None, sent: Sequence[Exchange] = ()) -> Snapshot:
        """Reads it, after `sent` since the snapshot `before`. Raises Inconclusive."""
        raise unseen("nothing shows the effect of requests")

    def begin(self, *looks: Snapshot) -> None:
        """Notes that effects are changes since now, and nothing that these snapshots show."""
        self._ids_before = self._ids_before.union(*(look.ids for look in looks))
        self._earlier, self._created = len(self.lane.accepted), len(self.lane.created.resources)

    def effect(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        """The changes between two snapshots that requests may have caused; what nothing shows has none."""
        return Effect()

    def _settled(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Snapshot:
        """The snapshot after requests, without what further looks show as before, too, though replicas had
        time: what is shown by turns is no effect of requests, unless they asked for it."""
        asked = [dict(sent_document(call)) for call in sent]

        def look() -> Document:
            looks = [self.read(before).state for _ in range(_TURNS)]
            return effects.settled(before.state, after.state, looks, asked)

        what = f"what {self.operation} may change, by turns"
        state = self.lane.lag.eventually(what, look, lambda state: bool(state == after.state))
        return replace(after, state=state)


class Balances(Watched):
    """The account's balances."""

    visible = money = True

    def read(self, before: Snapshot | None, sent: Sequence[Exchange] = ()) -> Snapshot:
        look = self.look(self.fixture.call("getAccountBalances"), "the balances as they are")
        money = effects.amounts(look.get("balances")) if look.succeeded else None
        if money is None:
            raise hidden(look)
        if money == {} and self.traits.draws_on_funds:
            raise unseen("by which payouts are watched, shows no balance", look, _FUNDED, choice=True)
        return Snapshot([look], money)

    def effect(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        return effects.in_balances(self.operation, before.state, after.state)


class Resource(Watched):
    """The resource that the operation changes."""

    visible = True

    def read(self, before: Snapshot | None, sent: Sequence[Exchange] = ()) -> Snapshot:
        """Reads the resource until it and the destinations that were accepted for it show."""
        read, path = self.traits.read_by, call("listPayoutDestinations", self.ids).path
        known = {each.id for each in self.lane.created.resources if each.path == path}

        def shows(answer: Exchange) -> bool:
            held = identifiers(answer.get("payout_destinations")) or ()
            return answer.status != 404 and (not answer.succeeded or known.issubset(held))

        reading = call(read, self.ids)
        look = self.lane.lag.eventually(read, lambda: self.look(reading, "the beneficiary as it is"), shows)
        if not look.succeeded or not isinstance(look.document, dict):
            raise hidden(look)
        return Snapshot([look], look.document)

    def effect(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        effect = self._since(before, after)
        return self._since(before, self._settled(before, after, sent)) if effect else effect

    def _since(self, before: Snapshot, after: Snapshot) -> Effect:
        answered = [exchange.document for exchange in self._answered()]
        return effects.in_resource(self.traits.read_by, before.state, after.state, answered)

    def _answered(self) -> Iterator[Exchange]:
        """Yields the changes of the resource accepted before the start, which a read may show late."""
        identifier = self.ids["beneficiary_id"]
        for exchange in self.lane.accepted[: self._earlier]:
            traits = TRAITS.get(exchange.operation or "")
            # Before its path is, or its answer.
            if traits is not None and not (traits.creates == "beneficiary" or traits.changes):
                continue
            named = exchange.operation == "createBeneficiary" or identifier in exchange.call.ids.values()
            if named and exchange.get("id") == identifier:
                yield exchange


class Elements(Watched):
    """The list to which the operation adds."""

    visible = True

    def read(self, before: Snapshot | None, sent: Sequence[Exchange] = ()) -> Snapshot:
        listing = self.fixture.call(self.traits.listed_by)
        done = walk(lambda call, _: self.look(call, "the list, to compare what is in it"), listing)
        if done.broken is not None:
            raise hidden(done.broken)
        return _pages(done.exchanges)

    def effect(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        effect = self._since(before, after)
        if effect:
            self._own |= added(self.lane, self.traits.listed_by, after.state.values(), before.state)
            effect = self._since(before, self._settled(before, after, sent))
        return effect

    def _since(self, before: Snapshot, after: Snapshot) -> Effect:
        return effects.in_list(self.operation, before.state, after.state, self._known(before))

    def _known(self, before: Snapshot) -> set[str]:
        """The ids that are no effect: accepted creates, the server's own elements, what was created before
        the start, and, as replicas lag, what earlier looks have shown."""
        earlier = {each.id for each in self.lane.created.resources[: self._created]}
        return {*self.created, *self._own, *earlier, *(self._ids_before - before.ids)}


class Accounts(Elements):
    """The accounts of a customer, to which others add as well."""

    growing = True

    def read(self, before: Snapshot | None, sent: Sequence[Exchange] = ()) -> Snapshot:
        """Counts the accounts, and, if there are more than before, reads the new ones."""
        listing = self.fixture.call(self.traits.listed_by).with_query(query(1, MAX_SIZE))
        what = "one account, for the number of all"
        own = {one for answer in sent if isinstance(one := answer.get("id"), str)} - self.created

        def counted() -> tuple[Page, int]:
            page = page_of(look := self.look(listing, what))
            if page is None or page.total is None:
                raise hidden(look)
            return page, page.total

        def read(page: Page, total: int) -> tuple[Page, Walk]:
            known = self.lane.created.number(listing.path, self._created, own)
            return page, newest_accounts(self.lane, self.look, self.fixture, since, total, known)

        page, total = counted()
        first = page_of(before.looks[0]) if before is not None else None
        if before is None or total <= (since := (first and first.total) or 0):
            return _pages([page.exchange], whole=total <= len(page.items))
        # What another lane creates is counted a moment before it is known.
        page, came = self.lane.lag.eventually(
            what, lambda: read(*counted()), lambda looked: not looked[1].cut, first=read(page, total)
        )
        if came.cut:
            raise unseen("has too many pages to find what was added", came.exchanges[-1], FEWER_ACCOUNTS)
        # An old account may be among the new ones if the list's order was misjudged.
        fresh = objects(came.items if before.whole else came.fresh)
        new = [identity(item) for item in fresh if identity(item) not in self._ids_before]
        return _pages([page.exchange, *came.page_exchanges], new, whole=(page.total or 0) <= len(page.items))

    def effect(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        known = self._known(before)
        items = {own: item for own, item in after.state.items() if own not in known}
        new = {*after.fresh, *((after.state.keys() - before.state.keys()) if before.whole else ())}
        name = self.lane.samples.over("account").get("name")
        # Those of one name, which no marker tells, by what no answer has named.
        answered = {each.id for each in self.lane.created.resources}
        alike = {own for own, item in items.items() if name is not None and item.get("name") == name}
        more = effects.of_a_name([items[own] for own in (alike & new) - answered], name)
        others = {own: item for own, item in items.items() if own not in alike}
        fresh = [item for own, item in others.items() if own in new]
        return more or effects.in_accounts([*others.values()], fresh, sent)


def kind_of(operation: str) -> type[Watched]:
    """What an operation may change in an account. No operation lists beneficiaries."""
    traits = TRAITS[operation]
    if traits.moves_money:
        return Balances
    if traits.changes:
        return Resource
    if traits.listed_by:
        return Accounts if traits.shared else Elements
    return Watched


def unseen(
    reason: str, look: Exchange | None = None, remedy: str = "", *, choice: bool = False
) -> Inconclusive:
    """Why a snapshot does not show what it was taken for: by the answer that prevents it, if any."""
    if look is None:
        return Inconclusive(Unclear(reason, remedy=remedy))
    why = unusable(look) or Unclear(f"{look.operation}, {reason}", "", remedy, choice=choice)
    return Inconclusive(why, look)


def hidden(look: Exchange) -> Inconclusive:
    """Why what requests change is not seen: the answer to a look shows nothing."""
    return unseen(f"which shows the effect of requests, was answered {look.described()}", look)


def _pages(looks: Sequence[Exchange], fresh: Collection[str] = (), *, whole: bool = True) -> Snapshot:
    pages = [page for look in looks if (page := page_of(look)) is not None]
    return Snapshot(looks, effects.by_id(item for page in pages for item in page.items), fresh, whole)
