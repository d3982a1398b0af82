"""Filters of a list combined: with one another, with page and size, and without these."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from conformance.checks.check import CheckContext
from conformance.checks.filtered_list import Filtered
from conformance.checks.list_judging import compared, judge_by_query, judge_totals, judge_whole, usable_page
from conformance.judge.paging import count_of_pages, keeps_what_fits, number_is
from conformance.judge.queries import rules_of
from conformance.wire.messages import Exchange
from conformance.wire.pages import DEFAULT_SIZE, Page, Parameters, Walk, page_of, pages_of, query, walk

COMBINE = "list.filters-combine"

#: Maximum page size of walks through filtered lists.
WALKED_SIZE = 3


def working_filters(ctx: CheckContext, lists: Filtered) -> dict[str, Parameters]:
    """Returns the filters that work alone, as other rules judge the others; judges totals on the way."""
    valid = {}
    for name, filters in lists.filters().items():
        exchange = lists.shows(lists.send(filters, f"{name} alone"), filters)
        found, kept = page_of(exchange), lists.kept(filters)
        if found is None or set(found.ids) & lists.ids != kept:
            reason = f"the filter {name} does not work alone"
            ctx.unclear(COMBINE, reason, exchange, cause=rules_of(filters)[0])
            continue
        valid[name] = filters
        lists.counted(found, f"{name} alone")
        if len(kept) < len(lists.elements):
            what = f"{name} without page and size"
            exchange = ctx.send(lists.call.with_query(filters), what)
            # Elements that the run does not know may fill the first page.
            part = len(set(found.ids)) > DEFAULT_SIZE
            if page := lists.judge(COMBINE, exchange, kept, what, part=part):
                if part:
                    # Statuses may have changed since `found`.
                    readings = _counted(ctx, lists, filters, page, found)
                    page, found = ctx.eventually(functools.partial(next, readings), _agree)
                lists.counted(page, what, found if part else page)
                judge_by_query(ctx, page.exchange, "list.defaults", "list.pages")
    return valid


def _counted(
    ctx: CheckContext, lists: Filtered, filters: Parameters, page: Page, whole: Page
) -> Iterator[tuple[Page, Page]]:
    """Yields a page that filters give without page and size, and one of all their elements, then both read
    anew."""
    while True:
        yield page, whole
        page = page_of(ctx.send(page.exchange.call, page.exchange.purpose)) or page
        whole = page_of(lists.send(filters, whole.exchange.purpose)) or whole


def _agree(pair: tuple[Page, Page]) -> bool:
    part, whole = pair
    return part.total == len(whole.ids)


def combine(
    ctx: CheckContext,
    lists: Filtered,
    filters: Parameters,
    what: str,
    paging: Parameters | None = None,
    *,
    refusable: bool = False,
) -> None:
    """Judges filters together, after page 1 and size 100, or before the parameters `paging`; `refusable`: a
    server may not know a value."""
    if paging is None:
        exchange = lists.send(filters, what)
    else:
        exchange = ctx.send(lists.call.with_query([*filters, *paging]), what)
    if refusable and exchange.refused:
        ctx.unclear(COMBINE, f"{what}, was refused", exchange)
    elif found := lists.judge(COMBINE, exchange, lists.kept(filters), what):
        lists.counted(found, what)
        judge_by_query(ctx, found.exchange, "list.echo", "list.defaults", "list.pages")


def later_page(ctx: CheckContext, lists: Filtered, filters: Parameters, what: str) -> None:
    """Judges the third page of a filtered list that is empty; a server may refuse it as past the last."""
    exchange = ctx.send(lists.call.with_query([*filters, *query(3, 1)]), what)
    if exchange.refused:
        ctx.unclear(COMBINE, f"{what}, was refused", exchange)
        return
    exchange = lists.looked(exchange, lambda answer: _total(answer) in (None, len(lists.kept(filters))))
    lists.judge(COMBINE, exchange, [], what, part=True)
    # Elements that the run does not know may have the status.
    page = page_of(exchange)
    if page is not None and _total(lists.unfiltered) == len(lists.ids):
        ctx.expect(COMBINE, *number_is(what, page, "total", len(lists.kept(filters))))


def _total(exchange: Exchange) -> int | None:
    page = page_of(exchange)
    return page.total if page else None


def past_the_last(ctx: CheckContext, done: Walk, filters: Parameters) -> None:
    """Judges total and echo of the page after the last one of a walk, unless it is refused: a query that
    counts the elements of its page has no total there."""
    what = "the page past the last between two dates"
    number = pages_of(len(set(done.ids)), done.size) + 1
    exchange = ctx.send(done.pages[0].exchange.call.with_query(query(number, done.size, filters)), what)
    if page := usable_page(ctx, COMBINE, exchange, what, refusable=True):
        ctx.expect(COMBINE, *number_is(what, page, "total", len(set(done.ids))), *done.page_exchanges)
        judge_by_query(ctx, exchange, "list.echo")


def walk_through(ctx: CheckContext, lists: Filtered, filters: Parameters) -> Walk | None:
    """Judges a walk through a filtered list; returns it if complete, with each element once on full pages."""
    kept = lists.kept(filters)
    named = " and ".join(dict.fromkeys(name for name, _ in filters))
    size = max(1, min(WALKED_SIZE, (len(kept) - 1) // 2))
    what = f"pages of size {size} filtered by {named}"

    def good(done: Walk) -> bool:
        # Totals differ where a status changes during the walk.
        shown, totals = set(done.ids) & lists.ids, {page.total for page in done.pages}
        if done.broken or len(totals) != 1 or shown == lists.kept(filters):
            return bool(done.broken) or len(totals) == 1
        lists.read()
        return shown == lists.kept(filters)

    done = ctx.eventually(lambda: walk(ctx.send, lists.call, size=size, filters=filters), good)
    kept = lists.kept(filters)
    if not kept or not judge_whole(ctx, COMBINE, done, kept, what):
        return None
    sentence = f"{what}: none but the {len(kept)} elements that fit"
    ctx.expect(
        COMBINE,
        *keeps_what_fits(sentence, lists.unfiltered, done.page_exchanges, lists.ids, only_leaves_out=True),
    )
    shown = [item for page in done.pages for item in page.items]
    compared(ctx, shown, lists.stock.created, done.page_exchanges)
    known = len(set(done.ids)) == len(kept)
    if known:
        judge_totals(ctx, COMBINE, done.pages, len(kept), what)
    for number, found in enumerate(done.pages, 1):
        ctx.expect("list.echo", *number_is(what, found, "page", number))
        ctx.expect("list.echo", *number_is(what, found, "size", size))
        ctx.expect("list.pages", *count_of_pages(what, found, size))
        # Only the number of pages without filters is surely a defect of the filter.
        right, unfiltered = pages_of(len(kept), size), pages_of(len(lists.ids), size)
        if known and found.pages is not None and right != unfiltered:
            sentence = f"{what}: pages {right}, as many as the {len(kept)} elements fill"
            own = found.size and pages_of(found.total or 0, found.size) == unfiltered
            wrong = found.pages == unfiltered and not own
            got = f"pages {unfiltered}, which is those of all elements" if wrong else ""
            ctx.expect(COMBINE, sentence, got, found.exchange)
    return None if done.cut else done


def no_period(ctx: CheckContext, lists: Filtered) -> None:
    """Judges that a period of no length, or one that ends before it begins, holds nothing; a server may
    refuse it as none."""
    text = lists.elements[len(lists.elements) // 2]["created"]
    earliest, latest = lists.in_time[0]["created"], lists.in_time[-1]["created"]
    for what, start, end in (
        ("start_date and end_date at the same instant", text, text),
        ("an end_date before the start_date", latest, earliest),
    ):
        exchange = lists.send([("start_date", start), ("end_date", end)], what)
        if exchange.refused:
            ctx.unclear(COMBINE, "a period of no length was refused", exchange)
        else:
            lists.judge(COMBINE, exchange, [], what)
