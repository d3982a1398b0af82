"""Servers where ids in a body lead to resources that exist (sections 1 to 4)."""

from __future__ import annotations

import json
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.contract.traits import TRAITS
from conformance.reference.context import Context, Record
from conformance.reference.seams.resources import RECORD_KINDS

from .catalogue import SHOWN_LATER, Only, faults, seam
from .rows import after, before


def _named(self: Any, ctx: Context, kind: str, place: str) -> Record | None:
    """Returns the resource of a kind that a body names by its id, if it is at a place from the caller."""
    record = ctx.store.get(kind, str(ctx.body.get("id")))
    return record if record is not None and _is_at(self, ctx, record, place) else None


def _is_at(self: Any, ctx: Context, record: Record, place: str) -> bool:
    own = record["parent"] == self.parent(ctx)["id"] if ctx.operation in OPERATION_SETS["create"] else False
    own = own or record["parent"] == (ctx.account or {}).get("id")
    if place == "here":
        return bool(own)
    return self.owned(ctx, record) is (place == "sibling") and not own


#: Places of what a body names, from the path; no customer has a sibling of the same one.
PLACES = {
    "here": Only("here", [name for name in OPERATION_SETS["body"] if not TRAITS[name].unique_pair]),
    "in a sibling account": Only(
        "sibling", [name for name in OPERATION_SETS["body"] if name != "createAccount"]
    ),
    "in another organization": "foreign",
}


def _upsert(self: Any, usual: Any, ctx: Context) -> None:
    """Stores a new resource in the place of one that the body names, which is the caller's then."""
    kind = RECORD_KINDS[ctx.operation]
    if (known := _named(self, ctx, kind, self.value)) is None:
        return usual()
    ctx.record = {**self.new_record(ctx), "id": known["id"]}
    ctx.store.change(
        "UPDATE resources SET parent = ?, document = ? WHERE id = ?",
        ctx.record["parent"],
        json.dumps(ctx.record),
        known["id"],
    )


def _found(self: Any, usual: Any, ctx: Context) -> None:
    """Answers with the resource that the body names."""
    if (known := _named(self, ctx, RECORD_KINDS[ctx.operation], self.value)) is None:
        return usual()
    ctx.record = known


def _overwrite(self: Any, ctx: Context) -> None:
    """Gives the resource that a body names what it says, and creates another one all the same."""
    if (known := _named(self, ctx, RECORD_KINDS[ctx.operation], self.value)) is not None:
        fields = {name: value for name, value in self.kept_fields(ctx).items() if name in known}
        ctx.store.update({**known, **fields})


def _of_body(self: Any, usual: Any, ctx: Context) -> Record:
    """Returns the parent that a body names, in place of the path's."""
    parent: Record = usual()
    name = {"createAccount": "customer", "createPayoutDestination": "beneficiary"}.get(
        ctx.operation, "account"
    )
    known = ctx.store.get(name, str(ctx.body.get(f"{name}_id")))
    return known if known and self.owned(ctx, known) is (self.value == "sibling") else parent


def _take_nested(self: Any, ctx: Context) -> None:
    """Puts the destinations that a body holds under the beneficiary of the answer."""
    for each in ctx.body.get("payout_destinations") or ():
        known = ctx.store.get("payout_destination", str(each.get("id")))
        if known is not None and ctx.record is not None:
            ctx.store.change(
                "UPDATE resources SET parent = ?, document = ? WHERE id = ?",
                ctx.record["id"],
                json.dumps({**known, "parent": ctx.record["id"]}),
                known["id"],
            )


def _patch_named(self: Any, ctx: Context) -> None:
    """Changes the beneficiary that the body names in place of the path's."""
    ctx.beneficiary = _named(self, ctx, "beneficiary", self.value) or ctx.beneficiary


_CREATES = OPERATION_SETS["create"]

faults["body.existing-ids"] |= {
    "A create is an upsert: a resource that the body names becomes the new one.": seam(
        "create", _upsert, operations=_CREATES, each=PLACES
    ),
    "A create answers with the resource that the body names.": seam(
        "create", _found, operations=_CREATES, each=PLACES
    ),
    "A create changes the resource that the body names.": before(
        "create",
        _overwrite,
        operations=[name for name in SHOWN_LATER if name != "createAccount"],
        each=PLACES,
    ),
    "The parent of a new resource is the one that the body names.": seam(
        "parent",
        _of_body,
        operations=_CREATES,
        each={
            "in a sibling account": Only(
                "sibling", [name for name in _CREATES if not TRAITS[name].shared and name != "createAccount"]
            ),
            "in another organization": "foreign",
        },
    ),
    "A beneficiary takes the destinations that its body holds.": after(
        "create", _take_nested, operations=("createBeneficiary",)
    ),
    "A PATCH takes the destinations that its body holds.": after(
        "update_beneficiary", _take_nested, operations=("updateBeneficiary",)
    ),
    "A PATCH changes the beneficiary that its body names.": before(
        "update_beneficiary", _patch_named, operations=("updateBeneficiary",), each=PLACES
    ),
}
