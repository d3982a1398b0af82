"""Ids that are not those of a resource, under which servers find it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any
from unicodedata import category, combining, normalize
from urllib.parse import unquote

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.world.corpora.ids import INHERITED
from tests.specification import ADDRESS

from .catalogue import Only


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


def _matches(pattern: str, known: str) -> bool:
    try:
        return re.fullmatch(pattern, known) is not None
    except re.error:
        return False


#: Kind -> form in which ids are looked up.
FORMS: dict[str, Form] = {
    "its beginning": like(lambda sent, known: known.startswith(sent)),
    "its end": like(lambda sent, known: known.endswith(sent)),
    "more behind it": like(lambda sent, known: sent.startswith(known)),
    "without its prefix": like(lambda sent, known: known.partition("_")[2] == sent),
    "in any letter case": like(lambda sent, known: sent.lower() == known.lower()),
    "as a pattern": like(_matches),
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
    # As in a library that ends texts by NUL.
    "what follows NUL": read(lambda text: text.partition("\0")[0]),
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


def of_any_kind(
    self: Any, usual: Any, ctx: Context, kind: str, identifier: str, parent: Record | None = None
) -> Any:
    """Returns the resource of an id of any type, as a single table of all resources does."""
    kinds = dict.fromkeys(RECORD_KINDS.values())
    known = any(ctx.store.get(other, identifier) is not None for other in kinds)
    return made_up(ctx, kind, identifier, parent) if known else usual()
