"""Ids that are looked up otherwise than as they came, and resources that are made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import combining, normalize
from urllib.parse import unquote

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.seams.base import PREFIXES
from conformance.reference.seams.resources import KINDS
from conformance.world.corpora.ids import INHERITED
from tests.specification import ADDRESS


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


#: Kind -> ids that are taken for a known one.
RESEMBLING = {
    "prefix": lambda sent, known: known.startswith(sent),
    "longer": lambda sent, known: sent.startswith(known),
    "its end": lambda sent, known: known.endswith(sent),
    "without its prefix": lambda sent, known: known.partition("_")[2] == sent,
}


def padded(self: Any, ctx: Context, kind: str, identifier: str, *_: Any) -> Record | None:
    """Returns the resource of an id with trailing spaces, as comparison in a CHAR column does."""
    return ctx.store.get(kind, identifier.rstrip(" "))


def of_all_objects(
    self: Any, ctx: Context, kind: str, identifier: str, parent: Record | None
) -> Record | None:
    """Returns the caller's newest resource for the name of a member that all objects have."""
    records = ctx.store.select(kind, parent["id"] if parent else None)
    return [each for each in records if self.owned(ctx, each)][-1] if identifier in INHERITED else None


def of_any_kind(self: Any, ctx: Context, kind: str, identifier: str, parent: Record | None) -> Record | None:
    """Returns the resource of an id of any type, as a single table of all resources does."""
    kinds = dict.fromkeys(KINDS.values())
    known = any(ctx.store.get(other, identifier) is not None for other in kinds)
    return made_up(ctx, kind, identifier, parent) if known else None


#: Returns the id that is looked up for one.
Form = Callable[[Context, str, str], str]


def _in_any_case(ctx: Context, kind: str, identifier: str) -> str:
    rows = ctx.store.query(
        "SELECT id FROM resources WHERE kind = ? AND lower(id) = lower(?)", kind, identifier
    )
    return next((row[0] for row in rows), identifier)


#: Kind -> part of an id that is looked up.
_PARTS: dict[str, Form] = {
    "in any letter case": _in_any_case,
    "without a space before it": lambda ctx, kind, identifier: identifier.removeprefix(" "),
    "without a line feed behind it": lambda ctx, kind, identifier: identifier.removesuffix("\n"),
    "up to its length": lambda ctx, kind, identifier: identifier[: len(PREFIXES[kind]) + 24],
    "with the prefix that it should have": lambda ctx, kind, identifier: (
        PREFIXES[kind] + identifier.rpartition("_")[2] if "_" in identifier else identifier
    ),
}


#: The same for ids that operations are sent in turn, in the order of `near_ids.IN_TURN`.
_IN_TURN: dict[str, Form] = {
    "without accents": lambda ctx, kind, identifier: unaccented(identifier),
    "percent-decoded once more": lambda ctx, kind, identifier: unquote(identifier),
    "with compatible characters made equal": lambda ctx, kind, identifier: normalize("NFKC", identifier),
    # As in a fixed-length column that is padded with zeros.
    "without 144 zeros behind it": lambda ctx, kind, identifier: identifier.removesuffix("0" * 144),
}


def forms_in_turn(places: int) -> Callable[[str], dict[str, Form]]:
    """Returns the forms of ids of an operation, whose turn is shifted by this many places."""

    def forms(operation: str) -> dict[str, Form]:
        at = list(OPERATIONS).index(operation) + places
        kind, looked_up = [*_IN_TURN.items()][at % len(_IN_TURN)]
        return {**_PARTS, kind: looked_up}

    return forms


def unaccented(text: str) -> str:
    """Returns the text without accents."""
    return "".join(each for each in normalize("NFD", text) if not combining(each))
