"""Filters of the lists in an account: sections 4.3, 4.5 and 4.6 of the specification.

What a filter must keep is computed from what the list itself shows of its elements, so that it does not
matter how finely a server shows or stores instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.checks.check import check
from conformance.checks.check_context import CheckContext
from conformance.checks.list_judging import (
    FAR_FUTURE,
    FAR_PAST,
    Filtered,
    compared,
    dates,
    item_fields,
    judge_totals,
    judge_whole,
)
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.expectations import CannotTell, predicate
from conformance.judge.paging import count_of_pages, echoes, keeps_what_fits
from conformance.judge.queries import rules_of
from conformance.wire.messages import Exchange
from conformance.wire.pages import DEFAULT_SIZE, Parameters, Walk, page_of, pages_of, status_filter, walk
from conformance.wire.provenance import derive
from conformance.world.samples import OTHER_CURRENCIES

#: Statuses that the list queries name themselves; a server may not know the others as a filter.
_NAMED_STATUSES = {
    "listPayoutDestinations": ("active", "disabled", "inactive"),
    "listVirtualAccounts": ("active", "suspended"),
    "listWallets": ("active", "suspended"),
}

_COMBINE = "list.filters-combine"

#: Kinds of filters, by the names of the first of each.
_KINDS = ("currency", "status", "start_date", "end_date")

#: The size of the pages in which filtered lists are read.
_SIZE = 3


# ---------------------------------------------------------------------- dates


@check("list.start-date", "list.complete")
def test_start_date(ctx: CheckContext) -> None:
    """Filters by the created of elements, exactly as shown, just after it, by seconds, and far off: at or
    after it."""
    _judge_dates(ctx, "list.start-date", "start_date")


@check("list.end-date", "list.complete")
def test_end_date(ctx: CheckContext) -> None:
    """Filters by the created of elements, exactly as shown, just after it, by seconds, and far off: before
    it."""
    _judge_dates(ctx, "list.end-date", "end_date")


@check("list.date-offset")
def test_date_with_an_offset(ctx: CheckContext) -> None:
    """Filters by the created of an element, written with an offset: what it keeps is what the same instant in
    UTC keeps, unless it is refused."""
    rule, lists = "list.date-offset", Filtered(ctx)
    chosen = lists.in_time[len(lists.elements) // 2]["created"]
    for name in ("start_date", "end_date"):
        in_utc = [(name, chosen)]
        expected = lists.kept(in_utc)
        plain = lists.shows(lists.send(in_utc, f"{name} in UTC, to compare with"), in_utc)
        if (page := page_of(plain)) is None or set(page.ids) & lists.ids != expected:
            ctx.skip_judgement(
                rule, f"{name} does not work in UTC", plain, cause=f"list.{name.replace('_', '-')}"
            )
            continue
        for minutes in (120, -210):
            text = derive(chosen, f"offset.{minutes}")
            what = f"{name} with the offset {text[-6:]}"
            sentence = f"{what}: the {len(expected)} elements of that instant in UTC, or a refusal"
            same = refused_or_alike(sentence, ids=sorted(lists.ids))
            exchange = lists.shows(lists.send([(name, text)], what), in_utc)
            ctx.judge(rule, same, exchange, plain)


@predicate
def refused_or_alike(exchanges: Sequence[Exchange], ids: Sequence[str]) -> str:
    """A page shows those of the elements with these ids that the second answer shows, or the request is
    refused."""
    answer, plain = exchanges[:2]
    if answer.refused:
        return ""
    pages = page_of(answer), page_of(plain)
    if pages[0] is None or pages[1] is None:
        raise CannotTell(f"{answer.purpose} was answered {answer.described()}", "list.envelope")
    # The times of a replay's elements are others, and so are those that the filter keeps.
    shown, expected = (set(page.ids) & set(ids) for page in pages if page)
    return "" if shown == expected else f"{len(shown)} elements"


def _judge_dates(ctx: CheckContext, rule: str, name: str) -> None:
    lists = Filtered(ctx)
    for what, text in dates(lists.elements):
        lists.probe(rule, [(name, text)], f"{name} {what}")


# ---------------------------------------------------------------------- status and currency


@check("list.status-filter", "list.complete")
def test_status_filter(ctx: CheckContext) -> None:
    """Filters by each status: the elements that have it, none for a status that no element has."""
    lists = Filtered(ctx)
    name = "status" if "status" in ctx.operation.query_parameters else "statuses"
    for status in _statuses(ctx):
        what = f"{name} {status}"
        if not ctx.wanted(what):
            continue
        parameters = _status(ctx, status)
        exchange = lists.send(parameters, what)
        if exchange.refused and status not in _NAMED_STATUSES[ctx.operation.id]:
            ctx.skip_judgement(
                "list.status-filter",
                f"{what} was refused, which may be as the server does not know it",
                exchange,
            )
        else:
            lists.judge("list.status-filter", exchange, lists.kept(parameters), what)


def _status(ctx: CheckContext, *values: str) -> Parameters:
    return status_filter(ctx.operation.id, ctx.target.array_style, *values)


def _statuses(ctx: CheckContext) -> list[str]:
    """The statuses of a list's resource, those first that its query names (section 3)."""
    shown = item_fields(ctx.operation.id)["status"].get("enum", ())
    return list(dict.fromkeys([*_NAMED_STATUSES[ctx.operation.id], *shown]))


