"""Servers that serve other spellings of a path or method without authentication."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import run
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.resources import KINDS

from .authentication import first_organization
from .catalogue import SHOWN_LATER, Faulty, fault


def _usual(spelling: str, operation: str, ctx: Context) -> bytes:
    """Returns the documented path to which a server that tolerates a spelling routes the request."""
    path = ctx.path
    match spelling:
        case "a slash behind":
            return path.removesuffix(b"/")
        case "doubled slashes":
            return re.sub(b"//+", b"/", path)
        case "a dot":
            return path.replace(b"/./", b"/")
        case "upper case":
            template = OPERATIONS[operation].path.encode().split(b"/")
            parts = path.split(b"/")
            if len(parts) == len(template):
                pairs = zip(template, parts, strict=True)
                parts = [known if part.lower() == known else part for known, part in pairs]
            return b"/".join(parts)
        case "a format behind":
            return path.removesuffix(b".json")
        case "a parameter behind":
            return path.partition(b";")[0]
        case "its path in a header":
            return (ctx.header(b"x-original-url") or "").partition("?")[0].encode() or path
    return path


def _spellings(operation: str) -> list[str]:
    described = OPERATIONS[operation]
    found = ["doubled slashes", "upper case", "its path in a header"]
    if not described.path.endswith("}"):
        found += ["a format behind", "a parameter behind"]
    if list(OPERATIONS).index(operation) % 2:
        found.append("a dot")
    # With a trailing slash, the list has the path of one of its elements with an empty id.
    if operation != "listVirtualAccounts":
        found.append("a slash behind")
    if described.method == "GET":
        found.append("HEAD")
    elif described.request_schema is not None:
        found.append("OPTIONS")
    return found


@fault("auth.other-spellings", each=_spellings)
class OpenElsewhere(Faulty):
    """Under another spelling the operation is served to anybody."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        path = _usual(self.value, self.operation, ctx)
        found = match(path) if refusal.kind in ("unknown_path", "unknown_method") else None
        method = ctx.request.method if path != ctx.path else OPERATIONS[self.operation].method
        if found is None or found.methods.get(method) != self.operation:
            return super().render_refusal(ctx, refusal)
        if path == ctx.path and ctx.request.method != self.value:
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


@fault("auth.other-spellings", seam="authenticate")
def _(self: Any, ctx: Context) -> None:
    """A path with an escaped letter is served to anybody: what guards it compares the path as it was sent."""
    if b"%" in ctx.request.target.partition(b"?")[0]:
        ctx.organization = first_organization(ctx)
    else:
        self.usual()


@fault("auth.other-spellings", seam="authenticate")
def _(self: Any, ctx: Context) -> None:
    """Whoever names the method in a header as well needs no signature."""
    if ctx.header(b"x-http-method-override"):
        ctx.organization = first_organization(ctx)
    else:
        self.usual()


@fault("auth.other-spellings", seam="authenticate", each=("in the query", "as a user's name"))
def _(self: Any, ctx: Context) -> None:
    """Whoever sends the API key elsewhere than in its header needs no signature."""
    key = parse_query(ctx.query).get("api_key", [""])[0]
    if self.value != "in the query":
        scheme, _, user = (ctx.header(b"authorization") or "").partition(" ")
        key = base64.b64decode(user).decode().partition(":")[0] if scheme == "Basic" else ""
    ctx.organization = ctx.store.organization(key)
    if ctx.organization is None:
        self.usual()


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


class ReadsAtOtherPaths(Faulty):
    """Serves resources at undocumented paths to callers that `admit` accepts."""

    everywhere = True

    def admit(self, ctx: Context) -> None:
        """Raises Refusal for a caller that is refused."""

    def parent_of_list(self, identifier: str) -> str | None:
        """The id of the parent whose resources a list shows; None for those of all."""
        return identifier

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        unknown = refusal.kind in ("unknown_path", "unknown_method") and ctx.request.method == "GET"
        document = self._document(ctx) if unknown else None
        if document is None:
            return super().render_refusal(ctx, refusal)
        try:
            self.admit(ctx)
        except Refusal as other:
            return super().render_refusal(ctx, other)
        return Response.of(200, document)

    def _document(self, ctx: Context) -> Any:
        """Returns the document at a path, or None."""
        segments, kind = ctx.path.decode().split("/"), KINDS[self.operation]
        collection = OPERATIONS[self.operation].path.rpartition("/")[2]
        below = len(segments) > 4
        if self.value == "in a list":
            if segments[-1] != collection:
                return None
            records = ctx.store.select(kind, self.parent_of_list(segments[-2]))
            return [self.resource(ctx, kind, record) for record in records]
        if segments[-2] != collection or below is not (self.value == "below its list"):
            return None
        record = ctx.store.get(kind, segments[-1])
        return None if record is None else self.resource(ctx, kind, record)


