"""Expectations of the pages of a list (section 8).

`demanded` states what every page that answers a query must show; the other expectations also depend on the
list's elements. wire/pages reads lists, judge/queries parses queries.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance._text import count
from conformance.contract.rules import RULES
from conformance.contract.traits import TRAITS
from conformance.judge import queries
from conformance.judge.comparison import alike, objects, show
from conformance.judge.expectations import CannotTell, Expectation, Outcome, predicate
from conformance.judge.expectations.expectation import outcome, read
from conformance.judge.queries import Query, passes, tells
from conformance.wire.messages import Exchange
from conformance.wire.pages import DEFAULT_SIZE, MAX_SIZE, Page, page_of, pages_of, repeated

#: Default page and size.
DEFAULTS = {"page": 1, "size": DEFAULT_SIZE}


def _page(exchange: Exchange) -> Page:
    """Reads an exchange as a page. Raises CannotTell if it is not one."""
    page = page_of(exchange)
    if page is None:
        reason = f"{exchange.operation} was answered {exchange.described()}, not with a page"
        raise CannotTell(reason, "list.envelope")
    return page


def pages(exchanges: Sequence[Exchange]) -> list[Page]:
    """Reads exchanges as pages. Raises CannotTell if an answer is not a page."""
    return [_page(exchange) for exchange in exchanges]


def ids_of(read: Iterable[Page]) -> list[str]:
    """Ids on pages, in order."""
    return [identifier for page in read for identifier in page.ids]


def _number(page: Page, name: str) -> int:
    """A number of the envelope. Raises CannotTell if it is not an integer."""
    value = getattr(page, name)
    if value is None:
        raise CannotTell(f"{name} is not an integer", "list.envelope")
    return int(value)


# ---------------------------------------------------------------------- what a query demands of its page


@functools.lru_cache(1024)
def demanded(operation: str, query: str, array_style: str) -> tuple[tuple[str, Expectation], ...]:
    """Rules and expectations of every page that answers a raw query of a list operation."""
    found = _demanded(operation, queries.read(query), array_style)
    return tuple(pair for pair in found if operation in RULES[pair[0]].operations)


def _demanded(operation: str, query: Query, array_style: str) -> Iterator[tuple[str, Expectation]]:
    size = query.number("size") if query.readable else None
    yield "list.size-range", number_from("a size from 1 to 100", name="size", lowest=1, highest=MAX_SIZE)
    yield "list.size-range", items_at_most(f"at most {MAX_SIZE} items", most=MAX_SIZE)
    yield "list.page-range", number_from("a page from 1 on", name="page", lowest=1)
    yield "list.walk", items_at_most("no more items than the page's size")
    yield "list.pages", count_of_pages("a page", size)
    if not TRAITS[operation].others_add:
        # Other clients may add elements between the counting of `total` and the reading of items.
        yield "list.page-beyond", nothing_beyond("no items on a page past the last")
    if not query.readable:
        return
    for name, default in DEFAULTS.items():
        if (asked := query.number(name)) is not None:
            yield "list.echo", echoes(f"{name}={asked}", name, asked)
        elif not any(name in key.lower() for key, _ in query.pairs):
            yield "list.defaults", number_is(f"no {name} in the query", name, default)
    for rule, name, value in queries.filters(operation, query, array_style):
        yield rule, only_passing(f"only elements that fit {name}={value}", name=name, value=value)


@predicate(sentence="{what}: {name} {value}")
def number_is(exchanges: Sequence[Exchange], name: str, value: int) -> str:
    """A number of the envelope has this value."""
    shown = _number(_page(exchanges[0]), name)
    return "" if shown == value else f"{name} {shown}"


@predicate(sentence="{what}: {name} {value}")
def echoes(exchanges: Sequence[Exchange], name: str, value: int) -> str:
    """The page or size of the envelope is the requested one: `value`, unless a replay requests another page
    because the list has grown."""
    asked = queries.read(exchanges[0].call.query).number(name)
    shown = _number(_page(exchanges[0]), name)
    return "" if shown == (value if asked is None else asked) else f"{name} {shown}"


@predicate
def number_from(exchanges: Sequence[Exchange], name: str, lowest: int, highest: int | None = None) -> str:
    """A number of the envelope is at least `lowest`, and at most `highest` if given."""
    value = _number(_page(exchanges[0]), name)
    return "" if value >= lowest and (highest is None or value <= highest) else f"{name} {value}"


@predicate
def items_at_most(exchanges: Sequence[Exchange], most: int | None = None) -> str:
    """A page has at most `most` items, by default its own size."""
    page = _page(exchanges[0])
    limit = _number(page, "size") if most is None else most
    good = len(page.items) <= limit or (most is None and limit < 1)
    return "" if good else count(len(page.items), "item") + (f" with size {limit}" if most is None else "")


@predicate(sentence="{what}: pages is total / size, rounded up")
def count_of_pages(exchanges: Sequence[Exchange], size: int | None = None, known: int | None = None) -> str:
    """`pages` follows from the answer's total or the `known` number of elements, and from its size or the
    requested one; for an empty list it may be 0 or 1."""
    page = _page(exchanges[0])
    totals = {value for value in (page.total, known) if value is not None and value >= 0}
    sizes = {value for value in (page.size, size) if value is not None and value > 0}
    if not totals or not sizes:
        raise CannotTell("total or size is not an integer above zero", "list.envelope")
    fitting = {pages_of(total, each) for total in totals for each in sizes}
    fitting |= {1} if 0 in fitting else set()
    told = f"pages {_number(page, 'pages')}, total {page.total}, size {page.size}"
    return "" if page.pages in fitting else told


@predicate
def nothing_beyond(exchanges: Sequence[Exchange]) -> str:
    """A page beyond the last, by its own numbers, has no items."""
    page = _page(exchanges[0])
    at, size, total = (_number(page, name) for name in ("page", "size", "total"))
    beyond = size >= 1 and (at - 1) * size >= total
    return f"{count(len(page.items), 'item')} on page {at}, total {total}" if beyond and page.items else ""


@predicate
def only_passing(exchanges: Sequence[Exchange], name: str, value: str) -> str:
    """Each element of a page passes a filter, if it shows the filter's member precisely enough."""
    for item in objects(_page(exchanges[0]).items):
        if tells(item, name, value) and not passes(item, name, value):
            member = queries.MEMBERS[name]
            return f"{member} {show(item.get(member))}"
    return ""


