"""Judgements of the pages of a list (section 8).

`demanded` judges what every page that answers a query must show; the others also depend on the list's
elements. wire/pages reads lists, judge/queries parses queries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from conformance._text import count
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.judge import queries
from conformance.judge.comparison import objects, show
from conformance.judge.outcomes import Got, Judgement, Unclear, unusable
from conformance.judge.queries import Query, passes, tells
from conformance.wire.messages import Exchange
from conformance.wire.pages import DEFAULT_SIZE, MAX_SIZE, MOST_PAGES, Page, Walk, page_of, pages_of, repeated

#: What helps where a list is too long.
SHORTER = (
    "Name a customer in the target file who has fewer accounts, or clear the test system: the suite reads "
    f"{MOST_PAGES} pages of a list."
)

#: Default page and size.
DEFAULTS = {"page": 1, "size": DEFAULT_SIZE}


def ids_of(pages: Iterable[Page]) -> list[str]:
    """Ids on pages, in order."""
    return [identifier for page in pages for identifier in page.ids]


def _unless_missing(page: Page, names: Sequence[str], got: str) -> Got:
    """The answer, unless a number of the envelope is not an integer."""
    missing = next((name for name in names if getattr(page, name) is None), None)
    return Unclear(f"{missing} is not an integer", "list.envelope") if missing else got


# ---------------------------------------------------------------------- what a query demands of its page


def demanded(operation: str, exchange: Exchange, array_style: str) -> Iterator[tuple[str, Judgement]]:
    """Yields rules and judgements of a page by the raw query that it answers; none of what is no page."""
    page = page_of(exchange)
    if page is not None:
        query = queries.read(exchange.call.query)
        for rule, judgement in _demanded(operation, page, query, array_style):
            if operation in RULES[rule].operations:
                yield rule, judgement


def _demanded(operation: str, page: Page, query: Query, array_style: str) -> Iterator[tuple[str, Judgement]]:
    size = query.number("size") if query.readable else None
    yield "list.size-range", _number_from("a size from 1 to 100", page, "size", MAX_SIZE)
    yield "list.size-range", _items_at_most(f"at most {MAX_SIZE} items", page, MAX_SIZE)
    yield "list.page-range", _number_from("a page from 1 on", page, "page", None)
    yield "list.walk", _items_at_most("no more items than the page's size", page)
    yield "list.pages", count_of_pages(page.exchange.purpose, page, size)
    if not TRAITS[operation].others_add:
        # Other clients may add elements between the counting of `total` and the reading of items.
        yield "list.page-beyond", _nothing_beyond("no items on a page past the last", page)
    if not query.readable:
        return
    for name, default in DEFAULTS.items():
        if (asked := query.number(name)) is not None:
            yield "list.echo", number_is(f"{name}={asked}", page, name, asked)
        elif not any(name in key.lower() for key, _ in query.pairs):
            yield "list.defaults", number_is(f"no {name} in the query", page, name, default)
    for rule, name, value in queries.filters(operation, query, array_style):
        yield rule, _only_passing(f"only elements that fit {name}={value}", page, name, value)


def number_is(what: str, page: Page, name: str, value: int) -> Judgement:
    """A number of the envelope has this value."""
    number = getattr(page, name)
    got = _unless_missing(page, [name], "" if number == value else f"{name} {number}")
    return f"{what}: {name} {value}", got, page.exchange


def number_among(
    what: str, page: Page, name: str, values: Sequence[int], plain: Page | None = None
) -> Judgement:
    """The page's number, or its size and the items that fill it, is one of these values; it lacks no more
    items than the answer to a `plain` query."""
    number, usual = getattr(page, name), lacking(plain) if plain else 0
    good = number in values and (name != "size" or (len(page.items) <= number and lacking(page) <= usual))
    got = "" if good else f"{name} {number} with {count(len(page.items), 'item')}"
    expected = f"{what}: {name} {' or '.join(map(str, values))}, or a refusal (4xx)"
    return expected, _unless_missing(page, [name], got), page.exchange


def _number_from(what: str, page: Page, name: str, highest: int | None) -> Judgement:
    """A number of the envelope is at least 1, and at most `highest` if given."""
    number = getattr(page, name)
    good = number is not None and number >= 1 and (highest is None or number <= highest)
    return what, _unless_missing(page, [name], "" if good else f"{name} {number}"), page.exchange


def _items_at_most(what: str, page: Page, most: int | None = None) -> Judgement:
    """A page has at most `most` items, by default its own size."""
    limit = page.size if most is None else most
    if limit is None:
        return what, _unless_missing(page, ["size"], ""), page.exchange
    good = len(page.items) <= limit or (most is None and limit < 1)
    got = count(len(page.items), "item") + (f" with size {limit}" if most is None else "")
    return what, "" if good else got, page.exchange


def count_of_pages(what: str, page: Page, size: int | None, known: int | None = None) -> Judgement:
    """`pages` follows from the answer's total or the `known` number of elements, and from its size or the
    requested one; for an empty list it may be 0 or 1."""
    expected = f"{what}: pages is total / size, rounded up"
    totals = {value for value in (page.total, known) if value is not None and value >= 0}
    sizes = {value for value in (page.size, size) if value is not None and value > 0}
    if not totals or not sizes:
        reason = "total or size is not an integer above zero"
        return expected, Unclear(reason, "list.envelope"), page.exchange
    fitting = {pages_of(total, each) for total in totals for each in sizes}
    fitting |= {1} if 0 in fitting else set()
    got = "" if page.pages in fitting else f"pages {page.pages}, total {page.total}, size {page.size}"
    return expected, _unless_missing(page, ["pages"], got), page.exchange


def _nothing_beyond(what: str, page: Page) -> Judgement:
    """A page beyond the last, by its own numbers, has no items."""
    number, size, total = page.page or 0, page.size or 0, page.total or 0
    beyond = page.items and size >= 1 and (number - 1) * size >= total
    got = f"{count(len(page.items), 'item')} on page {number}, total {total}" if beyond else ""
    return what, _unless_missing(page, ["page", "size", "total"], got), page.exchange


def _only_passing(what: str, page: Page, name: str, value: str) -> Judgement:
    """Each element of a page passes a filter, if it shows the filter's member precisely enough."""
    for item in objects(page.items):
        if tells(item, name, value) and not passes(item, name, value):
            member = queries.MEMBERS[name]
            return what, f"{member} {show(item.get(member))}", page.exchange
    return what, "", page.exchange


