"""Servers that break tenant isolation (section 5.5)."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import JSON_TYPE, Response
from conformance.reference.pipeline import Stage
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.store import OrganizationRow
from tests.variants.resources import FundsDemanded

from .catalogue import Faulty, Only, Row, faults, of, seam, seams
from .other_ids import forms, made_up, of_any_kind
from .rows import always, before, refusing, skipping, where

#: Refusals with each status.
STATUSES = (
    *("400 validation_error invalid_id", "401 authentication_error invalid_signature"),
    *("403 permission_error forbidden", "404 not_found_error resource_not_found"),
    *("410 not_found_error gone", "422 validation_error invalid_id"),
)


def caller_is(ctx: Context, which: str, caller: OrganizationRow | None = None) -> bool:
    """Returns True if the caller, or another organization, is the first or the second of the server."""
    caller = caller or ctx.organization
    sql = "SELECT parent FROM resources WHERE kind = 'customer' ORDER BY seq LIMIT 1"
    return caller is not None and (ctx.store.query(sql) == [(caller.id,)]) == (which == "first")


def _own_payee(ctx: Context) -> bool:
    """Returns True if the body refers to a beneficiary of the caller's organization."""
    named = re.search(rb'"beneficiary_id": ?"(\w+)"', ctx.request.body)
    payee = ctx.store.get("beneficiary", named[1].decode()) if named else None
    return payee is not None and not foreign(ctx, payee)


READS = OPERATION_SETS["read"]

#: Operations whose path begins with an account.
IN_ACCOUNTS = [name for name, operation in OPERATIONS.items() if operation.path_parameters[0] == "account_id"]


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


class RefusalKeptByAddress(CachedByAddress):
    """What another organization was refused at an address is refused there to the one who asks next."""

    status = 403

    def cached(self, ctx: Context) -> Response | None:
        """Stage: returns the cached refusal, once."""
        body = self.state.setdefault("kept", {}).pop(ctx.request.target, None)
        return Response(403, [JSON_TYPE], body) if body is not None else None


def foreign(ctx: Context, record: Record) -> bool:
    """Returns True for a record of another organization than the caller's, or without a caller."""
    return ctx.organization is None or record["organization"] != ctx.organization.id


#: Kind -> requests that are served with what is not the caller's, by a mark in their body or query.
_BODIES: dict[str, dict[str, bytes]] = {
    "createBeneficiary": {"a business": b'"business"'},
    "createPayoutDestination": {"a wallet": b'"wallet"', "a bank account": b'"bank_account"'},
    "createVirtualAccount": {"with an address": b'"address"'},
    "updateBeneficiary": {"an address": b'"address"', "a note": b'"note"'},
    "createPayout": {"in euros": b'"EUR"'},
}


def _some_requests(operation: str) -> dict[str, Callable[[Context], bool]]:
    def marked(mark: bytes) -> Callable[[Context], bool]:
        return lambda ctx: mark in ctx.request.body or mark in ctx.query

    found = {kind: marked(mark) for kind, mark in _BODIES.get(operation, {}).items()}
    if operation == "updateBeneficiary":
        found["no change"] = lambda ctx: ctx.request.body == b"{}"
    if operation in OPERATION_SETS["list"]:
        names = ("page=2", "size=", *OPERATIONS[operation].query_parameters)
        found |= {name: marked(name.encode()) for name in names if name not in ("page", "size")}
    if operation == "createPayout":
        found["to one's own beneficiary"] = _own_payee
    return found


#: Operations below a beneficiary.
BELOW = [name for name, operation in OPERATIONS.items() if "beneficiary_id" in operation.path_parameters]


def _foreign(self: Any, ctx: Context, kind: str, record: Record, *_: Any) -> bool:
    return foreign(ctx, record)


def _own(self: Any, ctx: Context, kind: str, record: Record, *_: Any) -> bool:
    return not foreign(ctx, record)


def serving(test: Callable[..., Any], name: str = "on_child_elsewhere", **options: Any) -> Row:
    """Makes a row that serves what is not the caller's where a test of the request and the record holds."""
    return where(name, test, lambda self, usual, ctx, kind, record, *_: record, **options)


