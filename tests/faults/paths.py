"""Servers that serve other spellings of a path or method to anybody (section 5)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import run
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.resources import RECORD_KINDS

from .authentication import first_organization, waiving
from .catalogue import SHOWN_LATER, Faulty, faults, of, seam, seams
from .rows import where


def _capitals(operation: str, path: bytes) -> bytes:
    """Returns a path with the letters of the documented one."""
    template, parts = OPERATIONS[operation].path.encode().split(b"/"), path.split(b"/")
    if len(parts) == len(template):
        pairs = zip(template, parts, strict=True)
        parts = [known if part.lower() == known else part for known, part in pairs]
    return b"/".join(parts)


#: Spelling -> the path to which a server that tolerates it routes a request to an operation.
PATHS: dict[str, Callable[[str, Context], bytes]] = {
    "a slash behind": lambda operation, ctx: ctx.path.removesuffix(b"/"),
    "doubled slashes": lambda operation, ctx: re.sub(b"//+", b"/", ctx.path),
    "a dot": lambda operation, ctx: ctx.path.replace(b"/./", b"/"),
    "upper case": lambda operation, ctx: _capitals(operation, ctx.path),
    "a format behind": lambda operation, ctx: ctx.path.removesuffix(b".json"),
    "a parameter behind": lambda operation, ctx: ctx.path.partition(b";")[0],
    "its path in a header": lambda operation, ctx: (
        (ctx.header(b"x-original-url") or "").partition("?")[0].encode() or ctx.path
    ),
    "HEAD": lambda operation, ctx: ctx.path,
    "OPTIONS": lambda operation, ctx: ctx.path,
}


def _spellings(operation: str) -> list[str]:
    described = OPERATIONS[operation]
    left_out = {
        "a format behind": described.path.endswith("}"),
        "a parameter behind": described.path.endswith("}"),
        "a dot": list(OPERATIONS).index(operation) % 2 == 0,
        # With a trailing slash, the list has the path of one of its elements with an empty id.
        "a slash behind": operation == "listVirtualAccounts",
        "HEAD": described.method != "GET",
        "OPTIONS": described.method == "GET" or described.request_schema is None,
    }
    return [spelling for spelling in PATHS if not left_out.get(spelling)]


class OpenElsewhere(Faulty):
    """Under another spelling the operation is served to anybody."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        path = PATHS[self.value](self.operation, ctx)
        found = match(path) if refusal.kind in ("unknown_path", "unknown_method") else None
        method = ctx.request.method if path != ctx.path else OPERATIONS[self.operation].method
        if (
            found is None
            or found.methods.get(method) != self.operation
            or (path == ctx.path and ctx.request.method != self.value)
        ):
            return super().render_refusal(ctx, refusal)
        ctx.operation, ctx.params = self.operation, found.params
        ctx.notes["open"] = True
        with self.transaction(ctx):
            response = run(self, ctx)
        return Response(response.status, response.headers) if self.value == "HEAD" else response

    def authenticate(self, ctx: Context) -> None:
        if "open" in ctx.notes:
            ctx.organization = first_organization(ctx)
        else:
            super().authenticate(ctx)


def _of_basic(ctx: Context) -> str:
    """Returns the user's name of a basic authentication."""
    scheme, _, user = (ctx.header(b"authorization") or "").partition(" ")
    return base64.b64decode(user).decode().partition(":")[0] if scheme == "Basic" else ""


faults["auth.other-spellings"] |= {
    "Under another spelling the operation is served to anybody.": of(OpenElsewhere, each=_spellings),
    "A request of this kind needs no signature.": waiving(
        each={
            "an escaped letter in its path": lambda self, ctx: b"%" in ctx.request.target.partition(b"?")[0],
            "its method in a header": lambda self, ctx: ctx.header(b"x-http-method-override"),
        }
    ),
    "Whoever sends the API key elsewhere than in its header needs no signature.": where(
        "authenticate",
        lambda self, ctx: ctx.store.organization(self.value(ctx)),
        lambda self, usual, ctx: setattr(ctx, "organization", ctx.store.organization(self.value(ctx))),
        each={
            "in the query": lambda ctx: parse_query(ctx.query).get("api_key", [""])[0],
            "as a user's name": _of_basic,
        },
    ),
}


