"""Snapshots of what an operation may change: balances, one resource, a list, or the accounts of a customer.

A Watch takes one before requests and one after them; judge/effects.py says which changes are effects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.comparison import identifiers, objects
from conformance.judge.effects import Effect
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Send, identity, page_of, query, walk
from conformance.world.calls import call
from conformance.world.habits import FEWER_ACCOUNTS, added, newest_accounts
from conformance.world.run import Account, Run

_FUNDED = "Name an account that payouts may draw on: [primary] funded_account_id."


class NotSeen(Exception):
    """Raised where a snapshot does not show what it was taken for: the answer that prevents it, if any, and
    what a user can do."""

    def __init__(self, reason: str, look: Exchange | None = None, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = f"{look.operation}, {reason}" if look is not None else reason
        self.look, self.remedy = look, remedy


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


@dataclass(frozen=True)
class Round:
    """Requests between two snapshots, and their effect."""

    effect: Effect
    before: Snapshot
    after: Snapshot
    sent: Sequence[Exchange]


class Watch:
    """Takes snapshots of what an operation may change in a fixture, before and after requests.

    `send` sends a read. `accepted` holds ids of resources that were rightly created meanwhile. `ids` are the
    path parameters of the resource that is read, where they are not the fixture's."""

    def __init__(
        self, run: Run, send: Send, fixture: Account, operation: str, ids: Mapping[str, str] | None = None
    ) -> None:
        self.run = run
        self.send = send
        self.fixture = fixture
        self.operation = operation
        self.accepted: set[str] = set()
        self.before: Snapshot | None = None
        self.after: Snapshot | None = None
        self.traits = TRAITS[operation]
        self._ids = ids
        #: Ids that snapshots up to the start have shown.
        self._seen: set[str] = set()
        #: Numbers of changes accepted, and of resources created, before the start.
        self._earlier = self._created = 0
        #: Ids of these resources, read on first use.
        self._earlier_ids: set[str] | None = None
        #: Why there is no snapshot to compare with.
        self._unseen: NotSeen | None = None
        #: Ids of elements that the server added itself.
        self._own: set[str] = set()

    @property
    def ids(self) -> Mapping[str, str]:
        """Path parameters of the resource that is read."""
        return self._ids or self.fixture.ids(self.traits.read_by)

    @property
    def look(self) -> Callable[[], Snapshot] | None:
        """Takes a snapshot, or raises NotSeen; None where nothing shows the effect of the operation: no
        operation lists beneficiaries."""
        if self.traits.moves_money:
            return self._balances
        if self.traits.changes:
            return self._resource
        if not self.traits.listed_by:
            return None
        return self._accounts if self.traits.shared else self._list

    def _taken(self) -> Snapshot:
        if self.look is None:
            raise NotSeen("nothing shows the effect of requests")
        return self.look()

    def start(self) -> Self:
        """Takes the snapshot to compare with; returns the watch itself."""
        self._seen |= {own for taken in (self.before, self.after) if taken is not None for own in taken.ids}
        self.before = self.after = self._unseen = None
        try:
            self.before = self._taken()
        except NotSeen as reason:
            self._unseen = reason
        else:
            self._seen |= self.before.ids
        self._earlier, self._created = len(self.run.accepted), len(self.run.made.resources)
        self._earlier_ids = None
        return self

    def looks(self) -> list[Exchange]:
        """Returns the last read at the start and another one now, whatever they show."""
        start = self._unseen.look if self._unseen is not None else None
        if self.before is not None:
            start = self.before.looks[-1]
        now: Exchange | None
        try:
            now = self._taken().looks[-1]
        except NotSeen as reason:
            now = reason.look
        return [look for look in (start, now) if look is not None]

    def round(self, sent: Sequence[Exchange] = ()) -> Round:
        """Returns the changes since the start that `sent` may have caused, with the snapshots. Raises
        NotSeen."""
        if self.before is None:
            raise self._unseen or NotSeen("no snapshot was taken before the requests")
        before, after, calls = self.before, self._taken(), [exchange.call for exchange in sent]
        effect, self.after = self._compared(before, after, calls), after
        if effect and self.look == self._list:
            self._own |= added(self.run, self.traits.listed_by, after.state.values(), before.state)
            effect = self._compared(before, after, calls)
        return Round(effect, before, after, sent)

    def _compared(self, before: Snapshot, after: Snapshot, sent: Sequence[Call]) -> Effect:
        if self.traits.moves_money:
            return effects.in_balances(self.operation, before.state, after.state)
        if self.traits.changes:
            answered = [exchange.document for exchange in self.answered()]
            return effects.in_resource(self.traits.read_by, before.state, after.state, answered)
        # Replicas lag: what earlier looks have shown is no effect.
        known = self._known() | self._seen - before.ids
        if not self.traits.shared:
            return effects.in_list(self.operation, before.state, after.state, known)
        items = {own: item for own, item in after.state.items() if own not in known}
        new = {*after.fresh, *((after.state.keys() - before.state.keys()) if before.whole else ())}
        return effects.in_accounts(
            list(items.values()), [item for own, item in items.items() if own in new], sent
        )

    # ------------------------------------------------------------------ snapshots

    def _balances(self) -> Snapshot:
        look = self.send(self.fixture.call("getAccountBalances"), "the balances as they are")
        money = effects.amounts(look.get("balances")) if look.succeeded else None
        if money is None:
            raise _hidden(look)
        if money == {} and self.traits.draws_on_funds:
            raise NotSeen("by which payouts are watched, shows no balance", look, _FUNDED)
        return Snapshot([look], money)

    def _resource(self) -> Snapshot:
        """Reads the resource until it and its accepted destinations show."""
        read, known = self.traits.read_by, self.destinations()

        def shows(answer: Exchange) -> bool:
            held = identifiers(answer.get("payout_destinations")) or ()
            return answer.status != 404 and (not answer.succeeded or known.issubset(held))

        reading = call(read, self.ids)
        look = self.run.lag.eventually(read, lambda: self.send(reading, "the beneficiary as it is"), shows)
        if not look.succeeded or not isinstance(look.document, dict):
            raise _hidden(look)
        return Snapshot([look], look.document)

    def _list(self) -> Snapshot:
        listing = self.fixture.call(self.traits.listed_by)
        done = walk(lambda call, _: self.send(call, "what is in the list?"), listing)
        if done.broken is not None:
            raise _hidden(done.broken)
        return _pages(done.exchanges)

    def _accounts(self) -> Snapshot:
        """Counts the accounts, to which others add as well, and, if there are more than before, reads the new
        ones."""
        listing = self.fixture.call("listAccounts").with_query(query(1, MAX_SIZE))
        look = self.send(listing, "how many accounts are there?")
        page = page_of(look)
        if page is None or page.total is None:
            raise _hidden(look)
        whole = page.total <= len(page.items)
        first = page_of(self.before.looks[0]) if self.before is not None else None
        if self.before is None or page.total <= (since := (first and first.total) or 0):
            return _pages([look], whole=whole)
        if "name" in self.run.samples.over("account"):
            raise NotSeen("the target file says how accounts are named, so they cannot be told apart")
        came = newest_accounts(self.run, self.send, self.fixture, since, page.total)
        if came.cut:
            reason = "has too many pages to look for what a request may have added"
            raise NotSeen(reason, came.exchanges[-1], FEWER_ACCOUNTS)
        # An old account may be among the new ones if the list's order was misjudged.
        fresh = objects(came.items if self.before.whole else came.fresh)
        new = [identity(item) for item in fresh if identity(item) not in self._seen]
        return _pages([look, *came.page_exchanges], new, whole=whole)

    # ------------------------------------------------------------------ what was accepted before

    def _known(self) -> set[str]:
        """Returns ids in lists that are no effect: of accepted creates, of the server's own elements, and of
        all that was created before the start, which a list may show late."""
        if self._earlier_ids is None:
            self._earlier_ids = {each.id for each in self.run.made.resources[: self._created]}
        return self.accepted | self._own | self._earlier_ids

    def destinations(self) -> set[str]:
        """Returns the ids of the payout destinations that were accepted for the beneficiary."""
        path = call("listPayoutDestinations", self.ids).path
        return {each.id for each in self.run.made.resources if each.path == path}

    def answered(self) -> list[Exchange]:
        """Returns the changes of the resource accepted before the start, which a read may show late."""
        identifier = self.ids["beneficiary_id"]
        earlier = self.run.accepted[: self._earlier]
        return [
            exchange
            for exchange in earlier
            # Before its answer is parsed.
            if (exchange.operation == "createBeneficiary" or identifier in unquote(exchange.call.target))
            and exchange.get("id") == identifier
        ]


def _hidden(look: Exchange) -> NotSeen:
    return NotSeen(f"which shows the effect of requests, was answered {look.described()}", look)


def _pages(looks: Sequence[Exchange], fresh: Collection[str] = (), *, whole: bool = True) -> Snapshot:
    pages = [page for look in looks if (page := page_of(look)) is not None]
    return Snapshot(looks, effects.by_id(item for page in pages for item in page.items), fresh, whole)
