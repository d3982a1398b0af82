"""Behaviour that the specification leaves open, detected once in a run.

Pre-populated lists of new accounts, and the sort order of a
customer's accounts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS
from conformance.judge.comparison import objects
from conformance.judge.effects import marked
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, Page, Send, Walk, identity, newest, page_of, pages_of, query
from conformance.world.cache import once_for_all_lanes
from conformance.world.lane import Fixture, Lane

# ---------------------------------------------------------------------- pre-populated lists


#: Lists that a server may pre-populate: section 4 does not state that they are empty at first.
POPULATED = ("listVirtualAccounts", "listWallets")

#: Seconds by which timestamps of one moment may differ through rounding.
_ROUNDING = 1


@once_for_all_lanes
def prepopulated(lane: Lane, operation: str) -> bool:
    """True if the list of a new account has elements which no request of the run created and which are no
    older than the account. Raises Inconclusive where no account can be created."""
    if operation not in POPULATED:
        return False
    if not made_by(lane, operation):
        # Without an element elsewhere, a list that leaks other accounts' elements would look empty.
        elsewhere = lane.account(fresh=True, operation=operation)
        create = OPERATIONS[operation].filled_by
        lane.send(elsewhere.client, elsewhere.call(create), "an element of another account")
    fixture = lane.account(fresh=True, operation=operation)
    listing = fixture.call(operation).with_query(query(1, MAX_SIZE))
    exchange = lane.lag.eventually(
        f"{operation} of a new account",
        lambda: lane.send(fixture.client, listing, "the list of a new account, to see whether it is empty"),
        lambda answer: (page := page_of(answer)) is None or bool(page.items),
    )
    items = objects(exchange.get("items")) if page_of(exchange) else []
    known = made_by(lane, operation)
    return bool(items) and all(_prepopulated_by(fixture.account, item, known) for item in items)


def _prepopulated_by(account: Exchange, item: Mapping[str, Any], known: Collection[str]) -> bool:
    """True if an element may have been created with an account: no request made it, and it is no older."""
    opened, came = timestamps.parse(account.get("created")), timestamps.parse(item.get("created"))
    if opened is None or came is None or came < opened - _ROUNDING:
        return False
    return identity(item) not in known and not marked(item)


def made_by(lane: Lane, operation: str) -> set[str]:
    """The ids of the elements that the run has created, under any parent, for lists of an operation."""
    return {each.id for each in lane.created.resources if each.operation == OPERATIONS[operation].filled_by}


def added(lane: Lane, operation: str, items: Iterable[Mapping[str, Any]], known: Collection[str]) -> set[str]:
    """The ids of a list's elements that are not `known` and that the server itself may have created."""
    unknown = {str(item.get("id")) for item in items if not marked(item)}.difference(known)
    unknown = unknown and unknown - made_by(lane, operation)
    return unknown if unknown and prepopulated(lane, operation) else set()


# ---------------------------------------------------------------------- where a list grows


#: Remedy for a list that is too long to read.
FEWER_ACCOUNTS = "Name a customer with fewer accounts: [primary] customer_id."

#: Pages read for new accounts beyond the one that was the last, at most.
_LAST_PAGES = 2

#: Accounts created to detect the order: a single one may be at an end by chance.
_CREATED = 3


def newest_accounts(lane: Lane, send: Send, fixture: Fixture, since: int, total: int, known: int = 0) -> Walk:
    """Reads the accounts created since the list had `since` elements; `total` is its length now. Nothing of a
    long list in any other order, if no more came than the `known` number."""
    place = growing_end(lane, send, fixture) if total > MAX_SIZE else ""
    if not place and MAX_SIZE < total <= since + known:
        return Walk(MAX_SIZE)
    return newest(send, fixture.call("listAccounts"), since, place)


def growing_end(lane: Lane, send: Send, fixture: Fixture) -> str:
    """The end of the list at which new accounts appear: "start", "end", or "" for neither."""
    return lane.common.cache.get(("growing end", fixture.customer_id), lambda: _detect_end(send, fixture))


def _detect_end(send: Send, fixture: Fixture) -> str:
    """Creates accounts and looks for them at both ends, among as many elements as the list grew by."""

    def look(number: int, purpose: str) -> Page | None:
        return page_of(send(fixture.call("listAccounts").with_query(query(number, MAX_SIZE)), purpose))

    first = look(1, "one account, for the number of all")
    if first is None or (before := first.total) is None:
        return ""
    created = {str(fixture.create("createAccount").get("id")) for _ in range(_CREATED)}

    def end() -> str | None:
        first = look(1, "the first accounts, to see whether new ones are first")
        if first is None or first.total is None:
            return None
        if created <= set(first.ids[: max(0, first.total - before)]):
            return "start"
        ids: list[str] = []
        begin = before // MAX_SIZE + 1
        for number in range(begin, min(pages_of(first.total, MAX_SIZE), begin + _LAST_PAGES) + 1):
            page = look(number, "the last accounts, to see whether new ones are last")
            ids += page.ids if page else []
        return "end" if created <= set(ids[before % MAX_SIZE :]) else ""

    return fixture.lane.lag.eventually("new accounts of listAccounts", end, lambda where: where != "") or ""