# ---------------------------------------------------------------------- undocumented reads


def open_reads(operation: str) -> list[str]:
    described = OPERATIONS[operation]
    found = ["by its id alone"]
    if described.path + "/{virtual_account_id}" not in TEMPLATES and operation != "createBeneficiary":
        found.append("below its list")
    if not any(path == described.path for path in TEMPLATES):
        found.append("in a list")
    return found


#: Paths with a documented GET.
TEMPLATES = {described.path for described in OPERATIONS.values() if described.method == "GET"}


class Elsewhere(Faulty):
    """Serves what the specification does not have."""

    everywhere = True

    def served(self, ctx: Context) -> Response | None:
        """Returns the answer to a request that is not documented, if there is one; calls `admit` before."""
        return None

    def admit(self, ctx: Context) -> None:
        """Raises Refusal for a caller that is refused."""

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        if refusal.kind not in ("unknown_path", "unknown_method"):
            return super().render_refusal(ctx, refusal)
        try:
            return self.served(ctx) or super().render_refusal(ctx, refusal)
        except Refusal as other:
            return super().render_refusal(ctx, other)


def _collection(operation: str) -> str:
    return OPERATIONS[operation].path.rpartition("/")[2]


class ReadsAtOtherPaths(Elsewhere):
    """Serves resources at undocumented paths."""

    def parent_of_list(self, identifier: str) -> str | None:
        """The id of the parent whose resources a list shows; None for those of all."""
        return identifier

    def served(self, ctx: Context) -> Response | None:
        document = self.document(ctx) if ctx.request.method == "GET" else None
        if document is None:
            return None
        self.admit(ctx)
        return Response.of(200, document)

    def document(self, ctx: Context) -> Any:
        """Returns the document at a path, or None."""
        segments, kind = ctx.path.decode().split("/"), RECORD_KINDS[self.operation]
        collection, below = _collection(self.operation), len(segments) > 4
        if self.value == "in a list":
            if segments[-1] != collection:
                return None
            records = ctx.store.select(kind, self.parent_of_list(segments[-2]))
            return [self.resource(ctx, kind, record) for record in records]
        if segments[-2] != collection or below is not (self.value == "below its list"):
            return None
        record = ctx.store.get(kind, segments[-1])
        return None if record is None else self.resource(ctx, kind, record)


class Deletes(Elsewhere):
    """Deletes resources by the method `value`."""

    def served(self, ctx: Context) -> Response | None:
        segments = ctx.path.decode().split("/")
        record = ctx.store.get(RECORD_KINDS[self.operation], segments[-1])
        if ctx.request.method != self.value or segments[-2] != _collection(self.operation) or not record:
            return None
        self.admit(ctx)
        ctx.store.change("DELETE FROM resources WHERE id = ?", record["id"])
        return Response(204, [])


def _all(self: Any, usual: Any, ctx: Context) -> Response | None:
    """Lists what all organizations have, at a path of the resources' own."""
    kind = RECORD_KINDS[self.operation]
    if ctx.request.method != "GET" or ctx.path.decode() != f"/v1/{_collection(self.operation)}":
        return None
    self.admit(ctx)
    return Response.of(200, [self.resource(ctx, kind, one) for one in ctx.store.select(kind, None)])


