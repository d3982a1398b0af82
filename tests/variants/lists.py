"""Choices about lists (section 8)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Listing
from conformance.reference.refusals import Refusal
from conformance.reference.store import Condition

from .choice import Usual, choice, demand, varied


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


@demand("list.odd-filters", seam="end_date_condition", kind="invalid_parameter")
def periods_checked(self: Behaviour, ctx: Context, query: Mapping[str, list[str]]) -> object:
    """Refuses a date range that is empty or reversed."""
    begin, end = (self.date(ctx, query, name) for name in ("start_date", "end_date"))
    return begin is not None and end is not None and begin >= end
