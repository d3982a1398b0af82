"""Reading paged lists: section 8 of the specification.

Nothing here judges: a page is what an answer shows, a walk is the pages one after the other; the caller
says how to send. What a server answers never raises; an answer that is not a page ends the walk and stays
in it as `broken`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.wire.messages import Call, Exchange

DEFAULT_SIZE = 10
MAX_SIZE = 100


Parameters = list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """A 2xx answer whose `items` is an array; a number of the envelope that is not an integer is None."""

    exchange: Exchange
    items: list[Any]
    total: int | None
    page: int | None
    size: int | None
    pages: int | None

    @functools.cached_property
    def ids(self) -> list[str]:
        """The ids of the items, in their order; an item without one is known by its JSON text."""
        return [identity(item) for item in self.items]


def page_of(exchange: Exchange) -> Page | None:
    """The page that an answer is; None when it is none."""
    items = exchange.get("items")
    if not exchange.succeeded or not isinstance(items, list):
        return None
    return Page(
        exchange, items, *(integer(exchange.get(name)) for name in ("total", "page", "size", "pages"))
    )


def integer(value: Any) -> int | None:
    """A JSON integer; None for anything else, true and 1.0 included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def identity(item: Any) -> str:
    """Key by which an item is told from others: its id, or its JSON text without one."""
    if isinstance(item, dict) and isinstance(item.get("id"), str):
        return str(item["id"])
    return json.dumps(item, sort_keys=True)


