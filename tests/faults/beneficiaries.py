"""Servers with faults in disabling beneficiaries, and in their destinations (sections 2.3, 3 and 4.2)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty, fault, faults, of, seam
from .completeness import OF_DESTINATIONS
from .races import pause
from .resources import paid
from .rows import adding, after, before, document, other, refusing, show, store


def fields_of_beneficiary(operation: str = "") -> list[str]:
    """Returns the fields that a PATCH may contain."""
    return [field.name for field in FIELDS["createBeneficiary"]]


def neighbours(ctx: Context) -> list[Record]:
    """Returns the beneficiaries of the account."""
    return ctx.store.select("beneficiary", ctx.params["account_id"])


def elsewhere(ctx: Context, record: Record) -> list[Record]:
    """Returns the beneficiaries of other accounts."""
    return [each for each in ctx.store.select("beneficiary", None) if each["parent"] != record["parent"]]


class KeepsOneDocument(Faulty):
    """Lost updates: requests save a beneficiary and its destinations that they have read earlier."""

    everywhere = True

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        changes = ctx.operation in (self.operation, "createPayoutDestination")
        return contextlib.nullcontext() if changes else super().transaction(ctx)

    def slow(self, ctx: Context) -> bool:
        """Returns True if a request reads first and saves last."""
        return self.here(ctx)

    def act(self, ctx: Context) -> None:
        if ctx.operation in (self.operation, "createPayoutDestination"):
            pause(2 if self.slow(ctx) else 0.5)
        super().act(ctx)


class KeptByEach(Faulty):
    """Several processes that answer in turn, each with a cached beneficiary; `value` is their number."""

    everywhere = True

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        if kind != "beneficiary" or ctx.operation != "getBeneficiary":
            return super().find(ctx, kind, identifier)
        number = self.state["reads"] = self.state.get("reads", 0) + 1
        cached: dict[tuple[int, str], Record | None] = self.state.setdefault("cached", {})
        return cached.setdefault((number % self.value, identifier), super().find(ctx, kind, identifier))


# ---------------------------------------------------------------------- destinations


@fault("beneficiary.destinations", operations=("updateBeneficiary", "disableBeneficiary"))
class SavesOldDestinations(KeepsOneDocument):
    """A change saves the destinations with the beneficiary as they were when it was read."""

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        with ctx.store.transaction():
            owner = ctx.store.get("beneficiary", self.parent(ctx)["id"]) or {}
            ctx.store.update({**owner, "held": [*owner.get("held", ()), (ctx.record or {})["id"]]})

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        return [shown for shown in super().destinations(ctx, record) if shown["id"] in record.get("held", ())]


@fault("beneficiary.destinations", operations=("getBeneficiary", "updateBeneficiary"))
class EmbedsOldDefaults(Faulty):
    """Destinations of a beneficiary show is_default as it was when they were created."""

    everywhere = True

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        shown = super().destinations(ctx, record)
        first = self.state.setdefault("first", {})
        return [{**each, "is_default": first.get(each["id"])} for each in shown] if self.here(ctx) else shown

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        record = ctx.record or {}
        self.state.setdefault("first", {})[record["id"]] = record.get("is_default")


#: Kind -> shown destinations of a beneficiary.
DESTINATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "none": lambda items: [],
    "the first": lambda items: items[:1],
    "the last": lambda items: items[-1:],
    "twice": lambda items: items + items[:1],
    "defaults": lambda items: [item for item in items if item["is_default"]],
}


def _embedded(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns the destinations of a beneficiary with one of their members changed."""
    name = self.value
    changed = [
        {**each, name: other(name, each[name])} if each.get(name) is not None else each
        for each in shown["payout_destinations"]
    ]
    return {"payout_destinations": changed}


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
        lambda self, ctx, record: [shown for each in neighbours(ctx) for shown in self.usual(ctx, each)],
    ),
    "A destination of a beneficiary shows another member than its create answered.": document.sets(
        _embedded,
        each=(
            *("country", "currency", "label", "account_number_last4", "type", "created", "payout_method"),
            "is_default",
        ),
    ),
    "The masked number of a destination of a beneficiary is null.": document.sets(
        lambda self, ctx, shown: {
            "payout_destinations": [{**each, self.value: None} for each in shown["payout_destinations"]]
        },
        each=("iban_masked", "wallet_address_masked"),
    ),
    "Destinations of some kind are not among those of their beneficiary.": seam(
        "destinations",
        lambda self, ctx, record: [
            shown
            for shown, stored in zip(
                self.usual(), ctx.store.select("payout_destination", record["id"]), strict=True
            )
            if not self.value(stored)
        ],
        each=OF_DESTINATIONS,
    ),
    "A beneficiary's new country becomes that of its destinations.": after(
        "write_beneficiary",
        lambda self, ctx, record: [
            ctx.store.update({**each, "country": record["country_code"]})
            for each in ctx.store.select("payout_destination", record["id"])
        ],
        operations=("updateBeneficiary",),
    ),
}


