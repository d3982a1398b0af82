"""What came last to a customer's list of accounts, which other clients make longer, too, and which may have
any length."""

from __future__ import annotations

import time

from conformance.wire.pages import MAX_SIZE, Newest, Page, Send, newest, page_of, pages_of, query
from conformance.world.account import AccountFixture
from conformance.world.cache import Key
from conformance.world.run_context import RunContext

#: At which end a customer's list of accounts grows.
GROWING_END = Key[str]("where a customer's list of accounts grows")

#: What the user can do where a list is too long to be read.
FEWER_ACCOUNTS = "Name a customer with fewer accounts: [primary] customer_id."

#: Seconds before each look for new accounts: a list may show them late.
_PAUSES = (0.0, 0.3, 2.0, 3.0)

#: Pages after the one that was the last before, at most, that are read for them.
_LAST_PAGES = 2

#: Accounts that are created to see where they show: one may be at an end by chance.
_CREATED = 3


def newest_accounts(run: RunContext, send: Send, fixture: AccountFixture, since: int, total: int) -> Newest:
    """The accounts that came since the list had `since` elements; `total` is how many it has now."""
    place = growing_end(run, send, fixture) if total > MAX_SIZE else ""
    return newest(send, fixture.call("listAccounts"), since, place)


def growing_end(run: RunContext, send: Send, fixture: AccountFixture) -> str:
    """At which end of the list new accounts show: "start", "end" or "" where at neither. Found out once."""
    return run.cache.get(GROWING_END.of(fixture.customer_id), lambda: _find_out(send, fixture))


def _find_out(send: Send, fixture: AccountFixture) -> str:
    """New accounts are as near to an end as the number of those that came since lets them be: at any end of
    an order that says nothing of age, an old one is as likely."""

    def look(number: int, purpose: str) -> Page | None:
        return page_of(send(fixture.call("listAccounts").with_query(query(number, MAX_SIZE)), purpose))

    before = look(1, "how many accounts are there?")
    if before is None or before.total is None:
        return ""
    created = {str(fixture.create("createAccount").get("id")) for _ in range(_CREATED)}
    for pause in _PAUSES:
        time.sleep(pause)
        first = look(1, "are new accounts first?")
        if first is None or first.total is None:
            return ""
        if created <= set(first.ids[: max(0, first.total - before.total)]):
            return "start"
        shown: list[str] = []
        begin = before.total // MAX_SIZE + 1
        for number in range(begin, min(pages_of(first.total, MAX_SIZE), begin + _LAST_PAGES) + 1):
            page = look(number, "are new accounts last?")
            shown += page.ids if page else []
        if created <= set(shown[before.total % MAX_SIZE :]):
            return "end"
    return ""
