"""Servers that update and disable beneficiaries otherwise: sections 2.3, 3 and 4.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.fields import BENEFICIARY
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault
from .resources import Shows, other

#: Kind -> which of a beneficiary's destinations are shown.
DESTINATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "none": lambda items: [],
    "the first": lambda items: items[:1],
    "the last": lambda items: items[-1:],
    "twice": lambda items: items + items[:1],
    "defaults": lambda items: [one for one in items if one["is_default"]],
}


@fault("beneficiary.destinations", each=DESTINATIONS)
class OtherDestinations(Faulty):
    """payout_destinations does not hold the beneficiary's destinations, each once."""

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        return self.value(super().destinations(ctx, record))  # type: ignore[no-any-return]


@fault("beneficiary.destinations")
class DestinationsOfAll(Faulty):
    """payout_destinations holds the destinations of all beneficiaries of the account."""

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        return [
            one
            for each in ctx.store.select("beneficiary", record["parent"])
            for one in super(DestinationsOfAll, self).destinations(ctx, each)
        ]


def fields_of_beneficiary(operation: str = "") -> list[str]:
    """The fields that a PATCH may name."""
    return [field.name for field in BENEFICIARY]


@fault("beneficiary.update", each=fields_of_beneficiary)
class IgnoresField(Faulty):
    """A PATCH does not change this field."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), self.value: record.get(self.value)}


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


@fault("beneficiary.update", each=("title", "middle_name", "company_name", "tax_id", "note"))
class EmptiesUnnamed(Faulty):
    """A PATCH empties this optional field where it does not name it."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), self.value: ctx.values.get(self.value)}


@fault(
    "beneficiary.update",
    each=[
        name
        for name in fields_of_beneficiary()
        if name not in ("title", "middle_name", "company_name", "tax_id", "note")
    ],
)
class ResetsUnnamed(Faulty):
    """A PATCH changes this field where it does not name it."""

    def patched(self, ctx: Context, record: Record) -> Record:
        kept = ctx.values.get(self.value, other(self.value, record.get(self.value) or "individual"))
        return {**super().patched(ctx, record), self.value: kept}


@fault("beneficiary.update", each=("created", "status", "verified"))
class ChangesOwned(Faulty):
    """A PATCH changes a member that only the server may set."""

    def patched(self, ctx: Context, record: Record) -> Record:
        changes = {"created": ctx.now, "status": "inactive", "verified": True}
        return {**super().patched(ctx, record), self.value: changes[self.value]}


@fault("beneficiary.update")
class OneFieldOnly(Faulty):
    """Of the fields that a PATCH names only the first one changes."""

    def patched(self, ctx: Context, record: Record) -> Record:
        first = dict(list(ctx.values.items())[:1])
        return {**record, **first, "updated": self.touched(ctx, record)}


@fault("beneficiary.update-moves-updated")
class LeavesUpdated(Faulty):
    """A PATCH leaves updated as it was."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "updated": record["updated"]}


@fault("beneficiary.update-moves-updated")
class MovesUpdatedBack(Faulty):
    """A PATCH moves updated back to before the create."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "updated": record["created"] - 60_000_000}


@fault("beneficiary.update-empty")
class RefusesEmpty(Faulty):
    """A PATCH with an empty object is refused."""

    def update_beneficiary(self, ctx: Context) -> None:
        if not ctx.values:
            raise Refusal("invalid_field")
        super().update_beneficiary(ctx)


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


@fault(
    "beneficiary.update-server-owned",
    each=("status", "verified", "id", "created", "account_id", "payout_destinations"),
)
class PatchesOwned(Shows):
    """A PATCH takes a member that only the server may set."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: ctx.body.get(self.value, document[self.value])}


@fault("beneficiary.update-server-owned", each=("status", "verified"))
class PatchesOwnedUnseen(Faulty):
    """A PATCH takes a member that only the server may set, which only a later read shows."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if self.value in ctx.body:
            ctx.store.update({**(ctx.record or {}), self.value: ctx.body[self.value]})


@fault("beneficiary.disable", each=("active", "inactive"))
class DisabledAsOther(Faulty):
    """Disabling leads to another status."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "status": self.value}


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


@fault("beneficiary.disable-moves-updated")
class DisableLeavesUpdated(Faulty):
    """Disabling leaves updated as it was."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "updated": record["updated"]}


@fault("beneficiary.disable")
class DisableMovesUpdatedOnPaper(Faulty):
    """Disabling answers a new updated, but a later read shows the old one."""

    def disable_beneficiary(self, ctx: Context) -> None:
        old = (ctx.beneficiary or {})["updated"]
        super().disable_beneficiary(ctx)
        ctx.store.update({**(ctx.record or {}), "updated": old})
