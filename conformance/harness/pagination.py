"""Reading the pages of a list within a check (section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from conformance.harness.context import CheckContext
from conformance.wire import pages
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, MOST_PAGES, Walk, page_of, query

T = TypeVar("T")


def walk(
    ctx: CheckContext,
    call: Call,
    *,
    size: int = MAX_SIZE,
    filters: Iterable[tuple[str, str]] = (),
    most: int = MOST_PAGES,
    organization: str = "primary",
) -> Walk:
    """Reads the pages of a list in an organization's name; see wire/pages.walk."""

    def send(request: Call, purpose: str) -> Exchange:
        return ctx.send(request, purpose, organization)

    return pages.walk(send, call, size=size, filters=filters, most=most)


def steady(ctx: CheckContext, call: Call, act: Callable[[], T], *, attempts: int = 4) -> T:
    """What `act` reads while nothing is added to a customer's accounts, if that can be had; it must not
    judge, as it may run again. Whether another client, or another worker of this run, created one is told by
    the list's total before and after.

    Where one did each time, what was read last is returned: its judge goes by the totals of the answers
    themselves. Lists in an account that is the check's own need none of this.
    """
    if call.operation != "listAccounts":
        return act()
    for _ in range(attempts):
        before = _total(ctx, call)
        result = act()
        if before == _total(ctx, call):
            break
    return result


def _total(ctx: CheckContext, call: Call) -> int | None:
    page = page_of(ctx.send(call.with_query(query(1, 1)), "how many elements are there?"))
    return page.total if page else None
