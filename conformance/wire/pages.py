"""Reading of paged lists (section 8).

Never raises because of an answer: one that is not a page ends a walk, as its `broken`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS
from conformance.wire.messages import Call, Exchange

DEFAULT_SIZE = 10
MAX_SIZE = 100

#: The numbers of a list's envelope.
NUMBERS = ("total", "page", "size", "pages")

Parameters = list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """A 2xx answer whose `items` is an array; numbers of the envelope are None if they are not integers."""

    exchange: Exchange
    items: list[Any]
    total: int | None
    page: int | None
    size: int | None
    pages: int | None

    @functools.cached_property
    def ids(self) -> list[str]:
        """Identities of the items, in order (see `identity`)."""
        return [identity(item) for item in self.items]


def page_of(exchange: Exchange) -> Page | None:
    """Reads an answer as a page; None if it is none."""
    items = exchange.get("items")
    if not exchange.succeeded or not isinstance(items, list):
        return None
    return Page(exchange, items, *(integer(exchange.get(name)) for name in NUMBERS))


def integer(value: Any) -> int | None:
    """Returns the integer that a JSON value is, written as 1, 1.0 or 1e0; None for anything else, such as
    true or 1.5."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def identity(item: Any) -> str:
    """Key of an item: its id, or its JSON text if it has none."""
    if isinstance(item, dict) and isinstance(item.get("id"), str):
        return str(item["id"])
    return json.dumps(item, sort_keys=True)


def repeated(ids: Iterable[str]) -> list[str]:
    """Ids that occur more than once."""
    return [identifier for identifier, times in Counter(ids).items() if times > 1]