# ---------------------------------------------------------------------- pages and sizes out of range


@predicate
def size_in_range(exchanges: Sequence[Exchange], filled: bool) -> str:
    """A page has a size from 1 to MAX_SIZE and no more items than that; or a refusal. `filled`: the list has
    elements."""
    if exchanges[0].refused:
        return ""
    page = _page(exchanges[0])
    count = len(page.items)
    good = page.size is not None and 1 <= page.size <= MAX_SIZE and count <= page.size
    # An empty page of a filled list: a size of 0 was obeyed, whatever the answer says.
    good = good and (count > 0 or not filled)
    return "" if good else f"{count} items with size {show(exchanges[0].get('size'))}"


@predicate
def page_from_one(exchanges: Sequence[Exchange]) -> str:
    """The page's number is at least 1, or the request is refused."""
    if exchanges[0].refused:
        return ""
    number = _page(exchanges[0]).page
    return "" if number is not None and number >= 1 else f"page {show(exchanges[0].get('page'))}"


@predicate
def no_repeats(exchanges: Sequence[Exchange]) -> str:
    """A page shows no element twice."""
    twice = repeated(_page(exchanges[0]).ids)
    return f"{show(twice[0])} more than once" if twice else ""


@predicate
def none_in_common(exchanges: Sequence[Exchange]) -> str:
    """Two pages of different lists show no element of each other."""
    first, second = pages(exchanges[:2])
    common = set(first.ids) & set(second.ids)
    return f"{count(len(common), 'element')} of it" if common else ""


@predicate
def no_items(exchanges: Sequence[Exchange], numbers: Sequence[int] = (), refusable: bool = False) -> str:
    """The page has no items, or a number that is none of `numbers`; if `refusable`, a refusal will do."""
    if refusable and exchanges[0].refused:
        return ""
    page = _page(exchanges[0])
    if not page.items or (numbers and page.page not in numbers):
        return ""
    return f"{len(page.items)} items"