# ---------------------------------------------------------------------- pages and sizes out of range


def size_in_range(what: str, page: Page, *, filled: bool) -> Judgement:
    """A page has a size from 1 to MAX_SIZE and no more items than that. `filled`: the list has elements."""
    number = len(page.items)
    good = page.size is not None and 1 <= page.size <= MAX_SIZE and number <= page.size
    # An empty page of a filled list: a size of 0 was obeyed, whatever the answer says.
    good = good and (number > 0 or not filled)
    got = "" if good else f"{number} items with size {show(page.exchange.get('size'))}"
    return what, got, page.exchange


def page_from_one(what: str, page: Page) -> Judgement:
    """The page's number is at least 1."""
    good = page.page is not None and page.page >= 1
    return what, "" if good else f"page {show(page.exchange.get('page'))}", page.exchange


def no_repeats(what: str, page: Page) -> Judgement:
    """A page shows no element twice."""
    twice = repeated(page.ids)
    return what, f"{show(twice[0])} more than once" if twice else "", page.exchange


def none_in_common(what: str, page: Page, other: Page) -> Judgement:
    """Two pages of different lists show no element of each other."""
    common = set(page.ids) & set(other.ids)
    return what, f"{count(len(common), 'element')} of it" if common else "", page.exchange, other.exchange


def no_items(what: str, page: Page, numbers: Collection[int] = ()) -> Judgement:
    """The page has no items, or a number that is none of `numbers`."""
    good = not page.items or (numbers and page.page not in numbers)
    return what, "" if good else f"{len(page.items)} items", page.exchange


# ---------------------------------------------------------------------- walks: all pages of a list


def listed(what: str, ids: Sequence[str], exchanges: Sequence[Exchange], *, once: bool = False) -> Judgement:
    """All pages of a list together show each of these ids; with `once`, no element twice."""
    expected = f"{what}: {count(len(ids), 'element')}, {'each exactly once' if once else 'none missing'}"
    expected = f"{what}: no element twice" if once and not ids else expected
    pages = [page_of(exchange) for exchange in exchanges]
    read = [page for page in pages if page is not None]
    if not read or len(read) < len(exchanges):
        other = next((one for one, page in zip(exchanges, pages, strict=True) if page is None), None)
        return expected, _no_page(other), *exchanges[:1]
    shows = set(ids_of(read))
    missing = [identifier for identifier in ids if identifier not in shows]
    twice = repeated(ids_of(read)) if once else []
    if missing and not twice and not _all_read(read):
        return expected, unread(read), read[-1].exchange
    got = [f"{len(twice)} more than once, {_places(read, twice[0])}"] if twice else []
    got += [f"{count(len(missing), 'element')} missing"] if missing else []
    proof = [page.exchange for page in read if twice and twice[0] in page.ids][:2]
    return expected, "; ".join(got), *(proof or [read[-1].exchange])


