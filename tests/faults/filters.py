"""Servers whose lists filter otherwise: sections 4.3, 4.5 and 4.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.lists import FILTERS, Query
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Condition

from .catalogue import Faulty, fault, faults, seam
from .lists import Fetches
from .walks import Filtered


class Conditions(Faulty):
    """Changes the condition that one filter stands for, by `changed`."""

    filter = ""

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return condition

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        conditions = []
        for name in FILTERS[ctx.operation]:
            condition = getattr(self, f"{name}_condition")(ctx, query)
            if self.here(ctx) and condition is not None and name in self.names():
                condition = self.changed(ctx, condition, query[name][0])
            if condition is not None:
                conditions.append(condition)
        return conditions

    def names(self) -> tuple[str, ...]:
        """The filters to change."""
        return (self.filter,)


SECOND = 1_000_000
DAY = 86_400 * SECOND

#: Kind -> what a start_date becomes.
STARTS: dict[str, Callable[[Condition, str], Condition | None]] = {
    "exclusive": lambda condition, text: condition._replace(operator=">"),
    "ignored": lambda condition, text: None,
    "day": lambda condition, text: condition._replace(value=condition.value // DAY * DAY),
    "second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND),
    "next second": lambda condition, text: condition._replace(value=-(-condition.value // SECOND) * SECOND),
    "end": lambda condition, text: condition._replace(operator="<"),
    "an hour": lambda condition, text: condition._replace(value=condition.value - 3600 * SECOND),
    "an hour later": lambda condition, text: condition._replace(value=condition.value + 3600 * SECOND),
}
ENDS: dict[str, Callable[[Condition, str], Condition | None]] = {
    "inclusive": lambda condition, text: condition._replace(operator="<="),
    "ignored": lambda condition, text: None,
    "end of day": lambda condition, text: condition._replace(value=-(-condition.value // DAY) * DAY),
    "end of second": lambda condition, text: condition._replace(
        value=condition.value // SECOND * SECOND + SECOND
    ),
    "second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND),
    "start": lambda condition, text: condition._replace(operator=">="),
    "an hour": lambda condition, text: condition._replace(value=condition.value + 3600 * SECOND),
    "an hour earlier": lambda condition, text: condition._replace(value=condition.value - 3600 * SECOND),
    "nothing": lambda condition, text: condition._replace(value=0),
}


@fault("list.start-date", each=STARTS)
class OtherStart(Conditions):
    """start_date keeps other elements than those created at or after it."""

    filter = "start_date"

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return self.value(condition, text)  # type: ignore[no-any-return]


class RefusesFilter(Faulty):
    """Refuses the filters `filters`."""

    filters: tuple[str, ...] = ()

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        for name in self.filters if self.here(ctx) else ():
            if name in query:
                raise self.invalid_parameter(ctx, name, "is not to my liking")
        return super().conditions(ctx, query)


@fault("list.start-date")
class RefusesStart(RefusesFilter):
    """start_date is refused."""

    filters = ("start_date",)


@fault("list.end-date")
class RefusesEnd(RefusesFilter):
    """end_date is refused."""

    filters = ("end_date",)


@fault("list.status-filter")
class RefusesStatus(RefusesFilter):
    """The status filter is refused."""

    filters = ("status", "statuses")


@fault("list.currency-filter")
class RefusesCurrency(RefusesFilter):
    """The currency filter is refused."""

    filters = ("currency",)


class ComparesTexts(Filtered):
    """Compares timestamps as texts, by `keeps`, where a filter has one."""

    name = ""

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        if self.here(ctx) and self.name in query:
            ctx.notes["text"] = query[self.name][0]
            query = {name: values for name, values in query.items() if name != self.name}
        return super().conditions(ctx, query)

    def keeps(self, created: str, text: str) -> bool:
        return True

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        text = ctx.notes.get("text")
        return [
            record
            for record in records
            if text is None or self.keeps(self.timestamp_text(ctx, record["created"]) or "", text)
        ]


@fault("list.start-date")
class ComparesStartAsText(ComparesTexts):
    """created and start_date are compared as texts, by which 00.5 is before 00."""

    name = "start_date"

    def keeps(self, created: str, text: str) -> bool:
        return created >= text


@fault("list.end-date")
class ComparesEndAsText(ComparesTexts):
    """created and end_date are compared as texts, by which 00.5 is before 00."""

    name = "end_date"

    def keeps(self, created: str, text: str) -> bool:
        return created < text


@fault("list.end-date", each=ENDS)
class OtherEnd(Conditions):
    """end_date keeps other elements than those created before it."""

    filter = "end_date"

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return self.value(condition, text)  # type: ignore[no-any-return]


_OTHERS = {
    "listPayoutDestinations": ("disabled", "inactive"),
    "listVirtualAccounts": ("suspended", "inactive"),
    "listWallets": ("suspended", "inactive"),
}


def _status_kinds(operation: str) -> dict[str, Callable[[Any], bool]]:
    """Kind -> for which statuses the filter is ignored."""
    first, second = _OTHERS[operation]
    return {
        "all": lambda statuses: True,
        "active": lambda statuses: list(statuses) == ["active"],
        "all but active": lambda statuses: "active" not in statuses,
        f"{first}": lambda statuses: first in statuses,
        f"{second}": lambda statuses: second in statuses,
    }


faults["list.status-filter"] |= {
    "The status filter, or one value of it, is ignored.": seam(
        "status_among",
        lambda self, ctx, name, statuses: None if self.value(statuses) else self.usual(),
        each=lambda operation: {
            name: test for name, test in _status_kinds(operation).items() if name != "active"
        },
    ),
}


@fault("list.status-filter", each=("none", "others"))
class OtherStatuses(Faulty):
    """The status filter keeps nothing, or the other elements."""

    def status_among(self, ctx: Context, name: str, statuses: Any) -> Condition | None:
        if self.value == "none":
            return Condition("status", "=", "no such status")
        return Condition(
            "status",
            "IN",
            [status for status in ("active", *_OTHERS[self.operation]) if status not in statuses],
        )


@fault(
    "list.currency-filter",
    each={
        "ignored": lambda condition: None,
        "nothing": lambda condition: condition._replace(value="NONE"),
        "first letters": lambda condition: Condition("currency", ">=", condition.value[:2]),
        "from there on": lambda condition: condition._replace(operator=">="),
        "up to there": lambda condition: condition._replace(operator="<="),
    },
)
class OtherCurrency(Conditions):
    """The currency filter keeps other elements than those of the currency."""

    filter = "currency"

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return self.value(condition)  # type: ignore[no-any-return]


@fault("list.currency-filter")
class UnmatchedCurrencyShowsAll(Faulty):
    """A currency that no element has is ignored."""

    def currency_condition(self, ctx: Context, query: Query) -> Condition | None:
        condition = super().currency_condition(ctx, query)
        if condition and not ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx), [condition]):
            return None
        return condition


def _filters(operation: str) -> tuple[str, ...]:
    return FILTERS[operation]


def _pairs(operation: str) -> dict[str, tuple[str, str]]:
    names = FILTERS[operation]
    return {f"{name} beside {two}": (name, two) for name in names for two in names if name != two}


@fault("list.filters-combine", each=_pairs)
class IgnoresBeside(Faulty):
    """A filter is ignored beside another."""

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        ignored, beside = self.value
        if ignored in query and beside in query:
            query = {name: values for name, values in query.items() if name != ignored}
        return super().conditions(ctx, query)


@fault("list.filters-combine", each=("first", "last"))
class OneFilterOnly(Faulty):
    """Of several filters only one counts."""

    def conditions(self, ctx: Context, query: Query) -> list[Condition]:
        conditions = super().conditions(ctx, query)
        return conditions[:1] if self.value == "first" else conditions[-1:]


@fault("list.filters-combine")
class FiltersThePage(Fetches):
    """The filters are applied to the page instead of to the list."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        kept = {record["id"] for record in self.all(ctx, listing)}
        everything = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx))
        offset = (listing.page - 1) * listing.size
        return [record for record in everything[offset : offset + listing.size] if record["id"] in kept]


