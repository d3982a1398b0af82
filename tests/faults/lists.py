"""Servers that break a rule of lists: sections 4 and 8 of the specification."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.lists import FILTERS, ITEM_FIELDS, Query, parse_instant
from conformance.reference.messages import Response
from conformance.reference.resources import KINDS
from conformance.reference.store import Condition
from conformance.rules import OPERATION_SETS

from .catalogue import Faulty, fault
from .resources import other

HUGE = 10**9


class Envelope(Faulty):
    """Answers a list with another envelope, by `enveloped`."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        raise NotImplementedError

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        return self.enveloped(ctx, document) if self.here(ctx) else document


class Fetches(Faulty):
    """Shows other elements on a page, by `fetched`."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        raise NotImplementedError

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetched(ctx, listing) if self.here(ctx) else super().page_of(ctx, listing)

    def all(self, ctx: Context, listing: Listing) -> list[Record]:
        """All elements that match."""
        return self.fetch(ctx, listing)


# --------------------------------------------------------------------------- envelope

MEMBERS = ("total", "page", "size", "pages")
VALUES: dict[str, Any] = {"null": lambda value: None, "text": str, "decimal": lambda value: value + 0.5, "true": lambda value: True}


@fault("list.envelope", each=("items", *MEMBERS))
class LacksMember(Envelope):
    """A member of the envelope is missing."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        return {name: value for name, value in document.items() if name != self.value}


@fault("list.envelope", each=[f"{name} {how}" for name in MEMBERS for how in VALUES])
class MemberOfOtherType(Envelope):
    """A number of the envelope is of another type."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        name, how = self.value.split()
        return {**document, name: VALUES[how](document[name])}


@fault("list.envelope", each={
    "null": lambda items: None, "object": lambda items: dict(enumerate(map(str, items))), "text": str,
    "null when empty": lambda items: items or None})
class ItemsOfOtherType(Envelope):
    """items is no array."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        return {**document, "items": self.value(document["items"])}


@fault("list.envelope", each={
    "bare array": lambda document: document["items"], "wrapped": lambda document: {"data": document},
    "other names": lambda document: {"data": document["items"], "count": document["total"], **document, "items": None},
    "negative total": lambda document: {**document, "total": -1}})
class OtherEnvelope(Envelope):
    """The envelope is another one."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        return self.value(document)


#: List -> members of an item that have to be there, and that may be null.
def _item_members(operation: str) -> list[str]:
    optional = {"listPayoutDestinations": {"label", "network", "account_number_last4"}, "listAccounts": {"object"}}.get(operation, ())
    return [name for name in ITEM_FIELDS[KINDS[operation]] if name not in optional]


class Items(Faulty):
    """Shows items of a list by `shown`."""

    def shown(self, document: dict[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        document = dict(super().item(ctx, kind, record))
        return self.shown(document) if self.here(ctx) else document


@fault("list.item-fields", each=_item_members)
class ItemLacks(Items):
    """A documented member of an item is missing."""

    def shown(self, document: dict[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in document.items() if name != self.value}


def _typed(operation: str) -> list[str]:
    # Of ids, constants, statuses and timestamps the format rules speak.
    plain = {"name", "label", "currency", "network", "country", "payout_method", "is_default"}
    return [name for name in _item_members(operation) if name in plain]


@fault("list.item-fields", each=lambda operation: [f"{name} {how}" for name in _typed(operation) for how in ("null", "number")])
class ItemOfOtherType(Items):
    """A documented member of an item is of another type."""

    def shown(self, document: dict[str, Any]) -> Mapping[str, Any]:
        name, how = self.value.split()
        return {**document, name: None if how == "null" else 12345}


@fault("list.item-fields", operations=("listPayoutDestinations",), each=("label", "network"))
class OptionalItemOfOtherType(Items):
    """An optional member of an item is neither a text nor null."""

    def shown(self, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: 12345}


@fault("list.item-fields")
class LastItemLacks(Faulty):
    """The last item of a page lacks its name or currency."""

    def items(self, ctx: Context, listing: Listing) -> list[Mapping[str, Any]]:
        items = super().items(ctx, listing)
        name = "name" if ctx.operation == "listAccounts" else "currency"
        return [*items[:-1], *({key: value for key, value in item.items() if key != name} for item in items[-1:])]


@fault("list.item-fields")
class ItemsAreIds(Faulty):
    """The items are ids."""

    def items(self, ctx: Context, listing: Listing) -> list[Any]:
        return [record["id"] for record in listing.records]


@fault("list.wallet-items", each=("addresses", "updated"))
class ShowsMore(Faulty):
    """A wallet in a list shows this member."""

    def item_fields(self, ctx: Context, kind: str) -> list[str]:
        return [*super().item_fields(ctx, kind), self.value]


# --------------------------------------------------------------------------- page and size


@fault("list.defaults", each=(20, 100, 9, 11))
class OtherDefaultSize(Faulty):
    """Without size a page has another one."""

    def requested_size(self, ctx: Context, query: Query) -> int:
        return super().requested_size(ctx, query) if "size" in query else int(self.value)


@fault("list.defaults", each=("page", "size"))
class DefaultNotEchoed(Envelope):
    """Without page and size the answer does not say 1 and 10."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        if self.value.encode() in ctx.query:
            return document
        return {**document, self.value: 0 if self.value == "page" else len(document["items"])}


