"""Servers that break tenant isolation (section 5.5)."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import combining, normalize
from urllib.parse import unquote

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import OPERATION_SETS, RULES
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.pipeline import Stage
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.resources import KINDS
from conformance.world.corpora.ids import INHERITED
from tests.specification import ADDRESS
from tests.variants.resources import FundsDemanded

from .catalogue import Faulty, fault, faults, refusal, refuse, seam

FORBIDDEN = (403, "permission_error", "forbidden")

MISSING = (404, "not_found_error", "resource_not_found")

BAD = (400, "validation_error", "invalid_id")

UNPROCESSABLE = (422, "validation_error", "invalid_id")

UNAUTHORIZED = (401, "authentication_error", "invalid_signature")

GONE = (410, "not_found_error", "gone")


def made_up(ctx: Context, kind: str, identifier: str, parent: Record | None = None) -> Record:
    """Returns a record of the caller's organization that is not stored."""
    assert ctx.organization is not None
    return {
        "id": identifier,
        "organization": ctx.organization.id,
        "parent": (parent or {}).get("id", "cus_made_up"),
        "created": ctx.now,
        "updated": ctx.now,
        "status": "active",
        "name": "Made up",
        "verified": False,
        "beneficiary_type": "individual",
        "first_name": "A",
        "last_name": "B",
        "display_name": "A B",
        "email": "a@example.com",
        "phone": "+12025550123",
        "country_code": "US",
        "currency": "EUR",
        "label": "Made up",
        "address": dict.fromkeys(ADDRESS, "x"),
        "bank_details": {"iban": "DE89370400440532013000"},
        "reference": "R",
        "provider_reference_id": "P",
    }


def caller_is(ctx: Context, which: str) -> bool:
    """Returns True if the caller is the first or the second organization of the server."""
    rows = [
        row[0] for row in ctx.store.query("SELECT parent FROM resources WHERE kind = 'customer' ORDER BY seq")
    ]
    return ctx.organization is not None and (ctx.organization.id == rows[0]) == (which == "first")


#: Operation -> kinds of bodies -> member and value that distinguish them.
_SORTS = {
    "createBeneficiary": {"a business": b'"business"'},
    "createPayoutDestination": {"a wallet": b'"wallet"', "a bank account": b'"bank_account"'},
    "createVirtualAccount": {"with an address": b'"address"'},
    "updateBeneficiary": {"an address": b'"address"', "a note": b'"note"'},
    "createPayout": {"in euros": b'"EUR"'},
}


#: Operations below a beneficiary.
BELOW = [name for name, operation in OPERATIONS.items() if "beneficiary_id" in operation.path_parameters]

faults["tenancy.sibling-child", "tenancy.foreign-child"] |= {
    "A beneficiary elsewhere may be changed by whom changes nothing.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, parent: record if ctx.request.body == b"{}" else self.usual(),
        operations=["updateBeneficiary"],
    ),
    "The destinations of a beneficiary elsewhere are shown to whom asks for a part of them.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, parent: record if self.value in ctx.query else self.usual(),
        operations=["listPayoutDestinations"],
        each={name: name.encode() for name in ("page=2", "status", "start_date", "end_date")},
    ),
    "A beneficiary elsewhere takes some bodies.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, parent: record if self.value in ctx.request.body else self.usual(),
        operations=["createPayoutDestination", "updateBeneficiary"],
        each=lambda operation: _SORTS[operation],
    ),
    "A business is found wherever it is.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, parent: (
            record if record.get("beneficiary_type") == "business" else self.usual()
        ),
        operations=BELOW,
    ),
}


def _own_payee(ctx: Context) -> bool:
    """Returns True if the body refers to a beneficiary of the caller's organization."""
    named = re.search(rb'"beneficiary_id": ?"(\w+)"', ctx.request.body)
    payee = ctx.store.get("beneficiary", named[1].decode()) if named else None
    return payee is not None and not foreign(ctx, payee)


@fault("tenancy.foreign-parent")
class ForeignAsEmpty(Faulty):
    """Another organization's customer or account is served as if it were the caller's and empty."""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return made_up(ctx, kind, "made_up")

    def child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        if parent["id"] == "made_up":
            return made_up(ctx, kind, identifier, parent)
        return super().child(ctx, kind, identifier, parent)


READS = OPERATION_SETS["read"]


