"""A list under filters: what each filter keeps is computed from what the unfiltered list shows, so that the
resolution in which a server stores or shows timestamps does not matter."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conformance.checks.check import Check
from conformance.checks.list_judging import active, judge_by_query, stocked, usable_page
from conformance.contract.operations import item_statuses
from conformance.contract.timestamps import just_after, parse, step, whole_second
from conformance.judge import outcomes, paging
from conformance.judge.comparison import objects
from conformance.judge.outcomes import Judgement, Unclear
from conformance.judge.queries import keeps, rules_of
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.wire.pages import (
    DEFAULT_SIZE,
    MAX_SIZE,
    Page,
    Parameters,
    page_of,
    query,
    status_filter,
)

COMBINE = "list.filters-combine"

#: The first is 0 in Unix time, which conditions may take for a missing date.
FAR_PAST, FAR_FUTURE = "1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z"

#: An element as its list shows it.
Item = dict[str, Any]


def _in_time(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda item: parse(item["created"]) or 0)


class Filtered:
    """The small list of an operation under filters. Raises Inconclusive when it shows no usable element."""

    def __init__(self, at: Check) -> None:
        self.at = at
        self.stock = stocked(at)
        self.call = self.stock.call
        self.elements: list[Item] = []
        #: Those that its items may have; none for a list that no status filters.
        self.statuses = item_statuses(at.operation.id) if at.operation.status_parameter else ()
        at.eventually(self.read, lambda ids: ids >= self.stock.created.keys())
        if not self.elements:
            raise Inconclusive(
                Unclear(
                    "the list shows no element with id, status and created, by which filters are judged",
                    "list.item-fields",
                )
            )
        self.ids = {str(item["id"]) for item in self.elements}

    def read(self) -> set[str]:
        """Reads the list without filters, as statuses may have changed; returns the ids of its elements."""
        exchange = self.at.accept(self.call.with_query(query(1, MAX_SIZE)), "the list without a filter")
        self.unfiltered = exchange
        # list.walk judges duplicates.
        usable = {
            str(item["id"]): item
            for item in objects(exchange.get("items"))
            if isinstance(item.get("id"), str)
            and item["id"] in self.stock.created
            and (not self.statuses or isinstance(item.get("status"), str))
            and parse(item.get("created")) is not None
        }
        # Without any, those of the last read stay.
        self.elements = list(usable.values()) or self.elements
        return set(usable)

    @property
    def in_time(self) -> list[Item]:
        """The elements in order of creation."""
        return _in_time(self.elements)

    def matches(self, filters: Parameters) -> set[str]:
        """Returns the ids of the elements that match all filters."""
        return {str(item["id"]) for item in self.elements if keeps(filters, item)}

    def send(self, filters: Parameters, what: str, behind: Parameters | None = None) -> Exchange:
        """Requests all elements that match filters, which follow page and size in the query, or precede the
        parameters `behind`."""
        parameters = [*query(1, MAX_SIZE), *filters] if behind is None else [*filters, *behind]
        return self.at.send(self.call.with_query(parameters), what)

    def probe(
        self,
        rule: str,
        filters: Parameters,
        what: str,
        behind: Parameters | None = None,
        *,
        refusable: bool = False,
    ) -> None:
        """Judges that filters keep exactly the matching elements, and count them; a server may refuse what is
        `refusable`. list.complete judges unknown elements."""
        exchange = self.send(filters, what, behind)
        if refusable and exchange.refused:
            self.at.unclear(rule, f"{what}, was refused", exchange, choice=True)
        else:
            self.judge(rule, filters, exchange, what, behind)

    def judge(
        self,
        rule: str,
        filters: Parameters,
        exchange: Exchange,
        what: str,
        behind: Parameters | None = None,
    ) -> None:
        """Judges the answer to filters as `probe` does."""
        at = self.at
        numbers = dict(query(1, MAX_SIZE) if behind is None else behind)
        # A page that need not show all of them.
        part = numbers.get("page", "1") != "1" or len(self.matches(filters)) > int(
            numbers.get("size", DEFAULT_SIZE)
        )

        def fitting(answer: Exchange) -> Judgement:
            number = len(self.matches(filters))
            of = f"{number} of the {len(self.ids)} elements" if number else "none of the elements"
            sentence = f"{what}: none but {of}" if part and number else f"{what}: {of}"
            return paging.keeps_what_fits(sentence, self.unfiltered, [answer], self.ids, only_leaves_out=part)

        def total(answer: Exchange) -> int | None:
            """The elements that an answer must count; None where it cannot be told."""
            page, everything = page_of(answer), page_of(self.unfiltered)
            if page is None or everything is None or COMBINE not in at.rules:
                return None
            if part:
                return len(self.matches(filters)) if everything.total == len(self.ids) else None
            return len(set(page.ids)) if len(page.items) < MAX_SIZE else None

        exchange = self.looked(
            exchange,
            lambda answer: outcomes.good(fitting(answer)) and total(answer) in (None, answer.get("total")),
        )
        if (page := usable_page(at, rule, exchange, what)) is None:
            return
        at.expect(rule, *fitting(exchange))
        if "list.complete" in at.rules:
            at.expect(
                "list.complete",
                *self.stock.only_own(at.lane, what, [exchange]),
            )
        if (count := total(exchange)) is not None:
            at.expect(COMBINE, *paging.number_is(what, page, "total", count))
        judge_by_query(at, exchange)

    def alone(self, rule: str, filters: Parameters, what: str) -> Page | None:
        """The page of a filter by itself; None, and noted, if it does not show exactly the matching
        elements."""
        good = functools.partial(self.shows, filters)
        exchange = self.looked(self.send(filters, what), good)
        if good(exchange):
            return page_of(exchange)
        self.at.unclear(rule, f"{what}: it does not work", exchange, cause=rules_of(filters)[0])
        return None

    def shows(self, filters: Parameters, answer: Exchange) -> bool:
        """True if an answer shows exactly the matching elements."""
        page = page_of(answer)
        return page is not None and set(page.ids) & self.ids == self.matches(filters)

    def looked(self, exchange: Exchange, good: Callable[[Exchange], bool]) -> Exchange:
        """Repeats a request, after reading the list anew, until its answer is good or no page, as reads may
        lag and statuses change; returns that or the last answer."""

        def again() -> Exchange:
            self.read()
            return self.at.send(exchange.call, exchange.purpose)

        return self.at.eventually(
            again, lambda answer: page_of(answer) is None or good(answer), first=exchange
        )

    def filters(self) -> dict[str, Parameters]:
        """Returns filters to combine, by name; of each kind one matches some elements, others all or none."""
        early, late, currency = self._distinctive()
        operation, style = self.at.operation.id, self.at.target.array_style
        filters = {
            "start_date": [("start_date", early)],
            "start_date in the past": [("start_date", FAR_PAST)],
            "end_date": [("end_date", late)],
            "end_date in the future": [("end_date", FAR_FUTURE)],
        }
        if self.statuses:
            unused = (*self.at.operation.traits.statuses, *self.statuses)[:2][-1]
            filters["status"] = active(self.at)
            filters["status that nothing has"] = status_filter(operation, style, unused)
        if "currency" in self.at.operation.query_parameters:
            filters["currency"] = [("currency", currency)]
        return filters

    def _distinctive(self) -> tuple[str, str, str]:
        """Chooses the start date, end date and currency whose matches differ most from one another and from
        those of all together. The start is before the end, as a server may refuse other periods."""
        by_date = {parse(item["created"]): str(item["created"]) for item in self.in_time}
        currencies = sorted({str(item.get("currency", "")) for item in self.elements})
        periods = list(itertools.combinations(by_date.values(), 2))
        periods = periods or [(date, FAR_FUTURE) for date in by_date.values()]

        def score(choice: tuple[str, str, str]) -> int:
            names = ("start_date", "end_date", "currency")
            return _difference(*(self.matches([pair]) for pair in zip(names, choice, strict=True)))

        return max(((*period, currency) for period in periods for currency in currencies), key=score)


def _difference(*matches: set[str]) -> int:
    """Scores sets of matches: 3 for each ordered pair whose first is no subset of its second, 1 for each pair
    that overlaps, and 1 if all do. {1, 2}, {2, 3} and {1, 3} score 21."""
    apart = sum(not left <= other for left, other in itertools.permutations(matches, 2))
    shared = sum(bool(left & other) for left, other in itertools.combinations(matches, 2))
    return 3 * apart + shared + bool(set.intersection(*matches))


def dates(elements: Sequence[Item]) -> list[tuple[str, str]]:
    """Returns named dates to filter by: those of the first, the last and some other elements, and of none."""
    by_date = {parse(item["created"]): str(item["created"]) for item in _in_time(elements)}
    distinct = list(by_date.values())
    middle, last = len(distinct) // 2, len(distinct) - 1
    places = {"first": 0, "second": 1, "middle": middle, "last but one": last - 1, "last": last}
    chosen = {index: name for name, index in reversed(places.items()) if 0 <= index <= last}
    named = [(f"at the created of the {chosen[index]} element", distinct[index]) for index in sorted(chosen)]
    for index in sorted({middle} & chosen.keys()):
        second = whole_second(distinct[index]) or distinct[index]
        if second != distinct[index]:
            named.append((f"at the whole second of the {chosen[index]} element", second))
        # A server that reads whole seconds as whole minutes takes it for one before the elements.
        named.append(("at the last second of a minute", f"{second[:17]}59{second[19:]}"))
    # The one with the most digits, as one in ten lacks the last, a zero: a date just after it is nearest.
    finest = min(range(len(distinct)), key=lambda index: (step(distinct[index]) or 1, abs(index - middle)))
    later = just_after(distinct[finest]) or distinct[finest]
    # Another element's may have been rounded up to it.
    if parse(later) not in by_date:
        # First, as it depends least on the distances between elements.
        named.insert(0, ("just after the created of an element", later))
    if distinct:
        named.append(("at the midnight before the first element", f"{distinct[0][:10]}T00:00:00Z"))
    return [*named, ("far in the past", FAR_PAST), ("far in the future", FAR_FUTURE)]