@fault("list.defaults")
class DefaultPageIsSecond(Faulty):
    """Without page the second one is shown and called the first."""

    def offset(self, ctx: Context, listing: Listing) -> int:
        return super().offset(ctx, listing) + (0 if b"page" in ctx.query else listing.size)


#: There are not enough known pairs for more than ten wallets in an account.
LONG_LISTS = [one for one in OPERATION_SETS["list"] if one != "listWallets"]


@fault("list.defaults", operations=LONG_LISTS)
class DefaultShowsAll(Fetches):
    """Without size all elements are shown and the size called 10."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.all(ctx, listing) if b"size" not in ctx.query else super(Fetches, self).page_of(ctx, listing)


@fault("list.defaults")
class DefaultShowsFewer(Fetches):
    """Without size nine elements are shown at most and the size called 10."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        return records if b"size" in ctx.query else records[:9]


#: Kind -> what page or size of the answer is.
ECHOES: dict[str, tuple[str, Callable[[dict[str, Any]], int]]] = {
    "page always 1": ("page", lambda document: 1), "page from 0": ("page", lambda document: document["page"] - 1),
    "next page": ("page", lambda document: document["page"] + 1), "size always 10": ("size", lambda document: 10),
    "size shown": ("size", lambda document: len(document["items"])), "size more": ("size", lambda document: document["size"] + 1),
    "size always 100": ("size", lambda document: 100), "page of pages": ("page", lambda document: max(document["pages"], 1)),
    "page at most pages": ("page", lambda document: min(document["page"], max(document["pages"], 1))),
}


@fault("list.echo", each=[name for name in ECHOES if name != "page at most pages"])
class EchoesOther(Envelope):
    """page or size of the answer is not that of the request."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        name, value = ECHOES[self.value]
        return {**document, name: value(document)}


#: Kind -> the number of pages.
PAGES: dict[str, Callable[[Listing], int]] = {
    "rounded down": lambda listing: listing.total // listing.size,
    "one more": lambda listing: -(-listing.total // listing.size) + 1,
    "rounded down and one more": lambda listing: listing.total // listing.size + 1,
    "rounded": lambda listing: round(listing.total / listing.size),
    "by ten": lambda listing: -(-listing.total // 10),
    "one": lambda listing: 1,
    "total": lambda listing: listing.total,
    "items of this page": lambda listing: -(-len(listing.records) // listing.size),
    "current page": lambda listing: listing.page,
}


@fault("list.pages", each=PAGES)
class CountsPages(Faulty):
    """pages is not total divided by size, rounded up."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        return self.value(listing)


