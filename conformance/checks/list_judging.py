"""Judgements of lists: pages, walks, totals, elements and filters.

Each function judges one rule, so that one defect breaks one rule: `pages` is compared with the answer's own
`total`, `total` with what a walk shows, a walk with other walks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from conformance.checks.check_context import CheckContext
from conformance.contract.operations import response_schema
from conformance.contract.timestamps import digits, just_after, parse, whole_second
from conformance.contract.traits import traits_of
from conformance.judge import outcomes, paging
from conformance.judge.comparison import MOVING, objects, same, same_instant, show
from conformance.judge.findings import Inconclusive
from conformance.judge.outcomes import Judgement, Unclear
from conformance.judge.queries import keeps
from conformance.wire.messages import Call, Exchange
from conformance.wire.pages import (
    DEFAULT_SIZE,
    MAX_SIZE,
    Page,
    Parameters,
    Walk,
    identity,
    page_of,
    query,
    status_filter,
)
from conformance.world.known_lists import ListFixture, small_list

T = TypeVar("T")


# ---------------------------------------------------------------------- reading


def stocked(ctx: CheckContext) -> ListFixture:
    """Returns the small list of the check's operation. Raises Inconclusive where it has no element."""
    return small_list(ctx.run, ctx.operation.id)


def active(ctx: CheckContext) -> Parameters:
    """Returns the status filter for active elements."""
    return status_filter(ctx.operation.id, ctx.target.array_style, "active")


#: Attempts to read a list while others add nothing.
_ATTEMPTS = 4


def steady(ctx: CheckContext, call: Call, act: Callable[[], T]) -> T:
    """Reads by `act` while nothing is added to a customer's accounts, if possible. `act` may be repeated, so
    it must not judge.

    Totals before and after show accounts added by other clients or workers. After the last attempt its result
    is returned: its judge goes by the totals of the answers. Lists within an account are read once."""
    if not traits_of(call.operation).others_add:
        return act()
    for _ in range(_ATTEMPTS):
        before = _total(ctx, call)
        result = act()
        if before == _total(ctx, call):
            break
    return result


def _total(ctx: CheckContext, call: Call) -> int | None:
    page = page_of(ctx.send(call.with_query(query(1, 1)), "how many elements are there?"))
    return page.total if page else None


# ---------------------------------------------------------------------- one page


def usable_page(
    ctx: CheckContext, rule: str, exchange: Exchange, what: str, *, refusable: bool = False
) -> Page | None:
    """Returns the page in an answer. Without one, judges the answer: a valid request must not be refused, a
    `refusable` one may be."""
    if exchange.refused_authentication and not (refusable and exchange.refused_otherwise):
        # An authentication failure says nothing about lists.
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
        judged = outcomes.refused_or_ignored if refusable else outcomes.accepted
        ctx.expect(rule, *judged(what, exchange))
    return found


def judge_size(ctx: CheckContext, exchange: Exchange, what: str, *, filled: bool = True) -> None:
    """Judges list.size-range on the answer to a size out of it; `filled`: the page has elements to show."""
    rule, expected = "list.size-range", f"{what}: a refusal (4xx), or a page of a size from 1 to {MAX_SIZE}"
    if page := usable_page(ctx, rule, exchange, what, refusable=True):
        ctx.expect(rule, *paging.size_in_range(expected, page, filled=filled))


def judge_by_query(ctx: CheckContext, exchange: Exchange, *rules: str) -> None:
    """Judges a page by those of these rules that follow from its query alone."""
    style = ctx.target.array_style
    for rule, judgement in paging.demanded(ctx.operation.id, exchange, style):
        if rule in rules:
            ctx.expect(rule, *judgement)


# ---------------------------------------------------------------------- walks


def judge_whole(ctx: CheckContext, rule: str, done: Walk, expected: Collection[str], what: str) -> bool:
    """Judges that a walk shows each of the `expected` ids exactly once, on pages that are full except for the
    last.

    Further elements fill pages, too; list.complete judges them."""
    if done.broken is not None:
        usable_page(ctx, rule, done.broken, f"page {len(done.pages) + 1} of {what}")
        return False
    missing = [identifier for identifier in expected if identifier not in set(done.ids)]
    ids = [identifier for identifier in expected if not done.cut or identifier not in missing]
    good = ctx.expect(rule, *paging.listed(what, ids, done.page_exchanges, once=True))
    if good and not done.cut:
        good = ctx.expect(rule, *paging.full_pages(what, done.pages, done.size))
    return good