def pages_of(total: int, size: int) -> int:
    """Number of pages of `size` elements that `total` elements fill: the quotient rounded up, 0 for none."""
    return -(-total // size)


def query(
    page: int | None = None, size: int | None = None, filters: Iterable[tuple[str, str]] = ()
) -> Parameters:
    """The parameters of a list request: the filters first, then page and size where given."""
    numbers = [("page", page), ("size", size)]
    return [*filters, *((name, str(value)) for name, value in numbers if value is not None)]


def status_filter(operation: str, style: str, *values: str) -> Parameters:
    """The filter of a list for statuses: `status`, or `statuses` in an array style of the target file:
    repeat, comma or brackets."""
    if "status" in OPERATIONS[operation].query_parameters:
        return [("status", value) for value in values]
    if style == "comma":
        return [("statuses", ",".join(values))]
    return [("statuses[]" if style == "brackets" else "statuses", value) for value in values]


# ---------------------------------------------------------------------- walking


@dataclass
class Walk:
    """The pages of a list at one size, from the first on, or those at one of its ends."""

    size: int
    pages: list[Page] = field(default_factory=list)
    #: The answer that was not a page and ended the walk.
    broken: Exchange | None = None
    #: The walk ended because it had read as many pages as it may.
    cut: bool = False
    #: The elements that are new at the end that was read: see `newest`.
    fresh: list[Any] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """True if each answer was a page."""
        return bool(self.pages) and self.broken is None

    @property
    def items(self) -> list[Any]:
        return [item for page in self.pages for item in page.items]

    @property
    def ids(self) -> list[str]:
        """The ids of all items in the order of the walk, repeated ones as often as they were shown."""
        return [identifier for page in self.pages for identifier in page.ids]

    @property
    def repeated(self) -> list[str]:
        """The ids that were shown more than once."""
        return [identifier for identifier, times in Counter(self.ids).items() if times > 1]

    @property
    def total(self) -> int | None:
        """The total that the first page showed."""
        return self.pages[0].total if self.pages else None

    def counts(self, least: int) -> bool:
        """True if no total is less than this: elements may be counted later than shown."""
        return all(page.total is None or page.total >= least for page in self.pages)

    @property
    def page_exchanges(self) -> list[Exchange]:
        return [page.exchange for page in self.pages]

    @property
    def exchanges(self) -> list[Exchange]:
        return self.page_exchanges + ([self.broken] if self.broken else [])


#: Pages that a walk reads at most unless told otherwise.
MOST_PAGES = 30

#: Sends a call for a purpose in few words.
Send = Callable[[Call, str], Exchange]


def walk(
    send: Send,
    call: Call,
    *,
    size: int = MAX_SIZE,
    filters: Iterable[tuple[str, str]] = (),
    most: int = MOST_PAGES,
    beyond_last: bool = True,
) -> Walk:
    """Reads the pages of a list at one size, `most` at most; `call` is the list's call without a query.

    How far it goes follows from `total`, not from `pages`, which may be what is wrong. After a full last
    page it looks at one more, unless `beyond_last` is False, and keeps that only if it shows elements that
    were not seen before.
    """
    filters = list(filters)
    done = Walk(size)
    seen: set[str] = set()
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
            # Since the first page was read the list may have become shorter.
            gone = exchange.refused and (beyond or number > pages_now(number))
            done.broken = None if gone else exchange
            return done
        fresh = set(page.ids) - seen
        if (beyond or total is None) and number > 1 and not fresh:
            return done
        done.pages.append(page)
        seen |= fresh
        last = 0 if done.total is None else pages_of(done.total, size)
        if not page.items or (number >= last and (len(page.items) < size or not beyond_last)):
            return done
        if number >= most:
            done.cut = True
            return done


def newest(send: Send, call: Call, since: int, place: str) -> Walk:
    """Reads what has come to a list since it had `since` elements, however long it is: a few pages at its
    start or its end, where `place` says that elements are added there, else the whole. It is cut where an
    added element may be elsewhere."""
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


def sample(pages: int, most: int = 14) -> list[int]:
    """The numbers of the pages that are read of a list of `pages`: all up to `most`, else those at both
    ends and in the middle."""
    if pages <= most:
        return list(range(1, pages + 1))
    return [1, 2, 3, pages // 2, pages - 1, pages]


@dataclass
class PageReading:
    """A list read at several sizes: whole walks, the one at the greatest size first, and single pages."""

    walks: list[Walk]
    #: Size, number and answer of pages that were read alone.
    samples: list[tuple[int, int, Exchange]] = field(default_factory=list)

    @property
    def known(self) -> dict[str, None]:
        """The ids that any walk showed."""
        return dict.fromkeys(identifier for done in self.walks for identifier in done.ids)

    @property
    def _pages(self) -> list[Page]:
        """All pages in the order in which they were read."""
        read = [page for done in self.walks for page in done.pages]
        read += [page for _, _, exchange in self.samples if (page := page_of(exchange))]
        return sorted(read, key=lambda page: page.exchange.number)

    @property
    def shown(self) -> set[str]:
        """The ids on all pages."""
        return {identifier for page in self._pages for identifier in page.ids}

    @property
    def totals(self) -> list[int | None]:
        """The totals of all pages in the order in which they were read."""
        return [page.total for page in self._pages]

    @property
    def grew(self) -> bool:
        """Others added elements while it was read, as the totals of the answers tell."""
        return len(set(self.totals)) > 1

    @property
    def fell(self) -> bool:
        """A total is less than an earlier one: the answers come from replicas of different age."""
        known = [total for total in self.totals if total is not None]
        return any(later < earlier for earlier, later in itertools.pairwise(known))

    def counts(self, least: int) -> bool:
        """True if no total is less than this: elements may be counted later than shown."""
        return all(total is None or total >= least for total in self.totals)

    @property
    def count(self) -> int:
        """The greatest total; 0 where no page has one."""
        return max((total for total in self.totals if total is not None), default=0)

    @property
    def shows_all(self) -> bool:
        """No page counts more elements than all pages show, unless not all were read: elements may be shown
        later than counted."""
        return self.walks[0].cut or self.count <= len(self.shown)

    @property
    def in_order(self) -> bool:
        """The first walk shows each known element once, so that its order can be compared with."""
        first = self.walks[0]
        return (
            first.broken is None and not first.repeated and (first.cut or len(first.ids) == len(self.known))
        )


def read_at_all_sizes(
    send: Send, call: Call, sizes: Sequence[int], wanted: Callable[[str], bool] = lambda probe: True
) -> PageReading:
    """Reads a list at the greatest size and at those of these that are `wanted`, asked by a probe's name;
    of very many pages only some. Judges nothing."""
    reading = PageReading([walk(send, call)])
    first = reading.walks[0]
    count = max(len(first.ids), first.total or 0) if first.cut else len(first.ids)
    if count > 1 and all(count % size == 0 for size in sizes if size < count):
        # A last page that is not full tells some mistakes from none.
        sizes = [*sizes, *[size for size in range(3, count) if count % size][:1]]
    for size in (size for size in sizes if wanted(f"pages of {size}")):
        numbers = sample(pages_of(count, size))
        if len(numbers) == pages_of(count, size):
            reading.walks.append(walk(send, call, size=size))
        else:
            for number in numbers:
                exchange = send(call.with_query(query(number, size)), f"page {number} of size {size}")
                reading.samples.append((size, number, exchange))
    return reading