@check("list.currency-filter", "list.complete")
def test_currency_filter(ctx: CheckContext) -> None:
    """Filters by each currency in the list, by currencies that nothing in it has, and by wildcards."""
    lists = Filtered(ctx)
    for currency in sorted({str(item.get("currency", "")) for item in lists.elements}):
        lists.probe("list.currency-filter", [("currency", currency)], f"currency {currency}")
    refused = []
    for currency in _absent_currencies(ctx.operation.id, lists.elements):
        what = f"currency {currency}, which nothing has"
        if not ctx.wanted(what):
            continue
        exchange = lists.send([("currency", currency)], what)
        if exchange.refused:
            # The server may not know it.
            refused.append((what, exchange))
        else:
            lists.judge("list.currency-filter", exchange, [], what)
    for what, exchange in refused:
        ctx.skip_judgement("list.currency-filter", f"{what}, was refused {exchange.status}", exchange)
    code = str(lists.elements[0].get("currency", ""))
    for wildcard in dict.fromkeys((f"_{code[1:]}", f"%{code[1:]}", f"{code[:-1]}_", f"{code[:2]}%")):
        # Such a currency is malformed: it may be refused, or ignored, or have no elements, but not some.
        what = f"currency {wildcard}, which is not a code"
        if ctx.wanted(what) and not (exchange := lists.send([("currency", wildcard)], what)).refused:
            expected = f"{what}: no elements, all elements, or a refusal"
            ctx.judge("list.currency-filter", all_or_none(expected, ids=sorted(lists.ids)), exchange)


def _absent_currencies(operation: str, elements: Sequence[dict[str, Any]]) -> list[str]:
    """Currencies that nothing in the list has, among them beginnings of such as it has."""
    present = {element.get("currency") for element in elements}
    candidates = (
        ["USD", "BTC", "ETH", "EUR", "USDT", "USDC"]
        if TRAITS[ADDS_TO[operation]].unique_pair
        else [*OTHER_CURRENCIES, "JPY", "CHF", "CAD"]
    )
    return [code for code in candidates if code not in present][:3]


@predicate
def all_or_none(exchanges: Sequence[Exchange], ids: Sequence[str]) -> str:
    """A page shows no elements at all, or all of these, or the request is refused."""
    found = page_of(exchanges[0])
    some = found is not None and found.ids and not set(found.ids) >= set(ids)
    return "some of the elements" if some else ""


# ---------------------------------------------------------------------- several filters


