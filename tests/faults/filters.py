"""Servers that filter lists wrongly (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.lists import FILTERS, Query
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Condition

from .catalogue import Faulty, Row, fault, faults, refuse, seam
from .lists import Fetches


def changes(name: str, changed: Callable[..., Condition | None], **options: Any) -> Row:
    """Makes a row that changes the condition of one filter; `changed` gets the behaviour, the condition and
    what was sent."""
    return seam(
        f"{name}_condition",
        lambda self, ctx, query: (
            None if (read := self.usual()) is None else changed(self, read, query[name][0])
        ),
        **options,
    )


def refuses(*names: str) -> Row:
    """Makes a row that refuses some filters."""
    return seam(
        "conditions",
        lambda self, ctx, query: next(
            (
                refuse(self.invalid_parameter(ctx, name, "is not to my liking"))
                for name in names
                if name in query
            ),
            self.usual(),
        ),
    )


faults["list.status-filter"] |= {"The status filter is refused.": refuses("status", "statuses")}

faults["list.currency-filter"] |= {
    "The currency filter is refused.": refuses("currency"),
    "The currency filter keeps other elements than those of the currency.": changes(
        "currency",
        lambda self, condition, text: self.value(condition),
        each={
            "ignored": lambda condition: None,
            "nothing": lambda condition: condition._replace(value="NONE"),
            "first letters": lambda condition: Condition("currency", ">=", condition.value[:2]),
            "from there on": lambda condition: condition._replace(operator=">="),
            "up to there": lambda condition: condition._replace(operator="<="),
        },
    ),
}


_OTHERS = {
    "listPayoutDestinations": ("disabled", "inactive"),
    "listVirtualAccounts": ("suspended", "inactive"),
    "listWallets": ("suspended", "inactive"),
}


def _status_kinds(operation: str) -> dict[str, Callable[[Any], bool]]:
    """Kind -> statuses for which the filter is ignored."""
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
    )
}


@fault("list.status-filter", seam="conditions", operations=("listPayoutDestinations",))
def _(self: Any, ctx: Context, query: Query) -> Any:
    """The status filter goes by the status of the beneficiary."""
    status = (ctx.beneficiary or {})["status"]
    fits = status in self.statuses(ctx, query) or not self.statuses(ctx, query)
    others = [condition for condition in self.usual() if condition.column != "status"]
    return others if fits else [Condition("status", "=", "no such status")]


@fault("list.status-filter", seam="status_among", each=("none", "others"))
def _(self: Any, ctx: Context, name: str, statuses: Any) -> Any:
    """The status filter keeps nothing, or the other elements."""
    if self.value == "none":
        return Condition("status", "=", "no such status")
    return Condition(
        "status", "IN", [status for status in ("active", *_OTHERS[self.operation]) if status not in statuses]
    )


@fault("list.currency-filter", seam="currency_condition")
def _(self: Any, ctx: Context, query: Query) -> Any:
    """A currency that no element has is ignored."""
    condition = self.usual()
    if condition and not ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx), [condition]):
        return None
    return condition


def _matching(ctx: Context, pattern: str) -> Condition:
    """Returns the condition for currencies that match an SQL pattern."""
    rows = ctx.store.query("SELECT DISTINCT currency FROM resources WHERE currency LIKE ?", pattern)
    return Condition("currency", "IN", [row[0] for row in rows])


def _liking(pattern: str) -> Row:
    """Makes a currency filter that puts the value sent into an SQL pattern."""
    return seam(
        "currency_condition",
        lambda self, ctx, query: (
            _matching(ctx, pattern.format(query["currency"][0])) if "currency" in query else None
        ),
    )


faults["list.currency-filter"] |= {
    "The currency filter takes wildcards of SQL.": _liking("{}"),
    "The currency filter takes the beginning of a code for the code.": _liking("{}%"),
}


def _filters(operation: str) -> tuple[str, ...]:
    return FILTERS[operation]


def _pairs(operation: str) -> dict[str, tuple[str, str]]:
    names = FILTERS[operation]
    return {f"{name} beside {two}": (name, two) for name in names for two in names if name != two}


@fault("list.filters-combine", seam="conditions", each=_pairs)
def _(self: Any, ctx: Context, query: Query) -> Any:
    """A filter is ignored beside another."""
    ignored, beside = self.value
    if ignored in query and beside in query:
        query = {name: values for name, values in query.items() if name != ignored}
    return self.usual(ctx, query)


@fault("list.filters-combine", seam="conditions", each=_OTHERS.__getitem__)
def _(self: Any, ctx: Context, query: Query) -> Any:
    """This status is ignored beside another filter."""
    conditions = self.usual()
    ignored = [each for each in conditions if each.column == "status" and each.value == [self.value]]
    return [each for each in conditions if each not in ignored] if len(conditions) > 1 else conditions


@fault("list.filters-combine", seam="conditions", each=("first", "last"))
def _(self: Any, ctx: Context, query: Query) -> Any:
    """Of several filters only one counts."""
    conditions = self.usual()
    return conditions[:1] if self.value == "first" else conditions[-1:]


@fault("list.filters-combine", seam="fetched", base=Fetches)
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """The filters are applied to the page instead of to the list."""
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


def _without(query: Query, filter: str) -> Query:
    return {name: values for name, values in query.items() if name != filter}


def _total_without(self: Any, ctx: Context) -> int:
    """Returns the number of elements that pass all filters but the fault's."""
    conditions = self.conditions(ctx, _without(self.query(ctx), self.value))
    return int(ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx), conditions))


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