for rule, (name, whose, right) in {
    "tenancy.unknown-parent": ("on_unknown_parent", always, ("404",)),
    "tenancy.foreign-parent": ("on_foreign_parent", always, ("403",)),
    "tenancy.missing-child": ("on_missing_child", always, ("404",)),
    "tenancy.sibling-child": ("on_child_elsewhere", _own, ("404",)),
    "tenancy.foreign-child": ("on_child_elsewhere", _foreign, ("404",)),
    "tenancy.other-customer-account": ("on_child_elsewhere", _own, ("404",)),
    "tenancy.foreign-account": ("on_child_elsewhere", _foreign, ("403", "404")),
}.items():
    faults[rule] |= {
        "What is not the caller's is refused with another status.": refusing(
            name, test=whose, each={error[:3]: error for error in STATUSES if error[:3] not in right}
        )
    }
    if name in ("on_child_elsewhere", "on_foreign_parent"):
        faults[rule] |= {
            "What is not the caller's is served.": serving(
                whose, name, also=("beneficiary.destinations",) if rule == "tenancy.sibling-child" else ()
            )
        }
    if rule in ("tenancy.sibling-child", "tenancy.foreign-child", "tenancy.foreign-parent"):
        faults[rule] |= {
            "What is not the caller's is served to some requests.": serving(
                lambda self, ctx, *_: self.value(ctx),
                name,
                operations=[
                    operation
                    for operation in OPERATIONS
                    if _some_requests(operation) and (rule == "tenancy.foreign-parent" or operation in BELOW)
                ],
                each=_some_requests,
            )
        }

for rule in ("tenancy.sibling-child", "tenancy.foreign-child"):
    faults[rule] |= {
        "A business is found wherever it is.": serving(
            lambda self, ctx, kind, record, *_: record.get("beneficiary_type") == "business", operations=BELOW
        )
    }

faults["tenancy.sibling-child"] |= {
    "A disabled beneficiary is found wherever it is.": serving(
        lambda self, ctx, kind, record, *_: record["status"] == "disabled", operations=BELOW
    )
}


class AsksForFunds(FundsDemanded, Faulty):
    """Requires funds, which only some accounts have."""


#: Operations whose path names a child, or of which a second request is refused: there, a parent that is found
#: serves nothing.
_SECOND = [name for name in OPERATIONS if name in ("createPayout", *OPERATION_SETS["child"])]


def _look_up(self: Any, usual: Any, ctx: Context, kind: str, identifier: str, *parent: Any) -> Any:
    return usual(ctx, kind, self.value(self, ctx, kind, identifier), *parent)


faults["tenancy.unknown-parent"] |= {
    "An unknown customer or account is served as if it were the caller's and had nothing in it.": seams(
        {
            "on_unknown_parent": lambda self, usual, *given: made_up(*given),
            "on_missing_child": lambda self, usual, ctx, kind, identifier, parent: (
                made_up(ctx, kind, identifier, parent) if parent.get("name") == "Made up" else usual()
            ),
        },
        # The references of a payout are nowhere either.
        operations=[operation for operation in OPERATIONS if operation != "createPayout"],
    ),
    "A customer or account is found by an id that is not its own.": seam(
        "top_level", _look_up, each=forms(0, {"a member of all objects": (*_SECOND, "createWallet")})
    ),
    "A customer or account is found by the id of another kind of resource.": seam(
        "on_unknown_parent", of_any_kind, operations={*OPERATIONS} - {*_SECOND}
    ),
    "An account, if it has funds, is found by its id with a space behind it.": seam(
        "top_level",
        lambda self, usual, ctx, kind, identifier: usual(ctx, kind, identifier.rstrip(" ")),
        base=AsksForFunds,
        operations=("createPayout",),
    ),
}

faults["tenancy.missing-child"] |= {
    "A child is found by an id that is not its own.": seam("child", _look_up, each=forms(1)),
    "A child is found by the id of another kind of resource.": seam("on_missing_child", of_any_kind),
    "A child that does not exist is served as if it did.": seam(
        "on_missing_child", lambda self, usual, *given: made_up(*given)
    ),
}


def _take_ids_of_the_query(self: Any, ctx: Context) -> None:
    for name, values in parse_query(ctx.query).items():
        found = ctx.store.get(name.removesuffix("_id"), values[0])
        if found is not None and name in ctx.params:
            setattr(ctx, "child" if name == "virtual_account_id" else name.removesuffix("_id"), found)


