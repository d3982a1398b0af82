"""Rows that override a seam in a usual way, and places where servers show something.

Tests, and what a row adds or does beside, are called with the behaviour, the request's context and the seam's
other arguments; what it does instead is called as an override is, with `usual` behind the behaviour.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.core_messages import Response
from conformance.reference.refusals import Refusal
from tests.specification import ANSWERS
from tests.support.overrides import with_document

from .catalogue import Call, Error, Row, kind, refuse, seam

#: Texts of listed elements that clients choose: their names, labels and notes.
LABELS = tuple(dict.fromkeys(TRAITS[name].free_text for name in OPERATION_SETS["create"]))


def always(*_: Any) -> bool:
    return True


def where(name: str, test: Call | None, instead: Call | None, **options: Any) -> Row:
    """Makes a row that does something else than usual where a test holds; one of both may be the kind."""
    holds, does = test or kind, instead or kind
    return seam(
        name,
        lambda self, usual, *given: does(self, usual, *given) if holds(self, *given) else usual(),
        **options,
    )


def skipping(name: str, test: Call | None = always, **options: Any) -> Row:
    """Makes a row that leaves a step, or a condition, out where a test holds."""
    return where(name, test, lambda *_: None, **options)


def refusing(name: str, error: Error | None = None, test: Call | None = always, **options: Any) -> Row:
    """Makes a row that refuses where a test holds; with the kind by default."""
    return where(name, test, lambda self, *_: refuse(error or self.value), **options)


def refusing_otherwise(name: str, test: Call = always, **options: Any) -> Row:
    """Makes a row that refuses otherwise what the seam refuses, if a test of the refusal holds; with the kind
    by default, or its second part."""

    def override(self: Any, usual: Any, ctx: Context, *_: Any) -> Any:
        try:
            return usual()
        except Refusal as found:
            if test(self, ctx, found):
                refuse(self.value if isinstance(self.value, str) else self.value[1])
            raise

    return seam(name, override, **options)


def passing(name: str, test: Call | None = None, **options: Any) -> Row:
    """Makes a row whose seam is also satisfied where a test holds, by default the kind."""
    holds = test or kind
    return seam(name, lambda self, usual, *given: usual() or holds(self, *given), **options)


def _members(members: Call | Mapping[str, Any] | None) -> Call:
    """Returns what returns members that are constant, those that a function returns, or the kind's."""
    return members if callable(members) else kind if members is None else lambda *_: members


def adding(
    name: str, members: Call | Mapping[str, Any] | None, test: Call | None = always, **options: Any
) -> Row:
    """Makes a row that gives members of the seam's result other values where a test holds."""
    more, holds = _members(members), test or kind

    def override(self: Any, usual: Any, *given: Any) -> Any:
        result = usual()
        return {**result, **more(self, *given)} if holds(self, *given) else result

    return seam(name, override, **options)


def before(name: str, do: Call | None, test: Call | None = always, **options: Any) -> Row:
    """Makes a row that does something before what the seam does, where a test holds."""
    first, holds = do or kind, test or kind
    return seam(
        name, lambda self, usual, *given: (holds(self, *given) and first(self, *given), usual())[1], **options
    )


def after(name: str, do: Call | None, test: Call | None = always, **options: Any) -> Row:
    """Makes a row that does something after what the seam does, where a test holds."""
    then, holds = do or kind, test or kind
    return seam(
        name, lambda self, usual, *given: (usual(), holds(self, *given) and then(self, *given))[0], **options
    )


def stale(
    name: str, key: Call, test: Call = always, *, seconds: float = 10**9, times: float = 10**9, **options: Any
) -> Row:
    """Makes a row whose seam gives for so many seconds, or times, what it gave first for a key, where a test
    holds."""

    def override(self: Any, usual: Any, ctx: Context, *given: Any) -> Any:
        if not test(self, ctx, *given):
            return usual()
        at = key(self, ctx, *given)
        result, until, left = self.state.get(at, (None, 0, 0))
        if ctx.now > until or not left:
            result, until, left = usual(), ctx.now + seconds * 1_000_000, times
        self.state[at] = result, until, left - 1
        return result

    return seam(name, override, **options)


