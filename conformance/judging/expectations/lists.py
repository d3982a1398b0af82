"""Expectations of lists: the pages that were read, and what they show (section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.contract import timestamps
from conformance.judging import queries
from conformance.judging.comparison import objects, show
from conformance.judging.expectations.base import CannotTell, Expectation, Outcome, outcome
from conformance.judging.expectations.predicates import predicate
from conformance.target.file import Target
from conformance.wire.messages import Exchange
from conformance.wire.pages import MAX_SIZE, Page, page_of, pages_of


def pages(exchanges: Sequence[Exchange]) -> list[Page]:
    """The exchanges as pages. Raises CannotTell for an answer that is no page."""
    found = [page_of(exchange) for exchange in exchanges]
    for exchange, page in zip(exchanges, found, strict=True):
        if page is None:
            raise CannotTell(
                f"{exchange.operation} was answered {exchange.described()}, not with a page", "list.envelope"
            )
    return [page for page in found if page is not None]


def ids_of(read: Iterable[Page]) -> list[str]:
    """The ids on pages, in their order."""
    return [identifier for page in read for identifier in page.ids]


def _all_read(read: Sequence[Page]) -> bool:
    """Whether the pages are all that the list has, as far as its total says; an empty page is the last."""
    last = read[-1]
    if not last.items or last.total is None or not last.size:
        return True
    return len(read) >= pages_of(last.total, last.size)


@dataclass(frozen=True)
class Listed(Expectation, kind="listed"):
    """The pages, all of a list, show each of these ids; with `once`, none of them twice."""

    ids: Sequence[str] = ()
    once: bool = False

    @property
    def expected(self) -> str:
        times = "each exactly once" if self.once else "each of them in the list"
        return f"{self.what}: {len(self.ids)} elements, {times}"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        read = pages(exchanges)
        shown = Counter(ids_of(read))
        missing = [identifier for identifier in self.ids if identifier not in shown]
        twice = [identifier for identifier, times in shown.items() if times > 1] if self.once else []
        if missing and not twice and not _all_read(read):
            raise CannotTell("the list has more pages than were read")
        told = [f"{len(twice)} more than once, {_places(read, twice[0])}"] if twice else []
        told += [f"{len(missing)} not at all"] if missing else []
        shows = [at for at, page in enumerate(read) if twice and twice[0] in page.ids][:2]
        return outcome("; ".join(told), *(shows or [len(read) - 1]))


def _places(read: Sequence[Page], identifier: str) -> str:
    places = [str(at) for at, page in enumerate(read, 1) for shown in page.ids if shown == identifier]
    return f"one on page {' and '.join(places)}" if len(set(places)) > 1 else f"one twice on page {places[0]}"


@dataclass(frozen=True)
class NotShown(Expectation, kind="not-shown"):
    """No answer shows one of these texts, which only requests without effect carried."""

    texts: Sequence[str] = ()

    @property
    def expected(self) -> str:
        return f"{self.what}: shown nowhere"

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        for at, exchange in enumerate(exchanges):
            if not exchange.succeeded:
                raise CannotTell(f"{exchange.operation} was answered {exchange.described()}")
            answer = exchange.response_body.decode("utf-8", "replace")
            for text in self.texts:
                if text in answer:
                    return outcome(f"{exchange.operation} shows {show(text)}", at)
        return outcome("")


@dataclass(frozen=True)
class PageFits(Expectation, kind="page-fits"):
    """A page fits its query, as far as a rule says (see judging/queries.py); `what` is the whole sentence."""

    rule: str = ""
    operation: str = ""

    def _judge(self, exchanges: Sequence[Exchange], target: Target | None) -> Outcome:
        exchange = exchanges[0]
        if not exchange.succeeded:
            raise CannotTell(f"{exchange.operation} was answered {exchange.described()}")
        style = target.array_style if target is not None else "repeat"
        query = queries.read(exchange.call.query)
        for judged in queries.judge_page(self.operation, query, exchange, style):
            if judged.rule == self.rule and not judged.good:
                return outcome(judged.got)
        return outcome("")


@predicate
def number_among(exchanges: Sequence[Exchange], name: str, among: Sequence[int]) -> str:
    """A number of the envelope is one of these."""
    value = getattr(pages(exchanges[:1])[0], name)
    return "" if value in among else f"{name} {show(exchanges[0].get(name))}"


@predicate
def pages_fit_total(exchanges: Sequence[Exchange], size: int, known: int | None = None) -> str:
    """`pages` follows from the answer's own total and size, or from the size that was asked for and how many
    elements there are known to be; of an empty list it may be 0 or 1."""
    page = pages(exchanges[:1])[0]
    totals = {value for value in (page.total, known) if value is not None and value >= 0}
    sizes = {size, page.size if page.size and page.size > 0 else size}
    fitting = {pages_of(total, each) for total in totals for each in sizes}
    fitting |= {1} if 0 in fitting else set()
    return "" if page.pages in fitting else f"pages {page.pages}"


@predicate
def total_of_walk(exchanges: Sequence[Exchange], count: int | None = None) -> str:
    """The first page's `total` is the number of different elements on all pages, or `count`."""
    read = pages(exchanges)
    expected = len(set(ids_of(read[1:]))) if count is None else count
    return "" if read[0].total == expected else f"total {read[0].total}"


@predicate
def full_pages(exchanges: Sequence[Exchange], size: int) -> str | Outcome:
    """Each page of a walk but the last has as many elements as it can have."""
    read = pages(exchanges)
    count = sum(len(page.items) for page in read)
    for at, page in enumerate(read):
        if len(page.items) != max(0, min(size, count - at * size)):
            return outcome(f"{len(page.items)} on page {at + 1}", at)
    return ""