@fault("list.pages", each=("always 0", "always -1"))
class SomePages(Faulty):
    """pages is a constant."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        return int(self.value.split()[1])


@fault("list.empty", each={
    "total 1": {"total": 1}, "pages 2": {"pages": 2, "total": 11}, "an empty item": {"items": [{}]}})
class EmptyAnsweredOtherwise(Envelope):
    """A list without matches is answered otherwise."""

    def enveloped(self, ctx: Context, document: dict[str, Any]) -> Any:
        return document if document["total"] else {**document, **self.value}


@fault("list.empty")
class EmptyIsMissing(Faulty):
    """A list without matches is answered with 404."""

    def finish(self, ctx: Context, response: Response) -> Response:
        if response.status == 200 and not response.document["total"]:
            return Response.of(404, {"error": {"type": "not_found_error", "code": "empty", "message": "Nothing there."}})
        return response


@fault("list.empty")
class EmptyShowsAll(Faulty):
    """A list without matches shows all elements of the kind instead."""

    def count(self, ctx: Context, listing: Listing) -> int:
        total = super().count(ctx, listing)
        if not total:
            listing.conditions = []
            total = ctx.store.count(KINDS[ctx.operation], None)
            ctx.notes["all"] = True
        return total

    def list_parent(self, ctx: Context) -> str | None:
        return None if ctx.notes.get("all") else super().list_parent(ctx)


@fault("list.size-range", each={
    "0": lambda size: size == 0, "negative": lambda size: size < 0, "101": lambda size: size == 101,
    "up to 200": lambda size: 100 < size <= 200, "1000": lambda size: size >= 1000, "any": lambda size: True})
class ObeysSize(Faulty):
    """A size out of range is obeyed."""

    def requested_size(self, ctx: Context, query: Query) -> int:
        ctx.notes["sizing"] = True
        return super().requested_size(ctx, query)

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        if name == "size" and not 1 <= value <= 100 and self.value(value):
            return value
        return super().in_range(ctx, name, value, highest)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.fetch(ctx, listing, limit=listing.size, offset=max(0, (listing.page - 1) * max(0, listing.size)))

    def pages(self, ctx: Context, listing: Listing) -> int:
        return -(-listing.total // listing.size) if listing.size else 0


@fault("list.size-range", each=("all", "as sent"))
class ObeysTextSize(Faulty):
    """A size that is no integer stands for all elements, or is echoed."""

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        if name != "size":
            return super().on_no_integer(ctx, name, text, default)
        ctx.notes["size"] = text
        return 10_000

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        if "size" not in ctx.notes:
            return document
        return {**document, "size": ctx.notes["size"] if self.value == "as sent" else max(101, document["total"])}


@fault("list.page-range", each={"0": lambda page: page == 0, "negative": lambda page: page < 0, "any": lambda page: True})
class ObeysPage(Faulty):
    """A page below 1 is obeyed."""

    def in_range(self, ctx: Context, name: str, value: int, highest: int | None) -> int:
        if name == "page" and value < 1 and self.value(value):
            return value
        return super().in_range(ctx, name, value, highest)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return max(0, super().offset(ctx, listing))


@fault("list.page-range", each=("as sent", "0"))
class ObeysTextPage(Faulty):
    """A page that is no integer is echoed, or counts as 0."""

    def on_no_integer(self, ctx: Context, name: str, text: str, default: int) -> int:
        if name != "page":
            return super().on_no_integer(ctx, name, text, default)
        ctx.notes["page"] = text if self.value == "as sent" else 0
        return 1

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        return {**document, "page": ctx.notes["page"]} if "page" in ctx.notes else document


def _last(listing: Listing) -> int:
    return max(0, (-(-listing.total // listing.size) - 1) * listing.size)


#: Kind -> how many elements come before a page that is past the last.
BEYOND: dict[str, Callable[[Listing, int], int]] = {
    "the last": lambda listing, offset: _last(listing), "the first": lambda listing, offset: 0,
    "around": lambda listing, offset: offset % listing.total,
    "the first, from a million on": lambda listing, offset: 0 if offset > 1_000_000 else offset,
    "32 bits": lambda listing, offset: (offset & 0x7FFFFFFF) if offset > 0x7FFFFFFF else offset,
    "the last, one past": lambda listing, offset: _last(listing) if listing.page == listing.total // listing.size + 1 else offset,
}


@fault("list.page-beyond", each=[name for name in BEYOND if name not in ("32 bits", "the last, one past")])
class ShowsBeyond(Fetches):
    """A page past the last repeats elements."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        offset = (listing.page - 1) * listing.size
        if offset >= listing.total > 0:
            offset = BEYOND[self.value](listing, offset)
        return self.fetch(ctx, listing, limit=listing.size, offset=min(offset, HUGE))


