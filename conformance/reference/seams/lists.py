"""Paged lists and their filters: section 8 and the list queries of section 4 of the specification."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS, item_fields, item_statuses
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.rendering import Rendering
from conformance.reference.seams.resources import RECORD_KINDS, Resources
from conformance.reference.seams.validation import Validation
from conformance.reference.store import Condition

#: operationId of each list -> its filters.
FILTERS = {
    operation.id: tuple(name for name in operation.query_parameters if name not in ("page", "size"))
    for operation in OPERATIONS.values()
    if operation.is_list
}

#: Kind of resource -> members of its list items (sections 2.4, 2.6, 2.7 and 4.1).
ITEM_FIELDS = {
    RECORD_KINDS[operation]: tuple(
        name for name, schema in item_fields(operation).items() if "not" not in schema
    )
    for operation in FILTERS
}

Query = Mapping[str, list[str]]

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_CODE = re.compile(r"[A-Z][A-Z0-9_]{1,31}")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ZONE = re.compile("(?:Z|[+-][0-9]{2}:?[0-9]{2})$")


def parse_query(raw: bytes) -> dict[str, list[str]]:
    """The parameters of a raw query. Raises ValueError unless it is percent-encoded UTF-8."""
    parameters: dict[str, list[str]] = {}
    for piece in raw.split(b"&"):
        if piece:
            name, _, value = piece.partition(b"=")
            parameters.setdefault(_decoded(name), []).append(_decoded(value))
    return parameters


def _decoded(raw: bytes) -> str:
    if b"%" in raw and re.search(rb"%(?![0-9A-Fa-f]{2})", raw):
        raise ValueError("a percent sign that starts no escape")
    return unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8")


def parse_instant(text: str) -> int | None:
    """An ISO 8601 date or time in microseconds since the epoch, rounded up; None if it is invalid.

    The default offset is UTC. Rounding up does not change c >= t and c < t for whole microseconds c.
    """
    if _DATE.fullmatch(text):
        text += "T00:00:00"
    instant = timestamps.parse(text if _ZONE.search(text) else f"{text}Z")
    return None if instant is None else math.ceil(instant * 1_000_000)


class Lists(Validation, Resources, Rendering):
    """The seams of lists, added to those of bodies, effects and answers."""

    #: Default and maximum size of a page (section 8).
    default_size = 10
    max_size = 100
    #: Encoding of several statuses: repeat, comma or brackets. Open (list.several-statuses).
    array_style = "repeat"
    #: The order of lists. Open (list.order).
    newest_first = False

    # ------------------------------------------------------------------ reading the query

    def read_query(self, ctx: Context) -> None:
        """Parses the query of a list; queries of other operations are ignored."""
        if ctx.operation in FILTERS:
            query = self.query(ctx)
            ctx.listing = Listing(
                self.requested_page(ctx, query), self.requested_size(ctx, query), self.conditions(ctx, query)
            )

    def query(self, ctx: Context) -> Query:
        """The parameters of the query; a malformed one is refused, which is open."""
        try:
            return parse_query(ctx.query)
        except ValueError:
            raise Refusal("malformed_query") from None

    def parameter(self, ctx: Context, query: Query, name: str) -> str | None:
        """The value of a parameter that may be given once; None without it."""
        values = query.get(name)
        if values is None:
            return None
        if len(values) > 1:
            raise self.invalid_parameter(ctx, name, "is given more than once")
        return values[0]

    def invalid_parameter(self, ctx: Context, name: str, problem: str) -> Refusal:
        """The refusal of a parameter; its message does not contain the value."""
        return Refusal("invalid_parameter", f"{name} {problem}.", name)

    def requested_page(self, ctx: Context, query: Query) -> int:
        """The requested page, 1 by default: list.defaults, list.echo, list.page-range."""
        return self.number(ctx, query, "page", 1, None)

    def requested_size(self, ctx: Context, query: Query) -> int:
        """The requested size, 10 by default: list.defaults, list.echo, list.size-range."""
        return self.number(ctx, query, "size", self.default_size, self.max_size)

    def number(self, ctx: Context, query: Query, name: str, default: int, highest: int | None) -> int:
        """A parameter that is an integer of 1 to `highest`."""
        text = self.parameter(ctx, query, name)
        if text is None:
            return default
        if not _NUMBER.fullmatch(text):
            return self.on_no_integer(ctx, name, text, default)
        return self.in_range(ctx, name, int(text), highest)

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        """Refuses a page or size that is not an integer (open: list.out-of-range)."""
        raise self.invalid_parameter(ctx, name, "is not an integer")

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        """The value if it is from 1 to `highest`. Refusing or clamping others is open (list.out-of-range),
        obeying them is not: list.page-range, list.size-range."""
        if value < 1 or (highest is not None and value > highest):
            wanted = "must be at least 1" if highest is None else f"must be 1 to {highest}"
            raise self.invalid_parameter(ctx, name, wanted)
        return value

    # ------------------------------------------------------------------ filters

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        """All conditions on the elements: list.filters-combine."""
        conditions = (getattr(self, f"{name}_condition")(ctx, query) for name in FILTERS[ctx.operation])
        return [condition for condition in conditions if condition is not None]

    def statuses_condition(self, ctx: Context, query: Query) -> Condition | None:
        """The `statuses` filter: list.status-filter, list.several-statuses."""
        statuses = self.statuses(ctx, query)
        return self.status_among(ctx, "statuses", statuses) if statuses else None

    def statuses(self, ctx: Context, query: Query) -> list[str]:
        """The requested statuses."""
        if self.array_style == "brackets":
            return query.get("statuses[]", []) + query.get("statuses", [])
        values = query.get("statuses", [])
        if self.array_style == "comma":
            return [part for value in values for part in value.split(",")]
        return values

    def status_condition(self, ctx: Context, query: Query) -> Condition | None:
        """The `status` filter of wallets: list.status-filter."""
        status = self.parameter(ctx, query, "status")
        return None if status is None else self.status_among(ctx, "status", [status])

    def status_among(self, ctx: Context, name: str, statuses: Sequence[str]) -> Condition | None:
        """Elements with one of these statuses; an unknown status is refused, which is open
        (list.odd-filters)."""
        known = item_statuses(ctx.operation)
        if known and not set(statuses) <= set(known):
            raise self.invalid_parameter(ctx, name, "holds an unknown status")
        return Condition("status", "IN", sorted(set(statuses)))

    def currency_condition(self, ctx: Context, query: Query) -> Condition | None:
        """The `currency` filter: list.currency-filter; a malformed code is open (list.odd-filters)."""
        currency = self.parameter(ctx, query, "currency")
        if currency is None:
            return None
        if not _CODE.fullmatch(currency):
            raise self.invalid_parameter(ctx, "currency", "is not a currency code")
        return Condition("currency", "=", currency)

    def start_date_condition(self, ctx: Context, query: Query) -> Condition | None:
        """The `start_date` filter, inclusive: list.start-date."""
        instant = self.date(ctx, query, "start_date")
        return None if instant is None else Condition("created", ">=", instant)

    def end_date_condition(self, ctx: Context, query: Query) -> Condition | None:
        """The `end_date` filter, exclusive: list.end-date."""
        instant = self.date(ctx, query, "end_date")
        return None if instant is None else Condition("created", "<", instant)

    def date(self, ctx: Context, query: Query, name: str) -> int | None:
        """A date parameter in microseconds, respecting its offset: list.date-offset; a malformed one is
        refused, which is open (list.odd-filters)."""
        text = self.parameter(ctx, query, name)
        if text is None:
            return None
        instant = parse_instant(text)
        if instant is None:
            raise self.invalid_parameter(ctx, name, "is not an ISO 8601 date")
        return instant

    # ------------------------------------------------------------------ finding

    def list_records(self, ctx: Context) -> None:
        """Counts the elements and reads the requested page."""
        listing = ctx.listing
        assert listing is not None
        listing.total = self.count(ctx, listing)
        listing.records = self.page_of(ctx, listing)

    def count(self, ctx: Context, listing: Listing) -> int:
        """The number of matching elements: list.filters-combine, list.pages, list.empty."""
        return ctx.store.count(RECORD_KINDS[ctx.operation], self.list_parent(ctx), listing.conditions)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        """The elements of the page: list.walk, list.page-beyond, list.complete."""
        offset = self.offset(ctx, listing)
        if offset >= listing.total:
            return []
        return self.fetch(ctx, listing, limit=listing.size, offset=offset)

    def offset(self, ctx: Context, listing: Listing) -> int:
        """The number of elements before the page: list.walk."""
        return (listing.page - 1) * listing.size

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        """Matching elements, oldest first unless `newest_first`: list.stable; the order is open
        (list.order)."""
        return ctx.store.select(
            RECORD_KINDS[ctx.operation],
            self.list_parent(ctx),
            listing.conditions,
            newest_first=self.newest_first,
            limit=limit,
            offset=offset,
        )

    def list_parent(self, ctx: Context) -> str | None:
        """The id of the elements' parent: list.complete."""
        return str((ctx.child or self.parent(ctx))["id"])

    # ------------------------------------------------------------------ showing

    def list_document(self, ctx: Context) -> Any:
        """The envelope: list.envelope, list.echo, list.pages."""
        listing = ctx.listing
        assert listing is not None
        return {
            "items": self.items(ctx, listing),
            "total": listing.total,
            "page": listing.page,
            "size": listing.size,
            "pages": self.pages(ctx, listing),
        }

    def items(self, ctx: Context, listing: Listing) -> list[Mapping[str, Any]]:
        """The rendered elements of the page."""
        return [self.item(ctx, RECORD_KINDS[ctx.operation], record) for record in listing.records]

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        """One element: list.item-fields, list.wallet-items, secrets.hidden."""
        document = self.resource(ctx, kind, record)
        return {name: document[name] for name in self.item_fields(ctx, kind) if name in document}

    def item_fields(self, ctx: Context, kind: str) -> Sequence[str]:
        """The members of an element: list.item-fields, list.wallet-items."""
        return ITEM_FIELDS[kind]

    def pages(self, ctx: Context, listing: Listing) -> int:
        """total / size, rounded up: list.pages; for an empty list 0 or 1 is open (list.pages-empty)."""
        return -(-listing.total // listing.size)
