"""Reading paged lists: section 8 of the specification.

Nothing here judges: a page is what an answer shows, a walk is the pages one after the other. What a
server answers never raises; an answer that is no page ends the walk and stays in it as `broken`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.exchange import Call, Exchange
from conformance.trial import Trial
from conformance.verdict import Inconclusive

DEFAULT_SIZE = 10
MAX_SIZE = 100

#: Pages that a walk reads at most unless told otherwise.
MOST_PAGES = 30

Parameters = list[tuple[str, str]]
T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """A 2xx answer whose `items` is an array; a number of the envelope that is no integer is None."""

    exchange: Exchange
    items: list[Any]
    total: int | None
    page: int | None
    size: int | None
    pages: int | None

    @property
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
    """What an item is told from others by: its id, or its JSON text where it has none."""
    if isinstance(item, dict) and isinstance(item.get("id"), str):
        return str(item["id"])
    return json.dumps(item, sort_keys=True)


def pages_of(total: int, size: int) -> int:
    """How many pages of `size` elements `total` elements fill: the quotient rounded up, 0 for none."""
    return -(-total // size)


def query(
    page: int | None = None, size: int | None = None, filters: Iterable[tuple[str, str]] = ()
) -> Parameters:
    """The parameters of a list request: the filters first, then page and size where given."""
    numbers = [("page", page), ("size", size)]
    return [*filters, *((name, str(value)) for name, value in numbers if value is not None)]


def statuses(style: str, *values: str) -> Parameters:
    """The `statuses` parameter in an array style of the target file: repeat, comma or brackets."""
    if style == "comma":
        return [("statuses", ",".join(values))]
    return [("statuses[]" if style == "brackets" else "statuses", value) for value in values]


# ---------------------------------------------------------------------- walking


@dataclass
class Walk:
    """The pages of a list at one size, from the first on."""

    size: int
    pages: list[Page] = field(default_factory=list)
    #: The answer that was no page and ended the walk.
    broken: Exchange | None = None
    #: The walk ended because it had read as many pages as it may.
    cut: bool = False

    @property
    def items(self) -> list[Any]:
        return [item for page in self.pages for item in page.items]

    @property
    def ids(self) -> list[str]:
        """The ids of all items in the order of the walk, repeated ones as often as they were shown."""
        return [one for page in self.pages for one in page.ids]

    @property
    def repeated(self) -> list[str]:
        """The ids that were shown more than once."""
        return [one for one, times in Counter(self.ids).items() if times > 1]

    @property
    def total(self) -> int | None:
        """The total that the first page showed."""
        return self.pages[0].total if self.pages else None

    @property
    def exchanges(self) -> list[Exchange]:
        return [page.exchange for page in self.pages] + ([self.broken] if self.broken else [])


def walk(
    trial: Trial,
    call: Call,
    *,
    size: int = MAX_SIZE,
    filters: Iterable[tuple[str, str]] = (),
    most: int = MOST_PAGES,
    organization: str = "primary",
) -> Walk:
    """Reads the pages of a list at one size, `most` at most; `call` is the list's call without a query.

    How far it goes follows from `total`, not from `pages`, which may be what is wrong. After a full last
    page it looks at one more, and keeps that only if it shows elements that were not seen before.
    """
    filters = list(filters)
    done = Walk(size)
    seen: set[str] = set()
    number = 0
    while True:
        number += 1
        exchange = trial.send(
            call.with_query(query(number, size, filters)), f"page {number} of size {size}", organization
        )
        page = page_of(exchange)
        total = done.total
        beyond = total is not None and number > pages_of(total, size)
        if page is None:
            done.broken = None if beyond and exchange.refused else exchange
            return done
        fresh = set(page.ids) - seen
        if (beyond or total is None) and number > 1 and not fresh:
            return done
        done.pages.append(page)
        seen |= fresh
        last = 0 if done.total is None else pages_of(done.total, size)
        if not page.items or (number >= last and len(page.items) < size):
            return done
        if number >= most:
            done.cut = True
            return done


def sample(pages: int, most: int = 14) -> list[int]:
    """The numbers of the pages that are read of a list of `pages`: all up to `most`, else those at both
    ends and in the middle."""
    if pages <= most:
        return list(range(1, pages + 1))
    return [1, 2, 3, pages // 2, pages - 1, pages]


def steady(trial: Trial, call: Call, act: Callable[[], T], *, attempts: int = 5) -> T:
    """What `act` reads while a customer's accounts stand still; it must not judge, as it may run again.

    No worker of this run creates accounts meanwhile; whether another client did, is told by the list's
    total before and after. Raises Inconclusive when one did each time. Lists in an account that is the
    check's own need none of this: `call` of any other operation just acts.
    """
    if call.operation != "listAccounts":
        return act()
    for _ in range(attempts):
        with trial.suite.quiet_accounts():
            before = _total(trial, call)
            result = act()
            if before == _total(trial, call):
                return result
    raise Inconclusive(
        f"the total of {call.operation} changed each time while its pages were read",
        "Run the suite while no other client creates accounts for this customer.",
    )


def _total(trial: Trial, call: Call) -> int | None:
    page = page_of(trial.send(call.with_query(query(1, 1)), "how many elements are there?"))
    return page.total if page else None