def store(ctx: Context, members: Mapping[str, Any], records: Iterable[Record] | None = None) -> None:
    """Stores other values of members of the answer's resource, or of these, which later answers show."""
    for record in [ctx.record or {}] if records is None else records:
        ctx.store.update({**record, **members})


def show(ctx: Context, members: Mapping[str, Any]) -> None:
    """Gives members of the answer's resource other values, which are not stored."""
    ctx.record = {**(ctx.record or {}), **members}


#: Operation -> kind -> path and way.
Each = Callable[[str], dict[str, Any]]


class Place:
    """A place where servers show something: the result of a seam, where it applies, or each element of it.

    Changes and tests are called with the behaviour, the request's context, what is shown, and the record
    of an item of a list.
    """

    def __init__(
        self, name: str, applies: Call | None = always, *, each: Any = None, of_each: bool = False
    ) -> None:
        self.name, self.each, self.of_each = name, each, of_each
        self.applies = applies or kind

    def __call__(self, changed: Call | None = None, **options: Any) -> Row:
        """Makes a row of servers that show what `changed` returns, by default the kind."""
        place, change = self, changed or kind

        def override(self: Any, usual: Any, ctx: Context, *given: Any) -> Any:
            result = usual()
            if not place.applies(self, ctx, *given):
                return result
            if place.of_each:
                return [change(self, ctx, dict(each)) for each in result]
            record = given[1:] if place.name == "item" else ()
            return change(self, ctx, dict(result) if isinstance(result, Mapping) else result, *record)

        return seam(self.name, override, **({"each": self.each} if self.each else {}), **options)

    def sets(
        self, members: Call | Mapping[str, Any] | None = None, test: Call | None = always, **options: Any
    ) -> Row:
        """Makes a row of servers that show other values of some members, by default the kind, where a test
        holds."""
        more, holds = _members(members), test or kind

        def changed(self: Any, ctx: Context, shown: Any, *record: Any) -> Any:
            given = self, ctx, shown, *record
            return {**shown, **more(*given)} if holds(*given) else shown

        return self(changed, **options)

    def changes(self, *each: Each, test: Call = always, nulls: bool = False, **options: Any) -> Row:
        """Makes a row of servers that show the member at each path in each way, as `each_of` combines them,
        where a test holds; also where it is null if `nulls`."""

        def changed(self: Any, ctx: Context, shown: Any, *record: Any) -> Any:
            path, way = self.value
            return shown_as(shown, path, way, nulls) if test(self, ctx, shown, *record) else shown

        return self(changed, each=together(*each), **options)


# ---------------------------------------------------------------------- the places


#: The resource of an answer, or the resources of a list.
document = Place("shape", lambda self, ctx, kind, *_: kind == ANSWERS[self.operation])

#: Operations whose answers hold payout destinations.
EMBEDDING = ("getBeneficiary", "updateBeneficiary", "disableBeneficiary")

#: Items of a list.
item = Place("item")

#: The envelope of a list.
envelope = Place("list_document")

#: An answer, as the last step.
answer = Place("finish")


def _pages(operation: str) -> dict[str, Any]:
    pages = {
        "the second page": lambda self, ctx, listing: listing.page > 1,
        "pages of 100": lambda self, ctx, listing: listing.size == 100,
        "filtered pages": lambda self, ctx, listing: bool(listing.conditions),
    }
    return {kind: on for kind, on in pages.items() if kind != "filtered pages" or operation != "listAccounts"}


#: Items of some pages.
on_pages = Place("items", None, each=_pages, of_each=True)


def page(self: Any, ctx: Context, listing: Listing, **other: int) -> list[Record]:
    """Returns the elements of a page, or from another offset or up to another limit."""
    # SQLite knows no greater integers.
    limits = {"limit": listing.size, "offset": min(self.offset(ctx, listing), 2**63 - 1), **other}
    return self.fetch(ctx, listing, **limits)