@fault("tenancy.foreign-parent", operations=READS, each=("of the API", "in front of it"))
class CachedByAddress(Faulty):
    """What was once read at an address is shown to whoever asks for it next."""

    status = 200

    def stages(self, ctx: Context) -> Sequence[Stage]:
        first, *others = super().stages(ctx)
        return (first, self.cached, *others) if self.value == "of the API" else (self.cached, first, *others)

    def cached(self, ctx: Context) -> Response | None:
        """Stage: returns the cached answer for requests with an idempotency key."""
        body = self.state.setdefault("kept", {}).get(ctx.request.target)
        if body is None or ctx.store.organization(ctx.header(b"x-api-key") or "") is None:
            return None
        return Response(200, [JSON_TYPE], body)

    def finish(self, ctx: Context, response: Response) -> Response:
        if response.status == self.status:
            self.state.setdefault("kept", {})[ctx.request.target] = response.body
        return super().finish(ctx, response)


@fault("tenancy.foreign-parent", operations=READS)
class RefusalKeptByAddress(CachedByAddress):
    """What another organization was refused at an address is refused there to the one who asks next."""

    status = 403

    def cached(self, ctx: Context) -> Response | None:
        """Stage: returns the cached refusal, once."""
        body = self.state.setdefault("kept", {}).pop(ctx.request.target, None)
        return Response(403, [JSON_TYPE], body) if body is not None else None


@fault(
    "tenancy.unknown-parent",
    operations=[operation for operation in OPERATIONS if operation != "createPayout"],
)  # Its references are nowhere either.
class ServesUnknown(Faulty):
    """An unknown customer or account is served as if it were the caller's and had nothing in it."""

    def on_unknown_parent(self, ctx: Context, kind: str, identifier: str) -> Record:
        return made_up(ctx, kind, identifier)

    def on_missing_child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        if parent.get("name") == "Made up":
            return made_up(ctx, kind, identifier, parent)
        return super().on_missing_child(ctx, kind, identifier, parent)


CHILD_ANSWERS = {"403": FORBIDDEN, "400": BAD, "422": UNPROCESSABLE, "401": UNAUTHORIZED, "410": GONE}


#: Kind -> ids that are taken for a known one.
RESEMBLING = {
    "prefix": lambda sent, known: known.startswith(sent),
    "longer": lambda sent, known: sent.startswith(known),
    "its end": lambda sent, known: known.endswith(sent),
    "without its prefix": lambda sent, known: known.partition("_")[2] == sent,
}


@fault("tenancy.unknown-parent", seam="on_unknown_parent", each=RESEMBLING)
def _(self: Any, ctx: Context, kind: str, identifier: str) -> Any:
    """A customer or account is served under an identifier that resembles its own."""
    for (known,) in ctx.store.query("SELECT id FROM resources WHERE kind = ?", kind):
        if len(identifier) > 5 and self.value(identifier, known):
            return self.top_level(ctx, kind, known)
    return self.usual()


@fault("tenancy.missing-child", seam="on_missing_child", each=RESEMBLING)
def _(self: Any, ctx: Context, kind: str, identifier: str, parent: Record) -> Any:
    """A child is served under an identifier that resembles its own."""
    for record in ctx.store.select(kind, parent["id"]):
        if len(identifier) > 5 and self.value(identifier, record["id"]):
            return record
    return self.usual()


def foreign(ctx: Context, record: Record) -> bool:
    """Returns True for a record of another organization than the caller's, or without a caller."""
    return ctx.organization is None or record["organization"] != ctx.organization.id


faults["tenancy.sibling-child"] |= {
    "A disabled beneficiary is found wherever it is.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, parent: record if record["status"] == "disabled" else self.usual(),
        operations=BELOW,
    ),
    "A child of another account of the organization is served.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: self.usual() if foreign(ctx, record) else record,
        also=("beneficiary.destinations",),
    ),
    "A child of another account of the organization is refused with another status than 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}

faults["tenancy.foreign-child"] |= {
    "A child of another organization is served under the caller's own account.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: record if foreign(ctx, record) else self.usual(),
    ),
    "A child of another organization is refused with another status than 404, 403 included.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if not foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}

faults["tenancy.other-customer-account"] |= {
    "An account of another customer of the organization is served.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: self.usual() if foreign(ctx, record) else record,
    ),
    "An account of another customer of the organization is refused with another status than 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}

faults["tenancy.foreign-account"] |= {
    "Another organization's account is served under the caller's own customer.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: record if foreign(ctx, record) else self.usual(),
    ),
    "Another organization's account is refused with another status than 403 or 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if not foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each={"400": BAD, "422": UNPROCESSABLE, "401": UNAUTHORIZED},
    ),
}


def _padded(self: Any, ctx: Context, kind: str, identifier: str) -> Record | None:
    """Returns the resource of an id with trailing spaces, as comparison in a CHAR column does."""
    return ctx.store.get(kind, identifier.rstrip(" "))