@fault("list.filters-combine")
class FiltersTheFirstPage(Fetches):
    """From the second page on the filters are ignored."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        if listing.page == 1:
            return super(Fetches, self).page_of(ctx, listing)
        everything = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx))
        offset = (listing.page - 1) * listing.size
        return everything[offset : offset + listing.size] if offset < listing.total else []


faults["list.filters-combine"] |= {
    "total does not heed a filter.": seam(
        "count",
        lambda self, ctx, *_: ctx.store.count(
            KINDS[ctx.operation],
            self.list_parent(ctx),
            self.conditions(
                ctx, {name: values for name, values in self.query(ctx).items() if name != self.value}
            ),
        ),
        each=_filters,
    ),
    "total does not heed the filters.": seam(
        "count", lambda self, ctx, *_: ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx))
    ),
    "pages does not heed the filters.": seam(
        "pages",
        lambda self, ctx, listing: (
            -(-ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx)) // listing.size)
        ),
    ),
}


@fault("list.filters-combine", each=("page", "size"))
class IgnoresPagingBeside(Faulty):
    """With a filter page or size is ignored."""

    def read_query(self, ctx: Context) -> None:
        super().read_query(ctx)
        listing = ctx.listing
        if listing is not None and listing.conditions:
            ctx.notes["asked"] = {"page": listing.page, "size": listing.size}
            if self.value == "page":
                listing.page = 1
            else:
                listing.size = 10

    def list_document(self, ctx: Context) -> Any:
        return {**super().list_document(ctx), **ctx.notes.get("asked", {})}
