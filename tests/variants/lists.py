"""Choices about lists (section 8), and what databases do: ids, timestamps, order, rows that are there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from conformance.contract.operations import OPERATIONS
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Condition
from tests.support.overrides import Usual

from .choice import choice, demand, stated, varied


@choice("list.pages-empty", seam="pages")
def one_page_at_least(self: Behaviour, usual: Usual, ctx: Context, listing: Listing) -> int:
    """Shows one page for an empty list."""
    return usual(ctx, listing) or 1


@choice("list.out-of-range")
class BroughtIntoRange(Behaviour):
    """Replaces a page or size out of range by the nearest valid one, and a non-number by the default."""

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        return max(1, value if highest is None else min(value, highest))

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        return default


@demand("list.out-of-range", seam="number", kind="invalid_parameter")
def canonical_integers(
    self: Behaviour, ctx: Context, query: Mapping[str, list[str]], name: str, *bounds: Any
) -> object:
    """Refuses a page or size with a leading zero."""
    return (self.parameter(ctx, query, name) or "").startswith("0")


@demand("list.out-of-range", seam="page_of", kind="invalid_parameter")
def pages_beyond_refused(self: Behaviour, ctx: Context, listing: Listing) -> object:
    """Refuses a page beyond the last."""
    return listing.page > max(1, self.pages(ctx, listing))


@demand("list.out-of-range", seam="page_of", kind="invalid_parameter", status=404)
def pages_beyond_not_found(self: Behaviour, ctx: Context, listing: Listing) -> object:
    """Answers a page beyond the last with 404."""
    return listing.page > max(1, self.pages(ctx, listing))


@choice(seam="query")
def semicolons_separate(self: Behaviour, usual: Usual, ctx: Context) -> Mapping[str, list[str]]:
    """Takes a semicolon in a query for a separator of parameters, as `&` (HTML 4, appendix B.2.2)."""
    ctx.query = ctx.query.replace(b";", b"&")
    return usual(ctx)


@choice("list.several-statuses", seam="statuses")
def one_status_only(self: Behaviour, usual: Usual, ctx: Context, query: Mapping[str, list[str]]) -> list[str]:
    """Refuses several statuses in any style."""
    found = usual(ctx, query)
    if len(found) > 1:
        raise self.invalid_parameter(ctx, "statuses", "is given more than once")
    return found


StatusesWithCommas = varied(
    "StatusesWithCommas",
    "Expects several statuses separated by commas.",
    Behaviour,
    "list.several-statuses",
    array_style="comma",
)


@choice("list.several-statuses")
class StatusesInBrackets(Behaviour):
    """Expects several statuses as statuses[]."""

    array_style = "brackets"

    def statuses(self, ctx: Context, query: Mapping[str, list[str]]) -> list[str]:
        return query.get("statuses[]", [])


@choice("list.odd-filters")
class OddFiltersMatchNothing(Behaviour):
    """Matches nothing for an unknown status or currency; ignores a malformed date."""

    def status_among(self, ctx: Context, name: str, statuses: Any) -> Condition | None:
        return Condition("status", "IN", sorted({*statuses} or {"-"}))

    def currency_condition(self, ctx: Context, query: Mapping[str, list[str]]) -> Condition | None:
        currency = self.parameter(ctx, query, "currency")
        return None if currency is None else Condition("currency", "=", currency)

    def date(self, ctx: Context, query: Mapping[str, list[str]], name: str) -> int | None:
        try:
            return super().date(ctx, query, name)
        except Refusal:
            return None


@choice("list.odd-filters")
class UnknownValuesPassedOver(Behaviour):
    """Ignores a status that no element can have, and what is no ISO 4217 code of a virtual account; without a
    remaining value there is no filter."""

    def currency_condition(self, ctx: Context, query: Mapping[str, list[str]]) -> Condition | None:
        code = self.parameter(ctx, query, "currency") or "USD"
        passed_over = ctx.operation == "listVirtualAccounts" and not re.fullmatch("[A-Z]{3}", code)
        return None if passed_over else super().currency_condition(ctx, query)

    def status_among(self, ctx: Context, name: str, statuses: Any) -> Condition | None:
        known = []
        for status in statuses:
            with contextlib.suppress(Refusal):
                super().status_among(ctx, name, [status])
                known.append(status)
        return super().status_among(ctx, name, known) if known else None


@choice(seam="query")
def documented_parameters_only(self: Behaviour, usual: Usual, ctx: Context) -> Mapping[str, list[str]]:
    """Refuses undocumented parameters."""
    given = usual(ctx)
    known = OPERATIONS[ctx.operation].query_parameters if ctx.operation else ()
    for name in given:
        if name.removesuffix("[]") not in known:
            raise self.invalid_parameter(ctx, name, "is unknown")
    return given


@choice(seam="parameter")
def first_parameter_counts(
    self: Behaviour, usual: Usual, ctx: Context, query: Mapping[str, list[str]], name: str
) -> str | None:
    """Uses the first value of a repeated parameter."""
    values = query.get(name)
    return values[0] if values else None


@demand(seam="date", kind="invalid_parameter")
def dates_in_utc(self: Behaviour, ctx: Context, query: Mapping[str, list[str]], name: str) -> object:
    """Requires filter dates in UTC or without a time; refuses other offsets."""
    text = self.parameter(ctx, query, name) or ""
    return "T" in text and not text.endswith("Z")


@choice(seam="date")
def long_fractions_passed_over(
    self: Behaviour, usual: Usual, ctx: Context, query: Mapping[str, list[str]], name: str
) -> int | None:
    """Ignores a filter date whose fraction has more than seven digits, as .NET reads no more."""
    text = self.parameter(ctx, query, name) or ""
    return None if re.search(r"\.[0-9]{8}", text) else usual(ctx, query, name)


@demand("list.odd-filters", seam="end_date_condition", kind="invalid_parameter")
def periods_checked(self: Behaviour, ctx: Context, query: Mapping[str, list[str]]) -> object:
    """Refuses a date range that is empty or reversed."""
    begin, end = (self.date(ctx, query, name) for name in ("start_date", "end_date"))
    return begin is not None and end is not None and begin >= end


# ---------------------------------------------------------------------- databases


@choice(seam="new_id")
def serial_ids(self: Behaviour, usual: Usual, ctx: Context, kind: str) -> str:
    """Numbers the rows of each table from 1."""
    rows = ctx.store.query("SELECT COUNT(*) FROM resources WHERE kind = ?", kind)
    return f"{PREFIXES[kind]}{rows[0][0] + 1}"


class _DatabaseClock(Behaviour):
    """Takes timestamps from the database, whose clock differs from the web server's."""

    #: Offset in microseconds.
    ahead = 0

    def instant(self, ctx: Context) -> int:
        return super().instant(ctx) + self.ahead


