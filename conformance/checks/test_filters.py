"""Filters of the lists in an account: sections 4.3, 4.5 and 4.6 of the specification.

What a filter must keep is computed from what the list itself shows of its elements, so that it does not
matter how finely a server shows or stores instants.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from conformance.checks.check import check
from conformance.checks.context import CheckContext
from conformance.checks.filters import (
    FAR_FUTURE,
    FAR_PAST,
    Filter,
    Filtered,
    absent_currencies,
    dates,
    end_date,
    start_date,
)
from conformance.checks.lists import compared, item_fields, judge_totals, judge_whole, status_filter
from conformance.contract.rules import RULES
from conformance.contract.timestamps import parse
from conformance.judge.expectations import CannotTell, predicate
from conformance.judge.pages import count_of_pages, keeps_what_fits, number_is
from conformance.wire.messages import Exchange
from conformance.wire.pages import DEFAULT_SIZE, Parameters, Walk, page_of, pages_of, statuses, walk
from conformance.wire.provenance import derive
from conformance.world.habits import eventually

#: Statuses that the list queries name themselves; a server may not know the others as a filter.
_NAMED_STATUSES = {
    "listPayoutDestinations": ("active", "disabled", "inactive"),
    "listVirtualAccounts": ("active", "suspended"),
    "listWallets": ("active", "suspended"),
}

_COMBINE = "list.filters-combine"

#: The size of the pages in which filtered lists are read.
_SIZE = 3


# ---------------------------------------------------------------------- dates


@check("list.start-date", "list.complete", operations=tuple(RULES["list.start-date"].operations))
def test_start_date(ctx: CheckContext) -> None:
    """Filters by the created of elements, exactly as shown, just after it, by seconds, and far off: at or
    after it."""
    _judge_dates(ctx, "list.start-date", start_date, "start_date", operator.ge)


@check("list.end-date", "list.complete", operations=tuple(RULES["list.end-date"].operations))
def test_end_date(ctx: CheckContext) -> None:
    """Filters by the created of elements, exactly as shown, just after it, by seconds, and far off: before
    it."""
    _judge_dates(ctx, "list.end-date", end_date, "end_date", operator.lt)


@check("list.date-offset", operations=tuple(RULES["list.date-offset"].operations))
def test_date_with_an_offset(ctx: CheckContext) -> None:
    """Filters by the created of an element, written with an offset: what it keeps is what the same instant in
    UTC keeps, unless it is refused."""
    rule, lists = "list.date-offset", Filtered(ctx)
    chosen = lists.in_time[len(lists.elements) // 2]
    for name, query, keeps in (("start_date", start_date, operator.ge), ("end_date", end_date, operator.lt)):
        expected = {element.id for element in lists.elements if keeps(element.created, chosen.created)}
        plain = lists.send(query(chosen.text), f"{name} in UTC, to compare with")
        plain = lists.shows(plain, expected)
        if (page := page_of(plain)) is None or set(page.ids) & lists.ids != expected:
            ctx.skip_judgement(
                rule, f"{name} does not work in UTC", plain, cause=f"list.{name.replace('_', '-')}"
            )
            continue
        for minutes in (120, -210):
            text = derive(chosen.text, f"offset.{minutes}")
            what = f"{name} with the offset {text[-6:]}"
            sentence = f"{what}: the {len(expected)} elements of that instant in UTC, or a refusal"
            same = refused_or_kept(sentence, ids=sorted(lists.ids), kept=sorted(expected))
            exchange = lists.shows(lists.send(query(text), what), expected)
            ctx.judge(rule, same, exchange)


@predicate
def refused_or_kept(exchanges: Sequence[Exchange], ids: Sequence[str], kept: Sequence[str]) -> str:
    """A page shows just some of the elements with these ids, or the request is refused."""
    answer = exchanges[0]
    if answer.refused:
        return ""
    if (found := page_of(answer)) is None:
        raise CannotTell(f"{answer.purpose} was answered {answer.described()}", "list.envelope")
    shown = {identifier for identifier in found.ids if identifier in ids}
    return "" if shown == set(kept) else f"{len(shown)} elements"


def _judge_dates(
    ctx: CheckContext,
    rule: str,
    query: Callable[[str], Parameters],
    name: str,
    keeps: Callable[[Fraction, Fraction], bool],
) -> None:
    """Filters by several dates; `keeps` says whether an element of one instant passes the filter by
    another."""
    lists = Filtered(ctx)
    for what, text in dates(lists.elements):
        instant = parse(text)
        assert instant is not None
        expected = [element for element in lists.elements if keeps(element.created, instant)]
        lists.keeps(rule, query(text), expected, f"{name} {what}")


# ---------------------------------------------------------------------- status and currency


@check("list.status-filter", "list.complete", operations=tuple(RULES["list.status-filter"].operations))
def test_status_filter(ctx: CheckContext) -> None:
    """Filters by each status: the elements that have it, none for a status that no element has."""
    lists = Filtered(ctx)
    for status in _statuses(ctx):
        what = f"{lists.status_name} {status}"
        if not ctx.wanted(what):
            continue
        parameters = status_filter(ctx, status)
        expected = [element for element in lists.elements if element.status == status]
        exchange = lists.send(parameters, what)
        if exchange.refused and status not in _NAMED_STATUSES[ctx.operation.id]:
            ctx.skip_judgement(
                "list.status-filter",
                f"{what} was refused, which may be as the server does not know it",
                exchange,
            )
        else:
            lists.judge("list.status-filter", exchange, expected, what)


def _statuses(ctx: CheckContext) -> list[str]:
    """The statuses of a list's resource, those first that its query names (section 3)."""
    shown = item_fields(ctx.operation.id)["status"].get("enum", ())
    return list(dict.fromkeys([*_NAMED_STATUSES[ctx.operation.id], *shown]))