def unread(pages: Sequence[Page]) -> Unclear:
    """The reason why a list that was not read whole does not show what is in it."""
    number = pages_of(pages[-1].total or 0, pages[-1].size or 1)
    return Unclear(f"the suite read {len(pages)} of the list's {count(number, 'page')}", remedy=SHORTER)


def pageless(exchange: Exchange) -> Unclear | None:
    """Reason why an answer shows no elements of a list: it is unusable, or has no page; None if it shows
    them."""
    return unusable(exchange) or (None if page_of(exchange) else _no_page(exchange))


def _no_page(exchange: Exchange | None) -> Unclear:
    """The reason why a list cannot be judged."""
    answer = "nothing" if exchange is None else f"{exchange.operation} was answered {exchange.described()}"
    return Unclear(f"{answer}, not with a page", "list.envelope")


def _all_read(pages: Sequence[Page]) -> bool:
    """True if the pages are all of the list, by its total or an empty last page."""
    last = pages[-1]
    if not last.items or last.total is None or not last.size:
        return True
    return len(pages) >= pages_of(last.total, last.size)


def _places(pages: Sequence[Page], identifier: str) -> str:
    places = [str(at) for at, page in enumerate(pages, 1) for each in page.ids if each == identifier]
    return f"one on page {' and '.join(places)}" if len(set(places)) > 1 else f"one twice on page {places[0]}"


def pages_of_walk(what: str, page: Page, walk: Sequence[Page], size: int, *, growing: bool) -> Judgement:
    """A page's `pages` fits the elements that a walk shows or counts; in a `growing` list it may be more."""
    elements = max(len(set(ids_of(walk))), walk[0].total or 0)
    known = pages_of(elements, size)
    expected = f"{what}: pages {known}" + (" or more" if growing else "")
    good = page.pages == known or (growing and page.pages is not None and page.pages > known)
    got = "" if good else f"pages {page.pages}"
    since = page.exchange.started - walk[-1].exchange.arrived
    if not good and page.pages is not None and page.pages < known and since > 0:
        got += f", though {since:.1f} s before its pages had shown {count(elements, 'element')}"
    return expected, _unless_missing(page, ["pages"], got), *(each.exchange for each in (page, *walk))


def full_pages(what: str, pages: Sequence[Page], size: int) -> Judgement:
    """Each page of a walk but the last is full."""
    expected, number = f"{what}: {size} elements on each page but the last", len(ids_of(pages))
    for at, page in enumerate(pages):
        if len(page.items) != max(0, min(size, number - at * size)):
            return expected, f"{len(page.items)} on page {at + 1}", page.exchange
    return expected, "", *(page.exchange for page in pages)


def same_order(what: str, first: Sequence[Page], walk: Sequence[Page]) -> Judgement:
    """A walk shows the same elements in the same order as the first one, as far as both were read."""
    shows = [ids_of(pages) for pages in (first, walk)]
    if not all(map(_all_read, (first, walk))):
        least = min(map(len, shows))
        shows = [ids[:least] for ids in shows]
    got = "" if shows[0] == shows[1] else "another one"
    return what, got, *(page.exchange for page in [*first, *walk])


def same_each_time(what: str, pages: Sequence[Page], *, moving: bool = False) -> Judgement:
    """Each page shows the same elements in the same order; if `moving`, only those on all pages count."""
    shows = [page.ids for page in pages]
    if moving:
        common = set(shows[0]).intersection(*shows)
        shows = [[identifier for identifier in ids if identifier in common] for ids in shows]
    for at, ids in enumerate(shows):
        if ids != shows[0]:
            return (
                what,
                f"other elements, or another order, at read {at + 1} of {len(shows)}",
                pages[at].exchange,
                pages[0].exchange,
            )
    return what, "", *(page.exchange for page in pages)


def part_of_walk(what: str, page: Page, walk: Sequence[Page], number: int, size: int) -> Judgement:
    """A page shows the part of a walk that its number and size determine."""
    part = ids_of(walk)[(number - 1) * size : number * size]
    expected = f"{what}: the {len(part)} elements that follow those of page {number - 1}"
    others = len(set(page.ids) - set(part))
    got = "" if page.ids == part else f"{len(page.ids)} elements, {others} of them others"
    return expected, got, page.exchange


def same_elements(what: str, page: Page, other: Page) -> Judgement:
    """Two pages show the same elements in any order."""
    others = len(set(page.ids) - set(other.ids))
    good = sorted(page.ids) == sorted(other.ids)
    got = "" if good else f"{len(page.items)} items, {others} of them others"
    return what, got, page.exchange, other.exchange