@check(
    "list.filters-combine",
    "list.complete",
    "list.pages",
    "list.echo",
)
def test_filters_combine(ctx: CheckContext) -> None:
    """Joins filters of which each alone keeps something else, and pages through what they keep."""
    lists = Filtered(ctx)
    valid = _working_filters(ctx, lists)
    names = list(valid)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            neutral = all(lists.kept(valid[name]) == lists.ids for name in (first, second))
            if rules_of(valid[first]) != rules_of(valid[second]) and not neutral:
                _combine(ctx, lists, valid[first] + valid[second], f"{first} and {second}")
    everything = [pair for name in _KINDS for pair in valid.get(name, [])]
    if len(everything) > 2:
        _combine(ctx, lists, everything, "all filters together")
        _combine(ctx, lists, everything[::-1], "all filters together, in reverse order")
    if (unused := "status that nothing has") in valid and {"start_date", "end_date"} <= valid.keys():
        both = [*valid.get("currency", []), *valid[unused], *valid["start_date"], *valid["end_date"]]
        _combine(ctx, lists, both, f"{unused}, with all other filters")
    walked = [
        ("start_date",),
        ("currency",) if "currency" in valid else ("end_date",),
        ("start_date", "end_date"),
        ("status", "end_date"),
    ]
    if {"start_date", "end_date"} <= valid.keys():
        _no_period(ctx, lists)
    plain = walk(ctx.send, lists.call, size=_SIZE)
    if plain.broken or plain.repeated or plain.total != len(plain.ids):
        ctx.skip_judgement(
            _COMBINE,
            "the list cannot be paged through even without filters",
            *plain.exchanges[:2],
            cause="list.walk",
        )
        return
    for filters in [
        *([pair for name in names for pair in valid[name]] for names in walked if valid.keys() >= set(names)),
        everything,
    ]:
        if filters:
            _walk(ctx, lists, filters)


def _working_filters(ctx: CheckContext, lists: Filtered) -> dict[str, Parameters]:
    """The filters that work alone; those that do not are other rules' business. Judges totals on the way."""
    valid = {}
    for name, filters in lists.filters().items():
        exchange = lists.shows(lists.send(filters, f"{name} alone"), filters)
        found, kept = page_of(exchange), lists.kept(filters)
        if found is None or set(found.ids) & lists.ids != kept:
            reason = f"the filter {name} does not work alone"
            ctx.skip_judgement(_COMBINE, reason, exchange, cause=rules_of(filters)[0])
            continue
        valid[name] = filters
        judge_totals(ctx, _COMBINE, [found], len(found.ids), f"{name} alone")
        if not ctx.wanted(f"{name} without page and size"):
            continue
        # The page may hold more than is known of.
        if len(kept) < len(lists.elements) and len(set(found.ids)) <= DEFAULT_SIZE:
            what = f"{name} without page and size"
            lists.judge(_COMBINE, ctx.send(lists.call.with_query(filters), what), kept, what)
    return valid


def _combine(ctx: CheckContext, lists: Filtered, filters: Parameters, what: str) -> None:
    if found := lists.probe(_COMBINE, filters, what):
        judge_totals(ctx, _COMBINE, [found], len(found.ids), what)


def _walk(ctx: CheckContext, lists: Filtered, filters: Parameters) -> None:
    kept = lists.kept(filters)
    named = " and ".join(dict.fromkeys(name for name, _ in filters))
    size = _SIZE if len(kept) > _SIZE + 1 else 1
    what = f"pages of size {size} filtered by {named}"
    if not ctx.wanted(what):
        return

    def good(done: Walk) -> bool:
        # A status that moves while pages are read makes their totals differ.
        shown, totals = set(done.ids) & lists.ids, {page.total for page in done.pages}
        if done.broken or len(totals) != 1 or shown == lists.kept(filters):
            return bool(done.broken) or len(totals) == 1
        lists.read()
        return shown == lists.kept(filters)

    done = ctx.eventually(lambda: walk(ctx.send, lists.call, size=size, filters=filters), good)
    kept = lists.kept(filters)
    if not kept or not judge_whole(ctx, _COMBINE, done, kept, what):
        return
    sentence = f"{what}: none but the {len(kept)} elements that fit"
    fitting = keeps_what_fits(sentence, ids=sorted(lists.ids), only_leaves_out=True)
    ctx.judge(_COMBINE, fitting, lists.unfiltered, *done.page_exchanges)
    shown = [item for page in done.pages for item in page.items]
    compared(ctx, shown, lists.list_fixture.created, done.page_exchanges)
    known = len(set(done.ids)) == len(kept)
    if known:
        judge_totals(ctx, _COMBINE, done.pages, len(kept), what)
    for number, found in enumerate(done.pages, 1):
        ctx.judge("list.echo", echoes(what, "page", number), found.exchange)
        ctx.judge("list.echo", echoes(what, "size", size), found.exchange)
        ctx.judge("list.pages", count_of_pages(what, size), found.exchange)
        # Only the number of pages of all elements is sure to be a mistake about the filter.
        right, unfiltered = pages_of(len(kept), size), pages_of(len(lists.ids), size)
        if known and found.pages is not None and right != unfiltered:
            sentence = f"{what}: pages {right}, as many as the {len(kept)} elements fill"
            ctx.judge(_COMBINE, not_pages_of_all(sentence, pages=unfiltered), found.exchange)