@predicate
def same_order(exchanges: Sequence[Exchange], first: int) -> str:
    """The pages after the first ones show the same elements in the same order as those together."""
    read = pages(exchanges)
    return "" if ids_of(read[:first]) == ids_of(read[first:]) else "another one"


@predicate
def same_each_time(exchanges: Sequence[Exchange]) -> str | Outcome:
    """Each page shows the same elements in the same order."""
    read = pages(exchanges)
    for at, page in enumerate(read):
        if page.ids != read[0].ids:
            return outcome(f"a difference at reading {at + 1}", 0, at)
    return ""


@predicate
def part_of_walk(exchanges: Sequence[Exchange], number: int, size: int) -> str | Outcome:
    """The first page shows the part of the walk (the other pages) that its number and size say."""
    page, *walk = pages(exchanges)
    part = ids_of(walk)[(number - 1) * size : number * size]
    others = len(set(page.ids) - set(part))
    return "" if page.ids == part else outcome(f"{len(page.ids)} elements, {others} of them others", 0)


@predicate
def same_elements(exchanges: Sequence[Exchange]) -> str:
    """Two pages show the same elements, in any order."""
    first, second = pages(exchanges[:2])
    others = len(set(first.ids) - set(second.ids))
    same = sorted(first.ids) == sorted(second.ids)
    return "" if same else f"{len(first.items)} items, {others} of them others"


@predicate
def none_of_another(
    exchanges: Sequence[Exchange], created: Sequence[str], strangers: Sequence[Sequence[str]], exact: bool
) -> str:
    """The pages show no element of another parent; with `exact`, none but the created ones. `strangers` are
    ids with what they are of."""
    whose: dict[str, str] = {stranger[0]: stranger[1] for stranger in strangers}
    shown = dict.fromkeys(ids_of(pages(exchanges)))
    foreign = [each for each in shown if each in whose or (exact and each not in created)]
    named = sorted({whose[each] for each in foreign if each in whose})
    told = f"{len(foreign)} others" + (f", among them {' and '.join(named)}" if named else "")
    return told if foreign else ""


@predicate
def size_in_range(exchanges: Sequence[Exchange], filled: bool) -> str:
    """A page has a size from 1 to the greatest, and no more items; `filled`: there is something to show. A
    refusal is as good."""
    if exchanges[0].refused:
        return ""
    page = pages(exchanges[:1])[0]
    count = len(page.items)
    good = page.size is not None and 1 <= page.size <= MAX_SIZE and count <= page.size
    # No elements, where there are some: a size of nothing was obeyed, whatever the answer calls it.
    good = good and (count > 0 or not filled)
    return "" if good else f"{count} items with size {show(exchanges[0].get('size'))}"


@predicate
def page_from_one(exchanges: Sequence[Exchange]) -> str:
    """The page says that it is number 1 or a later one, or the request is refused."""
    if exchanges[0].refused:
        return ""
    number = pages(exchanges[:1])[0].page
    return "" if number is not None and number >= 1 else f"page {show(exchanges[0].get('page'))}"


@predicate
def no_items(exchanges: Sequence[Exchange], numbers: Sequence[int] = (), refusable: bool = False) -> str:
    """The page shows nothing; a page that calls itself none of `numbers`, where there are some, may. If
    `refusable`, a refusal is as good."""
    if refusable and exchanges[0].refused:
        return ""
    page = pages(exchanges[:1])[0]
    if not page.items or (numbers and page.page not in numbers):
        return ""
    return f"{len(page.items)} items"


@predicate
def no_element_twice(exchanges: Sequence[Exchange]) -> str:
    """One page shows no element twice."""
    shown = Counter(ids_of(pages(exchanges[:1])))
    twice = sum(times > 1 for times in shown.values())
    return f"{twice} twice" if twice else ""


@predicate
def keeps_what_fits(exchanges: Sequence[Exchange], ids: Sequence[str], only_leaves_out: bool = False) -> str:
    """Of the elements with these ids, as the first exchange shows them without a filter, the other pages show
    just those that fit their own query; with `only_leaves_out`, none that does not."""
    elements = [item for item in objects(exchanges[0].get("items")) if item.get("id") in ids]
    if not elements:
        raise CannotTell("the list without a filter shows none of its elements")
    query = queries.read(exchanges[1].call.query)
    wanted = {item["id"] for item in elements if all(_fits(item, *pair) for pair in query.pairs)}
    shown = set(ids_of(pages(exchanges[1:]))) & {item["id"] for item in elements}
    wrong, missing = len(shown - wanted), 0 if only_leaves_out else len(wanted - shown)
    told = [f"{wrong} that it should leave out"] * bool(wrong) + [f"{missing} of them missing"] * bool(
        missing
    )
    return " and ".join(told)


def _fits(item: dict[str, object], name: str, value: str) -> bool:
    """Whether an element passes one parameter of a query."""
    match name.removesuffix("[]"):
        case "start_date" | "end_date":
            created, bound = timestamps.parse(item.get("created")), timestamps.parse(value)
            if created is None or bound is None:
                raise CannotTell(f"{name} or created is no timestamp")
            return created >= bound if name == "start_date" else created < bound
        case "status" | "statuses":
            return item.get("status") in value.split(",")
        case "currency":
            return item.get("currency") == value
    return True


@predicate
def integers_in_envelope(exchanges: Sequence[Exchange]) -> str:
    """No number of the envelope has a fraction: to JSON Schema 12.0 is an integer, to most clients it is
    none."""
    for name in ("total", "page", "size", "pages"):
        if isinstance(exchanges[0].get(name), float):
            return f"{name} {show(exchanges[0].get(name))}"
    return ""
