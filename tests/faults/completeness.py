"""Servers whose lists lack some elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Faulty, fault, faults, seam
from .lists import LONG_LISTS
from .places import Finishes, another, item, other, succeeded, third, without_the_last
from .resources import paid
from .texts import rows_of_lists
from .walks import IN_ACCOUNTS, Filtered, counted, joined


class OfAllParents(Filtered):
    """Lists the elements of all parents that `listed` returns."""

    def list_parent(self, ctx: Context) -> str | None:
        return None if self.here(ctx) else super().list_parent(ctx)


@fault("list.complete", seam="listed", base=OfAllParents, each=("organization", "everybody"))
def _(self: Any, ctx: Context, records: list[Record]) -> list[Record]:
    """The elements of other parents are listed, too."""
    return [
        record
        for record in records
        if self.value == "everybody" or record["organization"] == ctx.organization.id  # type: ignore[union-attr]
    ]


@fault("list.complete", seam="listed", base=OfAllParents, operations=("listPayoutDestinations",))
def _(self: Any, ctx: Context, records: list[Record]) -> list[Record]:
    """The destinations of all beneficiaries of the account are listed."""
    mine = {record["id"] for record in ctx.store.select("beneficiary", ctx.params["account_id"])}
    return [record for record in records if record["parent"] in mine]


# Other clients create accounts of the customer too, so a total with a short lag is allowed.
@fault("list.complete", seam="count", operations=[name for name in LONG_LISTS if name != "listAccounts"])
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """total is counted once, and again only after ten more requests."""
    known = self.state.setdefault("known", {})
    key = (self.list_parent(ctx), repr(listing.conditions))
    total, times = known.get(key, (self.usual(), 0))
    known[key] = (total, times + 1)
    if times >= 10:
        del known[key]
    return int(total)


@fault("list.complete", seam="count")
def _(self: Any, ctx: Context, listing: Listing) -> Any:
    """total is counted once a minute."""
    known = self.state.setdefault("a minute", {})
    key = (self.list_parent(ctx), repr(listing.conditions))
    total, at = known.get(key, (0, 0))
    if ctx.now > at + 60_000_000:
        known[key] = total, _ = self.usual(), ctx.now
    return int(total)


@fault("list.complete", seam="list_records", operations=LONG_LISTS)
def _(self: Any, ctx: Context) -> None:
    """The newest element is not listed until another one is created."""
    self.usual()
    listing = ctx.listing
    newest = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx), newest_first=True, limit=1)
    if listing is not None and newest and len(listing.records) > 1:
        listing.records = [record for record in listing.records if record["id"] != newest[0]["id"]]
        listing.total -= 1


@fault("list.complete")
class ListsStayAsTheyWere(Finishes):
    """A list is answered as it was when it was first read, whatever is created."""

    def finished(self, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        kept = self.state.setdefault("kept", {}).setdefault(ctx.request.target, response.document)
        return response.with_document(kept)


@fault("list.complete", operations=("listAccounts",))
class LeavesOutTheOldest(Faulty):
    """The account that a customer had before any was created by a request is not in the list."""

    def left_out(self, ctx: Context) -> int:
        """Returns the number of oldest elements that are left out."""
        oldest = ctx.store.select("account", self.list_parent(ctx), limit=1)
        return int(bool(oldest and ctx.store.balances(oldest[0]["id"])))

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, listing) - self.left_out(ctx)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return super().offset(ctx, listing) + self.left_out(ctx)


@fault("list.complete", operations=("listAccounts",))
class KeepsSoMany(Faulty):
    """A new account takes the place of the oldest one in the list, which stays as long as it was."""

    def first(self, ctx: Context, listing: Listing) -> int:
        """Returns the number of oldest elements that are left out."""
        total = super().count(ctx, listing)
        return total - int(self.state.setdefault("longest", total))

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, listing) - self.first(ctx, listing)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return super().offset(ctx, listing) + self.first(ctx, listing)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        if super().offset(ctx, listing) >= listing.total:
            return []
        return self.fetch(ctx, listing, limit=listing.size, offset=self.offset(ctx, listing))


def _text(record: Record) -> str:
    return str(record.get("name") or record.get("label") or "")


Kept = Callable[[Record], Any]

_TEXTS: dict[str, Kept] = {
    "letters beyond ASCII": lambda record: not _text(record).isascii(),
    "an apostrophe": lambda record: "'" in _text(record),
}

#: List -> kinds of elements, with a predicate for each.
ELEMENTS: dict[str, dict[str, Kept]] = {
    "listAccounts": {**_TEXTS, "a long name": lambda record: len(_text(record)) > 200},
    "listPayoutDestinations": {
        **_TEXTS,
        "no label": lambda record: not record.get("label"),
        "an IBAN alone": lambda record: "account_number" not in record and "iban" in record,
        "a savings account": lambda record: record.get("account_type") == "savings",
    },
    "listVirtualAccounts": {**_TEXTS, "an address": lambda record: record.get("address")},
    "listWallets": dict(_TEXTS),
}


def _is_changed(beneficiary: Record) -> bool:
    return bool(beneficiary["status"] == "active" and beneficiary["updated"] != beneficiary["created"])


faults["list.complete"] |= {
    f"The destinations of a {kind} beneficiary are not listed.": seam(
        "count",
        lambda self, ctx, _, hidden=hidden: 0 if hidden(ctx.beneficiary) else self.usual(),
        operations=("listPayoutDestinations",),
    )
    for kind, hidden in {
        "disabled": lambda beneficiary: beneficiary["status"] == "disabled",
        "changed": _is_changed,
    }.items()
}


def _known_by_query(self: Any, ctx: Context) -> Any:
    pages = self.state.setdefault("known_pages", {})
    until, document = pages.get(ctx.query, (0, None))
    if ctx.now > until:
        document = self.usual()
        pages[ctx.query] = (ctx.now + 1_000_000, document)
    return document


def _kept(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    return self.state.setdefault("shown", {}).setdefault(ctx.request.target, document)


def _begun(item: dict[str, Any], length: int) -> dict[str, Any]:
    """Truncates the texts of an element to a length."""
    name = "name" if "name" in item else "label"
    return {**item, name: item[name] and item[name][:length]}


#: Lists with filters, whose elements fit on one page.
_SHORT = ("listPayoutDestinations", "listVirtualAccounts", "listWallets")


@fault("list.complete", operations=("listPayoutDestinations",))
class LosesThoseOfDisabled(Faulty):
    """A destination of a disabled beneficiary is accepted and lost."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        if ctx.operation == "createPayoutDestination" and (ctx.beneficiary or {})["status"] == "disabled":
            ctx.record = self.new_record(ctx)
        else:
            super().create(ctx)


