"""Snapshots of what an operation may change, and the expectation that requests changed nothing.

Effects show in balances, in one resource, in the accounts of a customer or in another list: one class each,
of which `look` sends the requests that take a snapshot, and `compare` tells an effect from an earlier one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.contract.traits import TRAITS
from conformance.judge import effects
from conformance.judge.comparison import identifiers, objects
from conformance.judge.effects import Effect, Money
from conformance.judge.expectations import CannotTell, Outcome, predicate
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, Page, identity, page_of, query, walk
from conformance.world.account import call
from conformance.world.habits import FEWER_ACCOUNTS, eventually, newest_accounts

if TYPE_CHECKING:
    from conformance.checks.side_effects import Watch

_FUNDED = "Name an account that payouts may draw on: [primary] funded_account_id."


class NotSeen(CannotTell):
    """A snapshot does not show what it was taken for.

    `look` is the answer in the way, if one is; `remedy` is what a user can do."""

    def __init__(self, reason: str, look: Exchange | None = None, remedy: str = "") -> None:
        super().__init__(f"{look.operation}, {reason}" if look is not None else reason)
        self.look, self.remedy = look, remedy


@dataclass(frozen=True)
class Requests:
    """The requests of an operation between two snapshots, and what is no effect of theirs.

    `known` are ids that others account for, `fresh` those of accounts that are new although the first
    snapshot does not show it, `answered` the accepted changes from before it, which reads may show late."""

    operation: str
    calls: Sequence[Call] = ()
    known: Collection[str] = ()
    fresh: Collection[str] = ()
    answered: Sequence[Exchange] = ()


@dataclass
class Snapshot(ABC):
    """State of the things that an operation may change, read by requests in their order."""

    looks: Sequence[Exchange]
    #: The ids of accounts that are new although the snapshot before does not show it.
    fresh: Sequence[str] = field(default=())

    #: Reason given where the reads do not show a snapshot.
    hidden: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Takes a snapshot. Raises NotSeen."""

    @abstractmethod
    def shown(self) -> Any:
        """Contents that the looks show; None where they show none."""

    @abstractmethod
    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        """Compares with the snapshot `before`; returns the effect that the requests may have had.

        Raises CannotTell where a snapshot shows nothing."""

    def read(self) -> Any:
        """Contents that the looks show. Raises CannotTell where they show none."""
        for look in self.looks:
            if not look.succeeded:
                raise CannotTell(f"{look.operation}, which shows the effect, was answered {look.described()}")
        if (shown := self.shown()) is None:
            raise CannotTell(self.hidden)
        return shown

    def taken(self) -> Snapshot:
        """The snapshot itself. Raises NotSeen where the last look does not show what it was for."""
        last = self.looks[-1]
        if not last.succeeded or self.shown() is None:
            raise NotSeen(f"which shows the effect of requests, was answered {last.described()}", last)
        return self


class BalancesSnapshot(Snapshot):
    """The balances of an account."""

    hidden = "the balances are not shown"

    @classmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Reads the balances. Raises NotSeen."""
        fixture = watch.fixture
        taken = cls([watch.send(fixture.call("getAccountBalances"), "the balances as they are")]).taken()
        if taken.shown() == {} and TRAITS[watch.operation].draws_on_funds:
            reason = "by which payouts are watched, shows no balance"
            raise NotSeen(reason, taken.looks[-1], _FUNDED)
        return taken

    def shown(self) -> Money | None:
        return effects.amounts(self.looks[-1].get("balances"))

    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        return effects.in_balances(requests.operation, before.read(), self.read())


class ResourceSnapshot(Snapshot):
    """One resource, as a read shows it."""

    hidden = "the resource is not shown"

    @classmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Reads the resource. It may show late, and the destinations it was given later than itself. Raises
        NotSeen."""
        read = TRAITS[watch.operation].read_by
        reading, given = call(read, watch.ids), watch.destinations()

        def shows(seen: Exchange) -> bool:
            held = identifiers(seen.get("payout_destinations")) or ()
            return seen.status != 404 and (not seen.succeeded or given.issubset(held))

        look = eventually(
            watch.run.cache, read, lambda: watch.send(reading, "the beneficiary as it is"), shows
        )
        return cls([look]).taken()

    def shown(self) -> Any:
        document = self.looks[-1].document
        return document if isinstance(document, dict) else None

    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        documents = [exchange.document for exchange in requests.answered]
        read = TRAITS[requests.operation].read_by
        return effects.in_resource(read, before.read(), self.read(), documents)


