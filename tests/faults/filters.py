"""Servers that filter lists wrongly (sections 4.3, 4.5 and 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.lists import FILTERS, Query
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import Condition

from .catalogue import Call, Row, faults, refuse, seam, seams
from .rows import envelope, lacking, refusing, skipping, where


def changes(name: str, changed: Callable[..., Condition | None], **options: Any) -> Row:
    """Makes a row that changes the condition of one filter; `changed` gets the behaviour, the condition and
    what was sent."""
    return seam(
        f"{name}_condition",
        lambda self, usual, ctx, query: (
            None if (read := usual()) is None else changed(self, read, query[name][0])
        ),
        **options,
    )


def refuses(*names: str) -> Row:
    """Makes a row that refuses some filters."""
    return where(
        "conditions",
        lambda self, ctx, query: {*names} & query.keys(),
        lambda self, usual, ctx, *_: refuse(self.invalid_parameter(ctx, names[0], "is not to my liking")),
    )


# ---------------------------------------------------------------------- currency


def _liking(pattern: str) -> Row:
    """Makes a currency filter that puts the value sent into an SQL pattern."""

    def condition(self: Any, usual: Any, ctx: Context, query: Query) -> Condition:
        sql = "SELECT DISTINCT currency FROM resources WHERE currency LIKE ?"
        rows = ctx.store.query(sql, pattern.format(query["currency"][0]))
        return Condition("currency", "IN", [row[0] for row in rows])

    return where("currency_condition", lambda self, ctx, query: "currency" in query, condition)


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
    "A currency that no element has is ignored.": seam(
        "currency_condition",
        lambda self, usual, ctx, *_: (
            read
            if (read := usual())
            and ctx.store.count(RECORD_KINDS[ctx.operation], self.list_parent(ctx), [read])
            else None
        ),
    ),
    "The currency filter takes wildcards of SQL.": _liking("{}"),
    "The currency filter takes the beginning of a code for the code.": _liking("{}%"),
}


# ---------------------------------------------------------------------- status

_OTHERS = {
    "listPayoutDestinations": ("disabled", "inactive"),
    "listVirtualAccounts": ("suspended", "inactive"),
    "listWallets": ("suspended", "inactive"),
}

NO_STATUS = Condition("status", "=", "no such status")


def _status_kinds(operation: str) -> dict[str, Call]:
    """Returns statuses for which the filter is ignored by kind."""
    first, second = _OTHERS[operation]
    return {
        "all": lambda *_: True,
        "all but active": lambda self, ctx, name, statuses: "active" not in statuses,
        first: lambda self, ctx, name, statuses: first in statuses,
        second: lambda self, ctx, name, statuses: second in statuses,
    }


def _of_the_beneficiary(self: Any, usual: Any, ctx: Context, query: Query) -> Any:
    status = (ctx.beneficiary or {})["status"]
    fits = status in self.statuses(ctx, query) or not self.statuses(ctx, query)
    others = [condition for condition in usual() if condition.column != "status"]
    return others if fits else [NO_STATUS]


faults["list.status-filter"] |= {
    "The status filter is refused.": refuses("status", "statuses"),
    "The status filter, or one value of it, is ignored.": skipping("status_among", None, each=_status_kinds),
    "The status filter goes by the status of the beneficiary.": seam(
        "conditions", _of_the_beneficiary, operations=("listPayoutDestinations",)
    ),
    "The status filter keeps nothing, or the other elements.": seam(
        "status_among",
        lambda self, usual, ctx, name, statuses: self.value(self.operation, statuses),
        each={
            "none": lambda operation, statuses: NO_STATUS,
            "others": lambda operation, statuses: Condition(
                "status", "IN", [each for each in ("active", *_OTHERS[operation]) if each not in statuses]
            ),
        },
    ),
}


# ---------------------------------------------------------------------- filters together


def _page(query: Query) -> str:
    return query.get("page", ["1"])[0]


#: Kind -> queries in which a filter is ignored, by its name.
IGNORED: dict[str, Callable[[Query, str], bool]] = {
    "from the second page on": lambda query, name: _page(query) != "1",
    "from the third page on": lambda query, name: _page(query) not in ("1", "2"),
    "where others come behind it": lambda query, name: len(query) > 1 and next(iter(query)) == name,
    "without size": lambda query, name: "size" not in query,
}


def _ignored(operation: str) -> dict[str, tuple[str, Callable[[Query, str], bool]]]:
    """Returns each filter with the queries in which it is ignored."""
    names = FILTERS[operation]
    beside = {
        f"{name}, beside {two}": (name, lambda query, name, two=two: two in query)
        for name in names
        for two in names
        if name != two
    }
    return beside | {f"{name}, {kind}": (name, test) for name in names for kind, test in IGNORED.items()}


def beside(change: Call, **options: Any) -> Row:
    """Makes a row that reads the filters otherwise where there are several."""
    return seam(
        "conditions",
        lambda self, usual, *given: change(self, usual, *given) if len(usual()) > 1 else usual(),
        **options,
    )


def _everything(self: Any, usual: Any, ctx: Context, listing: Listing) -> list[Record]:
    """Returns the elements of a page of the whole list."""
    offset = (listing.page - 1) * listing.size
    records = ctx.store.select(RECORD_KINDS[ctx.operation], self.list_parent(ctx))
    return records[offset : offset + listing.size]


def _total(self: Any, ctx: Context, conditions: Iterable[Condition] = ()) -> int:
    return ctx.store.count(RECORD_KINDS[ctx.operation], self.list_parent(ctx), conditions)


def _total_without(self: Any, ctx: Context) -> int:
    """Returns the number of elements that pass all filters but the fault's."""
    return _total(self, ctx, self.conditions(ctx, lacking(self.query(ctx), self.value)))