def _customers(self: Any, usual: Any, ctx: Context) -> Response | None:
    """Shows customers in a list, or one by its id."""
    *top, last = ctx.path.decode().split("/")
    if ctx.request.method != "GET" or (self.value == "in a list") is not (last == "customers"):
        return None
    if last != "customers" and top[-1] != "customers":
        return None
    self.admit(ctx)
    found = ctx.store.select("customer", None) if last == "customers" else [ctx.store.get("customer", last)]
    shown = [{"id": one["id"], "object": "customer", "name": "Ada"} for one in found if one]
    return Response.of(200, {"items": shown}) if shown else None


def _authenticate(self: Any, usual: Any, ctx: Context) -> None:
    self.authenticate(ctx)


def _own_parent(self: Any, usual: Any, ctx: Context) -> None:
    self.authenticate(ctx)
    _, _, collection, top, *_ = [*ctx.path.decode().split("/"), ""]
    record = ctx.store.get(collection.removesuffix("s"), top)
    if record is None or not self.owned(ctx, record):
        raise Refusal("foreign_parent")


def _put(self: Any, usual: Any, ctx: Context) -> Response | None:
    """Serves a PUT as a PATCH."""
    found = match(ctx.path) if ctx.request.method == "PUT" else None
    if found is None or "PATCH" not in found.methods:
        return None
    ctx.operation, ctx.params = "updateBeneficiary", found.params
    return run(self, ctx)


def _pay(self: Any, usual: Any, ctx: Context) -> Response | None:
    """Pays from the account that the body names."""
    if ctx.path != b"/v1/transfers/payouts":
        return None
    ctx.operation = "createPayout"
    ctx.params = {"account_id": json.loads(ctx.request.body)["account_id"]}
    return run(self, ctx)


faults["auth.undocumented-reads"] |= {
    "A path whose first id is empty leads to the resources of everybody.": seams(
        {
            "on_unknown_parent": lambda self, usual, ctx, kind, identifier: (
                {"id": ""}
                if not identifier and RECORD_KINDS[ctx.operation] == RECORD_KINDS[self.operation]
                else usual()
            ),
            "is_under": lambda self, usual, ctx, record, parent: parent["id"] == "" or usual(),
            "list_parent": lambda self, usual, ctx: None if "" in ctx.params.values() else usual(),
        },
        everywhere=True,
        operations=SHOWN_LATER,
    ),
    "Resources are shown to anybody at an undocumented path.": of(ReadsAtOtherPaths, each=open_reads),
    "Resources are shown to every organization at an undocumented path.": seam(
        "admit", _authenticate, base=ReadsAtOtherPaths, each=open_reads
    ),
    "Below its own account or customer every organization is shown what others have.": seams(
        {"parent_of_list": lambda *_: None, "admit": _own_parent},
        base=ReadsAtOtherPaths,
        each=lambda operation: [found for found in open_reads(operation) if found != "by its id alone"],
    ),
    "Resources are deleted for anybody by an undocumented method.": of(Deletes, each=("DELETE", "PUT")),
    "Resources are deleted for every organization by an undocumented method.": seam(
        "admit", _authenticate, base=Deletes, each=("DELETE",)
    ),
    "A list at an undocumented path shows what all organizations have.": seams(
        {"served": _all, "admit": _authenticate},
        base=Elsewhere,
        operations=("createAccount", "createBeneficiary", "createVirtualAccount"),
    ),
    "An undocumented path shows customers to every organization.": seams(
        {"served": _customers, "admit": _authenticate},
        base=Elsewhere,
        operations=("createAccount",),
        each=("in a list", "by its id alone"),
    ),
    "A PUT changes a beneficiary as a PATCH does, but of any organization.": seams(
        {"served": _put, "owned": lambda self, usual, ctx, *_: ctx.request.method == "PUT" or usual()},
        base=Elsewhere,
        operations=("createBeneficiary",),
    ),
    "Payouts at an undocumented path draw on any account that the body names.": seams(
        {
            "served": _pay,
            "owned": lambda self, usual, ctx, *_: ctx.path == b"/v1/transfers/payouts" or usual(),
        },
        base=Elsewhere,
        operations=("createPayout",),
    ),
}