def pages_of(total: int, size: int) -> int:
    """Number of pages: total / size, rounded up."""
    return -(-total // size)


def query(
    page: int | None = None, size: int | None = None, filters: Iterable[tuple[str, str]] = ()
) -> Parameters:
    """Query parameters of a list request: filters, page, size."""
    numbers = [("page", page), ("size", size)]
    return [*filters, *((name, str(value)) for name, value in numbers if value is not None)]


def status_filter(operation: str, style: str, *values: str) -> Parameters:
    """Query parameters that filter by status: `status`, or `statuses` in the target file's array style
    (repeat, comma, brackets)."""
    if "status" in OPERATIONS[operation].query_parameters:
        return [("status", value) for value in values]
    if style == "comma":
        return [("statuses", ",".join(values))]
    return [("statuses[]" if style == "brackets" else "statuses", value) for value in values]


# ---------------------------------------------------------------------- walking


@dataclass
class Walk:
    """Pages of a list at one size: from the first on, or at one of its ends."""

    size: int
    pages: list[Page] = field(default_factory=list)
    #: The answer that ended the walk because it was not a page.
    broken: Exchange | None = None
    #: Not all pages were read.
    cut: bool = False
    #: Elements added since (see `newest`).
    fresh: list[Any] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """True if every answer was a page."""
        return bool(self.pages) and self.broken is None

    @property
    def items(self) -> list[Any]:
        return [item for page in self.pages for item in page.items]

    @property
    def ids(self) -> list[str]:
        """Ids of all items in order, duplicates included."""
        return [identifier for page in self.pages for identifier in page.ids]

    @property
    def repeated(self) -> list[str]:
        """Ids that occur more than once."""
        return repeated(self.ids)

    @property
    def total(self) -> int | None:
        """Total of the first page."""
        return self.pages[0].total if self.pages else None

    def counts(self, least: int) -> bool:
        """True if no total is less than this: elements may be counted later than shown."""
        return all(page.total is None or page.total >= least for page in self.pages)

    @property
    def fell(self) -> bool:
        """True if `total` decreased from page to page: an element may have slipped between those of replicas
        of different age."""
        return _falls([page.total for page in self.pages])

    @property
    def page_exchanges(self) -> list[Exchange]:
        return [page.exchange for page in self.pages]

    @property
    def exchanges(self) -> list[Exchange]:
        return self.page_exchanges + ([self.broken] if self.broken else [])


def _falls(totals: Iterable[int | None]) -> bool:
    known = [total for total in totals if total is not None]
    return any(later < earlier for earlier, later in itertools.pairwise(known))


#: Maximum number of pages of a walk, and number of pages read of a longer list.
MOST_PAGES, FEW_PAGES = 14, 3

#: Sends a call for a purpose.
Send = Callable[[Call, str], Exchange]


def walk(
    send: Send,
    call: Call,
    *,
    size: int = MAX_SIZE,
    filters: Iterable[tuple[str, str]] = (),
) -> Walk:
    """Reads a list at one size, of more than MOST_PAGES pages the first FEW_PAGES; `call` is the list's call
    without a query.

    The number of pages follows from `total`, not from `pages`, which may be wrong. After a full last page it
    reads one more, and keeps it only if it has new elements.
    """
    filters = list(filters)
    done = Walk(size)
    known: set[str] = set()
    number = 0

    def read(number: int) -> Exchange:
        return send(call.with_query(query(number, size, filters)), f"page {number} of size {size}")

    def pages_now(number: int) -> int:
        first = page_of(read(1)) if number > 1 else None
        return number if first is None or first.total is None else pages_of(first.total, size)

    while True:
        number += 1
        exchange = read(number)
        page = page_of(exchange)
        total = done.total
        beyond = total is not None and number > pages_of(total, size)
        if page is None:
            # The list may have shrunk since the first page was read.
            gone = exchange.refused and (beyond or number > pages_now(number))
            done.broken = None if gone else exchange
            return done
        fresh = set(page.ids) - known
        if (beyond or total is None) and number > 1 and not fresh:
            return done
        done.pages.append(page)
        known |= fresh
        last = 0 if done.total is None else pages_of(done.total, size)
        if not page.items or (number >= last and len(page.items) < size):
            return done
        if number >= (FEW_PAGES if last > MOST_PAGES else MOST_PAGES):
            done.cut = True
            return done


def newest(send: Send, call: Call, since: int, place: str) -> Walk:
    """Reads the elements added to a list since it had `since` elements: a few pages at its start or end if
    `place` says that they are added there, else the whole list. `cut`: some may have been missed."""
    if place not in ("start", "end"):
        done = walk(send, call)
        done.cut |= done.broken is not None
        return done
    done = Walk(MAX_SIZE, cut=True)
    number = 1 if place == "start" else since // MAX_SIZE + 1
    while len(done.pages) < MOST_PAGES:
        exchange = send(call.with_query(query(number, MAX_SIZE)), f"page {number} of size {MAX_SIZE}")
        page = page_of(exchange)
        if page is None or page.total is None:
            done.broken = exchange
            return done
        done.pages.append(page)
        last = page.total - since if place == "start" else page.total
        if not page.items or number * MAX_SIZE >= last:
            done.fresh = done.items[: max(0, last)] if place == "start" else done.items[since % MAX_SIZE :]
            done.cut = False
            return done
        number += 1
    return done


def _sorted_by(first: Page, last: Page) -> tuple[Callable[[Any], Any], bool] | None:
    """The key by which two pages of a list are in order, and whether that is descending; None without one."""
    for name in ("created", "id", "name"):

        def key(item: Any, name: str = name) -> Any:
            value = item.get(name) if isinstance(item, dict) else None
            return timestamps.parse(value) if name == "created" else value if isinstance(value, str) else None

        values = [key(item) for page in (first, last) for item in page.items]
        if None in values or len(values) < 2 or values[0] == values[-1]:
            continue
        if values in (ordered := sorted(values), ordered[::-1]):
            return key, values[0] > values[-1]
    return None


def find(send: Send, call: Call, done: Walk, elements: Iterable[Any]) -> list[Page]:
    """Looks for elements of a list that was not read to its end (`done`), by bisection: by the member that it
    is sorted by, if its first and last page are in one order. Returns the pages read, the last one first;
    none where `done` has no total. An element that these do not show may be elsewhere."""
    if not done.pages or not done.total:
        return []
    read = dict(enumerate(done.pages, 1))

    def page_at(number: int) -> Page | None:
        if number not in read and (
            page := page_of(send(call.with_query(query(number, done.size)), f"page {number} of {done.size}"))
        ):
            read[number] = page
        return read.get(number)

    end = pages_of(done.total, done.size)
    last = page_at(end)
    order = _sorted_by(done.pages[0], last) if last is not None else None
    for element in elements:
        if order is None:
            break
        key, descending = order
        wanted, lowest, highest = key(element), 1, end
        while wanted is not None and lowest <= highest:
            page = page_at(number := (lowest + highest) // 2)
            keys = [key(item) for item in page.items] if page is not None else []
            if not keys or None in keys or keys[0] <= wanted <= keys[-1] or keys[0] >= wanted >= keys[-1]:
                break
            lowest, highest = (
                (number + 1, highest) if (wanted < keys[0]) is descending else (lowest, number - 1)
            )
    return [page for number, page in reversed(read.items()) if number > len(done.pages)]


def sample(pages: int, most: int = MOST_PAGES) -> list[int]:
    """Numbers of the pages to read of `pages`: all up to `most`, else some at both ends and in the middle."""
    if pages <= most:
        return list(range(1, pages + 1))
    return [1, 2, 3, pages // 2, pages - 1, pages]


@dataclass
class PageReading:
    """A list read at several sizes: walks, that of MAX_SIZE first, and single pages."""

    walks: list[Walk]
    #: Size, number and answer of single pages.
    samples: list[tuple[int, int, Exchange]] = field(default_factory=list)

    @property
    def known(self) -> dict[str, None]:
        """Ids on the pages of all walks."""
        return dict.fromkeys(identifier for done in self.walks for identifier in done.ids)

    @property
    def _pages(self) -> list[Page]:
        """All pages in the order of reading."""
        read = [page for done in self.walks for page in done.pages]
        read += [page for _, _, exchange in self.samples if (page := page_of(exchange))]
        return sorted(read, key=lambda page: page.exchange.number)

    @property
    def ids(self) -> set[str]:
        """Ids on all pages."""
        return {identifier for page in self._pages for identifier in page.ids}

    @property
    def totals(self) -> list[int | None]:
        """Totals of all pages in the order of reading."""
        return [page.total for page in self._pages]

    @property
    def grew(self) -> bool:
        """True if `total` changed during reading: other clients added elements."""
        return len(set(self.totals)) > 1

    @property
    def fell(self) -> bool:
        """True if `total` decreased: replicas of different age answered."""
        return _falls(self.totals)

    def counts(self, least: int) -> bool:
        """True if no total is less than this: elements may be counted later than shown."""
        return all(total is None or total >= least for total in self.totals)

    @property
    def count(self) -> int:
        """The greatest total; 0 if no page has one."""
        return max((total for total in self.totals if total is not None), default=0)

    @property
    def shows_all(self) -> bool:
        """True if each walk shows as many elements as the greatest total, or not all were read: an element
        may be counted before it is listed, and so come between two walks."""
        return self.walks[0].cut or all(done.cut or self.count <= len({*done.ids}) for done in self.walks)

    @property
    def in_order(self) -> bool:
        """True if the first walk shows each known element once, so that orders can be compared with it."""
        first = self.walks[0]
        return (
            first.broken is None and not first.repeated and (first.cut or len(first.ids) == len(self.known))
        )


def read_at_all_sizes(send: Send, call: Call, sizes: Sequence[int]) -> PageReading:
    """Reads a list at MAX_SIZE and at `sizes`; of many pages, a sample."""
    reading = PageReading([walk(send, call)])
    first = reading.walks[0]
    count = max(len(first.ids), first.total or 0) if first.cut else len(first.ids)
    if count > 1 and all(count % size == 0 for size in sizes if size < count):
        # Some mistakes only show if the last page is not full.
        sizes = [*sizes, *[size for size in range(3, count) if count % size][:1]]
    for size in sizes:
        numbers = sample(pages_of(count, size))
        if len(numbers) == pages_of(count, size):
            reading.walks.append(walk(send, call, size=size))
        else:
            for number in numbers:
                exchange = send(call.with_query(query(number, size)), f"page {number} of size {size}")
                reading.samples.append((size, number, exchange))
    return reading
