"""Rows that override a seam in a usual way, and places where servers show something.

Tests and changes are called as an override is: with the behaviour, the request's context and the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.specification import ANSWERS

from .catalogue import Error, Row, refuse, seam

Call = Callable[..., Any]


def always(*_: Any) -> bool:
    return True


def where(name: str, test: Call, instead: Call, **options: Any) -> Row:
    """Makes a row that does something else than usual where a test holds."""
    return seam(
        name,
        lambda self, *given, **named: (
            instead(self, *given, **named) if test(self, *given, **named) else self.usual()
        ),
        **options,
    )


def skipping(name: str, test: Call = always, **options: Any) -> Row:
    """Makes a row that leaves a step, or a condition, out where a test holds."""
    return where(name, test, lambda *_, **__: None, **options)


def refusing(name: str, error: Error | None = None, test: Call = always, **options: Any) -> Row:
    """Makes a row that refuses where a test holds; with `self.value` by default."""
    return where(name, test, lambda self, *_, **__: refuse(error or self.value), **options)


def refusing_otherwise(
    name: str, error: Error | None = None, test: Callable[[Any, Refusal], Any] = always, **options: Any
) -> Row:
    """Makes a row that refuses otherwise what the seam refuses, if a test of the refusal holds; with
    `self.value` by default."""

    def override(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return self.usual()
        except Refusal as found:
            if test(self, found):
                refuse(error or self.value)
            raise

    return seam(name, override, **options)


def passing(name: str, test: Call, **options: Any) -> Row:
    """Makes a row whose seam is also satisfied where a test holds."""
    return seam(name, lambda self, *given: self.usual() or test(self, *given), **options)


def members_of(members: Call | Mapping[str, Any], *given: Any) -> Mapping[str, Any]:
    """Returns members that are constant, or those that a function returns."""
    return members(*given) if callable(members) else members


def adding(name: str, members: Call | Mapping[str, Any], test: Call = always, **options: Any) -> Row:
    """Makes a row that gives members of the seam's result other values where a test holds."""

    def override(self: Any, *given: Any) -> Any:
        made = self.usual()
        return {**made, **members_of(members, self, *given)} if test(self, *given) else made

    return seam(name, override, **options)


def before(name: str, do: Call, **options: Any) -> Row:
    """Makes a row that does something before what the seam does."""

    def override(self: Any, *given: Any) -> Any:
        do(self, *given)
        return self.usual()

    return seam(name, override, **options)


def after(name: str, do: Call, **options: Any) -> Row:
    """Makes a row that does something after what the seam does."""

    def override(self: Any, *given: Any) -> Any:
        made = self.usual()
        do(self, *given)
        return made

    return seam(name, override, **options)


def store(ctx: Context, members: Mapping[str, Any], records: Iterable[Record] | None = None) -> None:
    """Stores other values of members of the answer's resource, or of these, which later answers show."""
    for record in [ctx.record or {}] if records is None else records:
        ctx.store.update({**record, **members})


def show(ctx: Context, members: Mapping[str, Any]) -> None:
    """Gives members of the answer's resource other values, which are not stored."""
    ctx.record = {**(ctx.record or {}), **members}


class Place:
    """A place where servers show something: the result of a seam, where it applies, or each element of it.

    A change is called with the behaviour, the request's context and the document; with the record, too, of an
    item of a list.
    """

    def __init__(self, name: str, applies: Call = always, *, each: Any = None, of_each: bool = False) -> None:
        self.name, self.applies, self.each, self.of_each = name, applies, each, of_each

    def __call__(self, changed: Call, **options: Any) -> Row:
        """Makes a row of servers that show what `changed` returns."""

        def override(this: Any, ctx: Context, *given: Any) -> Any:
            made = this.usual()
            if not self.applies(this, ctx, *given):
                return made
            if self.of_each:
                return [changed(this, ctx, dict(each)) for each in made]
            record = given[1:] if self.name == "item" else ()
            return changed(this, ctx, dict(made) if isinstance(made, Mapping) else made, *record)

        return seam(self.name, override, **({"each": self.each} if self.each else {}), **options)

    def sets(self, members: Call | Mapping[str, Any], test: Call = always, **options: Any) -> Row:
        """Makes a row of servers that show other values of some members where a test holds."""

        def changed(this: Any, ctx: Context, document: dict[str, Any], *record: Any) -> Any:
            if not test(this, ctx, document, *record):
                return document
            return {**document, **members_of(members, this, ctx, document, *record)}

        return self(changed, **options)


# ---------------------------------------------------------------------- the places


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
