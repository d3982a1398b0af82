"""Reading the pages of a list within a check (section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from conformance.harness.context import CheckContext
from conformance.judging.findings import Inconclusive
from conformance.wire.messages import Call
from conformance.wire.pages import MAX_SIZE, Walk, page_of, pages_of, query

#: Pages that a walk reads at most unless told otherwise.
MOST_PAGES = 30


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
    """Reads the pages of a list at one size, `most` at most; `call` is the list's call without a query.

    How far it goes follows from `total`, not from `pages`, which may be what is wrong. After a full last
    page it looks at one more, and keeps that only if it shows elements that were not seen before.
    """
    filters = list(filters)
    done = Walk(size)
    seen: set[str] = set()
    number = 0
    while True:
        number += 1
        exchange = ctx.send(
            call.with_query(query(number, size, filters)), f"page {number} of size {size}", organization
        )
        page = page_of(exchange)
        total = done.total
        beyond = total is not None and number > pages_of(total, size)
        if page is None:
            done.broken = None if beyond and exchange.refused else exchange
            return done
        fresh = set(page.ids) - seen
        if (beyond or total is None) and number > 1 and not fresh:
            return done
        done.pages.append(page)
        seen |= fresh
        last = 0 if done.total is None else pages_of(done.total, size)
        if not page.items or (number >= last and len(page.items) < size):
            return done
        if number >= most:
            done.cut = True
            return done


def steady(ctx: CheckContext, call: Call, act: Callable[[], T], *, attempts: int = 5) -> T:
    """What `act` reads while a customer's accounts stand still; it must not judge, as it may run again.

    No worker of this run creates accounts meanwhile; whether another client did, is told by the list's
    total before and after. Raises Inconclusive when one did each time. Lists in an account that is the
    check's own need none of this: `call` of any other operation just acts.
    """
    if call.operation != "listAccounts":
        return act()
    for _ in range(attempts):
        with ctx.run.quiet_accounts():
            before = _total(ctx, call)
            result = act()
            if before == _total(ctx, call):
                return result
    raise Inconclusive(
        f"the total of {call.operation} changed each time while its pages were read",
        "Run the suite while no other client creates accounts for this customer.",
    )


def _total(ctx: CheckContext, call: Call) -> int | None:
    page = page_of(ctx.send(call.with_query(query(1, 1)), "how many elements are there?"))
    return page.total if page else None
