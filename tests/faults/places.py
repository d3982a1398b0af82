"""Places where faults change what is shown, and changes that fit them all.

A row of a place changes a document, `document(lambda self, ctx, shown: ..., each=...)`, or some of its
members, `document.sets({"status": "other"})`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from tests.specification import ANSWERS

from .catalogue import Row
from .rows import Place


def _is_answer(self: Any, ctx: Context, kind: str, *_: Any) -> bool:
    return kind == ANSWERS[self.operation]


#: The resource of an answer, or the resources of a list.
document = Place("shape", _is_answer)

#: Payout destinations in a beneficiary.
embedded = Place("shape", lambda self, ctx, kind, *_: kind == "payout_destination")

#: Operations whose answers hold payout destinations.
EMBEDDING = ("getBeneficiary", "updateBeneficiary", "disableBeneficiary")

#: Balances of an account.
balance = Place("balances", of_each=True)

#: Items of a list.
item = Place("item")

#: The envelope of a list.
envelope = Place("list_document")

#: An answer, as the last step.
answer = Place("finish")


def _pages(operation: str) -> dict[str, Any]:
    pages = {
        "the second page": lambda listing: listing.page > 1,
        "pages of 100": lambda listing: listing.size == 100,
        "filtered pages": lambda listing: bool(listing.conditions),
    }
    return {kind: on for kind, on in pages.items() if kind != "filtered pages" or operation != "listAccounts"}


#: Items of some pages.
on_pages = Place("items", lambda self, ctx, listing: self.value(listing), each=_pages, of_each=True)


def succeeded(response: Response) -> bool:
    """Returns True for a 2xx answer."""
    return 200 <= response.status < 300


def third(changed: Callable[..., Any], **options: Any) -> Row:
    """Makes a row of three processes that answer in turn, one of them differently."""

    def finished(self: Any, ctx: Context, response: Response) -> Response:
        if not succeeded(response):
            return response
        self.state["turn"] = turn = self.state.get("turn", 0) + 1
        return response.with_document(changed(self, ctx, response.document)) if turn % 3 == 0 else response

    return answer(finished, **options)


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