@check("list.currency-filter", "list.complete", operations=tuple(RULES["list.currency-filter"].operations))
def test_currency_filter(ctx: CheckContext) -> None:
    """Filters by each currency in the list, by currencies that nothing in it has, and by wildcards."""
    lists = Filtered(ctx)
    for currency in sorted({element.currency for element in lists.elements}):
        lists.keeps(
            "list.currency-filter",
            [("currency", currency)],
            [element for element in lists.elements if element.currency == currency],
            f"currency {currency}",
        )
    refused = []
    for currency in absent_currencies(ctx.operation.id, lists.elements):
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
    code = lists.elements[0].currency
    for wildcard in dict.fromkeys((f"_{code[1:]}", f"%{code[1:]}", f"{code[:-1]}_", f"{code[:2]}%")):
        _judge_wildcard(ctx, lists, wildcard)


def _judge_wildcard(ctx: CheckContext, lists: Filtered, wildcard: str) -> None:
    """Such a currency is malformed: it may be refused, or ignored, or have no elements, but not some."""
    what = f"currency {wildcard}, which is not a code"
    if ctx.wanted(what) and not (exchange := lists.send([("currency", wildcard)], what)).refused:
        expected = f"{what}: no elements, all elements, or a refusal"
        ctx.judge("list.currency-filter", all_or_none(expected, ids=sorted(lists.ids)), exchange)


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
    operations=tuple(RULES["list.filters-combine"].operations),
)
def test_filters_combine(ctx: CheckContext) -> None:
    """Joins filters of which each alone keeps something else, and pages through what they keep."""
    lists = Filtered(ctx)
    valid = _working_filters(ctx, lists)
    names = list(valid)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            neutral = all(valid[name].kept(lists.elements) == lists.ids for name in (first, second))
            if valid[first].rule != valid[second].rule and not neutral:
                _combine(ctx, lists, [valid[first], valid[second]], f"{first} and {second}")
    everything = [valid[name] for name in ("currency", "status", "start_date", "end_date") if name in valid]
    if len(everything) > 2:
        _combine(ctx, lists, everything, "all filters together")
        _combine(ctx, lists, everything[::-1], "all filters together, in reverse order")
    if (unused := "status that nothing has") in valid and {"start_date", "end_date"} <= valid.keys():
        names_of_all = [name for name in ("currency", unused, "start_date", "end_date") if name in valid]
        _combine(ctx, lists, [valid[name] for name in names_of_all], f"{unused}, with all other filters")
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
        *([valid[name] for name in names] for names in walked if valid.keys() >= set(names)),
        everything,
    ]:
        if filters:
            _walk(ctx, lists, filters)


def _working_filters(ctx: CheckContext, lists: Filtered) -> dict[str, Filter]:
    """The filters that work alone; those that do not are other rules' business. Judges totals on the way."""
    valid = {}
    for name, filtered in lists.filters().items():
        exchange = lists.send(filtered.parameters, f"{name} alone")
        exchange = lists.shows(exchange, filtered)
        found = page_of(exchange)
        if found is None or set(found.ids) & lists.ids != filtered.kept(lists.elements):
            ctx.skip_judgement(
                _COMBINE, f"the filter {name} does not work alone", exchange, cause=filtered.rule
            )
            continue
        valid[name] = filtered
        judge_totals(ctx, _COMBINE, [found], len(found.ids), f"{name} alone")
        if not ctx.wanted(f"{name} without page and size"):
            continue
        kept = [element for element in lists.elements if filtered.keeps(element)]
        # The page may hold more than is known of.
        if len(kept) < len(lists.elements) and len(set(found.ids)) <= DEFAULT_SIZE:
            what = f"{name} without page and size"
            lists.judge(_COMBINE, ctx.send(lists.call.with_query(filtered.parameters), what), kept, what)
    return valid


