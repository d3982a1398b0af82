"""Servers that update and disable beneficiaries otherwise: sections 2.3, 3 and 4.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.fields import BENEFICIARY
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault, faults, refuse, seam
from .resources import other, showing

#: Kind -> which of a beneficiary's destinations are shown.
DESTINATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "none": lambda items: [],
    "the first": lambda items: items[:1],
    "the last": lambda items: items[-1:],
    "twice": lambda items: items + items[:1],
    "defaults": lambda items: [item for item in items if item["is_default"]],
}


faults["beneficiary.destinations"] |= {
    "Only so many of the destinations are embedded.": seam(
        "destinations",
        lambda self, ctx, record: self.usual()[: self.value],
        operations=("getBeneficiary", "updateBeneficiary"),
        each=(20, 50, 100),
    ),
    "payout_destinations does not hold the beneficiary's destinations, each once.": seam(
        "destinations", lambda self, *_: self.value(self.usual()), each=DESTINATIONS
    ),
    "payout_destinations holds the destinations of all beneficiaries of the account.": seam(
        "destinations",
        lambda self, ctx, record: [
            shown
            for each in ctx.store.select("beneficiary", record["parent"])
            for shown in self.usual(ctx, each)
        ],
    ),
}


def fields_of_beneficiary(operation: str = "") -> list[str]:
    """The fields that a PATCH may name."""
    return [field.name for field in BENEFICIARY]


@fault("beneficiary.update", each=fields_of_beneficiary)
class ShowsOnly(Faulty):
    """A PATCH answers this field changed, but a later read shows the old value."""

    def update_beneficiary(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        old = ctx.beneficiary
        super().update_beneficiary(ctx)
        assert ctx.record is not None
        ctx.store.update({**ctx.record, self.value: old.get(self.value)})


@fault("beneficiary.update", each=fields_of_beneficiary)
class StoresOnly(Faulty):
    """A PATCH stores this field, but its answer shows the old value."""

    def update_beneficiary(self, ctx: Context) -> None:
        old = ctx.beneficiary or {}
        super().update_beneficiary(ctx)
        ctx.record = {**(ctx.record or {}), self.value: old.get(self.value)}


faults["beneficiary.update"] |= {
    "A PATCH does not change this field.": seam(
        "patched",
        lambda self, ctx, record: {**self.usual(), self.value: record.get(self.value)},
        each=fields_of_beneficiary,
    ),
    "A PATCH empties this optional field where it does not name it.": seam(
        "patched",
        lambda self, ctx, *_: {**self.usual(), self.value: ctx.values.get(self.value)},
        each=("title", "middle_name", "company_name", "tax_id", "note"),
    ),
    "A PATCH changes this field where it does not name it.": seam(
        "patched",
        lambda self, ctx, record: {
            **self.usual(),
            self.value: ctx.values.get(self.value, other(self.value, record.get(self.value) or "individual")),
        },
        each=[
            name
            for name in fields_of_beneficiary()
            if name not in ("title", "middle_name", "company_name", "tax_id", "note")
        ],
    ),
    "A PATCH changes a member that only the server may set.": seam(
        "patched",
        lambda self, ctx, *_: {
            **self.usual(),
            self.value: {"created": ctx.now, "status": "inactive", "verified": True}[self.value],
        },
        each=("created", "status", "verified"),
    ),
    "Of the fields that a PATCH names only the first one changes.": seam(
        "patched",
        lambda self, ctx, record: {
            **record,
            **dict(list(ctx.values.items())[:1]),
            "updated": self.touched(ctx, record),
        },
    ),
}


faults["beneficiary.update-moves-updated"] |= {
    "A PATCH leaves updated as it was.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["updated"]}
    ),
    "A PATCH moves updated back to before the create.": seam(
        "patched", lambda self, ctx, record: {**self.usual(), "updated": record["created"] - 60_000_000}
    ),
}


faults["beneficiary.update-empty"] |= {
    "A PATCH with an empty object is refused.": seam(
        "update_beneficiary",
        lambda self, ctx: refuse(Refusal("invalid_field")) if not ctx.values else self.usual(),
    ),
}


@fault("beneficiary.update-empty", each=("title", "note", "status", "address", "first_name"))
class EmptyResets(Faulty):
    """A PATCH with an empty object changes this member."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if not ctx.values:
            record = ctx.record or {}
            changed = None if self.value in ("title", "note") else other(self.value, record[self.value])
            ctx.record = {**record, self.value: changed}
            ctx.store.update(ctx.record)


@fault("beneficiary.update-empty")
class EmptyDisables(Faulty):
    """A PATCH with an empty object is answered as it should, and stored with another note."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if not ctx.values:
            ctx.store.update({**(ctx.record or {}), "note": "emptied"})


faults["beneficiary.update-server-owned"] |= {
    "A PATCH takes a member that only the server may set.": showing(
        lambda self, ctx, document: {**document, self.value: ctx.body.get(self.value, document[self.value])},
        each=("status", "verified", "id", "created", "account_id", "payout_destinations"),
    ),
}


@fault("beneficiary.update-server-owned", each=("status", "verified"))
class PatchesOwnedUnseen(Faulty):
    """A PATCH takes a member that only the server may set, which only a later read shows."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if self.value in ctx.body:
            ctx.store.update({**(ctx.record or {}), self.value: ctx.body[self.value]})


faults["beneficiary.disable"] |= {
    "Disabling leads to another status.": seam(
        "disabled", lambda self, *_: {**self.usual(), "status": self.value}, each=("active", "inactive")
    ),
}


@fault("beneficiary.disable")
class DisablesOnPaper(Faulty):
    """Disabling answers disabled, but a later read shows the old status."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        ctx.store.update({**(ctx.record or {}), "status": "active"})


@fault("beneficiary.disable")
class DisablesUnseen(Faulty):
    """Disabling answers the old status, and a later read shows disabled."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        ctx.record = {**(ctx.record or {}), "status": "active"}


@fault("beneficiary.disable", each=[*fields_of_beneficiary(), "verified", "created"])
class DisablesMore(Faulty):
    """Disabling changes another member, too."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        made = super().disabled(ctx, record)
        if self.value == "created":
            return {**made, "created": ctx.now}
        return {**made, self.value: other(self.value, record.get(self.value))}


@fault("beneficiary.disable", each=("note", "title", "phone", "status"))
class DisablesMoreUnseen(Faulty):
    """Disabling changes another member, which only a later read shows."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        record = ctx.record or {}
        ctx.store.update({**record, self.value: other(self.value, record.get(self.value))})


faults["beneficiary.disable-moves-updated"] |= {
    "Disabling leaves updated as it was.": seam(
        "disabled", lambda self, ctx, record: {**self.usual(), "updated": record["updated"]}
    ),
}


@fault("beneficiary.disable")
class DisableMovesUpdatedOnPaper(Faulty):
    """Disabling answers a new updated, but a later read shows the old one."""

    def disable_beneficiary(self, ctx: Context) -> None:
        old = (ctx.beneficiary or {})["updated"]
        super().disable_beneficiary(ctx)
        ctx.store.update({**(ctx.record or {}), "updated": old})
