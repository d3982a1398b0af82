"""Queries of lists: parameters with one meaning for every server, and their filters (sections 4 and 8)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS, item_fields, item_statuses
from conformance.contract.traits import traits_of
from conformance.wire.pages import MAX_SIZE

#: A date that every server must accept: UTC, whole seconds, this century.
_PLAIN_DATE = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9]Z")

#: The same with an optional fraction, as answers show it.
_SHOWN_DATE = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9](?:\.([0-9]{1,9}))?Z")

#: A positive integer in its canonical form: a server may refuse `01`.
_INTEGER = re.compile(r"[1-9][0-9]{0,8}")

#: Maximum values that a server must read exactly; larger pages might overflow.
_HIGHEST = {"page": 1000, "size": MAX_SIZE}

#: Parameter of a filter, without brackets -> the member it compares.
MEMBERS = {
    "status": "status",
    "statuses": "status",
    "currency": "currency",
    "start_date": "created",
    "end_date": "created",
}

#: Parameter of a filter -> its rule.
_RULES = {
    "status": "list.status-filter",
    "statuses": "list.status-filter",
    "currency": "list.currency-filter",
    "start_date": "list.start-date",
    "end_date": "list.end-date",
}


@dataclass
class Query:
    """A query as name=value pairs; `readable` if every server must parse it like this."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    readable: bool = True

    def single(self, name: str) -> str | None:
        """Value of a parameter that occurs once; None otherwise."""
        values = [value for key, value in self.pairs if key == name]
        return values[0] if len(values) == 1 else None

    def number(self, name: str) -> int | None:
        """The requested page or size, if every server must read it alike; None otherwise."""
        value = self.single(name)
        if value is None or not _INTEGER.fullmatch(value):
            return None
        return int(value) if int(value) <= _HIGHEST[name] else None


def read(raw: str) -> Query:
    """Parses a raw query; never raises."""
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
        # A semicolon separates parameters too, to some servers.
        query.readable &= bool(separator) and ";" not in piece and not re.search(r"[+,\[\]]", name)
        query.pairs.append((pair[0], pair[1]))
    return query


def plain_query(operation: str, query: Query, array_style: str) -> str:
    """The rule that requires a query to be accepted; empty if a server may refuse it."""
    names = [name for name, _ in query.pairs]
    if (
        not query.readable
        or len({*names}) != len(names)
        or ("statuses" in names and array_style == "brackets")
    ):
        return ""
    rules = ["list.envelope", *(_plain_parameter(operation, name, value) for name, value in query.pairs)]
    begin, end = (timestamps.parse(query.single(name)) for name in ("start_date", "end_date"))
    # An empty period may be refused (list.odd-filters).
    return "" if "" in rules or (begin is not None and end is not None and begin >= end) else rules[-1]


def _plain_parameter(operation: str, name: str, value: str) -> str:
    """The rule that requires a parameter of a query to be accepted; empty if a server may refuse it."""
    if name not in OPERATIONS[operation].query_parameters:
        return ""
    if name in ("page", "size"):
        # A page beyond the last may be refused (list.page-beyond).
        plain = _INTEGER.fullmatch(value) and int(value) <= (1 if name == "page" else MAX_SIZE)
        return "list.echo" if plain else ""
    if name in ("status", "statuses"):
        return "list.status-filter" if value == "active" and value in item_statuses(operation) else ""
    if name in ("start_date", "end_date"):
        plain = _PLAIN_DATE.fullmatch(value) and timestamps.parse(value) is not None
        return f"list.{name.replace('_', '-')}" if plain else ""
    return ""


# ---------------------------------------------------------------------- filters


def filters(operation: str, query: Query, array_style: str) -> Iterator[tuple[str, str, str]]:
    """Yields the filters of a query that every server must apply: rule, parameter and value."""
    for name in MEMBERS:
        value = query.single(f"{name}[]" if (name, array_style) == ("statuses", "brackets") else name)
        documented = name in OPERATIONS[operation].query_parameters
        if value is not None and documented and _is_plain(operation, name, value):
            yield _RULES[name], name, value


def _is_plain(operation: str, name: str, value: str) -> bool:
    """True if a filter's value has one meaning for every server, and items show what it keeps; unknown
    statuses, and codes of the other kind of currency, have none."""
    if MEMBERS[name] not in item_fields(operation):
        return False
    match MEMBERS[name]:
        case "status":
            return value in item_statuses(operation)
        case "currency":
            crypto = traits_of(OPERATIONS[operation].filled_by).unique_pair
            return re.fullmatch("[A-Z]{3,4}" if crypto else "[A-Z]{3}", value) is not None
    return _SHOWN_DATE.fullmatch(value) is not None and timestamps.parse(value) is not None


def passes(item: Mapping[str, Any], name: str, value: str) -> bool | None:
    """True if an element passes a query parameter, which all do if it is no filter; None for values that are
    not timestamps."""
    name = name.removesuffix("[]")
    match MEMBERS.get(name):
        case "created":
            created, bound = timestamps.parse(item.get("created")), timestamps.parse(value)
            if created is None or bound is None:
                return None
            return created >= bound if name == "start_date" else created < bound
        case "status":
            return item.get("status") in value.split(",")
        case "currency":
            return item.get("currency") == value
    return True


def keeps(filters: Iterable[tuple[str, str]], item: Mapping[str, Any]) -> bool:
    """True if an element passes all parameters of a query; False if a timestamp is missing."""
    return all(passes(item, name, value) for name, value in filters)


def rules_of(filters: Iterable[tuple[str, str]]) -> list[str]:
    """Rules of the filters among query parameters, in order."""
    names = (name.removesuffix("[]") for name, _ in filters)
    return list(dict.fromkeys(_RULES[name] for name in names if name in _RULES))


def tells(item: Mapping[str, Any], name: str, value: str) -> bool:
    """True if an element shows a filter's member precisely enough; a `created` of fewer decimal places than
    the bound may be on either side of it."""
    if MEMBERS[name] != "created":
        return True
    return (
        0 <= _digits(value) <= _digits(item.get("created")) and timestamps.parse(item["created"]) is not None
    )


def _digits(text: Any) -> int:
    """Number of decimal places of a timestamp in UTC; -1 for anything else."""
    match = _SHOWN_DATE.fullmatch(text) if isinstance(text, str) else None
    return len(match[1] or "") if match else -1