# ---------------------------------------------------------------------- disabling


@fault("beneficiary.disable", each=("updateBeneficiary", "disableBeneficiary"))
class SavesTheOldState(KeepsOneDocument):
    """A PATCH or a disable saves all fields as they were when it read the beneficiary."""

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        changes = ctx.operation in ("updateBeneficiary", "disableBeneficiary")
        return contextlib.nullcontext() if changes else super().transaction(ctx)

    def slow(self, ctx: Context) -> bool:
        return bool(ctx.operation == self.value)

    def act(self, ctx: Context) -> None:
        if ctx.operation == "updateBeneficiary":
            pause(2 if self.slow(ctx) else 0.5)
        super().act(ctx)


@fault("beneficiary.disable")
class HidesDisabled(Faulty):
    """A disabled beneficiary can no longer be read."""

    everywhere = True

    def show_beneficiary(self, ctx: Context) -> None:
        if (ctx.beneficiary or {}).get("status") == "disabled":
            raise Refusal("missing_child")
        super().show_beneficiary(ctx)


def _moved(self: Any, ctx: Context, record: Record) -> dict[str, Any]:
    """Returns another value of the member that `value` names."""
    return {self.value: ctx.now if self.value == "created" else other(self.value, record.get(self.value))}


def _disabled_again(self: Any, ctx: Context) -> None:
    """Gives a beneficiary that was disabled before another status."""
    if (ctx.beneficiary or {})["status"] == "disabled":
        show(ctx, {"status": self.value})
        store(ctx, {})


faults["beneficiary.disable"] |= {
    "Each of several processes keeps the beneficiary that it has read first.": of(
        KeptByEach, each={"two": 2}
    ),
    "Disabling a second time leads to another status.": after(
        "disable_beneficiary", _disabled_again, each=("active", "inactive")
    ),
    "Disabling answers disabled, but a later read shows the old status.": after(
        "disable_beneficiary", lambda self, ctx: store(ctx, {"status": "active"})
    ),
    "Disabling answers the old status, and a later read shows disabled.": after(
        "disable_beneficiary", lambda self, ctx: show(ctx, {"status": "active"})
    ),
    "Disabling answers a new updated, but a later read shows the old one.": after(
        "disable_beneficiary", lambda self, ctx: store(ctx, {"updated": ctx.beneficiary["updated"]})
    ),
    "Disabling a beneficiary disables all of the account.": after(
        "disable_beneficiary", lambda self, ctx: store(ctx, {"status": "disabled"}, neighbours(ctx))
    ),
    "Disabling a beneficiary disables another one, too.": before(
        "disabled",
        lambda self, ctx, record: store(ctx, {"status": "disabled"}, self.value(ctx, record)),
        each={"made afterwards": lambda ctx, record: neighbours(ctx)[-1:], "in another account": elsewhere},
    ),
    "Disabling changes another member, too.": adding(
        "disabled", _moved, each=[*fields_of_beneficiary(), "verified", "created"]
    ),
    "Disabling changes another member, which only a later read shows.": after(
        "disable_beneficiary",
        lambda self, ctx: store(ctx, _moved(self, ctx, ctx.record)),
        each=("note", "title", "phone", "status"),
    ),
    "Disabling leads to another status.": adding(
        "disabled", lambda self, *_: {"status": self.value}, each=("active", "inactive")
    ),
    "Disabling a second time empties the note.": adding(
        "disabled", {"note": None}, lambda self, ctx, record: record["status"] == "disabled"
    ),
    "A beneficiary of some kind cannot be disabled.": refusing(
        "disabled",
        "invalid_field",
        lambda self, ctx, record: self.value(ctx, record),
        each={
            "with a destination": lambda ctx, record: ctx.store.select("payout_destination", record["id"]),
            "a business": lambda ctx, record: record["beneficiary_type"] == "business",
            "changed before": lambda ctx, record: record["updated"] != record["created"],
            "paid before": lambda ctx, record: paid(ctx, "beneficiary_id", record),
        },
    ),
    "A beneficiary without title and tax id cannot be disabled.": refusing(
        "disabled",
        "invalid_field",
        lambda self, ctx, record: not (record.get("title") or record.get("tax_id")),
    ),
}

faults["beneficiary.disable-moves-updated"] |= {
    "Disabling leaves updated as it was.": adding(
        "disabled", lambda self, ctx, record: {"updated": record["updated"]}
    )
}