class ListSnapshot(Snapshot):
    """All elements of a list."""

    hidden = "the list is not shown"

    def shown(self) -> dict[str, Any] | None:
        pages = [page for look in self.looks if (page := page_of(look)) is not None]
        return effects.by_id(item for page in pages for item in page.items) if pages else None

    @classmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Reads all pages. Raises NotSeen."""
        listing = watch.fixture.call(TRAITS[watch.operation].listed_by)
        done = walk(lambda call, _: watch.send(call, "what is in the list?"), listing)
        if done.broken is not None:
            reason = f"which shows the effect of requests, was answered {done.broken.described()}"
            raise NotSeen(reason, done.broken)
        return cls(done.exchanges)

    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        return effects.in_list(requests.operation, before.read(), self.read(), requests.known)


class AccountsSnapshot(ListSnapshot):
    """The accounts of a customer, to which others add as well: those that came since an earlier snapshot."""

    @classmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Counts the accounts and, if there are more than before, reads the new ones. Raises NotSeen."""
        listing = watch.fixture.call("listAccounts").with_query(query(1, MAX_SIZE))
        look = watch.send(listing, "how many accounts are there?")
        page = page_of(look)
        if page is None or page.total is None:
            raise NotSeen(f"which shows the effect of requests, was answered {look.described()}", look)
        before = watch.before
        if not isinstance(before, AccountsSnapshot) or page.total <= (
            since := (before.page and before.page.total) or 0
        ):
            return cls([look])
        if "name" in watch.run.samples.over("account"):
            raise NotSeen("the target file says how accounts are named, so they cannot be told apart")
        came = newest_accounts(watch.run, watch.send, watch.fixture, since, page.total)
        if came.cut:
            reason = "has too many pages to look for what a request may have added"
            raise NotSeen(reason, came.exchanges[-1], FEWER_ACCOUNTS)
        # An old account may stand among the new ones if the list has another order than it seemed.
        fresh = objects(came.items if before.complete else came.fresh)
        new = [identity(item) for item in fresh if identity(item) not in watch.seen]
        return cls([look, *came.page_exchanges], new)

    @property
    def page(self) -> Page | None:
        """The page that the last look shows."""
        return page_of(self.looks[-1])

    @property
    def complete(self) -> bool:
        """True if the last look shows all accounts."""
        page = self.page
        return page is not None and page.total is not None and page.total <= len(page.items)

    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        old, now = before.read(), self.read()
        items = {identifier: item for identifier, item in now.items() if identifier not in requests.known}
        complete = isinstance(before, AccountsSnapshot) and before.complete
        fresh = [
            item
            for identifier, item in items.items()
            if identifier in requests.fresh or (complete and identifier not in old)
        ]
        return effects.in_accounts(list(items.values()), fresh, requests.calls)


def snapshot_of(operation: str) -> type[Snapshot] | None:
    """The kind of snapshot that shows the effects of an operation; None where nothing does: beneficiaries
    are in no list."""
    traits = TRAITS[operation]
    if traits.moves_money:
        return BalancesSnapshot
    if traits.changes:
        return ResourceSnapshot
    if not traits.listed_by:
        return None
    return AccountsSnapshot if traits.shared else ListSnapshot


# ---------------------------------------------------------------------- the expectation


#: The exchanges of a judgement of effects that are no requests: looks before and after, and answered changes.
GROUPS = ("before", "after", "answered")


@predicate(name="no-effect", sentence="no effect of {what}", effects=True, besides=("fresh",))
def NoEffect(
    exchanges: Sequence[Exchange],
    operation: str,
    groups: Mapping[str, Sequence[int]],
    known: Sequence[str] = (),
    fresh: Sequence[str] = (),
    doubtful: bool = False,
    of_refusals: bool = False,
    first_accepted: bool = False,
    fee: str = "0",
) -> Outcome:
    """Expects that an operation's requests leave all that they could change as it was (see judge/effects.py).

    `groups` are the positions of the looks `before` and `after`, and of the changes `answered` from before;
    the others are the requests. `known` are ids that others account for, `fresh` those that are new although
    the looks before do not show it. An effect that others might have had counts only if `doubtful`: it came
    each time. `of_refusals` says that the requests must all be refused, `first_accepted` that the first of
    them that is accepted may have its effect. Money counts that moves by a multiple of what the requests ask
    for, and a `fee` beyond.
    """
    kind = snapshot_of(operation)
    if kind is None:
        raise CannotTell("nothing shows the effect of requests")
    before, after, answered = ([exchanges[at] for at in groups[name]] for name in GROUPS)
    placed = {at for name in GROUPS for at in groups[name]}
    sent = [exchange for at, exchange in enumerate(exchanges) if at not in placed]
    if of_refusals and any(request.succeeded for request in sent):
        raise CannotTell("not all of the requests were refused")
    first = [str(request.get("id")) for request in sent if request.succeeded][:1]
    accounted = {*known, *(first if first_accepted else [])}
    calls = [exchange.call for exchange in sent]
    effect = kind(after).compare(kind(before), Requests(operation, calls, accounted, fresh, answered))
    if not effect or (effect.doubtful and not doubtful):
        return Outcome(True)
    if TRAITS[operation].moves_money:
        asked = [amount for each in calls if (amount := effects.asked_amount(each)) is not None]
        if not effects.follows(effect.signature, asked, fee):
            raise CannotTell(f"money moves by other amounts than the requests ask for: {effect.found}")
    shows = (groups["after"][-1], len(exchanges) - 1, groups["before"][-1])
    return Outcome(False, effect.found, shows=tuple(dict.fromkeys(shows)))
