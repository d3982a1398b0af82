"""Filters of the lists in an account (sections 4.3, 4.5 and 4.6).

The elements to expect are computed from what the unfiltered list shows, so the resolution in which a server
stores or shows timestamps does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.checks.check import CheckContext, check
from conformance.checks.filter_combinations import (
    COMBINE,
    WALKED_SIZE,
    combine,
    later_page,
    no_period,
    past_the_last,
    walk_through,
    working_filters,
)
from conformance.checks.filtered_list import FAR_FUTURE, FAR_PAST, Filtered, dates
from conformance.checks.list_judging import item_fields
from conformance.contract.timestamps import with_offset
from conformance.contract.traits import ADDS_TO, TRAITS
from conformance.judge.queries import rules_of
from conformance.wire.messages import Exchange
from conformance.wire.pages import (
    MAX_SIZE,
    Parameters,
    page_of,
    query,
    status_filter,
    walk,
)
from conformance.world.samples import OTHER_CURRENCIES

#: Statuses that the list queries name (sections 4.3, 4.5 and 4.6); a server may refuse others.
_NAMED_STATUSES = {
    "listPayoutDestinations": ("active", "disabled", "inactive"),
    "listVirtualAccounts": ("active", "suspended"),
    "listWallets": ("active", "suspended"),
}

#: One filter of each kind, in the order in which they are combined.
_KINDS = ("currency", "status", "start_date", "end_date")


# ---------------------------------------------------------------------- dates


@check("list.start-date", "list.filters-combine", "list.complete")
def test_start_date(ctx: CheckContext) -> None:
    """Sends as start_date the `created` of elements, a moment after it, whole seconds and distant dates:
    exactly the elements created at or after it come back."""
    _judge_dates(ctx, "list.start-date", "start_date")


@check("list.end-date", "list.filters-combine", "list.complete")
def test_end_date(ctx: CheckContext) -> None:
    """Sends as end_date the `created` of elements, a moment after it, whole seconds and distant dates:
    exactly the elements created before it come back."""
    _judge_dates(ctx, "list.end-date", "end_date")


@check("list.date-offset")
def test_date_with_an_offset(ctx: CheckContext) -> None:
    """Sends the `created` of an element as a date with a UTC offset: refused, or the same elements as for the
    same instant in UTC."""
    rule, lists = "list.date-offset", Filtered(ctx)
    chosen = lists.in_time[len(lists.elements) // 2]["created"]
    for name in ("start_date", "end_date"):
        in_utc = [(name, chosen)]
        expected = lists.kept(in_utc)
        plain = lists.shows(lists.send(in_utc, f"{name} in UTC, to compare with"), in_utc)
        if (page := page_of(plain)) is None or set(page.ids) & lists.ids != expected:
            ctx.unclear(rule, f"{name} does not work in UTC", plain, cause=f"list.{name.replace('_', '-')}")
            continue
        for minutes in (120, -210):
            text = with_offset(chosen, minutes)
            what = f"{name} with the offset {text[-6:]}"
            sentence = f"{what}: the {len(expected)} elements of that instant in UTC, or a refusal"
            exchange = lists.shows(lists.send([(name, text)], what), in_utc)
            if exchange.refused:
                ctx.expect(rule, sentence, "", exchange)
            elif (answer := page_of(exchange)) is None:
                reason = f"{what} was answered {exchange.described()}"
                ctx.unclear(rule, reason, exchange, cause="list.envelope")
            else:
                got = set(answer.ids) & lists.ids
                alike = got == set(page.ids) & lists.ids
                ctx.expect(rule, sentence, "" if alike else f"{len(got)} elements", exchange, plain)


def _judge_dates(ctx: CheckContext, rule: str, name: str) -> None:
    lists = Filtered(ctx)
    for what, text in dates(lists.elements):
        lists.probe(rule, [(name, text)], f"{name} {what}")


# ---------------------------------------------------------------------- status and currency


@check("list.status-filter", "list.complete")
def test_status_filter(ctx: CheckContext) -> None:
    """Filters by each status: exactly the elements with that status come back, or none."""
    lists = Filtered(ctx)
    name = "status" if "status" in ctx.operation.query_parameters else "statuses"
    for status in _statuses(ctx):
        what = f"{name} {status}"
        parameters = _status(ctx, status)
        exchange = lists.send(parameters, what)
        if exchange.refused and status not in _NAMED_STATUSES[ctx.operation.id]:
            ctx.unclear(
                "list.status-filter",
                f"{what} was refused, which may be as the server does not know it",
                exchange,
            )
        else:
            lists.judge("list.status-filter", exchange, lists.kept(parameters), what)


def _status(ctx: CheckContext, *values: str) -> Parameters:
    return status_filter(ctx.operation.id, ctx.target.array_style, *values)


def _statuses(ctx: CheckContext) -> list[str]:
    """The statuses of the listed resource (section 3), first those that the query names."""
    shown = item_fields(ctx.operation.id)["status"].get("enum", ())
    return list(dict.fromkeys([*_NAMED_STATUSES[ctx.operation.id], *shown]))


@check("list.currency-filter", "list.filters-combine", "list.complete")
def test_currency_filter(ctx: CheckContext) -> None:
    """Filters by present and absent currencies (matched exactly) and by SQL wildcards (no partial match)."""
    lists = Filtered(ctx)
    for currency in sorted({str(item.get("currency", "")) for item in lists.elements}):
        lists.probe("list.currency-filter", [("currency", currency)], f"currency {currency}")
    refused = []
    for currency in _absent_currencies(ctx.operation.id, lists.elements):
        what = f"currency {currency}, which nothing has"
        exchange = lists.send([("currency", currency)], what)
        if exchange.refused:
            # A server may refuse currencies that it does not support.
            refused.append((what, exchange))
        else:
            lists.counted(lists.judge("list.currency-filter", exchange, [], what), what)
    for what, exchange in refused:
        ctx.unclear("list.currency-filter", f"{what}, was refused {exchange.status}", exchange)
    code = str(lists.elements[0].get("currency", ""))
    for wildcard in dict.fromkeys((f"_{code[1:]}", f"%{code[1:]}", f"{code[:-1]}_", f"{code[:2]}%")):
        # A malformed currency may be refused, ignored or match nothing; a partial match is a LIKE query.
        what = f"currency {wildcard}, which is not a code"
        if not (exchange := lists.send([("currency", wildcard)], what)).refused:
            expected = f"{what}: no elements, all elements, or a refusal"
            found = page_of(exchange)
            some = found is not None and found.ids and not set(found.ids) >= lists.ids
            got = "some of the elements" if some else ""
            ctx.expect("list.currency-filter", expected, got, exchange)


def _absent_currencies(operation: str, elements: Sequence[dict[str, Any]]) -> list[str]:
    """Up to three currencies that no element has, prefixes of existing ones among the candidates."""
    present = {element.get("currency") for element in elements}
    candidates = (
        ["USD", "BTC", "ETH", "EUR", "USDT", "USDC"]
        if TRAITS[ADDS_TO[operation]].unique_pair
        else [*OTHER_CURRENCIES, "JPY", "CHF", "CAD"]
    )
    return [code for code in candidates if code not in present][:3]


# ---------------------------------------------------------------------- several filters


@check(
    "list.filters-combine",
    "list.complete",
    "list.pages",
    "list.echo",
    "list.defaults",
)
def test_filters_combine(ctx: CheckContext) -> None:
    """Combines filters that each keep other elements, and walks the result: the elements that pass all."""
    lists = Filtered(ctx)
    valid = working_filters(ctx, lists)
    names = list(valid)
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            neutral = all(lists.kept(valid[name]) == lists.ids for name in (first, second))
            if rules_of(valid[first]) != rules_of(valid[second]) and not neutral:
                # The last status that the lists know, which not every server knows.
                last = (first, second) == ("end_date in the future", "status that nothing has")
                both = valid[first] + (_status(ctx, _statuses(ctx)[-1]) if last else valid[second])
                combine(ctx, lists, both, f"{first} and {second}", refusable=last)
    everything = [pair for name in _KINDS for pair in valid.get(name, [])]
    if len(everything) > 2:
        combine(ctx, lists, everything, "all filters together")
        combine(ctx, lists, everything[::-1], "all filters together, in reverse order", query(size=MAX_SIZE))
    if (unused := "status that nothing has") in valid and {"start_date", "end_date"} <= valid.keys():
        both = [*valid[unused], *valid.get("currency", []), *valid["start_date"], *valid["end_date"]]
        combine(ctx, lists, both, f"{unused}, with all other filters", query(1, MAX_SIZE))
    if unused in valid:
        later_page(ctx, lists, valid[unused], f"{unused}, page 3")
    walked = [
        ("start_date",),
        ("currency",) if "currency" in valid else ("end_date",),
        ("start_date", "end_date"),
        ("status", "end_date"),
    ]
    if {"start_date", "end_date"} <= valid.keys():
        no_period(ctx, lists)
    plain = walk(ctx.send, lists.call, size=WALKED_SIZE)
    if plain.broken or plain.repeated or plain.total != len(plain.ids):
        ctx.unclear(
            COMBINE,
            "the list cannot be paged through even without filters",
            *plain.exchanges[:2],
            cause="list.walk",
        )
        return
    for filters in [
        *([pair for name in names for pair in valid[name]] for names in walked if valid.keys() >= set(names)),
        everything,
    ]:
        done = walk_through(ctx, lists, filters) if filters else None
        if done is not None and rules_of(filters) == ["list.start-date", "list.end-date"]:
            past_the_last(ctx, done, filters)


# ---------------------------------------------------------------------- what is not fixed


@check("list.several-statuses")
def test_several_statuses(ctx: CheckContext) -> None:
    """Records the effect of two statuses, in the array style of the target file."""
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
    """Records the effect of unknown, empty and malformed filter values, and of an empty period."""
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
    """Describes the effect of a filter in words that are the same in every run."""
    found = page_of(exchange)
    if found is None:
        return f"refused {exchange.status}" if exchange.refused else f"answered {exchange.status}"
    shown = set(found.ids)
    if not shown:
        return "no elements"
    return "all elements" if shown >= lists.ids else "some of the elements"