def _ignored_where(test: Callable[[Query, str], bool]) -> Row:
    """Makes a server that ignores a filter in queries for which `test`, called with the filter's name, is
    true."""
    return seam(
        "conditions",
        lambda self, ctx, query: (
            self.usual(ctx, _without(query, self.value))
            if self.value in query and test(query, self.value)
            else self.usual()
        ),
        each=_filters,
    )


def _crossed(conditions: Iterable[Condition]) -> dict[str, Any]:
    """Returns the two dates of a query by operator, if the later one comes first."""
    dates = {condition.operator: condition.value for condition in conditions if condition.column == "created"}
    return dates if len(dates) == 2 and dates[">="] > dates["<"] else {}


def _period(self: Any, ctx: Context, query: Any) -> list[Condition]:
    conditions = self.usual()
    dates = _crossed(conditions)
    if not dates:
        return list(conditions)
    others = [condition for condition in conditions if condition.column != "created"]
    return [*others, *self.value(dates)]


faults["list.filters-combine"] |= {
    "total does not heed a filter.": seam(
        "count", lambda self, ctx, *_: _total_without(self, ctx), each=_filters
    ),
    "Where nothing matches, total does not heed a filter.": seam(
        "count", lambda self, ctx, *_: self.usual() or _total_without(self, ctx), each=_filters
    ),
    "From the second page on total does not heed the status.": seam(
        "count",
        lambda self, ctx, listing: (
            self.usual()
            if listing.page == 1
            else ctx.store.count(
                KINDS[ctx.operation],
                self.list_parent(ctx),
                [condition for condition in listing.conditions if condition.column != "status"],
            )
        ),
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
    "From the second page on a filter is ignored.": _ignored_where(
        lambda query, name: query.get("page", ["1"]) != ["1"]
    ),
    "From the third page on a filter is ignored.": _ignored_where(
        lambda query, name: query.get("page", ["1"]) not in (["1"], ["2"])
    ),
    "A filter is ignored where others come behind it.": _ignored_where(
        lambda query, name: len(query) > 1 and next(iter(query)) == name
    ),
    "Without size a filter is ignored.": _ignored_where(lambda query, name: "size" not in query),
    "A filtered page past the last has a total of 0.": seam(
        "list_document",
        lambda self, ctx: (
            {**self.usual(), "total": 0, "pages": 0}
            if ctx.listing.conditions and not ctx.listing.records
            else self.usual()
        ),
    ),
    "Filters are heeded where page or size is named only.": seam(
        "conditions", lambda self, ctx, query: self.usual() if query.keys() & {"page", "size"} else []
    ),
    "A date is at the other side of its border beside another filter.": seam(
        "conditions",
        lambda self, ctx, query: (
            [
                condition._replace(operator=self.value.get(condition.operator, condition.operator))
                for condition in self.usual()
            ]
            if len(self.usual()) > 1
            else self.usual()
        ),
        each={"start_date exclusive": {">=": ">"}, "end_date inclusive": {"<": "<="}},
    ),
    "A period that ends before it begins is read as another one.": seam(
        "conditions",
        _period,
        each={
            "the other way round": lambda dates: [
                Condition("created", ">=", dates["<"]),
                Condition("created", "<", dates[">="]),
            ],
            "any time": lambda dates: [],
            "from its end": lambda dates: [Condition("created", ">=", dates["<"])],
        },
    ),
}