def _combine(ctx: CheckContext, lists: Filtered, filters: list[Filter], what: str) -> None:
    expected = [element for element in lists.elements if all(each.keeps(element) for each in filters)]
    parameters = [pair for each in filters for pair in each.parameters]
    if found := lists.keeps(_COMBINE, parameters, expected, what):
        judge_totals(ctx, _COMBINE, [found], len(found.ids), what)


def _kept(lists: Filtered, filters: list[Filter], *, anew: bool = False) -> list[str]:
    """The ids of the elements that filters keep together; `anew`, as the list shows them now."""
    if anew:
        lists.read()
    return [element.id for element in lists.elements if all(each.keeps(element) for each in filters)]


def _walk(ctx: CheckContext, lists: Filtered, filters: list[Filter]) -> None:
    kept = _kept(lists, filters)
    parameters = [pair for each in filters for pair in each.parameters]
    named = " and ".join(dict.fromkeys(name for name, _ in parameters))
    size = _SIZE if len(kept) > _SIZE + 1 else 1
    what = f"pages of size {size} filtered by {named}"
    if not ctx.wanted(what):
        return

    def good(done: Walk) -> bool:
        # A status that moves while pages are read makes their totals differ.
        shown, totals = set(done.ids) & lists.ids, {page.total for page in done.pages}
        return bool(done.broken) or (
            len(totals) == 1 and any(shown == set(_kept(lists, filters, anew=anew)) for anew in (False, True))
        )

    done = eventually(
        ctx.run.cache,
        ctx.operation.id,
        lambda: walk(ctx.send, lists.call, size=size, filters=parameters),
        good,
    )
    kept = _kept(lists, filters)
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
        ctx.judge("list.echo", number_is(what, "page", number), found.exchange)
        ctx.judge("list.echo", number_is(what, "size", size), found.exchange)
        ctx.judge("list.pages", count_of_pages(what, size), found.exchange)
        # Only the number of pages of all elements is sure to be a mistake about the filter.
        right, unfiltered = pages_of(len(kept), size), pages_of(len(lists.ids), size)
        if known and found.pages is not None and right != unfiltered:
            sentence = f"{what}: pages {right}, as many as the {len(kept)} elements fill"
            ctx.judge(_COMBINE, not_pages_of_all(sentence, pages=unfiltered), found.exchange)


@predicate
def not_pages_of_all(exchanges: Sequence[Exchange], pages: int) -> str:
    """A filtered list does not have so many pages as it has without its filters."""
    return f"pages {pages}, which is those of all elements" if exchanges[0].get("pages") == pages else ""


def _no_period(ctx: CheckContext, lists: Filtered) -> None:
    """A period that begins and ends at one instant, or ends before it begins, holds nothing; a server may
    refuse it as none."""
    text = lists.elements[len(lists.elements) // 2].text
    earliest, latest = lists.in_time[0].text, lists.in_time[-1].text
    for what, start, end in (
        ("start_date and end_date at the same instant", text, text),
        ("an end_date before the start_date", latest, earliest),
    ):
        if not ctx.wanted(what):
            continue
        exchange = lists.send([*start_date(start), *end_date(end)], what)
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
        exchange = lists.send(statuses(style, *values), f"statuses {' and '.join(values)}")
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
        "an unknown status": status_filter(ctx, "conformance"),
        "an empty status": status_filter(ctx, ""),
        "a malformed start_date": start_date("yesterday"),
        "a malformed end_date": end_date("2026-02-30T00:00:00Z"),
        "a start_date without a time": start_date(FAR_FUTURE[:10]),
        "a start_date with another offset": start_date(FAR_FUTURE.replace("Z", "+02:00")),
        "start_date after end_date": [*start_date(FAR_FUTURE), *end_date(FAR_PAST)],
    }
    if "currency" in ctx.operation.query_parameters:
        probes["a malformed currency"] = [("currency", "E")]
        probes["a currency in lower case"] = [("currency", lists.elements[0].currency.lower())]
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