def succeeded(*given: Any) -> bool:
    """Returns True for a 2xx answer, which is the last argument: alone, or behind those of a test."""
    return 200 <= given[-1].status < 300


def turn(self: Any) -> int:
    """Returns the number of the request that a fault counts, from 1."""
    self.state["turn"] = number = self.state.get("turn", 0) + 1
    return int(number)


def third(changed: Callable[..., Any], **options: Any) -> Row:
    """Makes a row of three processes that answer in turn, one of them differently."""

    def finished(self: Any, ctx: Context, shown: Response) -> Response:
        if not succeeded(shown):
            return shown
        return with_document(shown, changed(self, ctx, shown.document)) if turn(self) % 3 == 0 else shown

    return answer(finished, **options)


# ---------------------------------------------------------------------- changes


#: The way in which a member is shown that is left out.
MISSING = object()


def shown_as(shown: Any, path: str, way: Any, nulls: bool = False) -> dict[str, Any]:
    """Returns a document with the member at a path, as address.city, in another way: as a constant, or as a
    function of it returns. A path leads through each element of an array."""
    name, _, below = path.partition(".")
    value = shown.get(name)
    if below and not isinstance(value, (dict, list)):
        return {**shown}
    if below and isinstance(value, list):
        value = [shown_as(each, below, way, nulls) for each in value]
    elif below:
        value = shown_as(value, below, way, nulls)
    elif not callable(way):
        value = way
    elif nulls or value is not None:
        value = way(value)
    elif name not in shown:
        return {**shown}
    return {key: each for key, each in {**shown, name: value}.items() if each is not MISSING}


#: Paths of members: words, or a function of an operation.
Paths = str | Iterable[str] | Callable[[str], Iterable[str]]


def _paths(paths: Paths, operation: str) -> Iterable[str]:
    paths = paths(operation) if callable(paths) else paths
    return paths.split() if isinstance(paths, str) else paths


def each_of(
    paths: Paths, ways: Mapping[str, Any] | Iterable[Any], operations: Collection[str] = OPERATIONS
) -> Each:
    """Combines members, or other values, with each of the ways, for some operations."""
    named = ways if isinstance(ways, Mapping) else {str(way): way for way in ways}
    return lambda operation: {
        f"{path} {how}": (path, way)
        for path in _paths(paths, operation)
        for how, way in named.items()
        if operation in operations
    }


def together(*those: Each) -> Each:
    """Returns the kinds of several functions."""
    return lambda operation: {kind: value for each in those for kind, value in each(operation).items()}


def inside(place: str, names: str | Iterable[str]) -> list[str]:
    """Returns the paths of members of a member."""
    return [f"{place}.{name}" for name in (names.split() if isinstance(names, str) else names)]


def others(paths: Paths, operations: Collection[str] = OPERATIONS, *, but: Collection[str] = ()) -> Each:
    """Combines members, but some, with the way of another valid value, for some operations."""
    return lambda operation: {
        path: (path, functools.partial(other, path.rpartition(".")[2]))
        for path in _paths(paths, operation)
        if operation in operations and path not in but
    }


def lacking(shown: Mapping[str, Any], value: str) -> dict[str, Any]:
    """Drops the member that `value` names."""
    return {name: member for name, member in shown.items() if name != value}


def another(self: Any, ctx: Context, shown: Mapping[str, Any], *_: Any) -> dict[str, Any]:
    """Returns another valid value of the member that `value` names."""
    return {self.value: other(self.value, shown.get(self.value))}


def says(document: Mapping[str, Any], kind: str) -> bool:
    """Returns True for a body or a record of a kind: type=wallet, currency!=USD, address, no note, or several
    with commas between."""

    def holds(part: str) -> bool:
        name, unequal, value = part.partition("!=")
        if unequal:
            return str(document.get(name)) != value
        name, equal, value = part.partition("=")
        if equal:
            return str(document.get(name)) == value
        return (document.get(part.removeprefix("no ")) is None) is part.startswith("no ")

    return all(map(holds, kind.split(", ")))


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
