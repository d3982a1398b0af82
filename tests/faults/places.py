"""Places where faults change what is shown, and changes that fit them all.

A row of a place changes a document: `document(lambda self, ctx, document: ..., each=...)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from tests.specification import ANSWERS

from .catalogue import Faulty, hook


class Document(Faulty):
    """Changes the resources of an answer, or the items of a list, by `changed`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return document

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        document = dict(super().shape(ctx, kind, document))
        return self.changed(ctx, document) if self.here(ctx) and kind == ANSWERS[self.operation] else document


document = hook(Document, "changed")


class Embedded(Document):
    """Changes the payout destinations in a beneficiary."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        embedded = self.here(ctx) and kind == "payout_destination"
        return self.changed(ctx, dict(document)) if embedded else document


embedded = hook(Embedded, "changed")

#: Operations whose answers hold payout destinations.
EMBEDDING = ("getBeneficiary", "updateBeneficiary", "disableBeneficiary")


class Balances(Faulty):
    """Changes balances by `changed`."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        return element

    def balances(self, ctx: Context, record: Record) -> list[Any]:
        made = super().balances(ctx, record)
        return [self.changed(ctx, dict(element)) for element in made] if self.here(ctx) else made


balance = hook(Balances, "changed")


class Items(Faulty):
    """Changes the items of a list by `changed`."""

    def changed(self, ctx: Context, item: dict[str, Any], record: Record) -> Mapping[str, Any]:
        return item

    def item(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        item = dict(super().item(ctx, kind, record))
        return self.changed(ctx, item, record) if self.here(ctx) else item


item = hook(Items, "changed")


class SomePages(Faulty):
    """Changes the items of the pages for which `value` is true, by `changed`."""

    def changed(self, ctx: Context, item: Mapping[str, Any]) -> Mapping[str, Any]:
        return item

    def items(self, ctx: Context, listing: Listing) -> list[Mapping[str, Any]]:
        items = super().items(ctx, listing)
        return (
            [self.changed(ctx, item) for item in items] if self.here(ctx) and self.value(listing) else items
        )


def _pages(operation: str) -> dict[str, Any]:
    pages = {
        "the second page": lambda listing: listing.page > 1,
        "pages of 100": lambda listing: listing.size == 100,
        "filtered pages": lambda listing: bool(listing.conditions),
    }
    return {kind: on for kind, on in pages.items() if kind != "filtered pages" or operation != "listAccounts"}


on_pages = hook(SomePages, "changed", each=_pages)


class Envelope(Faulty):
    """Changes the envelope of a list by `changed`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Any:
        return document

    def list_document(self, ctx: Context) -> Any:
        document = super().list_document(ctx)
        return self.changed(ctx, document) if self.here(ctx) else document


envelope = hook(Envelope, "changed")


def succeeded(response: Response) -> bool:
    """Returns True for a 2xx answer."""
    return 200 <= response.status < 300


class Finishes(Faulty):
    """Changes each answer by `finished` as the last step."""

    def finished(self, ctx: Context, response: Response) -> Response:
        return response

    def finish(self, ctx: Context, response: Response) -> Response:
        response = super().finish(ctx, response)
        return self.finished(ctx, response) if self.here(ctx) else response


answer = hook(Finishes, "finished")


class ByTurns(Finishes):
    """Three processes that answer in turn, one of them differently: every third answer of the operation is
    changed by `changed`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Any:
        return document

    def finished(self, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        self.state["turn"] = turn = self.state.get("turn", 0) + 1
        return response.with_document(self.changed(ctx, response.document)) if turn % 3 == 0 else response


third = hook(ByTurns, "changed")


# ---------------------------------------------------------------------- changes


def lacking(self: Any, ctx: Context, document: Mapping[str, Any], *_: Any) -> dict[str, Any]:
    """Drops the member that `value` names."""
    return {name: member for name, member in document.items() if name != self.value}


def another(self: Any, ctx: Context, document: Mapping[str, Any], *_: Any) -> dict[str, Any]:
    """Gives the member that `value` names another valid value."""
    return {**document, self.value: other(self.value, document[self.value])}


def number(self: Any, ctx: Context, document: Mapping[str, Any], *_: Any) -> dict[str, Any]:
    """Makes the member that `value` names a number."""
    return {**document, self.value: 12345}


def without_the_last(self: Any, ctx: Context, document: dict[str, Any]) -> Any:
    """Removes the last element from a page that counts it."""
    return {**document, "items": document["items"][:-1]}


def other(name: str, value: Any) -> Any:
    """Returns another valid value of a member."""
    known = {
        "beneficiary_type": ("individual", "business"),
        "type": ("bank_account", "wallet"),
        "account_type": ("checking", "savings"),
        "country": ("US", "DE"),
        "country_code": ("US", "DE"),
        "currency": ("USD", "EUR"),
        "status": ("active", "inactive"),
        "payout_method": ("ach", "wire"),
    }
    if name in known:
        return next(choice for choice in known[name] if choice != value)
    if name in ("created", "updated", "initiated_at"):
        return value[:3] + ("0" if value[3] != "0" else "1") + value[4:]
    if name.endswith("_at"):
        return "2020-01-01T00:00:00Z"
    match value:
        case None:
            return "made up"
        case bool():
            return not value
        case dict():
            return {
                key: other("", member) if isinstance(member, str) else member for key, member in value.items()
            }
        case list():
            return value[:-1] if value else value
        case str() if value.replace(".", "").isdigit():
            return value[:-1] + ("1" if value[-1] != "1" else "2")
    return f"{value}x"
