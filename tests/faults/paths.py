"""Servers that serve other spellings of a path or method to anybody, or find ids that are not theirs."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any
from unicodedata import category, combining, normalize
from urllib.parse import unquote

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.core_messages import Response
from conformance.reference.pipeline import run
from conformance.reference.refusals import Refusal
from conformance.reference.routes import match
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.lists import parse_query
from conformance.reference.seams.resources import KINDS
from conformance.world.corpora.ids import INHERITED
from tests.specification import ADDRESS

from .authentication import first_organization, waiving
from .catalogue import SHOWN_LATER, Faulty, Only, faults, of, seam, seams
from .rows import where


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


#: Returns the id that is looked up for one, or that one.
Form = Callable[[Any, Context, str, str], str]


def like(alike: Callable[[str, str], bool]) -> Form:
    """Returns the form that finds a known id which is like the one sent."""

    def form(self: Any, ctx: Context, kind: str, identifier: str) -> str:
        if len(identifier) < 6 or ctx.store.get(kind, identifier) is not None:
            return identifier
        known = [record["id"] for record in ctx.store.select(kind, None)]
        return next((each for each in known if alike(identifier, each)), identifier)

    return form


def read(change: Callable[[str], str]) -> Form:
    """Returns the form that reads an id otherwise than it came."""
    return lambda self, ctx, kind, identifier: change(identifier)


def _newest(self: Any, ctx: Context, kind: str, identifier: str) -> str:
    """Returns the caller's newest resource for the name of a member that all objects have."""
    if identifier not in INHERITED:
        return identifier
    return str([record["id"] for record in ctx.store.select(kind, None) if self.owned(ctx, record)][-1])


def _collated(text: str) -> str:
    """Returns a text as a collation compares it: without letter case, accents, width and what has none."""
    return "".join(sign for sign in normalize("NFKD", text.lower()) if category(sign) not in ("Mn", "Cf"))


#: Kind -> form in which ids are looked up.
FORMS: dict[str, Form] = {
    "its beginning": like(lambda sent, known: known.startswith(sent)),
    "its end": like(lambda sent, known: known.endswith(sent)),
    "more behind it": like(lambda sent, known: sent.startswith(known)),
    "without its prefix": like(lambda sent, known: known.partition("_")[2] == sent),
    "in any letter case": like(lambda sent, known: sent.lower() == known.lower()),
    "by a collation": like(lambda sent, known: _collated(sent) == _collated(known)),
    "a space behind it": read(lambda text: text.rstrip(" ")),
    "a space before it": read(lambda text: text.removeprefix(" ")),
    "a line feed behind it": read(lambda text: text.removesuffix("\n")),
    "a soft hyphen behind it": read(lambda text: text.rstrip("\N{SOFT HYPHEN}")),
    "zero-width spaces": read(lambda text: text.replace("\N{ZERO WIDTH SPACE}", "")),
    "format characters": read(lambda text: "".join(sign for sign in text if category(sign) != "Cf")),
    "accents": read(lambda text: "".join(sign for sign in normalize("NFD", text) if not combining(sign))),
    "compatible characters": read(lambda text: normalize("NFKC", text)),
    "up to its length": lambda self, ctx, kind, identifier: identifier[: len(PREFIXES[kind]) + 24],
    "any prefix": lambda self, ctx, kind, identifier: (
        PREFIXES[kind] + identifier.rpartition("_")[2] if "_" in identifier else identifier
    ),
    "a member of all objects": _newest,
}

#: The same for ids that operations are sent in turn, in the order of `other_tenants.IN_TURN`.
IN_TURN: dict[str, Form] = {
    "percent-encoded once more": read(unquote),
    # As in a fixed-length column that is padded with zeros.
    "144 zeros behind it": read(lambda text: text.removesuffix("0" * 144)),
    "zero-width joiners": read(lambda text: text.replace("\N{ZERO WIDTH JOINER}", "")),
    "spaces in it": read(lambda text: text.replace(" ", "")),
}


def forms(
    places: int, unseen: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, Form | Only]:
    """Returns the forms of ids; the turn of an operation is shifted by this many places. `unseen` has the
    operations on which a form shows nothing."""
    turns: dict[str, Form | Only] = {
        kind: Only(form, [name for at, name in enumerate(OPERATIONS) if (at + places) % len(IN_TURN) == turn])
        for turn, (kind, form) in enumerate(IN_TURN.items())
    }
    return turns | {
        kind: Only(form, [name for name in OPERATIONS if name not in unseen.get(kind, ())])
        for kind, form in FORMS.items()
    }


