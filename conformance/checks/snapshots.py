"""Snapshots of what an operation may change, and the expectation that requests changed nothing.

Effects show in balances, in one resource, in the accounts of a customer or in another list. Each has a class:
`look` takes a snapshot, `compare` finds the effect since an earlier one."""

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
    """Raised where a snapshot does not show what it was taken for.

    `look` is the answer that prevents it, if any; `remedy` is what a user can do."""

    def __init__(self, reason: str, look: Exchange | None = None, remedy: str = "") -> None:
        super().__init__(f"{look.operation}, {reason}" if look is not None else reason)
        self.look, self.remedy = look, remedy


@dataclass(frozen=True)
class Requests:
    """The requests of an operation between two snapshots, and what else explains a change.

    `known` are ids otherwise accounted for, `fresh` those of accounts that are new although the first
    snapshot does not show it, `answered` earlier accepted changes, which reads may show late."""

    operation: str
    calls: Sequence[Call] = ()
    known: Collection[str] = ()
    fresh: Collection[str] = ()
    answered: Sequence[Exchange] = ()


@dataclass
class Snapshot(ABC):
    """State that an operation may change, as reads show it, in the order sent."""

    looks: Sequence[Exchange]
    #: Ids of accounts that are new although the earlier snapshot does not show it.
    fresh: Sequence[str] = field(default=())

    #: Reason given where the reads show no state.
    hidden: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def look(cls, watch: Watch) -> Snapshot:
        """Takes a snapshot. Raises NotSeen."""

    @abstractmethod
    def shown(self) -> Any:
        """Returns the state that the reads show; None where they show none."""

    @abstractmethod
    def compare(self, before: Snapshot, requests: Requests) -> Effect:
        """Returns the effect that the requests may have had since the snapshot `before`.

        Raises CannotTell where a snapshot shows no state."""

    def read(self) -> Any:
        """Returns the state that the reads show. Raises CannotTell where they show none."""
        for look in self.looks:
            if not look.succeeded:
                raise CannotTell(f"{look.operation}, which shows the effect, was answered {look.described()}")
        if (shown := self.shown()) is None:
            raise CannotTell(self.hidden)
        return shown

    def taken(self) -> Snapshot:
        """Returns the snapshot itself. Raises NotSeen where the last read does not show the state."""
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
        """Reads the resource until it and its accepted destinations show. Raises NotSeen."""
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
    """The accounts of a customer, to which others add as well: those created since an earlier snapshot."""

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
        # An old account may be among the new ones if the list's order was misjudged.
        fresh = objects(came.items if before.complete else came.fresh)
        new = [identity(item) for item in fresh if identity(item) not in watch.seen]
        return cls([look, *came.page_exchanges], new)

    @property
    def page(self) -> Page | None:
        """The page of the last read."""
        return page_of(self.looks[-1])

    @property
    def complete(self) -> bool:
        """True if the last read shows all accounts."""
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
    """Returns the kind of snapshot that shows the effects of an operation; None where nothing does: no
    operation lists beneficiaries."""
    traits = TRAITS[operation]
    if traits.moves_money:
        return BalancesSnapshot
    if traits.changes:
        return ResourceSnapshot
    if not traits.listed_by:
        return None
    return AccountsSnapshot if traits.shared else ListSnapshot


# ---------------------------------------------------------------------- the expectation


#: Groups of judged exchanges other than requests: reads before and after, and earlier accepted changes.
GROUPS = ("before", "after", "answered")


@predicate(sentence="no effect of {what}")
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

    `groups` are the positions of the reads `before` and `after`, and of the earlier changes `answered`; the
    others are the requests. `known` are ids otherwise accounted for, `fresh` those that are new although the
    reads before do not show it. An effect that others might have had counts only if `doubtful`: repetition
    confirmed it. `of_refusals`: all requests must be refused. `first_accepted`: the first accepted request
    may have its effect. Money counts that moves by a multiple of the amounts asked for, plus a `fee`."""
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
