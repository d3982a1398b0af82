"""Servers whose lists lack some elements, or show others than those that were created (section 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.resources import KINDS

from .catalogue import Faulty, Only, fault, faults, seam, seams
from .lists import LONG_LISTS
from .resources import paid
from .rows import after, another, answer, item, other, succeeded, third, where
from .walks import IN_ACCOUNTS, Filtered, counted, joined, listing

#: Lists with filters, whose elements fit on one page.
_SHORT = ("listPayoutDestinations", "listVirtualAccounts", "listWallets")

_DESTINATIONS = ("listPayoutDestinations",)

_ACCOUNTS = ("listAccounts",)


def text_of(record: Record) -> str:
    return str(record.get("name") or record.get("label") or "")


#: Kind -> destinations of some kind.
OF_DESTINATIONS: dict[str, Callable[[Record], Any]] = {
    "letters beyond ASCII": lambda record: not text_of(record).isascii(),
    "an apostrophe": lambda record: "'" in text_of(record),
    "no label": lambda record: not record.get("label"),
    "an IBAN alone": lambda record: "account_number" not in record and "iban" in record,
    "a savings account": lambda record: record.get("account_type") == "savings",
}

#: Kind -> elements that are not listed.
UNLISTED: dict[str, Callable[[list[Record]], list[Record]] | Only] = {
    "newest": lambda records: records[:-1],
    # The customer's oldest account may be older than the run.
    "oldest": Only(lambda records: records[1:], _SHORT),
    "all": lambda records: [],
    "every other": lambda records: records[::2],
    "all but the first with the same label or name": lambda records: list(
        {text_of(record) or record["id"]: record for record in records[::-1]}.values()
    )[::-1],
    "letters beyond ASCII": lambda records: [each for each in records if text_of(each).isascii()],
    "an apostrophe": lambda records: [each for each in records if "'" not in text_of(each)],
    "a long name": Only(lambda records: [each for each in records if len(text_of(each)) <= 200], _ACCOUNTS),
    "an address": Only(
        lambda records: [each for each in records if not each.get("address")], ["listVirtualAccounts"]
    ),
    **{
        kind: Only(
            lambda records, hidden=hidden: [each for each in records if not hidden(each)], _DESTINATIONS
        )
        for kind, hidden in [*OF_DESTINATIONS.items()][2:]
    },
}


class OfAllParents(Filtered):
    """Lists the elements of all parents that `listed` returns."""

    def list_parent(self, ctx: Context) -> str | None:
        return None if self.here(ctx) else super().list_parent(ctx)


def _of_all_in_the_account(self: Any, ctx: Context, records: list[Record]) -> list[Record]:
    mine = {record["id"] for record in ctx.store.select("beneficiary", ctx.params["account_id"])}
    return [record for record in records if record["parent"] in mine]


# ---------------------------------------------------------------------- stale lists


def _counted_for(requests: int, seconds: int) -> Callable[..., int]:
    """Returns the override that counts again after so many requests, or seconds."""

    def count(self: Any, ctx: Context, listing: Listing) -> int:
        key = (self.list_parent(ctx), repr(listing.conditions))
        total, times, at = self.state.get(key, (0, requests, 0))
        if times >= requests or ctx.now > at + seconds * 1_000_000:
            total, times, at = self.usual(), 0, ctx.now
        self.state[key] = (total, times + 1, at)
        return int(total)

    return count


def _hide_the_newest(self: Any, ctx: Context) -> None:
    listing = ctx.listing
    newest = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx), newest_first=True, limit=1)
    if listing is not None and newest and len(listing.records) > 1:
        listing.records = [record for record in listing.records if record["id"] != newest[0]["id"]]
        listing.total -= 1


def _as_first_read(self: Any, ctx: Context, response: Response) -> Response:
    if not succeeded(response):
        return response
    return response.with_document(self.state.setdefault(ctx.request.target, response.document))


def _known_by_query(self: Any, ctx: Context) -> Any:
    until, document = self.state.get(ctx.query, (0, None))
    if ctx.now > until:
        document = self.usual()
        self.state[ctx.query] = (ctx.now + 1_000_000, document)
    return document


def without(left_out: Callable[[Any, Context, Listing, int], int], **more: Any) -> dict[str, Any]:
    """Returns the overrides that leave the oldest elements out; their number is told by the real total."""

    def count(self: Any, ctx: Context, listing: Listing) -> int:
        total = self.usual()
        return int(total - left_out(self, ctx, listing, total))

    def offset(self: Any, ctx: Context, listing: Listing) -> int:
        total = ctx.store.count("account", self.list_parent(ctx), listing.conditions)
        return int(self.usual() + left_out(self, ctx, listing, total))

    return {"count": count, "offset": offset, **more}


def _first_of_all(self: Any, ctx: Context, listing: Listing, total: int) -> int:
    """Returns 1 if the customer had an account before any was created by a request."""
    oldest = ctx.store.select("account", self.list_parent(ctx), limit=1)
    return int(bool(oldest and ctx.store.balances(oldest[0]["id"])))


def _shifted_page(self: Any, ctx: Context, listing: Listing) -> list[Record]:
    if (listing.page - 1) * listing.size >= listing.total:
        return []
    return self.fetch(ctx, listing, limit=listing.size, offset=self.offset(ctx, listing))  # type: ignore[no-any-return]


@fault("list.complete", operations=_DESTINATIONS)
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
    payouts = ctx.store.select("payout", ctx.params["account_id"])
    return max(1, [payout["payout_destination_id"] for payout in payouts].count(record["id"]))


#: Kind -> number of the destinations of a beneficiary of some kind.
TOTALS: dict[str, Callable[[Record, int], int]] = {
    "none of a disabled one": lambda payee, total: 0 if payee["status"] == "disabled" else total,
    "twice as many of a disabled one": lambda payee, total: total * (1 + (payee["status"] == "disabled")),
    "none of a changed one": lambda payee, total: (
        0 if payee["status"] == "active" and payee["updated"] != payee["created"] else total
    ),
}

#: Kind -> what every third list is.
THIRDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]] | Only] = {
    "lacks its last element": Only(lambda document: {"items": document["items"][:-1]}, _SHORT),
    "is empty": lambda document: {"items": [], "total": 0, "pages": 0},
    "does not know the newest element": lambda document: {
        "items": document["items"][:-1],
        "total": max(0, document["total"] - 1),
    },
    **{
        f"shows the first {length} characters of texts": lambda document, length=length: {  # type: ignore[misc]
            "items": [_begun(item, length) for item in document["items"]]
        }
        for length in (50, 100)
    },
    "shows other dates": lambda document: {
        "items": [{**item, "created": "2020-01-01T00:00:00Z"} for item in document["items"]]
    },
}


def _begun(item: dict[str, Any], length: int) -> dict[str, Any]:
    """Truncates the texts of an element to a length."""
    name = "name" if "name" in item else "label"
    return {**item, name: item[name] and item[name][:length]}


faults["list.complete"] |= {
    "Elements are missing.": listing(lambda self, ctx, records: self.value(records), each=UNLISTED),
    "An account with a resource of this kind in it is not listed.": listing(
        lambda self, ctx, records: [each for each in records if not ctx.store.count(self.value, each["id"])],
        each=IN_ACCOUNTS,
        operations=_ACCOUNTS,
    ),
    "The total of destinations is another one.": seam(
        "count",
        lambda self, ctx, _: self.value(ctx.beneficiary, self.usual()),
        operations=_DESTINATIONS,
        each=TOTALS,
    ),
    "The elements of other parents are listed, too.": seam(
        "listed",
        lambda self, ctx, records: [
            record
            for record in records
            if self.value == "everybody" or record["organization"] == ctx.organization.id
        ],
        base=OfAllParents,
        each=("organization", "everybody"),
    ),
    "The destinations of all beneficiaries of the account are listed.": seam(
        "listed", _of_all_in_the_account, base=OfAllParents, operations=_DESTINATIONS
    ),
    "A destination is listed once for each payout to it.": joined(_payouts_to, operations=_DESTINATIONS),
    "total counts a destination once for each payout to it.": counted(_payouts_to, operations=_DESTINATIONS),
    # Other clients create accounts of the customer too, so a total with a short lag is allowed.
    "total is counted once, and again only after ten more requests.": seam(
        "count", _counted_for(11, 10**9), operations={*LONG_LISTS} - {*_ACCOUNTS}
    ),
    "total is counted once a minute.": seam("count", _counted_for(10**9, 60)),
    "The newest element is not listed until another one is created.": after(
        "list_records", _hide_the_newest, operations=LONG_LISTS
    ),
    "A list is answered as it was when it was first read, whatever is created.": answer(_as_first_read),
    "A list with a filter is answered as it was when it was first read, whatever is created.": where(
        "finish",
        lambda self, ctx, response: ctx.listing is not None and ctx.listing.conditions,
        _as_first_read,
        operations=_SHORT,
    ),
    "Within a second a list is that of whoever asked for the same page before.": seam(
        "list_document", _known_by_query, operations=_ACCOUNTS
    ),
    "The account that a customer had before any was created by a request is not in the list.": seams(
        without(_first_of_all), operations=_ACCOUNTS
    ),
    "A new account takes the place of the oldest one in the list, which stays as long as it was.": seams(
        without(
            lambda self, ctx, listing, total: total - self.state.setdefault("longest", total),
            page_of=_shifted_page,
        ),
        operations=_ACCOUNTS,
    ),
    "Each third list is another one.": third(
        lambda self, ctx, document: {**document, **self.value(document)}, each=THIRDS
    ),
    "Each third list is the one that its process has read first.": third(
        lambda self, ctx, document: self.state.setdefault(ctx.request.target, document), operations=_SHORT
    ),
    "This member of an item is not what the create answered.": item(
        another,
        each=lambda operation: [
            name for name in ITEM_FIELDS[KINDS[operation]] if name not in ("id", "object", "status")
        ],
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
        lambda self, ctx, *_: {self.value[0]: self.value[1](ctx)},
        operations=_DESTINATIONS,
        each={
            "country": ("country", lambda ctx: ctx.beneficiary["country_code"]),
            "currency": ("currency", lambda ctx: "USD"),
        },
    ),
    "This member of a destination changes with the first payout to it.": item.sets(
        lambda self, ctx, shown, *_: {self.value: other(self.value, shown[self.value])},
        lambda self, ctx, shown, record: paid(ctx, "payout_destination_id", record),
        operations=_DESTINATIONS,
        each=("is_default", "label"),
    ),
}