def of_any_kind(self: Any, ctx: Context, kind: str, identifier: str, parent: Record | None = None) -> Any:
    """Returns the resource of an id of any type, as a single table of all resources does."""
    kinds = dict.fromkeys(KINDS.values())
    known = any(ctx.store.get(other, identifier) is not None for other in kinds)
    return made_up(ctx, kind, identifier, parent) if known else self.usual()


# ---------------------------------------------------------------------- other spellings


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
            "an escaped letter in its path": lambda ctx: b"%" in ctx.request.target.partition(b"?")[0],
            "its method in a header": lambda ctx: ctx.header(b"x-http-method-override"),
        }
    ),
    "Whoever sends the API key elsewhere than in its header needs no signature.": where(
        "authenticate",
        lambda ctx, value: ctx.store.organization(value(ctx)),
        lambda ctx, value: setattr(ctx, "organization", ctx.store.organization(value(ctx))),
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
        segments, kind = ctx.path.decode().split("/"), KINDS[self.operation]
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
        record = ctx.store.get(KINDS[self.operation], segments[-1])
        if ctx.request.method != self.value or segments[-2] != _collection(self.operation) or not record:
            return None
        self.admit(ctx)
        ctx.store.change("DELETE FROM resources WHERE id = ?", record["id"])
        return Response(204, [])


def _all(self: Any, ctx: Context) -> Response | None:
    """Lists what all organizations have, at a path of the resources' own."""
    kind = KINDS[self.operation]
    if ctx.request.method != "GET" or ctx.path.decode() != f"/v1/{_collection(self.operation)}":
        return None
    self.admit(ctx)
    return Response.of(200, [self.resource(ctx, kind, one) for one in ctx.store.select(kind, None)])


def _authenticate(self: Any, ctx: Context) -> None:
    self.authenticate(ctx)


def _own_parent(self: Any, ctx: Context) -> None:
    self.authenticate(ctx)
    _, _, collection, top, *_ = [*ctx.path.decode().split("/"), ""]
    record = ctx.store.get(collection.removesuffix("s"), top)
    if record is None or not self.owned(ctx, record):
        raise Refusal("foreign_parent")


def _put(self: Any, ctx: Context) -> Response | None:
    """Serves a PUT as a PATCH."""
    found = match(ctx.path) if ctx.request.method == "PUT" else None
    if found is None or "PATCH" not in found.methods:
        return None
    ctx.operation, ctx.params = "updateBeneficiary", found.params
    return run(self.behaviour, ctx)


def _pay(self: Any, ctx: Context) -> Response | None:
    """Pays from the account that the body names."""
    if ctx.path != b"/v1/transfers/payouts":
        return None
    ctx.operation = "createPayout"
    ctx.params = {"account_id": json.loads(ctx.request.body)["account_id"]}
    return run(self.behaviour, ctx)


faults["auth.undocumented-reads"] |= {
    "A path whose first id is empty leads to the resources of everybody.": seams(
        {
            "on_unknown_parent": lambda self, ctx, identifier, usual: (
                {"id": ""} if not identifier and KINDS[ctx.operation] == KINDS[self.operation] else usual()
            ),
            "is_under": lambda parent, usual: parent["id"] == "" or usual(),
            "list_parent": lambda ctx, usual: None if "" in ctx.params.values() else usual(),
        },
        everywhere=True,
        operations=SHOWN_LATER,
    ),
    "Resources are shown to anybody at an undocumented path.": of(ReadsAtOtherPaths, each=open_reads),
    "Resources are shown to every organization at an undocumented path.": seam(
        "admit", _authenticate, base=ReadsAtOtherPaths, each=open_reads
    ),
    "Below its own account or customer every organization is shown what others have.": seams(
        {"parent_of_list": lambda: None, "admit": _own_parent},
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
    "A PUT changes a beneficiary as a PATCH does, but of any organization.": seams(
        {"served": _put, "owned": lambda ctx, usual: ctx.request.method == "PUT" or usual()},
        base=Elsewhere,
        operations=("createBeneficiary",),
    ),
    "Payouts at an undocumented path draw on any account that the body names.": seams(
        {"served": _pay, "owned": lambda ctx, usual: ctx.path == b"/v1/transfers/payouts" or usual()},
        base=Elsewhere,
        operations=("createPayout",),
    ),
}