def _of_any_kind(ctx: Context, kind: str, identifier: str, parent: Record | None = None) -> Record | None:
    """Returns the resource of an id of any type, as a single table of all resources does."""
    kinds = dict.fromkeys(KINDS.values())
    known = any(ctx.store.get(other, identifier) is not None for other in kinds)
    return made_up(ctx, kind, identifier, parent) if known else None


class AsksForFunds(FundsDemanded, Faulty):
    """Requires funds, which only some accounts have."""


def _in_any_case(ctx: Context, kind: str, identifier: str) -> str:
    rows = ctx.store.query(
        "SELECT id FROM resources WHERE kind = ? AND lower(id) = lower(?)", kind, identifier
    )
    return next((row[0] for row in rows), identifier)


#: Kind -> part of an id that is looked up.
_PARTS: dict[str, Callable[[str, str], str]] = {
    "without a space before it": lambda kind, identifier: identifier.removeprefix(" "),
    "without a line feed behind it": lambda kind, identifier: identifier.removesuffix("\n"),
    "up to its length": lambda kind, identifier: identifier[: len(PREFIXES[kind]) + 24],
    "with the prefix that it should have": lambda kind, identifier: (
        PREFIXES[kind] + identifier.rpartition("_")[2] if "_" in identifier else identifier
    ),
}


#: The same for ids that operations are sent in turn, in the order of `near_ids.IN_TURN`.
_IN_TURN: dict[str, Callable[[str, str], str]] = {
    "without accents": lambda kind, identifier: unaccented(identifier),
    "percent-decoded once more": lambda kind, identifier: unquote(identifier),
    "with compatible characters made equal": lambda kind, identifier: normalize("NFKC", identifier),
    # As in a fixed-length column that is padded with zeros.
    "without 144 zeros behind it": lambda kind, identifier: identifier.removesuffix("0" * 144),
}


def _forms(places: int) -> Callable[[str], dict[str, Callable[[str, str], str]]]:
    """Returns the forms of ids of an operation, whose turn is shifted by this many places."""

    def forms(operation: str) -> dict[str, Callable[[str, str], str]]:
        at = list(OPERATIONS).index(operation) + places
        kind, looked_up = [*_IN_TURN.items()][at % len(_IN_TURN)]
        return {**_PARTS, kind: looked_up}

    return forms


def unaccented(text: str) -> str:
    """Returns the text without accents."""
    return "".join(each for each in normalize("NFD", text) if not combining(each))


faults["tenancy.unknown-parent"] |= {
    "An unknown customer or account is refused with another status than 404.": seam(
        "on_unknown_parent",
        lambda self, *_: refuse(refusal(*self.value)),
        each={"403": FORBIDDEN, "401": UNAUTHORIZED, "400": BAD, "422": UNPROCESSABLE, "410": GONE},
    ),
    "A customer or account is found by the name of a member that all objects have.": seam(
        "on_unknown_parent",
        lambda self, ctx, kind, identifier: (
            [each for each in ctx.store.select(kind, None) if self.owned(ctx, each)][-1]
            if identifier in INHERITED
            else self.usual()
        ),
        # On the others the path names a child, which is not under the parent, or a second request is refused.
        operations=[
            operation
            for operation in RULES["tenancy.unknown-parent"].operations
            if operation not in (*OPERATION_SETS["child"], "createPayout", "createWallet")
        ],
    ),
    "An account, if it has funds, is found by its id with a space behind it.": seam(
        "on_unknown_parent",
        lambda self, ctx, kind, identifier: _padded(self, ctx, kind, identifier) or self.usual(),
        base=AsksForFunds,
        operations=("createPayout",),
    ),
    "A parent is found by its id with a space behind it.": seam(
        "on_unknown_parent",
        lambda self, ctx, kind, identifier: _padded(self, ctx, kind, identifier) or self.usual(),
    ),
    "A parent is found by the id of another kind of resource.": seam(
        "on_unknown_parent",
        lambda self, ctx, kind, identifier: _of_any_kind(ctx, kind, identifier) or self.usual(),
        # Elsewhere nothing is under such a parent, so nothing would show it.
        operations=[
            operation.id
            for operation in OPERATIONS.values()
            if len(operation.path_parameters) == 1 and operation.id != "createPayout"
        ],
    ),
    "Ids of customers and accounts are compared without their letter case.": seam(
        "top_level",
        lambda self, ctx, kind, identifier: self.usual(ctx, kind, _in_any_case(ctx, kind, identifier)),
    ),
    "The id of a customer or an account is looked up in another form.": seam(
        "top_level",
        lambda self, ctx, kind, identifier: self.usual(ctx, kind, self.value(kind, identifier)),
        each=_forms(0),
    ),
}