def counts_at_most(what: str, pages: Sequence[Page], walk: Walk, within: float) -> Judgement:
    """No total counts more elements than these pages and a later walk show; of a total that is less than
    `within` seconds older than the walk nothing is said."""
    number = len({*ids_of(pages), *walk.ids})
    least = walk.exchanges[0].started if walk.exchanges else 0.0
    most = max(pages, key=lambda page: page.total or 0)
    proof = [most.exchange, *walk.page_exchanges]
    if (most.total or 0) <= number:
        return f"{what}: at most {number}", "", *proof
    if least - most.exchange.arrived < within:
        return what, Unclear("the elements that a total counts may show later"), *proof
    return f"{what}: at most {number}", f"total {most.total}", *proof


def lacking(page: Page) -> int:
    """Number of elements that a page lacks by its own numbers; 0 if it has them, or lacks a number."""
    if page.total is None or not page.page or not page.size:
        return 0
    return max(0, min(page.size, page.total - (page.page - 1) * page.size) - len(page.items))


def as_many_as_counted(what: str, page: Page) -> Judgement:
    """A page has as many elements as its total, page and size say."""
    expected = f"{what}: as many elements as total {page.total}, page {page.page} and size {page.size} say"
    got = f"{len(page.items)}, {lacking(page)} too few" if lacking(page) else ""
    return expected, _unless_missing(page, ["total", "page", "size"], got), page.exchange


def one_total(what: str, earlier: Sequence[Page], pages: Sequence[Page]) -> Judgement:
    """In a list that grows while it is read, no total is less than the elements of an earlier page, and
    totals do not differ systematically between first pages and the rest."""
    exchanges = [page.exchange for page in (*earlier, *pages)]
    least = max((len(page.items) for page in earlier), default=0)
    short = [page for page in pages if page.total is not None and page.total < least]
    if short:
        got = f"total {short[0].total}, fewer than the {least} elements of one page"
        return what, got, *exchanges
    first = {page.total for page in pages if page.page == 1}
    rest = {page.total for page in pages if page.page != 1}
    if len(first) == 1 and rest and not first & rest and sum(page.page == 1 for page in pages) > 1:
        got = f"total {show(first.pop())} on each first page, and {show(rest.pop())} on others"
        return what, got, *exchanges
    return what, "", *exchanges


# ---------------------------------------------------------------------- which elements, shown how


def none_of_another(
    what: str,
    exchanges: Sequence[Exchange],
    created: Collection[str],
    strangers: Mapping[str, str],
    *,
    exact: bool,
) -> Judgement:
    """The pages show no element of another parent; with `exact`, only created ones. `strangers` are ids with
    their owners."""
    expected = f"{what}: only elements that were created there"
    pages = [page_of(exchange) for exchange in exchanges]
    shows = dict.fromkeys(ids_of(page for page in pages if page is not None))
    foreign = [each for each in shows if each in strangers or (exact and each not in created)]
    owners = sorted({strangers[each] for each in foreign if each in strangers})
    got = f"{count(len(foreign), 'other')}" + (f", among them {' and '.join(owners)}" if owners else "")
    return expected, got if foreign else "", *exchanges


def keeps_what_fits(
    what: str,
    unfiltered: Exchange,
    exchanges: Sequence[Exchange],
    ids: Collection[str],
    *,
    only_leaves_out: bool,
) -> Judgement:
    """Of the elements with these ids, which a list shows unfiltered, pages show those that pass their query
    and no others; with `only_leaves_out`, missing ones are not judged."""
    pages = [page_of(exchange) for exchange in exchanges]
    elements = [item for item in objects(unfiltered.get("items")) if str(item.get("id")) in ids]
    if None in pages:
        return what, _no_page(exchanges[pages.index(None)]), *exchanges
    if not elements:
        return what, Unclear("the list without a filter shows none of its elements"), unfiltered
    query = queries.read(exchanges[0].call.query)
    passed = {item["id"]: [passes(item, *pair) for pair in query.pairs] for item in elements}
    if any(None in each for each in passed.values()):
        return what, Unclear("a date or a created is not a timestamp"), unfiltered
    wanted = {identifier for identifier, each in passed.items() if all(each)}
    shows = set(ids_of(page for page in pages if page is not None)) & {item["id"] for item in elements}
    wrong, missing = len(shows - wanted), 0 if only_leaves_out else len(wanted - shows)
    got = [f"{wrong} that it should leave out"] if wrong else []
    got += [f"{missing} of them missing"] if missing else []
    return what, " and ".join(got), *[*exchanges, unfiltered]
