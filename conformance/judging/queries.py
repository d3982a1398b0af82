"""What the specification says of a list's query, and of the page that it is answered with: sections 4 and
8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.judging.comparison import show
from conformance.wire.messages import Exchange

#: A date that every server understands: UTC, whole seconds, a year of our time.
_PLAIN_DATE = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9]Z")

#: The same with a fraction, as answers show it.
_SHOWN_DATE = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9](?:\.([0-9]{1,9}))?Z")

_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)

#: Pages up to here are far from any number that a server could stumble over.
PLAIN_PAGE = 1000


@dataclass
class Query:
    """A raw query read as name=value pairs; `readable` is whether every server must read it like this."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    readable: bool = True

    def single(self, name: str) -> str | None:
        """The value of a parameter that is given once, in one form only; None otherwise."""
        values = [value for key, value in self.pairs if key == name]
        return values[0] if len(values) == 1 else None

    def given(self, name: str) -> bool:
        """Whether the parameter is there in any form."""
        return any(key.removesuffix("[]").strip().lower() == name for key, _ in self.pairs)


def read(raw: str) -> Query:
    """Reads a raw query; nothing that it holds raises."""
    query = Query()
    for piece in raw.split("&"):
        if not piece:
            query.readable &= raw == ""
            continue
        name, separator, value = piece.partition("=")
        pair = []
        for part in (name, value):
            if re.search("%(?![0-9A-Fa-f]{2})", part) or not part.isascii():
                query.readable = False
            try:
                pair.append(unquote_to_bytes(part.replace("+", " ")).decode("utf-8"))
            except UnicodeDecodeError:
                query.readable = False
                pair.append(part)
        query.readable &= bool(separator) and not re.search(r"[+;,\[\]]", name)
        query.pairs.append((pair[0], pair[1]))
    return query


def plain_query(operation: str, query: Query, array_style: str) -> str:
    """The rule by which a query must be accepted; empty where a server may refuse it."""
    if not query.readable or len({name for name, _ in query.pairs}) != len(query.pairs):
        return ""
    rule = "list.envelope"
    for name, value in query.pairs:
        if name not in OPERATIONS[operation].query_parameters or (
            name == "statuses" and array_style == "brackets"
        ):
            return ""
        if name in ("page", "size"):
            # A page past the last one may be refused (list.page-beyond).
            if not _INTEGER.fullmatch(value) or not 1 <= int(value) <= (1 if name == "page" else 100):
                return ""
            rule = "list.echo"
        elif name in ("status", "statuses"):
            if value != "active":
                return ""
            rule = "list.status-filter"
        elif name in ("start_date", "end_date"):
            if not _PLAIN_DATE.fullmatch(value) or timestamps.parse(value) is None:
                return ""
            rule = f"list.{name.replace('_', '-')}"
        else:
            return ""
    return rule


@dataclass(frozen=True)
class Judgement:
    """One judgement of an answer by a rule."""

    rule: str
    good: bool
    expected: str
    got: str


def judge_page(operation: str, query: Query, exchange: Exchange, array_style: str) -> Iterator[Judgement]:
    """Judges a 2xx answer of a list by the query that it answers; what is open stays out."""
    items, page, size, total, pages = (
        exchange.get(name) for name in ("items", "page", "size", "total", "pages")
    )
    integers = all(isinstance(one, int) and not isinstance(one, bool) for one in (page, size, total, pages))
    if not isinstance(items, list) or not integers:
        return  # list.envelope says so already
    yield Judgement("list.size-range", 1 <= size <= 100, "a size of 1 to 100 in the answer", f"size {size}")
    yield Judgement("list.size-range", len(items) <= 100, "at most 100 items", f"{len(items)} items")
    yield Judgement("list.page-range", page >= 1, "a page of at least 1 in the answer", f"page {page}")
    if size >= 1:
        yield Judgement(
            "list.walk",
            len(items) <= size,
            f"at most {size} items on a page of size {size}",
            f"{len(items)} items",
        )
        if total > 0:
            wanted = -(-total // size)
            yield Judgement(
                "list.pages",
                pages == wanted,
                f"pages {wanted} for total {total} and size {size}",
                f"pages {pages}",
            )
        if (page - 1) * size >= total:
            yield Judgement(
                "list.page-beyond",
                not items,
                f"no items on page {page} of total {total} and size {size}",
                f"{len(items)} items",
            )
    if query.readable:
        yield from _judge_echo(query, page, size)
        yield from _judge_filters(operation, query, items, array_style)


def _judge_echo(query: Query, page: int, size: int) -> Iterator[Judgement]:
    for name, got, default, highest in (("page", page, 1, PLAIN_PAGE), ("size", size, 10, 100)):
        value = query.single(name)
        if (
            value is not None
            and _INTEGER.fullmatch(value)
            and str(int(value)) == value
            and 1 <= int(value) <= highest
        ):
            yield Judgement("list.echo", got == int(value), f"{name} {value} in the answer", f"{name} {got}")
        elif not query.given(name) and not any(name in key.lower() for key, _ in query.pairs):
            yield Judgement(
                "list.defaults",
                got == default,
                f"{name} {default} without {name} in the query",
                f"{name} {got}",
            )


def _judge_filters(operation: str, query: Query, items: list[Any], array_style: str) -> Iterator[Judgement]:
    parameters = set(OPERATIONS[operation].query_parameters)
    if array_style == "brackets":
        parameters.discard("statuses")
    elements = [item for item in items if isinstance(item, dict)]
    for name in ("status", "statuses"):
        value = query.single(name)
        if name in parameters and value in ("active", "disabled", "suspended", "inactive"):
            others = [element.get("status") for element in elements if element.get("status") != value]
            yield Judgement(
                "list.status-filter",
                not others,
                f"only elements of status {value}",
                f"status {show(others[0])}" if others else "",
            )
    value = query.single("currency")
    if "currency" in parameters and value is not None and re.fullmatch("[A-Z]{3,4}", value):
        others = [element.get("currency") for element in elements if element.get("currency") != value]
        yield Judgement(
            "list.currency-filter",
            not others,
            f"only elements in {value}",
            f"currency {show(others[0])}" if others else "",
        )
    for name in ("start_date", "end_date"):
        value = query.single(name)
        shown = _SHOWN_DATE.fullmatch(value) if name in parameters and value is not None else None
        bound = timestamps.parse(value)
        if shown is None or bound is None:
            continue
        # What is shown with fewer digits than the bound has may lie on its other side.
        texts = [element.get("created") for element in elements]
        instants = [(text, timestamps.parse(text)) for text in texts if _digits(text) >= len(shown[1] or "")]
        wrong = [
            text
            for text, instant in instants
            if instant is not None and (instant < bound if name == "start_date" else instant >= bound)
        ]
        side = "at or after" if name == "start_date" else "before"
        yield Judgement(
            f"list.{name.replace('_', '-')}",
            not wrong,
            f"only elements created {side} {value}",
            f"created {wrong[0]}" if wrong else "",
        )


def _digits(text: Any) -> int:
    found = _SHOWN_DATE.fullmatch(text) if isinstance(text, str) else None
    return len(found[1] or "") if found else -1


def judged_on(operation: str, judgements: Iterator[Judgement]) -> Iterator[Judgement]:
    """The judgements whose rule covers the operation."""
    return (judgement for judgement in judgements if operation in RULES[judgement.rule].operations)