@fault("auth.undocumented-reads", each=open_reads)
class OpenReads(ReadsAtOtherPaths):
    """Resources are shown to anybody at a path that the specification does not have."""


@fault("auth.undocumented-reads", seam="admit", base=ReadsAtOtherPaths, each=open_reads)
def _(self: Any, ctx: Context) -> None:
    """Resources are shown to every organization at a path that the specification does not have."""
    self.authenticate(ctx)


@fault(
    "auth.undocumented-reads",
    each=lambda operation: [found for found in open_reads(operation) if found != "by its id alone"],
)
class UnscopedChildren(ReadsAtOtherPaths):
    """Below its own account or customer every organization is shown what others have."""

    def parent_of_list(self, identifier: str) -> str | None:
        return None

    def admit(self, ctx: Context) -> None:
        self.authenticate(ctx)
        _, _, collection, top, *_ = ctx.path.decode().split("/")
        record = ctx.store.get(collection.removesuffix("s"), top)
        if record is None or not self.owned(ctx, record):
            raise Refusal("foreign_parent")


@fault("auth.undocumented-reads", each=("DELETE", "PUT"))
class OpenChanges(Faulty):
    """Resources are changed or deleted for anybody by a method that the specification does not have."""

    everywhere = True

    def admit(self, ctx: Context) -> None:
        """Raises Refusal for a caller that is refused."""

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        segments = ctx.path.decode().split("/")
        if (
            ctx.request.method != self.value
            or segments[-2] != OPERATIONS[self.operation].path.rpartition("/")[2]
        ):
            return super().render_refusal(ctx, refusal)
        record = ctx.store.get(KINDS[self.operation], segments[-1])
        try:
            self.admit(ctx)
        except Refusal as other:
            return super().render_refusal(ctx, other)
        if record is None:
            return super().render_refusal(ctx, Refusal("unknown_path"))
        ctx.store.change("DELETE FROM resources WHERE id = ?", record["id"])
        return Response(204, [])


@fault("auth.undocumented-reads", seam="admit", base=OpenChanges, each=("DELETE",))
def _(self: Any, ctx: Context) -> None:
    """Resources are deleted for every organization by a method that the specification does not have."""
    self.authenticate(ctx)


@fault("auth.undocumented-reads", operations=SHOWN_LATER)
class EmptyParents(Faulty):
    """A path whose first id is empty leads to the resources of everybody."""

    everywhere = True

    def on_unknown_parent(self, ctx: Context, kind: str, identifier: str) -> Record:
        if identifier == "" and KINDS[ctx.operation] == KINDS[self.operation]:
            return {"id": ""}
        return super().on_unknown_parent(ctx, kind, identifier)

    def is_under(self, ctx: Context, record: Record, parent: Record) -> bool:
        return parent["id"] == "" or super().is_under(ctx, record, parent)

    def list_parent(self, ctx: Context) -> str | None:
        return None if "" in ctx.params.values() else super().list_parent(ctx)


@fault("auth.undocumented-reads", operations=("createBeneficiary",))
class PutIsPatch(Faulty):
    """A PUT changes a beneficiary as a PATCH does, but of any organization."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        found = match(ctx.path) if refusal.kind == "unknown_method" and ctx.request.method == "PUT" else None
        if found is None or "PATCH" not in found.methods:
            return super().render_refusal(ctx, refusal)
        ctx.operation, ctx.params = "updateBeneficiary", found.params
        return run(self, ctx)

    def owned(self, ctx: Context, record: Record) -> bool:
        return ctx.request.method == "PUT" or super().owned(ctx, record)


@fault("auth.undocumented-reads", operations=("createAccount", "createBeneficiary", "createVirtualAccount"))
class AllListed(Faulty):
    """A list at a path that the specification does not have shows what all organizations have."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        described, kind = OPERATIONS[self.operation], KINDS[self.operation]
        collection = f"/v1/{described.path.rpartition('/')[2]}"
        if refusal.kind != "unknown_path" or ctx.request.method != "GET" or ctx.path.decode() != collection:
            return super().render_refusal(ctx, refusal)
        try:
            self.authenticate(ctx)
        except Refusal as other:
            return super().render_refusal(ctx, other)
        return Response.of(200, [self.resource(ctx, kind, one) for one in ctx.store.select(kind, None)])


@fault("auth.undocumented-reads", operations=("createPayout",))
class AccountInTheBody(Faulty):
    """Payouts at a path that the specification does not have draw on any account that the body names."""

    everywhere = True

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        if refusal.kind != "unknown_path" or ctx.path != b"/v1/transfers/payouts":
            return super().render_refusal(ctx, refusal)
        ctx.operation = "createPayout"
        ctx.params = {"account_id": json.loads(ctx.request.body)["account_id"]}
        return run(self, ctx)

    def owned(self, ctx: Context, record: Record) -> bool:
        return ctx.path == b"/v1/transfers/payouts" or super().owned(ctx, record)
