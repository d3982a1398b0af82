"""Reading paged lists: section 8 of the specification.

Nothing here judges: a page is what an answer shows, a walk is the pages one after the other. What a
server answers never raises; an answer that is no page ends the walk and stays in it as `broken`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.wire.messages import Exchange

DEFAULT_SIZE = 10
MAX_SIZE = 100


Parameters = list[tuple[str, str]]


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


def sample(pages: int, most: int = 14) -> list[int]:
    """The numbers of the pages that are read of a list of `pages`: all up to `most`, else those at both
    ends and in the middle."""
    if pages <= most:
        return list(range(1, pages + 1))
    return [1, 2, 3, pages // 2, pages - 1, pages]
