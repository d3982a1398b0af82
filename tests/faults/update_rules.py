"""Servers that break rules of updates other than the changed fields (section 4.2.4)."""

from __future__ import annotations

from typing import Any

from conformance.reference.context import Context
from conformance.reference.refusals import Refusal

from .catalogue import fault, faults, refusal, refuse, seam
from .formats import document
from .resources import other, showing

faults["beneficiary.update-empty"] |= {
    "A PATCH with an empty object is refused.": seam(
        "update_beneficiary",
        lambda self, ctx: refuse(Refusal("invalid_field")) if not ctx.values else self.usual(),
    ),
}


@fault(
    "beneficiary.update-empty",
    seam="update_beneficiary",
    each=("title", "note", "status", "address", "first_name"),
)
def _(self: Any, ctx: Context) -> None:
    """A PATCH with an empty object changes this member."""
    self.usual()
    if not ctx.values:
        record = ctx.record or {}
        changed = None if self.value in ("title", "note") else other(self.value, record[self.value])
        ctx.record = {**record, self.value: changed}
        ctx.store.update(ctx.record)


@fault("beneficiary.update-empty", seam="update_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """A PATCH with an empty object is answered as it should, and stored with another note."""
    self.usual()
    if not ctx.values:
        ctx.store.update({**(ctx.record or {}), "note": "emptied"})


@fault("beneficiary.update-server-owned", seam="update_beneficiary", each=("status", "verified"))
def _(self: Any, ctx: Context) -> None:
    """A PATCH takes a member that only the server may set, which only a later read shows."""
    self.usual()
    if self.value in ctx.body:
        ctx.store.update({**(ctx.record or {}), self.value: ctx.body[self.value]})


faults["beneficiary.update-server-owned"] |= {
    "A PATCH takes a member that only the server may set.": showing(
        lambda self, ctx, document: {**document, self.value: ctx.body.get(self.value, document[self.value])},
        each=("status", "verified", "id", "created", "account_id", "payout_destinations"),
    ),
    "A PATCH that names members of the server is answered with a redirection.": seam(
        "check_state",
        lambda self, ctx: (
            refuse(refusal(303, "moved", "moved")) if {"id", "created"} & ctx.body.keys() else self.usual()
        ),
    ),
    "updated is what a PATCH names.": document(
        lambda self, ctx, shown: {**shown, "updated": ctx.body.get("updated", shown["updated"])}
    ),
}

faults["beneficiary.update-company-name"] |= {
    "A PATCH may leave a business without company_name.": seam("check_state", lambda self, ctx: None),
    "A PATCH that makes a business need only name company_name, if with null.": seam(
        "check_company_name", lambda self, ctx, fields: None if len(ctx.body) > 1 else self.usual()
    ),
}


faults["beneficiary.update-moves-updated"] |= {
    "A PATCH leaves updated as it was.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["updated"]}
    ),
    "A PATCH moves updated back to before the create.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["created"] - 60_000_000}
    ),
    "A PATCH of this field alone leaves updated as it was.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            **({"updated": record["updated"]} if [*ctx.values] == [self.value] else {}),
        },
        each=("phone", "address", "country_code", "note"),
    ),
    "Only the first change of a beneficiary moves updated.": seam(
        "touched",
        lambda self, ctx, record: (
            self.usual() if (record["updated"] == record["created"]) else int(record["updated"])
        ),
    ),
}