faults["tenancy.foreign-parent"] |= {
    "An account that was there before any was created by a request is everybody's.": serving(
        lambda self, ctx, kind, record, *_: kind == "account" and ctx.store.balances(record["id"]),
        "on_foreign_parent",
        operations=IN_ACCOUNTS,
    ),
    "One of two organizations may use the other's customers and accounts.": serving(
        lambda self, ctx, *_: caller_is(ctx, self.value), "on_foreign_parent", each=("first", "second")
    ),
    "A list is that of the parent which the query names.": seam(
        "list_parent",
        lambda self, usual, ctx: next(
            iter(self.query(ctx).get(OPERATIONS[self.operation].path_parameters[-1], ())), usual()
        ),
        operations=OPERATION_SETS["list"],
    ),
    "Ids of the query win over those of the path, whose owner was looked at.": before(
        "act",
        _take_ids_of_the_query,
        operations=["getAccountBalances", "getBeneficiary", "getVirtualAccount"],
    ),
}


def _as_the_last(self: Any, usual: Any, ctx: Context) -> None:
    usual()
    self.state["caller"] = ctx.organization
    threading.Event().wait(0.02)
    ctx.organization = self.state["caller"]


def _allowed_once(self: Any, usual: Any, ctx: Context, kind: str, identifier: str) -> Any:
    if ctx.path in self.state and (record := self.find(ctx, kind, identifier)) is not None:
        return record
    record = usual()
    self.state[ctx.path] = True
    return record


faults["tenancy.foreign-parent"] |= {
    "What was once read at an address is shown to whoever asks for it next.": of(
        CachedByAddress, operations=READS, each=("of the API", "in front of it")
    ),
    "What another organization was refused at an address is refused there to the one who asks next.": of(
        RefusalKeptByAddress, operations=READS
    ),
    "Whose request it is stands in one place, which the next request overwrites.": seams(
        {"transaction": lambda *_: contextlib.nullcontext(), "authenticate": _as_the_last},
        operations=("listAccounts",),
    ),
    "Another organization's customer or account is served as if it were the caller's and empty.": seams(
        {
            "on_foreign_parent": lambda self, usual, ctx, kind, *_: made_up(ctx, kind, "made_up"),
            "child": lambda self, usual, ctx, kind, identifier, parent: (
                made_up(ctx, kind, identifier, parent) if parent["id"] == "made_up" else usual()
            ),
        }
    ),
    "Who may send a request to an address is decided once, and holds for all that follow.": seam(
        "top_level", _allowed_once, operations=("updateBeneficiary",)
    ),
}


# ---------------------------------------------------------------------- answers that show another's


def _another(self: Any, usual: Any, ctx: Context) -> Any:
    """Shows the newest resource that is under another parent, with that parent."""
    assert ctx.record is not None
    newest = ctx.store.select(RECORD_KINDS[ctx.operation], None, newest_first=True, limit=50)
    ctx.record = next((record for record in newest if record["parent"] != ctx.record["parent"]), ctx.record)
    return usual()


def _several_statuses(self: Any, ctx: Context) -> bool:
    assert ctx.listing is not None
    return any(each.operator == "IN" and len(each.value) > 1 for each in ctx.listing.conditions)


_ONE = [name for name, operation in OPERATIONS.items() if not operation.is_list]
_STATUSES = [name for name in OPERATION_SETS["list"] if "statuses" in OPERATIONS[name].query_parameters]

#: What breaks where an id comes again.
_TWICE = ("format.id-unique", "create.initial-state")

faults["tenancy.isolation"] |= {
    "The answer is the newest resource of another parent.": seam(
        "success_document", _another, operations=_ONE, also=_TWICE
    ),
    "With a parameter in its query the answer is the newest resource of another parent.": where(
        "success_document", lambda self, ctx: ctx.query, _another, operations=_ONE, also=_TWICE
    ),
    "A list shows the elements of all parents to some requests.": skipping(
        "list_parent",
        None,
        each={
            kind: Only(test, _STATUSES if "statuses" in kind else OPERATION_SETS["list"])
            for kind, test in {
                "to all": always,
                "with an unknown parameter": lambda self, ctx: b"expand=" in ctx.query,
                "for several statuses": _several_statuses,
                "for several statuses and a date": lambda self, ctx: (
                    _several_statuses(self, ctx) and b"_date" in ctx.query
                ),
                "for the third page on": lambda self, ctx: ctx.listing is not None and ctx.listing.page > 2,
            }.items()
        },
    ),
}
