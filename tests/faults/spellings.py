"""Servers that serve other spellings of a path or method to anybody: authentication is for the documented
ones."""

from __future__ import annotations

import re

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context
from conformance.reference.messages import Response
from conformance.reference.pipeline import run
from conformance.reference.refusals import Refusal
from conformance.reference.routes import ROUTES, match

from .authentication import first_organization
from .catalogue import Faulty, fault


def _usual(spelling: str, operation: str, ctx: Context) -> bytes:
    """The path that a request means to a server that takes a spelling for the documented one."""
    path = ctx.path
    match spelling:
        case "a slash behind":
            return path.removesuffix(b"/")
        case "doubled slashes":
            return re.sub(b"//+", b"/", path)
        case "upper case":
            template = ROUTES[operation][1].encode().split(b"/")
            parts = path.split(b"/")
            if len(parts) == len(template):
                pairs = zip(template, parts, strict=True)
                parts = [known if part.lower() == known else part for known, part in pairs]
            return b"/".join(parts)
    return path


def _spellings(operation: str) -> list[str]:
    described = OPERATIONS[operation]
    found = ["doubled slashes", "upper case"]
    # With a slash behind, the list is the path of one of its elements, without an id.
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