# --------------------------------------------------------------------------- walking

#: Kind -> how many elements come before a page.
OFFSETS: dict[str, Callable[[Listing], int]] = {
    "overlap": lambda listing: max(0, (listing.page - 1) * listing.size - 1),
    "gap": lambda listing: (listing.page - 1) * (listing.size + 1),
    "from zero": lambda listing: listing.page * listing.size,
    "always the first": lambda listing: 0,
    "page for offset": lambda listing: listing.page - 1,
    "size of ten": lambda listing: (listing.page - 1) * 10,
    "third page twice": lambda listing: (min(listing.page, 2) - 1) * listing.size,
    "overlap at 10": lambda listing: max(0, (listing.page - 1) * listing.size - (listing.size == 10)),
    "overlap at 2": lambda listing: max(0, (listing.page - 1) * listing.size - (listing.size == 2)),
    "overlap at 1": lambda listing: max(0, (listing.page - 1) * listing.size - (listing.size == 1 and listing.page > 1)),
}


@fault("list.walk", each=lambda operation: {
    name: offset for name, offset in OFFSETS.items() if operation in LONG_LISTS or name != "overlap at 10"})
class OtherOffset(Faulty):
    """Pages overlap or leave gaps."""

    def offset(self, ctx: Context, listing: Listing) -> int:
        return self.value(listing)


#: Kind -> which of a page's elements are shown.
PAGE: dict[str, Callable[[list[Record], Listing], list[Record]]] = {
    "one fewer": lambda records, listing: records[:-1] if len(records) == listing.size > 1 else records,
    "one fewer from the second on": lambda records, listing: records[1:] if listing.page > 1 else records,
    "at most 50": lambda records, listing: records[:50], "at most 20": lambda records, listing: records[:20],
    "at most 99": lambda records, listing: records[:99],
    "last page without its last": lambda records, listing: records[:-1] if len(records) < listing.size else records,
    "first twice": lambda records, listing: records[:1] + records[:-1] if len(records) > 1 else records,
    "none on the last": lambda records, listing: [] if listing.page * listing.size >= listing.total > listing.size else records,
}


@fault("list.walk", each=lambda operation: {
    name: page for name, page in PAGE.items() if operation in LONG_LISTS or not name.startswith("at most")})
class OtherPage(Fetches):
    """A page does not hold what it should."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        return self.value(super(Fetches, self).page_of(ctx, listing), listing)


@fault("list.walk")
class FillsTheLast(Fetches):
    """The last page is filled with elements of the one before."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        offset = min((listing.page - 1) * listing.size, max(0, listing.total - listing.size))
        return self.fetch(ctx, listing, limit=listing.size, offset=offset)


@fault("list.walk", each={"one more": 1, "one fewer": -1})
class OtherTotal(Faulty):
    """total is not the number of elements; pages goes with it."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        assert ctx.listing is not None
        ctx.listing.total = max(0, ctx.listing.total + self.value)


@fault("list.walk", each=lambda operation: ["page", "size", *(["at most 10", "at most 100"] if operation in LONG_LISTS else [])])
class TotalOfThePage(Faulty):
    """total is the number of elements on the page, the size, or limited."""

    def list_records(self, ctx: Context) -> None:
        super().list_records(ctx)
        listing = ctx.listing
        assert listing is not None
        listing.total = {"page": len(listing.records), "size": listing.size, "at most 10": min(10, listing.total),
                         "at most 100": min(100, listing.total)}[self.value]


@fault("list.stable", each=("shuffled", "reversed every time", "two swapped", "rotated"))
class Unstable(Fetches):
    """The order differs from request to request."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        records = super(Fetches, self).page_of(ctx, listing)
        self.count_of_requests = self.__dict__.get("count_of_requests", 0) + 1
        odd = self.count_of_requests % 2
        match self.value:
            case "shuffled":
                random.shuffle(records)
            case "reversed every time":
                records = records[::-1] if odd else records
            case "two swapped":
                records = records[:-2] + records[-2:][::-1] if odd else records
            case "rotated":
                turn = self.count_of_requests % max(1, len(records))
                records = records[turn:] + records[:turn]
        return records