def _payouts_to(self: Any, ctx: Context, record: Record) -> int:
    """Counts the payouts to a destination; one without payouts counts once, as in an outer join."""
    paid = [
        payout["payout_destination_id"] for payout in ctx.store.select("payout", ctx.params["account_id"])
    ]
    return max(1, paid.count(record["id"]))


faults["list.complete"] |= {
    "Elements are missing.": seam(
        "listed",
        lambda self, ctx, records: self.value(records),
        base=Filtered,
        each=lambda operation: {
            # The customer's oldest account may be older than the run.
            "newest": lambda records: records[:-1],
            **({"oldest": lambda records: records[1:]} if operation != "listAccounts" else {}),
            "all": lambda records: [],
            "every other": lambda records: records[::2],
        },
    ),
    "Elements of some kind are not listed.": seam(
        "listed",
        lambda self, ctx, records: [record for record in records if not self.value(record)],
        base=Filtered,
        each=ELEMENTS.__getitem__,
    ),
    "This member of an item is not what the create answered.": item(
        another,
        each=lambda operation: [
            name for name in ITEM_FIELDS[KINDS[operation]] if name not in ("id", "object", "status")
        ],
    ),
    "A list with a filter is answered as it was when it was first read, whatever is created.": seam(
        "finished",
        lambda self, ctx, response: (
            self.usual() if (ctx.listing is not None and ctx.listing.conditions) else response
        ),
        base=ListsStayAsTheyWere,
        operations=_SHORT,
    ),
    "Within a second a list is that of whoever asked for the same page before.": seam(
        "list_document", _known_by_query, operations=("listAccounts",)
    ),
    "The total of the destinations of a disabled beneficiary is another one.": seam(
        "count",
        lambda self, ctx, _: self.usual() * (2 if ctx.beneficiary["status"] == "disabled" else 1),
        operations=("listPayoutDestinations",),
    ),
    "From the second page on created is a second later.": item(
        lambda self, ctx, item, record: (
            {**item, "created": self.timestamp_text(ctx, record["created"] + 1_000_000)}
            if ctx.listing.page > 1
            else item
        )
    ),
    "With a filter the elements have no text of their own.": item(
        lambda self, ctx, item, record: (
            {**item, "label": item["label"] and "Filtered"} if ctx.listing.conditions else item
        ),
        operations=_SHORT,
    ),
    "A destination in the list has a member of the beneficiary, or of all.": item(
        lambda self, ctx, item, record: {**item, self.value[0]: self.value[1](ctx)},
        operations=("listPayoutDestinations",),
        each={
            "country": ("country", lambda ctx: ctx.beneficiary["country_code"]),
            "currency": ("currency", lambda ctx: "USD"),
        },
    ),
    "Each third list is the one that its process has read first.": third(_kept, operations=_SHORT),
    "Each third list lacks its last element.": third(without_the_last, operations=_SHORT),
    "Each third list is empty.": third(
        lambda self, ctx, document: {**document, "items": [], "total": 0, "pages": 0}
    ),
    "Each third list does not know the newest element.": third(
        lambda self, ctx, document: {
            **document,
            "items": document["items"][:-1],
            "total": max(0, document["total"] - 1),
        }
    ),
    "created of an element is when it was last changed.": seam(
        "item",
        lambda self, ctx, kind, record: {
            **self.usual(),
            "created": self.timestamp_text(ctx, record["updated"]),
        },
        operations=("listPayoutDestinations",),
    ),
    "Each third list shows the beginning of its texts.": third(
        lambda self, ctx, document: {
            **document,
            "items": [_begun(item, self.value) for item in document["items"]],
        },
        each=(50, 100),
    ),
    "Each third list shows other dates.": third(
        lambda self, ctx, document: {
            **document,
            "items": [{**item, "created": "2020-01-01T00:00:00Z"} for item in document["items"]],
        }
    ),
    "This member of a destination changes with the first payout to it.": seam(
        "item",
        lambda self, ctx, kind, record: (
            {**self.usual(), self.value: other(self.value, self.usual()[self.value])}
            if paid(ctx, "payout_destination_id", record)
            else self.usual()
        ),
        operations=("listPayoutDestinations",),
        each=("is_default", "label"),
    ),
    "An account with a resource of this kind in it is not listed.": joined(
        lambda self, ctx, record: 0 if ctx.store.count(self.value, record["id"]) else 1,
        each=IN_ACCOUNTS,
        operations=("listAccounts",),
    ),
    "A destination is listed once for each payout to it.": joined(
        _payouts_to, operations=("listPayoutDestinations",)
    ),
    "total counts a destination once for each payout to it.": counted(
        _payouts_to, operations=("listPayoutDestinations",)
    ),
    "Of elements with the same label or name only the first one is listed.": seam(
        "listed",
        lambda self, ctx, records: list(
            {_text(record) or record["id"]: record for record in records[::-1]}.values()
        )[::-1],
        base=Filtered,
    ),
    **rows_of_lists(),
}
