"""Reading the pages of a list within a check, and judging them by what judge/pages expects (section 8).

Each function judges one rule, so that a server with one mistake breaks one of them: `pages` is compared
with the answer's own `total`, `total` with what a walk shows, a walk with what other walks showed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from conformance.harness.context import CheckContext
from conformance.judge import pages
from conformance.judge.expectations import Accepted, RefusedOrIgnored
from conformance.judge.pages import Listed
from conformance.wire import pages as reading
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import MAX_SIZE, MOST_PAGES, Page, Walk, page_of, query

T = TypeVar("T")


# ---------------------------------------------------------------------- reading


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

    return reading.walk(send, call, size=size, filters=filters, most=most)


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


# ---------------------------------------------------------------------- one page


def page(
    ctx: CheckContext, rule: str, exchange: Exchange, what: str, *, refusable: bool = False
) -> Page | None:
    """The page in an answer. Without one, the answer is judged: a valid request must not be refused, a
    `refusable` one may be."""
    if exchange.refused_authentication:
        # It refuses the signature, and says nothing about lists.
        reason = f"{what} was answered {exchange.described()}"
        ctx.skip_judgement(rule, reason, exchange, cause="auth.accepts-valid")
        return None
    if not ctx.usable(rule, exchange):
        return None
    found = page_of(exchange)
    if found is None and exchange.succeeded:
        reason = f"{what} was answered {exchange.described()}, not with a page"
        ctx.skip_judgement(rule, reason, exchange, cause="list.envelope")
    elif found is None:
        ctx.judge(rule, RefusedOrIgnored(what) if refusable else Accepted(what), exchange)
    return found


def size_in_range(ctx: CheckContext, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    rule, expected = "list.size-range", f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    if page(ctx, rule, exchange, what, refusable=True) is not None:
        ctx.judge(rule, pages.size_in_range(expected, filled=filled), exchange)


def page_in_range(ctx: CheckContext, exchange: Exchange, valid: Exchange | None, what: str) -> None:
    """Judges list.page-range on the answer to a page below 1; `valid` is the page that it calls itself."""
    rule, expected = "list.page-range", f"{what}: a refusal (4xx), or a page from 1 on"
    found = page(ctx, rule, exchange, what, refusable=True)
    if found is None:
        return
    good = ctx.judge(rule, pages.page_from_one(expected), exchange)
    if good and valid and page_of(valid) is not None:
        sentence = f"{what}, answered as page {found.page}: its items"
        ctx.judge(rule, pages.same_elements(sentence, refusable=True), exchange, valid)


# ---------------------------------------------------------------------- walks


def whole(ctx: CheckContext, rule: str, done: Walk, expected: Collection[str], what: str) -> bool:
    """Judges that a walk shows each expected element exactly once, on pages that are full but for the last.

    `expected` are ids; elements beyond them are the business of list.complete, but fill pages, too.
    """
    if done.broken is not None:
        page(ctx, rule, done.broken, f"page {len(done.pages) + 1} of {what}")
        return False
    missing = [identifier for identifier in expected if identifier not in set(done.ids)]
    ids = [identifier for identifier in expected if not done.cut or identifier not in missing]
    good = ctx.judge(rule, Listed(what, ids, once=True), *done.page_exchanges)
    if good and not done.cut:
        full = pages.full_pages(f"{what}: {done.size} elements on each page but the last", size=done.size)
        good = ctx.judge(rule, full, *done.page_exchanges)
    return good


def totals(ctx: CheckContext, rule: str, read: Sequence[Page], count: int, what: str) -> None:
    """Judges that every page shows this total, up to the first that does not."""
    walked = len({identifier for found in read for identifier in found.ids}) == count
    sentence = f"{what}: total {count}, as many as there are"
    expected = pages.total_of_walk(sentence, count=None if walked else count)
    others = [found.exchange for found in read] if walked else []
    for found in read:
        good = ctx.judge(rule, expected, found.exchange, *others)
        if not good and found.total is not None:
            return