faults["tenancy.foreign-parent"] |= {
    "Another organization's customer or account is served.": seam(
        "on_foreign_parent", lambda self, ctx, kind, record: record
    ),
    "One of two organizations may use the other's customers and accounts.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if caller_is(ctx, self.value) else self.usual(),
        each=("first", "second"),
    ),
    "Another organization's customer or account is refused with another status than 403.": seam(
        "on_foreign_parent",
        lambda self, *_: refuse(refusal(*self.value)),
        each={"404": MISSING, "401": UNAUTHORIZED, "400": BAD, "422": UNPROCESSABLE, "410": GONE},
    ),
    "Another organization's list is shown to whom asks for a part of it.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if self.value in ctx.query else self.usual(),
        operations=OPERATION_SETS["list"],
        each=lambda operation: {
            name: name.encode()
            for name in ("page=2", "size=", *OPERATIONS[operation].query_parameters)
            if name not in ("page", "size")
        },
    ),
    "Another organization's resource may be changed by whom changes nothing.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if ctx.request.body == b"{}" else self.usual(),
        operations=["updateBeneficiary"],
    ),
    "Another organization's account takes some bodies.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if self.value in ctx.request.body else self.usual(),
        operations=_SORTS,
        each=lambda operation: _SORTS[operation],
    ),
    "Another organization's money is paid to one's own beneficiary.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if _own_payee(ctx) else self.usual(),
        operations=["createPayout"],
    ),
    "A list is that of the parent which the query names.": seam(
        "list_parent",
        lambda self, ctx: next(
            iter(self.query(ctx).get(OPERATIONS[self.operation].path_parameters[-1], ())), self.usual()
        ),
        operations=OPERATION_SETS["list"],
    ),
}


@fault(
    "tenancy.foreign-parent",
    seam="act",
    operations=["getAccountBalances", "getBeneficiary", "getVirtualAccount"],
)
def _(self: Any, ctx: Context) -> None:
    """Ids of the query win over those of the path, whose owner was looked at."""
    for name, values in parse_query(ctx.query).items():
        found = ctx.store.get(name.removesuffix("_id"), values[0])
        if found is not None and name in ctx.params:
            setattr(ctx, name.removesuffix("_id"), found)
    self.usual()


faults["tenancy.missing-child"] |= {
    "A child that does not exist is refused with another status than 404.": seam(
        "on_missing_child", lambda self, *_: refuse(refusal(*self.value)), each=CHILD_ANSWERS
    ),
    "A child that does not exist is served as if it did.": seam(
        "on_missing_child", lambda self, ctx, kind, identifier, parent: made_up(ctx, kind, identifier, parent)
    ),
    "A child is found by the name of a member that all objects have.": seam(
        "on_missing_child",
        lambda self, ctx, kind, identifier, parent: (
            ctx.store.select(kind, parent["id"])[-1] if identifier in INHERITED else self.usual()
        ),
    ),
    "A child is found by its id with a space behind it.": seam(
        "on_missing_child",
        lambda self, ctx, kind, identifier, parent: _padded(self, ctx, kind, identifier) or self.usual(),
    ),
    "A child is found by the id of another kind of resource.": seam(
        "on_missing_child",
        lambda self, ctx, kind, identifier, parent: (
            _of_any_kind(ctx, kind, identifier, parent) or self.usual()
        ),
    ),
    "The id of a child is looked up in another form.": seam(
        "child",
        lambda self, ctx, kind, identifier, parent: self.usual(
            ctx, kind, self.value(kind, identifier), parent
        ),
        each=_forms(1),
    ),
    "Ids of children are compared without their letter case.": seam(
        "child",
        lambda self, ctx, kind, identifier, parent: self.usual(
            ctx, kind, _in_any_case(ctx, kind, identifier), parent
        ),
    ),
}


@fault("tenancy.foreign-parent", operations=("listAccounts",))
class OneOrganizationAtATime(Faulty):
    """Whose request it is stands in one place, which the next request overwrites."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def authenticate(self, ctx: Context) -> None:
        super().authenticate(ctx)
        self.state["caller"] = ctx.organization
        threading.Event().wait(0.02)
        ctx.organization = self.state["caller"]


@fault("tenancy.foreign-parent", seam="top_level", operations=("updateBeneficiary",))
def _(self: Any, ctx: Context, kind: str, identifier: str) -> Any:
    """Who may send a request to an address is decided once, and holds for all that follow."""
    allowed: set[bytes] = self.state.setdefault("allowed", set())
    if ctx.path in allowed and (record := self.find(ctx, kind, identifier)) is not None:
        return record
    record = self.usual()
    allowed.add(ctx.path)
    return record