@fault("list.stable")
class UnstableOverPages(Fetches):
    """The order of the whole list is another one in every request."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        self.turn = self.__dict__.get("turn", 0) + 1
        records = self.all(ctx, listing)
        random.Random(self.turn).shuffle(records)
        offset = (listing.page - 1) * listing.size
        return records[offset:offset + listing.size]


# --------------------------------------------------------------------------- complete


class Filtered(Faulty):
    """Lists only the elements that `listed` leaves."""

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        raise NotImplementedError

    def count(self, ctx: Context, listing: Listing) -> int:
        if not self.here(ctx):
            return super().count(ctx, listing)
        return len(self.listed(ctx, self.fetch(ctx, listing)))

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        if not self.here(ctx):
            return super().page_of(ctx, listing)
        offset = self.offset(ctx, listing)
        return self.listed(ctx, self.fetch(ctx, listing))[offset:offset + listing.size]


@fault("list.complete", each=lambda operation: {
    # The customer's oldest account may be older than the run.
    "newest": lambda records: records[:-1], **({"oldest": lambda records: records[1:]} if operation != "listAccounts" else {}),
    "all": lambda records: [],
    "every other": lambda records: records[::2]})
class LeavesOut(Filtered):
    """Elements are missing."""

    def listed(self, ctx: Context, records: list[Record]) -> list[Record]:
        return self.value(records)  # type: ignore[no-any-return]


@fault("list.complete", each=("organization", "everybody"))
class ListsMore(Faulty):
    """The elements of other parents are listed, too."""

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        records = super().fetch(ctx, listing)
        if self.value == "organization":
            assert ctx.organization is not None
            records = [one for one in records if one["organization"] == ctx.organization.id]
        return records[offset:] if limit < 0 else records[offset:offset + limit]

    def count(self, ctx: Context, listing: Listing) -> int:
        return len(self.fetch(ctx, listing))

    def list_parent(self, ctx: Context) -> str | None:
        return None


@fault("list.complete", operations=("listPayoutDestinations",))
class ListsTheAccounts(Faulty):
    """The destinations of all beneficiaries of the account are listed."""

    def fetch(self, ctx: Context, listing: Listing, *, limit: int = -1, offset: int = 0) -> list[Record]:
        assert ctx.account is not None
        mine = {one["id"] for one in ctx.store.select("beneficiary", ctx.account["id"])}
        records = [one for one in super().fetch(ctx, listing) if one["parent"] in mine]
        return records[offset:] if limit < 0 else records[offset:offset + limit]

    def count(self, ctx: Context, listing: Listing) -> int:
        return len(self.fetch(ctx, listing))

    def list_parent(self, ctx: Context) -> str | None:
        return None


@fault("list.complete", each=lambda operation: [name for name in ITEM_FIELDS[KINDS[operation]] if name not in ("id", "object")])
class ListsOtherwise(Items):
    """This member of an item is not what the create answered."""

    def shown(self, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: other(self.value, document[self.value])}


# --------------------------------------------------------------------------- filters


class Conditions(Faulty):
    """Changes the condition that one filter stands for, by `changed`."""

    filter = ""

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        raise NotImplementedError

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
    "offset ignored": lambda condition, text: condition._replace(
        value=parse_instant(text[:-6] + "Z") if text[-6:-5] in "+-" and ":" in text[-6:] else condition.value),
}
ENDS: dict[str, Callable[[Condition, str], Condition | None]] = {
    "inclusive": lambda condition, text: condition._replace(operator="<="),
    "ignored": lambda condition, text: None,
    "end of day": lambda condition, text: condition._replace(value=-(-condition.value // DAY) * DAY),
    "end of second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND + SECOND),
    "second": lambda condition, text: condition._replace(value=condition.value // SECOND * SECOND),
    "start": lambda condition, text: condition._replace(operator=">="),
    "an hour": lambda condition, text: condition._replace(value=condition.value + 3600 * SECOND),
    "an hour earlier": lambda condition, text: condition._replace(value=condition.value - 3600 * SECOND),
    "nothing": lambda condition, text: condition._replace(value=0),
}


@fault("list.start-date", each=[name for name in STARTS if name not in ("millisecond", "offset ignored")])
class OtherStart(Conditions):
    """start_date keeps other elements than those created at or after it."""

    filter = "start_date"

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return STARTS[self.value](condition, text)


@fault("list.end-date", each=ENDS)
class OtherEnd(Conditions):
    """end_date keeps other elements than those created before it."""

    filter = "end_date"

    def changed(self, ctx: Context, condition: Condition, text: str) -> Condition | None:
        return self.value(condition, text)  # type: ignore[no-any-return]


_OTHERS = {"listPayoutDestinations": ("disabled", "inactive"), "listVirtualAccounts": ("suspended", "inactive"),
           "listWallets": ("suspended", "inactive")}


def _status_kinds(operation: str) -> dict[str, Callable[[Any], bool]]:
    """Kind -> for which statuses the filter is ignored."""
    first, second = _OTHERS[operation]
    return {"all": lambda statuses: True, "active": lambda statuses: list(statuses) == ["active"],
            "all but active": lambda statuses: "active" not in statuses,
            f"{first}": lambda statuses: first in statuses, f"{second}": lambda statuses: second in statuses}


@fault("list.status-filter", each=lambda operation: {
    name: test for name, test in _status_kinds(operation).items() if name != "active"})
class IgnoresStatus(Faulty):
    """The status filter, or one value of it, is ignored."""

    def status_among(self, ctx: Context, name: str, statuses: Any) -> Condition | None:
        return None if self.value(statuses) else super().status_among(ctx, name, statuses)


@fault("list.status-filter", each=("none", "others"))
class OtherStatuses(Faulty):
    """The status filter keeps nothing, or the other elements."""

    def status_among(self, ctx: Context, name: str, statuses: Any) -> Condition | None:
        if self.value == "none":
            return Condition("status", "=", "no such status")
        return Condition("status", "IN", [one for one in ("active", *_OTHERS[self.operation]) if one not in statuses])


@fault("list.currency-filter", each={
    "ignored": lambda condition: None, "nothing": lambda condition: condition._replace(value="NONE"),
    "first letters": lambda condition: Condition("currency", ">=", condition.value[:2]),
    "from there on": lambda condition: condition._replace(operator=">="),
    "up to there": lambda condition: condition._replace(operator="<=")})
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
    return {f"{one} beside {two}": (one, two) for one in names for two in names if one != two}


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


@fault("list.filters-combine", each=_filters)
class TotalWithout(Faulty):
    """total does not heed a filter."""

    def count(self, ctx: Context, listing: Listing) -> int:
        known = self.conditions(ctx, {name: values for name, values in self.query(ctx).items() if name != self.value})
        return ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx), known)


@fault("list.filters-combine")
class TotalWithoutFilters(Faulty):
    """total does not heed the filters."""

    def count(self, ctx: Context, listing: Listing) -> int:
        return ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx))


@fault("list.filters-combine")
class FiltersThePage(Fetches):
    """The filters are applied to the page instead of to the list."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        kept = {one["id"] for one in self.all(ctx, listing)}
        everything = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx))
        offset = (listing.page - 1) * listing.size
        return [one for one in everything[offset:offset + listing.size] if one["id"] in kept]


@fault("list.filters-combine")
class FiltersTheFirstPage(Fetches):
    """From the second page on the filters are ignored."""

    def fetched(self, ctx: Context, listing: Listing) -> list[Record]:
        if listing.page == 1:
            return super(Fetches, self).page_of(ctx, listing)
        everything = ctx.store.select(KINDS[ctx.operation], self.list_parent(ctx))
        offset = (listing.page - 1) * listing.size
        return everything[offset:offset + listing.size] if offset < listing.total else []


@fault("list.filters-combine")
class PagesWithoutFilters(Faulty):
    """pages does not heed the filters."""

    def pages(self, ctx: Context, listing: Listing) -> int:
        total = ctx.store.count(KINDS[ctx.operation], self.list_parent(ctx))
        return -(-total // listing.size)


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
