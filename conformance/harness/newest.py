"""What came last to a customer's list of accounts, which other clients make longer, too, and which may have
any length."""

from __future__ import annotations

import time

from conformance.fixtures.account import AccountFixture
from conformance.fixtures.cache import Key
from conformance.fixtures.run_context import RunContext
from conformance.wire.pages import MAX_SIZE, Newest, Send, newest, page_of, pages_of, query

_GROWS = Key[str]("where a customer's list of accounts grows")

#: What the user can do where a list is too long to be read.
FEWER_ACCOUNTS = "Name a customer with fewer accounts: [primary] customer_id."

#: Seconds before each look for a new account: a list may show it late.
_PAUSES = (0.0, 0.3, 2.0, 3.0)


def newest_accounts(run: RunContext, send: Send, fixture: AccountFixture, since: int, total: int) -> Newest:
    """The accounts that came since the list had `since` elements; `total` is how many it has now."""
    place = growing_end(run, send, fixture) if total > MAX_SIZE else ""
    return newest(send, fixture.call("listAccounts"), since, place)


def growing_end(run: RunContext, send: Send, fixture: AccountFixture) -> str:
    """At which end of the list new accounts show: "start", "end" or "" where at neither. Found out once."""
    return run.cache.get(_GROWS.of(fixture.customer_id), lambda: _find_out(send, fixture))


def _find_out(send: Send, fixture: AccountFixture) -> str:
    listing = fixture.call("listAccounts")
    made = fixture.create("createAccount").get("id")
    for pause in _PAUSES:
        time.sleep(pause)
        first = page_of(send(listing.with_query(query(1, MAX_SIZE)), "is a new account first?"))
        if first is None or first.total is None:
            return ""
        if made in first.ids:
            return "start"
        number = pages_of(first.total, MAX_SIZE)
        last = page_of(send(listing.with_query(query(number, MAX_SIZE)), "is a new account last?"))
        if last is not None and made in last.ids:
            return "end"
    return ""