def _ignore_paging(self: Any, usual: Any, ctx: Context) -> None:
    usual()
    listing = ctx.listing
    if listing is not None and listing.conditions:
        setattr(listing, self.value, {"page": 1, "size": 10}[self.value])


def _requested_paging(self: Any, usual: Any, ctx: Context) -> Any:
    query = self.query(ctx)
    return {**usual(), "page": self.requested_page(ctx, query), "size": self.requested_size(ctx, query)}


def _period(self: Any, usual: Any, ctx: Context, query: Query) -> list[Condition]:
    """Reads a period that ends before it begins as another one."""
    conditions: list[Condition] = usual()
    dates = {each.operator: each.value for each in conditions if each.column == "created"}
    if len(dates) < 2 or dates[">="] <= dates["<"]:
        return conditions
    return [*(each for each in conditions if each.column != "created"), *self.value(dates)]


faults["list.filters-combine"] |= {
    "A filter is ignored in some queries.": where(
        "conditions",
        lambda self, ctx, query: self.value[0] in query and self.value[1](query, self.value[0]),
        lambda self, usual, ctx, query: usual(ctx, lacking(query, self.value[0])),
        each=_ignored,
    ),
    "This status is ignored beside another filter.": beside(
        lambda self, usual, *_: [
            each for each in usual() if each.column != "status" or each.value != [self.value]
        ],
        each=_OTHERS.__getitem__,
    ),
    "Of several filters only one counts.": seam(
        "conditions",
        lambda self, usual, *_: usual()[self.value],
        each={"first": slice(1), "last": slice(-1, None)},
    ),
    "Filters are heeded where page or size is named only.": where(
        "conditions", lambda self, ctx, query: not query.keys() & {"page", "size"}, lambda *_: []
    ),
    "The filters are applied to the page instead of to the list.": seam(
        "page_of",
        lambda self, usual, ctx, listing: [
            record for record in _everything(self, usual, ctx, listing) if record in self.fetch(ctx, listing)
        ],
    ),
    "From the second page on the filters are ignored.": where(
        "page_of",
        lambda self, ctx, listing: listing.page > 1 and (listing.page - 1) * listing.size < listing.total,
        _everything,
    ),
    "With a filter page or size is ignored.": seams(
        {
            "read_query": _ignore_paging,
            "list_document": _requested_paging,
        },
        each=("page", "size"),
    ),
    "total does not heed a filter.": seam(
        "count", lambda self, usual, ctx, *_: _total_without(self, ctx), each=FILTERS.__getitem__
    ),
    "Where nothing matches, total does not heed a filter.": seam(
        "count", lambda self, usual, ctx, *_: usual() or _total_without(self, ctx), each=FILTERS.__getitem__
    ),
    "From the second page on total does not heed the status.": where(
        "count",
        lambda self, ctx, listing: listing.page > 1,
        lambda self, usual, ctx, listing: _total(
            self, ctx, [each for each in listing.conditions if each.column != "status"]
        ),
    ),
    "total does not heed the filters.": seam("count", lambda self, usual, ctx, *_: _total(self, ctx)),
    "pages heeds no filter.": seam(
        "pages", lambda self, usual, ctx, listing: -(-_total(self, ctx) // listing.size)
    ),
    "A filtered page past the last has a total of 0.": envelope.sets(
        {"total": 0, "pages": 0}, lambda self, ctx, shown: ctx.listing.conditions and not shown["items"]
    ),
    "A date is at the other side of its border beside another filter.": beside(
        lambda self, usual, *_: [
            each._replace(operator=self.value.get(each.operator, each.operator)) for each in usual()
        ],
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


#: Lists with filters.
FILTERED = [name for name, filters in FILTERS.items() if filters]

_SEVERAL = ("listPayoutDestinations", "listVirtualAccounts")


def _one_of(self: Any, usual: Any, ctx: Context, query: Mapping[str, list[str]]) -> list[str]:
    """One of several statuses alone."""
    statuses = query.get("statuses", [])
    return [statuses[self.value]] if statuses else []


for rule in ("list.statuses-order", "list.status-filter"):
    faults[rule] |= {
        "Of several statuses one counts.": seam(
            "statuses",
            _one_of,
            each={"the first": 0, "the last": -1},
            operations=_SEVERAL,
            also=("list.status-filter",),
        ),
        "Several statuses count up to the first that nothing has.": seam(
            "statuses",
            lambda self, usual, *_: usual()[: 1 + (usual()[:1] == ["active"])],
            operations=_SEVERAL,
            also=("list.status-filter",),
        ),
        "A second status is refused unless it is active.": refusing(
            "statuses",
            "invalid_parameter",
            lambda self, ctx, query: query.get("statuses", [])[1:] not in ([], ["active"]),
            operations=_SEVERAL,
            also=("list.status-filter",),
        ),
    }

faults["list.status-filter"] |= {
    "An element has to have each of several statuses.": where(
        "status_among",
        lambda self, ctx, name, statuses: len({*statuses}) > 1,
        lambda *_: Condition("id", "=", ""),
        operations=_SEVERAL,
    ),
    "Several statuses are no filter known, and nothing passes, or are refused.": where(
        "status_among",
        lambda self, ctx, name, statuses: len({*statuses}) > 1,
        lambda self, *_: refuse("invalid_parameter") if self.value else Condition("status", "=", "several"),
        each={"refused": True, "nothing": False},
        operations=_SEVERAL,
    ),
}


# ---------------------------------------------------------------------- joins

#: List -> the column of its elements, or of their account, that payouts name.
_JOINS = {
    "listPayoutDestinations": ("payout_destination_id", "id"),
    "listVirtualAccounts": ("account_id", "parent"),
}


def _payouts(self: Any, ctx: Context, record: Record) -> int:
    """The number of rows of an element joined with payouts on the left."""
    name, column = _JOINS.get(self.operation, ("account_id", "parent"))
    payouts = ctx.store.select("payout", str(ctx.account["id"]) if ctx.account else None)
    paid = [each for each in payouts if name == "account_id" or each.get(name) == record[column]]
    return max(1, len(paid))


def _joined_count(self: Any, usual: Any, ctx: Context, listing: Listing) -> int:
    records = self.fetch(ctx, Listing(1, 100, listing.conditions))
    return sum(_payouts(self, ctx, each) for each in records)


faults["list.filters-combine"] |= {
    "The total of a filtered list counts its elements once for each payout.": where(
        "count",
        lambda self, ctx, listing: self.value(listing),
        _joined_count,
        each={
            "any filter": lambda listing: bool(listing.conditions),
            "status": lambda listing: any(each.column == "status" for each in listing.conditions),
            "date": lambda listing: any(each.column == "created" for each in listing.conditions),
        },
    )
}

faults["list.complete"] |= {
    "The total of a list counts its elements once for each payout.": where(
        "count", lambda self, ctx, listing: not listing.conditions, _joined_count, operations=FILTERED
    )
}

faults["list.walk"] |= {
    "A filtered list shows an element once for each payout.": seam(
        "fetch",
        lambda self, usual, ctx, listing, **limits: (
            [each for each in usual() for _ in range(_payouts(self, ctx, each))][: listing.size]
            if listing.conditions
            else usual()
        ),
        operations=FILTERED,
    )
}