@predicate
def not_pages_of_all(exchanges: Sequence[Exchange], pages: int) -> str:
    """A filtered list does not have so many pages as it has without its filters, `pages`, unless its own
    total fills them: on the server of a replay more elements may fit."""
    page = page_of(exchanges[0])
    if page is None or page.pages != pages or (page.size and pages_of(page.total or 0, page.size) == pages):
        return ""
    return f"pages {pages}, which is those of all elements"


def _no_period(ctx: CheckContext, lists: Filtered) -> None:
    """A period that begins and ends at one instant, or ends before it begins, holds nothing; a server may
    refuse it as none."""
    text = lists.elements[len(lists.elements) // 2]["created"]
    earliest, latest = lists.in_time[0]["created"], lists.in_time[-1]["created"]
    for what, start, end in (
        ("start_date and end_date at the same instant", text, text),
        ("an end_date before the start_date", latest, earliest),
    ):
        if not ctx.wanted(what):
            continue
        exchange = lists.send([("start_date", start), ("end_date", end)], what)
        if exchange.refused:
            ctx.skip_judgement(_COMBINE, "a period of no length was refused", exchange)
        else:
            lists.judge(_COMBINE, exchange, [], what)


# ---------------------------------------------------------------------- what is not fixed


@check("list.several-statuses")
def test_several_statuses(ctx: CheckContext) -> None:
    """Sends two statuses in the style that the target file names."""
    lists = Filtered(ctx)
    style = ctx.target.array_style
    for values in (("active", "inactive"), ("inactive", "active")):
        exchange = lists.send(_status(ctx, *values), f"statuses {' and '.join(values)}")
        ctx.observe(
            "list.several-statuses",
            f"statuses {', '.join(values)} ({style})",
            _effect(lists, exchange),
            exchange,
        )


@check("list.odd-filters")
def test_odd_filters(ctx: CheckContext) -> None:
    """Filters by statuses, dates and currencies that are none, or written in another way."""
    lists = Filtered(ctx)
    probes: dict[str, Parameters] = {
        "an unknown status": _status(ctx, "conformance"),
        "an empty status": _status(ctx, ""),
        "a malformed start_date": [("start_date", "yesterday")],
        "a malformed end_date": [("end_date", "2026-02-30T00:00:00Z")],
        "a start_date without a time": [("start_date", FAR_FUTURE[:10])],
        "a start_date with another offset": [("start_date", FAR_FUTURE.replace("Z", "+02:00"))],
        "start_date after end_date": [("start_date", FAR_FUTURE), ("end_date", FAR_PAST)],
    }
    if "currency" in ctx.operation.query_parameters:
        probes["a malformed currency"] = [("currency", "E")]
        probes["a currency in lower case"] = [
            ("currency", str(lists.elements[0].get("currency", "")).lower())
        ]
    for what, parameters in probes.items():
        exchange = lists.send(parameters, what)
        ctx.observe("list.odd-filters", what, _effect(lists, exchange), exchange)


def _effect(lists: Filtered, exchange: Exchange) -> str:
    """Effect of a filter, in words that do not change from run to run."""
    found = page_of(exchange)
    if found is None:
        return f"refused {exchange.status}" if exchange.refused else f"answered {exchange.status}"
    shown = set(found.ids)
    if not shown:
        return "no elements"
    return "all elements" if shown >= lists.ids else "some of the elements"