# ---------------------------------------------------------------------- walks: all pages of a list


def _listing(what: str, ids: Sequence[str], once: bool) -> str:
    if once and not ids:
        return f"{what}: no element twice"
    return f"{what}: {len(ids)} elements, each {'exactly once' if once else 'of them in the list'}"


@predicate(sentence=_listing)
def Listed(exchanges: Sequence[Exchange], ids: Sequence[str], once: bool = False) -> Outcome:
    """All pages of a list together show each of these ids; with `once`, no element twice."""
    read = pages(exchanges)
    shown = set(ids_of(read))
    missing = [identifier for identifier in ids if identifier not in shown]
    twice = repeated(ids_of(read)) if once else []
    if missing and not twice and not _all_read(read):
        raise CannotTell("the list has more pages than were read")
    told = [f"{len(twice)} more than once, {_places(read, twice[0])}"] if twice else []
    told += [f"{len(missing)} not at all"] if missing else []
    shows = [at for at, page in enumerate(read) if twice and twice[0] in page.ids][:2]
    return outcome("; ".join(told), *(shows or [len(read) - 1]))


def _all_read(read: Sequence[Page]) -> bool:
    """True if the pages are all of the list, by its total or an empty last page."""
    last = read[-1]
    if not last.items or last.total is None or not last.size:
        return True
    return len(read) >= pages_of(last.total, last.size)


def _places(read: Sequence[Page], identifier: str) -> str:
    places = [str(at) for at, page in enumerate(read, 1) for shown in page.ids if shown == identifier]
    return f"one on page {' and '.join(places)}" if len(set(places)) > 1 else f"one twice on page {places[0]}"


@predicate
def total_of_walk(exchanges: Sequence[Exchange]) -> str:
    """The first page's `total` is the number of distinct elements on the other pages."""
    page, *walk = pages(exchanges)
    total = _number(page, "total")
    return "" if total == len(set(ids_of(walk))) else f"total {total}"


@predicate
def pages_of_walk(exchanges: Sequence[Exchange], size: int, growing: bool) -> str:
    """The first page's `pages` fits the elements that a walk (the other pages) shows or counts; in a
    `growing` list it may be more."""
    page, *walk = pages(exchanges)
    known = pages_of(max(len(set(ids_of(walk))), walk[0].total or 0), size)
    number = _number(page, "pages")
    return "" if number == known or (growing and number > known) else f"pages {number}"


@predicate
def full_pages(exchanges: Sequence[Exchange], size: int) -> str | Outcome:
    """Each page of a walk but the last is full."""
    read = pages(exchanges)
    count = sum(len(page.items) for page in read)
    for at, page in enumerate(read):
        if len(page.items) != max(0, min(size, count - at * size)):
            return outcome(f"{len(page.items)} on page {at + 1}", at)
    return ""


@predicate
def same_order(exchanges: Sequence[Exchange], first: int) -> str:
    """The pages after the `first` ones show the same elements in the same order as those, as far as both were
    read."""
    read = pages(exchanges)
    walks = read[:first], read[first:]
    shown = [ids_of(walk) for walk in walks]
    if not all(map(_all_read, walks)):
        # A list that has grown since a replay was recorded has further pages.
        least = min(map(len, shown))
        shown = [ids[:least] for ids in shown]
    return "" if shown[0] == shown[1] else "another one"


@predicate
def same_each_time(exchanges: Sequence[Exchange], moving: bool = False) -> str | Outcome:
    """Each page shows the same elements in the same order; if `moving`, only those on all pages count."""
    read = [page.ids for page in pages(exchanges)]
    if moving:
        common = set(read[0]).intersection(*read)
        read = [[identifier for identifier in ids if identifier in common] for ids in read]
    for at, ids in enumerate(read):
        if ids != read[0]:
            return outcome(f"a difference at reading {at + 1}", 0, at)
    return ""


