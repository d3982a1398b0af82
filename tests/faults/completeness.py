"""Servers whose lists lack some elements, or show others than those that were created (section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.seams.resources import RECORD_KINDS

from .catalogue import Only, faults, seam, seams
from .paging import LONG_LISTS
from .resources import paid
from .rows import (
    LABELS,
    after,
    another,
    item,
    on_pages,
    page,
    stale,
    succeeded,
    third,
    where,
)
from .walks import IN_ACCOUNTS, counted, joined, listing

#: Lists with filters, whose elements fit on one page.
_SHORT = ("listPayoutDestinations", "listVirtualAccounts", "listWallets")

_DESTINATIONS, _ACCOUNTS = ("listPayoutDestinations",), ("listAccounts",)


def text_of(record: Record) -> str:
    return str(next(filter(None, map(record.get, LABELS)), ""))


#: Kind -> destinations of some kind.
OF_DESTINATIONS: dict[str, Callable[[Record], Any]] = {
    "letters beyond ASCII": lambda record: not text_of(record).isascii(),
    "an apostrophe": lambda record: "'" in text_of(record),
    "no label": lambda record: not record.get("label"),
    "an IBAN alone": lambda record: "account_number" not in record and "iban" in record,
    "a savings account": lambda record: record.get("account_type") == "savings",
}


# ---------------------------------------------------------------------- stale lists


def _listed(self: Any, ctx: Context, listing: Listing) -> tuple[str | None, str]:
    """Returns what a list is a list of."""
    return self.list_parent(ctx), repr(listing.conditions)


def _hide_the_newest(self: Any, ctx: Context) -> None:
    listing = ctx.listing
    newest = ctx.store.select(RECORD_KINDS[ctx.operation], self.list_parent(ctx), newest_first=True, limit=1)
    if listing is not None and newest and len(listing.records) > 1:
        listing.records = [record for record in listing.records if record["id"] != newest[0]["id"]]
        listing.total -= 1


def without(left_out: Callable[[Any, Context, Listing, int], int], **more: Any) -> dict[str, Any]:
    """Returns the overrides that leave the oldest elements out; their number is told by the real total."""

    def count(self: Any, usual: Any, ctx: Context, listing: Listing) -> int:
        total = usual()
        return int(total - left_out(self, ctx, listing, total))

    def offset(self: Any, usual: Any, ctx: Context, listing: Listing) -> int:
        total = ctx.store.count("account", self.list_parent(ctx), listing.conditions)
        return int(usual() + left_out(self, ctx, listing, total))

    return {"count": count, "offset": offset, **more}


def _first_of_all(self: Any, ctx: Context, listing: Listing, total: int) -> int:
    """Returns 1 if the customer had an account before any was created by a request."""
    oldest = ctx.store.select("account", self.list_parent(ctx), limit=1)
    return int(bool(oldest and ctx.store.balances(oldest[0]["id"])))


def _begun(items: list[dict[str, Any]], length: int) -> list[dict[str, Any]]:
    """Truncates the texts of elements to a length."""
    name = "label" if items and "label" in items[0] else "name"
    return [{**item, name: item[name] and item[name][:length]} for item in items]


def _payouts_to(self: Any, ctx: Context, record: Record) -> int:
    """Counts the payouts to a destination; one without payouts counts once, as in an outer join."""
    payouts = ctx.store.select("payout", ctx.params["account_id"])
    return max(1, [payout["payout_destination_id"] for payout in payouts].count(record["id"]))


faults["list.complete"] |= {
    "A destination of a disabled beneficiary is accepted and lost.": where(
        "create",
        lambda self, ctx: (
            ctx.operation == "createPayoutDestination" and ctx.beneficiary["status"] == "disabled"
        ),
        lambda self, usual, ctx: setattr(ctx, "record", self.new_record(ctx)),
        everywhere=True,
        operations=_DESTINATIONS,
    ),
    "Elements are missing.": listing(
        each={
            "newest": lambda self, ctx, records: records[:-1],
            # The customer's oldest account may be older than the run.
            "oldest": Only(lambda self, ctx, records: records[1:], _SHORT),
            "all": lambda *_: [],
            "every other": lambda self, ctx, records: records[::2],
            "all but the first with the same label or name": lambda self, ctx, records: list(
                {text_of(record) or record["id"]: record for record in records[::-1]}.values()
            )[::-1],
        }
    ),
    "Elements of some kind are missing.": joined(
        lambda self, ctx, record: not self.value(record),
        each={
            **{
                kind: test if at < 2 else Only(test, _DESTINATIONS)
                for at, (kind, test) in enumerate(OF_DESTINATIONS.items())
            },
            "a long name": Only(lambda record: len(text_of(record)) > 200, _ACCOUNTS),
            "an address": Only(lambda record: record.get("address"), ["listVirtualAccounts"]),
        },
    ),
    "An account with a resource of this kind in it is not listed.": joined(
        lambda self, ctx, record: not ctx.store.count(self.value, record["id"]),
        each=IN_ACCOUNTS,
        operations=_ACCOUNTS,
    ),
    "The total of destinations is another one.": seam(
        "count",
        lambda self, usual, ctx, *_: self.value(ctx.beneficiary, usual()),
        operations=_DESTINATIONS,
        each={
            "none of a disabled one": lambda payee, total: 0 if payee["status"] == "disabled" else total,
            "twice as many of a disabled one": lambda payee, total: (
                total * (1 + (payee["status"] == "disabled"))
            ),
            "none of a changed one": lambda payee, total: (
                0 if payee["status"] == "active" and payee["updated"] != payee["created"] else total
            ),
        },
    ),
    "The elements of other parents are listed, too.": listing(
        lambda self, ctx, records: [
            record
            for record in records
            if self.value == "everybody" or record["organization"] == ctx.organization.id
        ],
        more={"list_parent": lambda *_: None},
        each=("organization", "everybody"),
    ),
    "The destinations of all beneficiaries of the account are listed.": listing(
        lambda self, ctx, records: [
            record
            for record in records
            if ctx.store.get("beneficiary", record["parent"])["parent"] == ctx.params["account_id"]
        ],
        more={"list_parent": lambda *_: None},
        operations=_DESTINATIONS,
    ),
    "A destination is listed once for each payout to it.": joined(_payouts_to, operations=_DESTINATIONS),
    "total counts a destination once for each payout to it.": counted(_payouts_to, operations=_DESTINATIONS),
    # Other clients create accounts of the customer too, so a total with a short lag is allowed.
    "total is counted once, and again only after ten more requests.": stale(
        "count", _listed, times=11, operations={*LONG_LISTS} - {*_ACCOUNTS}
    ),
    "total is counted once a minute.": stale("count", _listed, seconds=60),
    "The newest element is not listed until another one is created.": after(
        "list_records", _hide_the_newest, operations=LONG_LISTS
    ),
    "A list is answered as it was when it was first read, whatever is created.": stale(
        "finish", lambda self, ctx, *_: ctx.request.target, succeeded
    ),
    "A list with a filter is answered as it was when it was first read, whatever is created.": stale(
        "finish",
        lambda self, ctx, *_: ctx.request.target,
        lambda self, ctx, response: succeeded(response) and ctx.listing.conditions,
        operations=_SHORT,
    ),
    "Within a second a list is that of whoever asked for the same page before.": stale(
        "list_document", lambda self, ctx: ctx.query, seconds=1, operations=_ACCOUNTS
    ),
    "The account that a customer had before any was created by a request is not in the list.": seams(
        without(_first_of_all), operations=_ACCOUNTS
    ),
    "A new account takes the place of the oldest one in the list, which stays as long as it was.": seams(
        without(
            lambda self, ctx, listing, total: total - self.state.setdefault("longest", total),
            page_of=lambda self, usual, ctx, listing: (
                page(self, ctx, listing) if (listing.page - 1) * listing.size < listing.total else []
            ),
        ),
        operations=_ACCOUNTS,
    ),
    "Each third list is another one.": third(
        lambda self, ctx, shown: {**shown, **self.value(shown["items"])},
        each={
            "lacks its last element": Only(lambda items: {"items": items[:-1]}, _SHORT),
            "is empty": lambda items: {"items": [], "total": 0, "pages": 0},
            "shows the first 50 characters of texts": lambda items: {"items": _begun(items, 50)},
            "shows the first 100 characters of texts": lambda items: {"items": _begun(items, 100)},
            "shows other dates": lambda items: {
                "items": [{**item, "created": "2020-01-01T00:00:00Z"} for item in items]
            },
        },
    ),
    "Each third list does not know the newest element.": third(
        lambda self, ctx, shown: {**shown, "items": shown["items"][:-1], "total": max(0, shown["total"] - 1)}
    ),
    "Each third list is the one that its process has read first.": third(
        lambda self, ctx, shown: self.state.setdefault(ctx.request.target, shown), operations=_SHORT
    ),
    "From the second page on created is a second later.": item.sets(
        lambda self, ctx, shown, record: {"created": self.timestamp_text(ctx, record["created"] + 1_000_000)},
        lambda self, ctx, *_: ctx.listing.page > 1,
    ),
    "created of an element is when it was last changed.": item.sets(
        lambda self, ctx, shown, record: {"created": self.timestamp_text(ctx, record["updated"])},
        operations=_DESTINATIONS,
    ),
    "With a filter the elements have no text of their own.": item.sets(
        lambda self, ctx, shown, *_: {"label": shown["label"] and "Filtered"},
        lambda self, ctx, *_: ctx.listing.conditions,
        operations=_SHORT,
    ),
    "A destination in the list has a member of the beneficiary, or of all.": item.sets(
        operations=_DESTINATIONS,
        each={
            "country": lambda self, ctx, *_: {"country": ctx.beneficiary["country_code"]},
            "currency": lambda *_: {"currency": "USD"},
        },
    ),
    "This member of a destination changes with the first payout to it.": item.sets(
        another,
        lambda self, ctx, shown, record: paid(ctx, "payout_destination_id", record),
        operations=_DESTINATIONS,
        each=("is_default", "label"),
    ),
}


# ---------------------------------------------------------------------- members of items


def _last_without(self: Any, usual: Any, ctx: Context, listing: Listing) -> list[Any]:
    """Returns the items of a page, of which the last one lacks its name or currency."""
    *items, last = usual() or [{}]
    name = "name" if ctx.operation == "listAccounts" else "currency"
    return [*items, *([{key: last[key] for key in last if key != name}] if last else [])]


faults["list.wallet-items"] |= {
    "A wallet in a list shows this member.": seam(
        "item_fields", lambda self, usual, *_: [*usual(), self.value], each=("addresses", "updated")
    )
}

faults["list.item-fields"] |= {
    # Ids, constants, statuses and timestamps are covered by the format rules.
    "The last item of a page lacks its name or currency.": seam("items", _last_without),
    "The items are ids.": seam(
        "items", lambda self, usual, ctx, listing: [record["id"] for record in listing.records]
    ),
    "The elements of some pages lack their created.": on_pages(
        lambda self, ctx, shown: {name: shown[name] for name in shown if name != "created"}
    ),
}
