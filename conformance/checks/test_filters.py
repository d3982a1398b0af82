"""Filters of the lists in an account (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.checks.check import Check, check
from conformance.checks.filtered_list import COMBINE, FAR_FUTURE, FAR_PAST, Filtered, dates
from conformance.checks.list_judging import (
    compared,
    judge_by_query,
    judge_totals,
    judge_whole,
    usable_page,
)
from conformance.contract.operations import OPERATIONS, item_statuses
from conformance.contract.timestamps import with_offset
from conformance.contract.traits import TRAITS
from conformance.judge.comparison import show
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.judge.paging import keeps_what_fits
from conformance.judge.queries import rules_of
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.wire.pages import (
    MAX_SIZE,
    Parameters,
    Walk,
    page_of,
    pages_of,
    query,
    status_filter,
    walk,
)
from conformance.world.samples import OTHER_CURRENCIES

#: One filter of each kind, in the order in which they are combined.
_KINDS = ("currency", "status", "start_date", "end_date")

#: Maximum page size of walks through filtered lists.
_WALKED_SIZE = 3


# ---------------------------------------------------------------------- dates


@check("list.start-date", "list.filters-combine", "list.complete")
def test_start_date(at: Check) -> None:
    """Sends as start_date the `created` of elements, also with zeros behind it, a moment after it, whole
    seconds and distant dates: exactly the elements created at or after it come back."""
    _judge_dates(at, "list.start-date", "start_date")


@check("list.end-date", "list.filters-combine", "list.complete")
def test_end_date(at: Check) -> None:
    """Sends as end_date the `created` of elements, also with zeros behind it, a moment after it, whole
    seconds and distant dates: exactly the elements created before it come back."""
    _judge_dates(at, "list.end-date", "end_date")


@check("list.date-offset")
def test_date_with_an_offset(at: Check) -> None:
    """Sends the `created` of an element as a date with a UTC offset: refused, or the same elements as for the
    same instant in UTC."""
    rule, lists = "list.date-offset", Filtered(at)
    chosen = lists.in_time[len(lists.elements) // 2]["created"]
    for name in ("start_date", "end_date"):
        if lists.alone(rule, [(name, chosen)], f"{name} in UTC, to compare with") is None:
            continue
        for minutes in (120, -210):
            try:
                filters = [(name, with_offset(chosen, minutes))]
            except OverflowError as error:
                # Of the year 1, which format.timestamp excludes.
                reason = f"created {show(chosen)} cannot be written with an offset"
                raise Inconclusive(Unclear(reason, "format.timestamp")) from error
            what = f"{name} with the offset {filters[0][1][-6:]}"
            exchange = lists.send(filters, what)
            if exchange.refused:
                at.expect(rule, f"{what}: read as that instant, or a refusal", "", exchange)
            else:
                lists.judge(rule, filters, exchange, what)


def _judge_dates(at: Check, rule: str, name: str) -> None:
    lists = Filtered(at)
    for what, text in dates(lists.elements):
        lists.probe(rule, [(name, text)], f"{name} {what}")
    for item in lists.in_time[len(lists.in_time) // 2 :][:1]:
        # Read as a number of milliseconds it is minutes; a server may take no more digits than it shows.
        longer = re.sub(r"(\.[0-9]+)?Z$", lambda match: f"{match[1] or '.'}000Z", str(item["created"]))
        filters, what = [(name, longer)], f"{name} with zeros behind its fraction"
        exchange = lists.send(filters, what)
        if exchange.refused or _passed_over(lists, filters, exchange):
            at.unclear(rule, f"{what}, was refused or ignored", exchange, choice=True)
        else:
            lists.judge(rule, filters, exchange, what)


def _passed_over(lists: Filtered, filters: Parameters, answer: Exchange) -> bool:
    """True if a server ignores a date with such a fraction, as it may what it cannot read: one that keeps no
    elements keeps some as well. An end_date that is read as a later instant keeps all of them, too."""
    if page_of(answer) is None or lists.shows(filters, answer):
        return False
    ((name, text),) = filters
    distant = {"start_date": FAR_FUTURE, "end_date": FAR_PAST}[name][:19] + text[19:]
    control = lists.send([(name, distant)], f"{name} far away, with as many digits")
    return _effect(lists, control) != "no elements"


# ---------------------------------------------------------------------- status and currency


@check("list.status-filter", "list.complete")
def test_status_filter(at: Check) -> None:
    """Filters by each status: exactly the elements with that status come back, or none."""
    lists = Filtered(at)
    for status in _statuses(at):
        _probe_status(at, lists, status)


def _probe_status(at: Check, lists: Filtered, status: str) -> None:
    # A server may not know those that the query does not name.
    refusable = status not in at.operation.traits.statuses
    filters = _status(at, status)
    lists.probe("list.status-filter", filters, f"{filters[0][0]} {status}", refusable=refusable)


def _status(at: Check, *values: str) -> Parameters:
    return status_filter(at.operation.id, at.target.array_style, *values)


def _statuses(at: Check) -> list[str]:
    """The statuses of the listed resource (section 3), first those that the query names."""
    return list(dict.fromkeys([*at.operation.traits.statuses, *item_statuses(at.operation.id)]))


@check("list.currency-filter", "list.filters-combine", "list.complete")
def test_currency_filter(at: Check) -> None:
    """Filters by present and absent currencies (matched exactly) and by SQL wildcards (no partial match)."""
    lists = Filtered(at)
    for currency in sorted({str(item.get("currency", "")) for item in lists.elements}):
        lists.probe("list.currency-filter", [("currency", currency)], f"currency {currency}")
    for currency in _absent_currencies(at.operation.id, lists.elements):
        # A server may refuse currencies that it does not support.
        what = f"currency {currency}, which nothing has"
        lists.probe("list.currency-filter", [("currency", currency)], what, refusable=True)
    code = str(lists.elements[0].get("currency", ""))
    for wildcard in dict.fromkeys((f"_{code[1:]}", f"%{code[1:]}", f"{code[:-1]}_", f"{code[:2]}%")):
        # A malformed currency may be refused, ignored or match nothing; a partial match is a LIKE query.
        what = f"currency {wildcard}, which is not a code"
        if not (exchange := lists.send([("currency", wildcard)], what)).refused:
            expected = f"{what}: no elements, all elements, or a refusal"
            page = page_of(exchange)
            some = page is not None and page.ids and not set(page.ids) >= lists.ids
            got = "some of the elements" if some else ""
            at.expect("list.currency-filter", expected, got, exchange)


def _absent_currencies(operation: str, elements: Sequence[dict[str, Any]]) -> list[str]:
    """Up to three currencies that no element has, prefixes of existing ones among the candidates."""
    present = {element.get("currency") for element in elements}
    candidates = (
        ["USD", "BTC", "ETH", "EUR", "USDT", "USDC"]
        if TRAITS[OPERATIONS[operation].filled_by].unique_pair
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
def test_filters_combine(at: Check) -> None:
    """Combines filters that each keep other elements, and walks the result: the elements that pass all."""
    lists = Filtered(at)
    valid = {
        name: filters
        for name, filters in lists.filters().items()
        if lists.alone(COMBINE, filters, f"{name} alone")
    }
    for what, filters, behind, refusable in _combinations(at, lists, valid):
        lists.probe(COMBINE, filters, what, behind, refusable=refusable)
    plain = walk(at.send, lists.call, size=_WALKED_SIZE)
    if plain.broken or plain.repeated or plain.total != len(plain.ids):
        reason = "the list cannot be paged through even without filters"
        at.unclear(COMBINE, reason, *plain.exchanges[:2], cause="list.walk")
        return
    second = "currency" if "currency" in valid else "end_date"
    for names in (("start_date",), (second,), ("start_date", "end_date"), ("status", "end_date"), _KINDS):
        filters = [pair for name in names for pair in valid.get(name, [])]
        if filters and (names == _KINDS or valid.keys() >= set(names)):
            _judge_walk(at, lists, filters)


def _combinations(
    at: Check, lists: Filtered, valid: Mapping[str, Parameters]
) -> Iterator[tuple[str, Parameters, Parameters | None, bool]]:
    """Yields what is sent, its filters, the parameters behind them (none: page and size before them), and
    whether a server may refuse it."""
    unused, late = "status that nothing has", "end_date in the future"
    for name, filters in valid.items():
        if lists.matches(filters) != lists.ids:
            yield f"{name} without page and size", filters, [], False
    for first, second in itertools.combinations(valid, 2):
        neutral = all(lists.matches(valid[name]) == lists.ids for name in (first, second))
        if rules_of(valid[first]) != rules_of(valid[second]) and not neutral:
            # The last status that the lists know, which not every server knows.
            last = (first, second) == (late, unused)
            other = _status(at, _statuses(at)[-1]) if last else valid[second]
            yield f"{first} and {second}", valid[first] + other, None, last
    everything = [pair for name in _KINDS for pair in valid.get(name, [])]
    if len(everything) > 2:
        yield "all filters together", everything, None, False
        what = "all filters together, in reverse order"
        yield what, everything[::-1], query(size=MAX_SIZE), False
    if {"start_date", "end_date"} <= valid.keys():
        period = [*valid["start_date"], *valid["end_date"]]
        if unused in valid:
            filters = [*valid[unused], *valid.get("currency", []), *period]
            yield f"{unused}, with all other filters", filters, query(1, MAX_SIZE), False
        created = [item["created"] for item in lists.in_time]
        middle = lists.elements[len(lists.elements) // 2]["created"]
        for what, start, end in (
            ("start_date and end_date at the same instant", middle, middle),
            ("an end_date before the start_date", created[-1], created[0]),
        ):
            # A server may refuse it as no period.
            yield what, [("start_date", start), ("end_date", end)], None, True
        yield "the page past the last between two dates", period, query(3, len(lists.ids)), True
    if unused in valid:
        yield f"{unused}, page 3", valid[unused], query(3, 1), True


def _judge_walk(at: Check, lists: Filtered, filters: Parameters) -> None:
    """Judges a walk through a filtered list: each matching element once on full pages."""
    size = max(1, min(_WALKED_SIZE, (len(lists.matches(filters)) - 1) // 2))
    named = " and ".join(dict.fromkeys(name for name, _ in filters))
    what = f"pages of size {size} filtered by {named}"

    def good(done: Walk) -> bool:
        # Totals differ where a status changes during the walk.
        shows, totals = set(done.ids) & lists.ids, {page.total for page in done.pages}
        if done.broken or len(totals) != 1 or shows == lists.matches(filters):
            return bool(done.broken) or len(totals) == 1
        lists.read()
        return shows == lists.matches(filters)

    done = at.eventually(lambda: walk(at.send, lists.call, size=size, filters=filters), good)
    matching = lists.matches(filters)
    if not matching or not judge_whole(at, COMBINE, done, matching, what):
        return
    sentence = f"{what}: none but the {len(matching)} elements that fit"
    fitting = keeps_what_fits(
        sentence, lists.unfiltered, done.page_exchanges, lists.ids, only_leaves_out=True
    )
    at.expect(COMBINE, *fitting)
    compared(at, lists.stock.created, done.page_exchanges)
    known = len(set(done.ids)) == len(matching)
    if known:
        judge_totals(at, COMBINE, done.pages, len(matching), what)
    # Only the number of pages without filters is surely a defect of the filter.
    right, unfiltered = pages_of(len(matching), size), pages_of(len(lists.ids), size)
    for page in done.pages:
        judge_by_query(at, page.exchange)
        if known and page.pages is not None and right != unfiltered:
            own = page.size and pages_of(page.total or 0, page.size) == unfiltered
            got = "those of all elements" if page.pages == unfiltered and not own else ""
            at.expect(COMBINE, f"{what}: pages {right}, those of the matching elements", got, page.exchange)


# ---------------------------------------------------------------------- what is not fixed


@check("list.several-statuses", "list.statuses-order", "list.status-filter")
def test_several_statuses(at: Check) -> None:
    """Sends two statuses in the array style of the target file, in both orders, and records their effect: the
    same elements; where the target file states the style, those of either. One status alone: its elements."""
    lists, style = Filtered(at), at.target.array_style
    _probe_status(at, lists, "active")
    statuses = at.operation.traits.statuses or item_statuses(at.operation.id)
    values = statuses[0], statuses[-1]
    orders = {f"{values[0]} and {values[1]}": values, f"{values[1]} and {values[0]}": values[::-1]}
    filters = {f"statuses {named}": _status(at, *order) for named, order in orders.items()}

    def send() -> list[Exchange]:
        return [lists.send(each, what) for what, each in filters.items()]

    # Statuses may change between the two.
    answers = at.eventually(send, lambda answers: len({_result(lists, each) for each in answers}) == 1)
    for answer in answers:
        question = f"{answer.purpose} ({style})"
        at.observe("list.several-statuses", question, _effect(lists, answer), answer)
    first, last = answers
    expected = f"{last.purpose}: the result of {first.purpose}, {_effect(lists, first)}"
    unlike = _result(lists, first) != _result(lists, last)
    got: Got = unusable(first) or unusable(last) or (_effect(lists, last) if unlike else "")
    at.expect("list.statuses-order", expected, got, last, first)
    for answer in answers if at.target.style_stated else ():
        _judge_union(at, lists, answer, values)


def _result(lists: Filtered, answer: Exchange) -> tuple[bool, frozenset[str]]:
    """The known elements that an answer shows, and whether it is a page."""
    page = page_of(answer)
    return page is not None, frozenset(lists.ids.intersection(page.ids) if page else ())


def _judge_union(at: Check, lists: Filtered, answer: Exchange, values: Sequence[str]) -> None:
    """Judges that an answer shows the elements of any of these statuses, and no others."""

    def fitting(answer: Exchange) -> bool:
        ids = frozenset(str(item["id"]) for item in lists.elements if item["status"] in values)
        return _result(lists, answer) == (True, ids)

    answer = lists.looked(answer, fitting)
    if usable_page(at, "list.status-filter", answer, answer.purpose) is not None:
        got = "" if fitting(answer) else _effect(lists, answer)
        expected = f"{answer.purpose}: the elements of either status"
        at.expect("list.status-filter", expected, got, answer, lists.unfiltered)


@check("list.odd-filters")
def test_odd_filters(at: Check) -> None:
    """Records the effect of unknown, empty and malformed filter values, and of an empty period."""
    lists = Filtered(at)
    unknown = {"an unknown status": "conformance", "an empty status": ""}
    probes: dict[str, Parameters] = {
        **{what: _status(at, value) for what, value in unknown.items() if at.operation.status_parameter},
        "a malformed start_date": [("start_date", "yesterday")],
        "a malformed end_date": [("end_date", "2026-02-30T00:00:00Z")],
        "a start_date without a time": [("start_date", FAR_FUTURE[:10])],
        "a start_date with another offset": [("start_date", FAR_FUTURE.replace("Z", "+02:00"))],
        "start_date after end_date": [("start_date", FAR_FUTURE), ("end_date", FAR_PAST)],
    }
    if "currency" in at.operation.query_parameters:
        probes["a malformed currency"] = [("currency", "E")]
        probes["a currency in lower case"] = [
            ("currency", str(lists.elements[0].get("currency", "")).lower())
        ]
    for what, parameters in probes.items():
        exchange = lists.send(parameters, what)
        at.observe("list.odd-filters", what, _effect(lists, exchange), exchange)


def _effect(lists: Filtered, exchange: Exchange) -> str:
    """Describes the effect of a filter in words that are the same in every run."""
    page = page_of(exchange)
    if page is None:
        return f"refused {exchange.status}" if exchange.refused else f"answered {exchange.status}"
    if not page.ids:
        return "no elements"
    return "all elements" if set(page.ids) >= lists.ids else "some of the elements"