@predicate
def part_of_walk(exchanges: Sequence[Exchange], number: int, size: int) -> str | Outcome:
    """The first page shows the part of the walk (the other pages) that its number and size determine."""
    page, *walk = pages(exchanges)
    part = ids_of(walk)[(number - 1) * size : number * size]
    others = len(set(page.ids) - set(part))
    return "" if page.ids == part else outcome(f"{len(page.ids)} elements, {others} of them others", 0)


@predicate
def same_elements(exchanges: Sequence[Exchange]) -> str:
    """Two pages show the same elements in any order, or the first is a refusal."""
    if exchanges[0].refused:
        return ""
    first, second = pages(exchanges[:2])
    others = len(set(first.ids) - set(second.ids))
    same = sorted(first.ids) == sorted(second.ids)
    return "" if same else f"{len(first.items)} items, {others} of them others"


@predicate
def one_total(exchanges: Sequence[Exchange]) -> str:
    """In a list that grows while it is read, no total is less than the elements of an earlier page (the first
    exchange), and totals do not differ systematically between first pages and the rest."""
    earlier, *read = [page for exchange in exchanges if (page := page_of(exchange)) is not None]
    short = [page for page in read if page.total is not None and page.total < len(earlier.items)]
    if short:
        return f"total {short[0].total}, fewer than the {len(earlier.items)} elements of one page"
    first = {page.total for page in read if page.page == 1}
    rest = {page.total for page in read if page.page != 1}
    if len(first) == 1 and rest and not first & rest and sum(page.page == 1 for page in read) > 1:
        return f"total {show(first.pop())} on each first page, and {show(rest.pop())} on others"
    return ""


# ---------------------------------------------------------------------- which elements, shown how


@predicate
def none_of_another(
    exchanges: Sequence[Exchange], created: Sequence[str], strangers: Sequence[Sequence[str]], exact: bool
) -> str:
    """The pages show no element of another parent; with `exact`, only created ones. `strangers` are pairs of
    an id and its owner."""
    whose: dict[str, str] = {stranger[0]: stranger[1] for stranger in strangers}
    shown = dict.fromkeys(ids_of(pages(exchanges)))
    foreign = [each for each in shown if each in whose or (exact and each not in created)]
    named = sorted({whose[each] for each in foreign if each in whose})
    told = f"{len(foreign)} others" + (f", among them {' and '.join(named)}" if named else "")
    return told if foreign else ""


@predicate
def keeps_what_fits(exchanges: Sequence[Exchange], ids: Sequence[str], only_leaves_out: bool = False) -> str:
    """Of the elements with these ids, which the first exchange shows unfiltered, the other pages show those
    that pass their query and no others; with `only_leaves_out`, missing ones are not judged."""
    elements = [item for item in objects(exchanges[0].get("items")) if item.get("id") in ids]
    if not elements:
        raise CannotTell("the list without a filter shows none of its elements")
    query = queries.read(exchanges[1].call.query)
    wanted = {item["id"] for item in elements if all(passes(item, *pair) for pair in query.pairs)}
    shown = set(ids_of(pages(exchanges[1:]))) & {item["id"] for item in elements}
    wrong, missing = len(shown - wanted), 0 if only_leaves_out else len(wanted - shown)
    told = [f"{wrong} that it should leave out"] if wrong else []
    told += [f"{missing} of them missing"] if missing else []
    return " and ".join(told)


@predicate
def no_other_labelled(exchanges: Sequence[Exchange], label: str, known: Sequence[str]) -> str:
    """The pages show only known elements with a label."""
    items = [item for page in exchanges for item in objects(page.get("items"))]
    others = [item for item in items if item.get("label") == label and item.get("id") not in known]
    return f"an element labelled {show(label)}" if others else ""


@predicate
def element_shows(
    exchanges: Sequence[Exchange], identifier: str, name: str, value: Any, operation: str
) -> str | Outcome:
    """The pages show a member of an element with a value, compared as in an answer of `operation`."""
    value = read(value, exchanges)
    for at, page in enumerate(exchanges):
        for item in objects(page.get("items")):
            shown = item.get("id") == identifier and name in item
            if shown and not alike(operation, name, item[name], value):
                return outcome(show(item[name]), at)
    return ""