DatabaseAhead = varied(
    "DatabaseAhead", "Sets the database's clock four minutes ahead.", _DatabaseClock, ahead=240_000_000
)
DatabaseBehind = varied(
    "DatabaseBehind", "Sets the database's clock four minutes behind.", _DatabaseClock, ahead=-240_000_000
)


@choice(seam="timestamp_text")
def nanoseconds_then_microseconds(
    self: Behaviour, usual: Usual, ctx: Context, instant: int | None
) -> str | None:
    """Answers a write in nanoseconds; the database rounds them to microseconds."""
    text = usual(ctx, instant)
    new = ctx.record is not None and instant == ctx.record["created"] == self.instant(ctx)
    if text is None or len(text) != 27 or not new:
        return text
    return f"{text[:-1]}{ctx.now % 500:03d}Z"


class _Ordered(Behaviour):
    """Orders lists by a column."""

    #: Returns the sort key of an element.
    order: Callable[[Record], tuple[Any, ...]] = staticmethod(lambda record: ())

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = sorted(super().fetch(ctx, listing), key=self.order)
        return records[offset:] if limit < 0 else records[offset : offset + limit]


LastChangedFirst = varied(
    "LastChangedFirst",
    "Lists the most recently updated elements first.",
    _Ordered,
    "list.order",
    order=staticmethod(lambda record: (-int(record["updated"]), record["id"])),
)
ByName = varied(
    "ByName",
    "Orders lists by name or label.",
    _Ordered,
    "list.order",
    order=staticmethod(lambda record: (record.get("name") or record.get("label") or "", record["id"])),
)


# ---------------------------------------------------------------------- existing resources


class _Found(Behaviour):
    """Returns an existing equal resource instead of creating another."""

    #: Operation -> the fields in which equal resources are equal.
    equal: ClassVar[dict[str, tuple[str, ...]]] = {}

    def create(self, ctx: Context) -> None:
        for equal in stated(self, "equal"):
            names = equal.get(ctx.operation)
            for other in (
                ctx.store.select(RECORD_KINDS[ctx.operation], self.parent(ctx)["id"]) if names else ()
            ):
                if all(ctx.values.get(name) == other.get(name) for name in names):
                    ctx.record = other
                    return
        super().create(ctx)


AccountsFound = varied(
    "AccountsFound",
    "Returns the customer's existing account of the same name.",
    _Found,
    equal={"createAccount": ("name",)},
)
PeopleFound = varied(
    "PeopleFound",
    "Returns the account's existing beneficiary with the same e-mail address.",
    _Found,
    equal={"createBeneficiary": ("email",)},
)
VirtualAccountsFound = varied(
    "VirtualAccountsFound",
    "Returns the existing virtual account with the same currency and label.",
    _Found,
    equal={"createVirtualAccount": ("currency", "label")},
)


# ---------------------------------------------------------------------- updates without a change


@choice(seam="update_beneficiary")
def unchanged_stays(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Leaves `updated` unchanged on a PATCH with the current values."""
    assert ctx.beneficiary is not None
    if all(ctx.beneficiary.get(name) == value for name, value in ctx.values.items()):
        ctx.record = ctx.beneficiary
    else:
        usual(ctx)


@choice("beneficiary.disable-twice", seam="disable_beneficiary")
def disabled_stays(self: Behaviour, usual: Usual, ctx: Context) -> None:
    """Leaves `updated` unchanged on a second disable."""
    assert ctx.beneficiary is not None
    if ctx.beneficiary["status"] == "disabled":
        ctx.record = ctx.beneficiary
    else:
        usual(ctx)


@choice("idempotency.key-elsewhere", seam="idempotent")
def keys_everywhere(self: Behaviour, usual: Usual, ctx: Context) -> bool:
    """Replays answers to GET and PATCH by idempotency key, as for POST."""
    return usual(ctx) or ctx.header(b"idempotency-key") is not None


@choice("idempotency.key-forms", seam="parse_key")
def empty_key_is_none(self: Behaviour, usual: Usual, ctx: Context, text: str) -> str | None:
    """Treats an empty idempotency key as none, and performs the request."""
    return usual(ctx, text) if text.strip() else None