def judge_totals(ctx: CheckContext, rule: str, read: Sequence[Page], count: int, what: str) -> None:
    """Judges that every page shows a total of `count`, up to the first that does not."""
    walked = len({identifier for found in read for identifier in found.ids}) == count
    others = [found.exchange for found in read] if walked else []
    for found in read:
        good = ctx.expect(rule, *paging.number_is(what, found, "total", count), *others)
        if not good and found.total is not None:
            return


def shows_all(made: Collection[str], answer: Exchange) -> bool:
    """True for a page with all that was made and a total that fits, and for what is no page."""
    page = page_of(answer)
    return page is None or (set(made) <= set(page.ids) and (_goes_on(page) or page.total == len(page.ids)))


def judge_single_page(ctx: CheckContext, page: Page, what: str) -> None:
    """Judges that the total of a first page behind which none comes is the number of its elements."""
    if not _goes_on(page):
        judge_totals(ctx, "list.complete", [page], len(page.ids), what)


def _goes_on(page: Page) -> bool:
    return len(page.items) >= DEFAULT_SIZE


# ---------------------------------------------------------------------- elements


def item_fields(operation: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the documented members of a list's items and their schemas (sections 2.4, 2.6, 2.7 and 4.1)."""
    fields: Mapping[str, Mapping[str, Any]] = response_schema(operation)["properties"]["items"]["items"][
        "properties"
    ]
    return fields


def compared(
    ctx: CheckContext, items: Sequence[Any], created: Mapping[str, Exchange], exchanges: Sequence[Exchange]
) -> None:
    """Judges that each element is shown as its create answered it (list.complete, about members)."""
    # format.object judges `object`; background jobs may change MOVING.
    names = [name for name in item_fields(ctx.operation.id) if name != "object" and name not in MOVING]
    # A later default may replace an earlier one.
    defaults = [identifier for identifier, made in created.items() if made.get("is_default") is True]
    differences = []
    for item in items:
        origin = created.get(identity(item))
        if origin is None or not isinstance(item, dict) or not isinstance(origin.document, dict):
            continue
        sent = origin.call.document
        for name in names:
            answered = origin.get(name)
            if name not in item or name not in origin.document or same(item[name], answered):
                continue
            if name == "created" and same_instant(item[name], answered):
                continue
            if name == "is_default" and identity(item) in defaults[:-1]:
                continue
            # A list may show what was sent where the create answered something else.
            if name not in sent or not same(item[name], sent[name]):
                differences.append((name, item[name], origin))
    seen = set()
    for name, shown, origin in differences:
        if name not in seen:
            seen.add(name)
            page = next(
                (exchange for exchange in exchanges if shown in _shown(exchange, origin, name)), exchanges[0]
            )
            ctx.expect("list.complete", *shown_as_created("each element", name, page, origin))


def _shown(page: Exchange, origin: Exchange, name: str) -> list[Any]:
    """Returns the member of the element on a page that a create made."""
    items = objects(page.get("items"))
    return [item[name] for item in items if name in item and item.get("id") == origin.get("id")]


def shown_as_created(what: str, name: str, page: Exchange, origin: Exchange) -> Judgement:
    """A page shows a member of an element as its create answered or sent it."""
    answered, values, sent = origin.get(name), _shown(page, origin, name), origin.call.document
    expected = f"{name} of {what} as its create answered it: {show(answered)}"
    if not values:
        return expected, Unclear("the list does not show what was created"), page, origin
    good = same(values[0], answered) or (name == "created" and same_instant(values[0], answered))
    good = good or (name in sent and same(values[0], sent[name]))
    return expected, "" if good else show(values[0]), page, origin


# ---------------------------------------------------------------------- filters


#: The first is 0 in Unix time, which conditions may take for a missing date.
FAR_PAST, FAR_FUTURE = "1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z"

#: An element as its list shows it.
Item = dict[str, Any]


def _in_time(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda item: parse(item["created"]) or 0)


class Filtered:
    """The small list of an operation under filters. Raises Inconclusive when it shows no usable element."""

    def __init__(self, ctx: CheckContext) -> None:
        self.ctx = ctx
        self.list_fixture = stocked(ctx)
        self.call = self.list_fixture.call
        self.elements: list[Item] = []
        ctx.eventually(self.read, lambda ids: ids >= self.list_fixture.created.keys())
        if not self.elements:
            raise Inconclusive(
                "the list shows no element with id, status and created, by which filters are judged",
                cause="list.item-fields",
            )
        self.ids = {str(item["id"]) for item in self.elements}

    def read(self) -> set[str]:
        """Reads the list without filters, as statuses may have changed; returns the ids of its elements."""
        exchange = self.ctx.accept(self.call.with_query(query(1, MAX_SIZE)), "the list without a filter")
        self.unfiltered = exchange
        # list.walk judges duplicates.
        shown = {
            str(item["id"]): item
            for item in objects(exchange.get("items"))
            if isinstance(item.get("id"), str)
            and item["id"] in self.list_fixture.created
            and isinstance(item.get("status"), str)
            and parse(item.get("created")) is not None
        }
        # Without any, those of the last read stay.
        self.elements = list(shown.values()) or self.elements
        return set(shown)

    @property
    def in_time(self) -> list[Item]:
        """The elements in order of creation."""
        return _in_time(self.elements)

    def kept(self, filters: Parameters) -> set[str]:
        """Returns the ids of the elements that match all filters."""
        return {str(item["id"]) for item in self.elements if keeps(filters, item)}

    def send(self, filters: Parameters, what: str) -> Exchange:
        """Requests all elements that match filters, which follow page and size in the query."""
        return self.ctx.send(self.call.with_query([*query(1, MAX_SIZE), *filters]), what)

    def probe(self, rule: str, filters: Parameters, what: str) -> Page | None:
        """Judges that filters keep exactly the matching elements."""
        page = self.judge(rule, self.send(filters, what), self.kept(filters), what)
        self.counted(page, what)
        return page

    def counted(self, page: Page | None, what: str, whole: Page | None = None) -> None:
        """Judges that the total of a page is the number of elements on it, or on `whole`; the largest page
        may not show all."""
        shown = whole or page
        if page is not None and shown is not None and len(shown.items) < MAX_SIZE:
            judge_totals(self.ctx, "list.filters-combine", [page], len(set(shown.ids)), what)

    def judge(
        self, rule: str, exchange: Exchange, expected: Collection[str], what: str, *, part: bool = False
    ) -> Page | None:
        """Judges that an answer shows the expected elements, or a later one, as reads may lag and statuses
        change; returns the judged page. `part`: it need not show all of them. list.complete judges others."""
        of = f"the {len(expected)} of {len(self.ids)} elements" if expected else "none of the elements"
        sentence = f"{what}: none but {of}" if part and expected else f"{what}: {of}"

        def fitting(answer: Exchange) -> Judgement:
            return paging.keeps_what_fits(sentence, self.unfiltered, [answer], self.ids, only_leaves_out=part)

        exchange = self.looked(exchange, lambda answer: outcomes.good(fitting(answer)))
        found = usable_page(self.ctx, rule, exchange, what)
        if found is None:
            return None
        self.ctx.expect(rule, *fitting(exchange))
        if "list.complete" in self.ctx.rules:
            self.ctx.expect("list.complete", *self.list_fixture.only_own(what, [exchange]))
        return found

    def looked(self, exchange: Exchange, good: Callable[[Exchange], bool]) -> Exchange:
        """Repeats a request, after reading the list anew, until its answer is good or no page; returns that
        or the last answer."""
        answers = itertools.chain([exchange], self._again(exchange))
        return self.ctx.eventually(
            lambda: next(answers), lambda answer: page_of(answer) is None or good(answer)
        )

    def _again(self, exchange: Exchange) -> Iterator[Exchange]:
        while True:
            self.read()
            yield self.ctx.send(exchange.call, exchange.purpose)

    def shows(self, exchange: Exchange, filters: Parameters) -> Exchange:
        """Repeats a request until it shows exactly the matching elements; returns that or the last answer."""

        def good(answer: Exchange) -> bool:
            page = page_of(answer)
            return page is not None and set(page.ids) & self.ids == self.kept(filters)

        return self.looked(exchange, good)

    def filters(self) -> dict[str, Parameters]:
        """Returns filters to combine, by name; of each kind one matches some elements, others all or none."""
        early, late, currency = self._distinctive()
        operation, style = self.ctx.operation.id, self.ctx.target.array_style
        unused = "disabled" if "beneficiary_id" in self.ctx.operation.path_parameters else "suspended"
        found = {
            "start_date": [("start_date", early)],
            "start_date in the past": [("start_date", FAR_PAST)],
            "end_date": [("end_date", late)],
            "end_date in the future": [("end_date", FAR_FUTURE)],
            "status": active(self.ctx),
            "status that nothing has": status_filter(operation, style, unused),
        }
        if "currency" in self.ctx.operation.query_parameters:
            found["currency"] = [("currency", currency)]
        return found

    def _distinctive(self) -> tuple[str, str, str]:
        """Chooses the start date, end date and currency whose matches differ most from one another and from
        those of all together. The start is before the end, as a server may refuse other periods."""
        by_date = {parse(item["created"]): str(item["created"]) for item in self.in_time}
        currencies = sorted({str(item.get("currency", "")) for item in self.elements})
        periods = list(itertools.combinations(by_date.values(), 2))
        periods = periods or [(date, FAR_FUTURE) for date in by_date.values()]

        def score(choice: tuple[str, str, str]) -> int:
            names = ("start_date", "end_date", "currency")
            return _difference(*(self.kept([pair]) for pair in zip(names, choice, strict=True)))

        return max(((*period, currency) for period in periods for currency in currencies), key=score)


def _difference(*kept: set[str]) -> int:
    """Scores sets of matches: 3 for each ordered pair whose first is no subset of its second, 1 for each pair
    that overlaps, and 1 if all do. {1, 2}, {2, 3} and {1, 3} score 21."""
    apart = sum(not left <= other for left, other in itertools.permutations(kept, 2))
    shared = sum(bool(left & other) for left, other in itertools.combinations(kept, 2))
    return 3 * apart + shared + bool(set.intersection(*kept))


def dates(elements: Sequence[Item]) -> list[tuple[str, str]]:
    """Returns named dates to filter by: those of the first, the last and some other elements, and of none."""
    by_date = {parse(item["created"]): str(item["created"]) for item in _in_time(elements)}
    distinct = list(by_date.values())
    middle, last = len(distinct) // 2, len(distinct) - 1
    places = {"first": 0, "second": 1, "middle": middle, "last but one": last - 1, "last": last}
    chosen = {index: name for name, index in reversed(places.items()) if 0 <= index <= last}
    found = [(f"at the created of the {chosen[index]} element", distinct[index]) for index in sorted(chosen)]
    for index in sorted({middle} & chosen.keys()):
        second = whole_second(distinct[index]) or distinct[index]
        if second != distinct[index]:
            found.append((f"at the whole second of the {chosen[index]} element", second))
        # A server that reads whole seconds as whole minutes takes it for one before the elements.
        found.append(("at the last second of a minute", f"{second[:17]}59{second[19:]}"))
    # The one with the most digits, as one in ten lacks the last, a zero: a date just after it is nearest.
    finest = max(range(len(distinct)), key=lambda index: (digits(distinct[index]), -abs(index - middle)))
    later = just_after(distinct[finest]) or distinct[finest]
    # Another element's may have been rounded up to it.
    if parse(later) not in by_date:
        # First, as it depends least on the distances between elements.
        found.insert(0, ("just after the created of an element", later))
    if distinct:
        found.append(("at the midnight before the first element", f"{distinct[0][:10]}T00:00:00Z"))
    return [*found, ("far in the past", FAR_PAST), ("far in the future", FAR_FUTURE)]
