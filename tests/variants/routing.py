"""Undocumented paths and methods that are served, to authenticated requests only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import run
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from tests.support.overrides import Usual

from .choice import choice

#: Fixed segments of the documented paths.
_WORDS = frozenset(
    word
    for operation in OPERATIONS.values()
    for word in operation.path.split("/")
    if not word.startswith("{")
)

_UNDOCUMENTED = ("unknown_path", "unknown_method")


@choice()
class SpellingsServed(Behaviour):
    """Serves trailing and doubled slashes, upper-case paths and HEAD like the documented spelling."""

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        usual = _usual(ctx.path)
        method = "GET" if ctx.request.method == "HEAD" else ctx.request.method
        found = match(usual) if refusal.kind in _UNDOCUMENTED else None
        operation = found.methods.get(method) if found else None
        if found is None or operation is None or (usual, method) == (ctx.path, ctx.request.method):
            return super().render_refusal(ctx, refusal)
        ctx.operation, ctx.params = operation, found.params
        with self.transaction(ctx):
            response = run(self, ctx)
        return Response(response.status, response.headers) if ctx.request.method == "HEAD" else response

    def finish(self, ctx: Context, response: Response) -> Response:
        finished = super().finish(ctx, response)
        return Response(finished.status, finished.headers) if ctx.request.method == "HEAD" else finished


def _usual(path: bytes) -> bytes:
    """Normalizes a path to the documented spelling."""
    words = re.sub(b"//+", b"/", path).removesuffix(b"/").decode("latin-1").split("/")
    return "/".join(word.lower() if word.lower() in _WORDS else word for word in words).encode("latin-1")


@choice()
class ParametersOfSegments(Behaviour):
    """Ignores parameters of a segment of a path, after a semicolon (RFC 3986, section 3.3), and a format,
    after a full stop."""

    def top_level(self, ctx: Context, kind: str, identifier: str) -> Record:
        return super().top_level(ctx, kind, _segment(identifier))

    def child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        return super().child(ctx, kind, _segment(identifier), parent)


def _segment(text: str) -> str:
    """A segment of a path without parameters and format."""
    return re.split("[;.]", text, maxsplit=1)[0]


#: Collection in paths -> resource type.
_COLLECTIONS = {
    "accounts": "account",
    "beneficiaries": "beneficiary",
    "payout-destinations": "payout_destination",
    "payouts": "payout",
    "virtual-accounts": "virtual_account",
    "wallets": "wallet",
    "payins": "payin",
}


@choice()
class UndocumentedReads(Behaviour):
    """Lets the owner read single resources, and lists that only have a POST, on undocumented paths."""

    def render_refusal(self, ctx: Context, refusal: Refusal) -> Response:
        place = _collection(ctx.path) if refusal.kind in _UNDOCUMENTED else None
        if place is None or ctx.request.method != "GET":
            return super().render_refusal(ctx, refusal)
        try:
            with self.transaction(ctx):
                self.authenticate(ctx)
                return Response.of(200, self._undocumented(ctx, *place))
        except Refusal as other:
            return super().render_refusal(ctx, other)

    def _undocumented(self, ctx: Context, parent: str, kind: str, identifier: str) -> Any:
        if not identifier:
            records = [record for record in ctx.store.select(kind, parent) if self.owned(ctx, record)]
            return {"items": [self._shown(ctx, kind, record) for record in records], "total": len(records)}
        record = ctx.store.get(kind, identifier)
        if record is None or not self.owned(ctx, record):
            raise Refusal("missing_child")
        return self._shown(ctx, kind, record)

    def _shown(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        return self.resource(ctx, kind, record)


def _collection(path: bytes) -> tuple[str, str, str] | None:
    """Returns the parent's id, resource type and id (or an empty string) that an undocumented path names."""
    words = path.decode("latin-1").split("/")
    if words[-1] in _COLLECTIONS and len(words) > 3:
        return words[-2], _COLLECTIONS[words[-1]], ""
    if len(words) > 3 and words[-2] in _COLLECTIONS:
        return "", _COLLECTIONS[words[-2]], words[-1]
    return None


@choice(seam="refusal_status")
def paths_not_implemented(self: Behaviour, usual: Usual, ctx: Context, refusal: Refusal) -> int:
    """Answers undocumented paths with 501."""
    return 501 if refusal.kind == "unknown_path" else usual(ctx, refusal)
