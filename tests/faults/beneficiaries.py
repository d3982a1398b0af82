"""Servers with faults in updating and disabling beneficiaries (sections 2.3, 3 and 4.2)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.validation import FIELDS

from .catalogue import Faulty, fault, faults, refuse, seam
from .completeness import ELEMENTS
from .places import document, other
from .races import pause


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


#: Kind -> shown destinations of a beneficiary.
DESTINATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "none": lambda items: [],
    "the first": lambda items: items[:1],
    "the last": lambda items: items[-1:],
    "twice": lambda items: items + items[:1],
    "defaults": lambda items: [item for item in items if item["is_default"]],
}


def _embedded(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns a beneficiary with one member of its destinations changed."""
    changed = [
        {**element, self.value: other(self.value, element[self.value])}
        if element.get(self.value) is not None
        else element
        for element in shown["payout_destinations"]
    ]
    return {**shown, "payout_destinations": changed}


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
    "A destination of a beneficiary shows another member than its create answered.": document(
        _embedded,
        each=(
            *("country", "currency", "label", "account_number_last4", "type", "created", "payout_method"),
            "is_default",
        ),
    ),
    "The masked number of a destination of a beneficiary is null.": document(
        lambda self, ctx, shown: {
            **shown,
            "payout_destinations": [{**each, self.value: None} for each in shown["payout_destinations"]],
        },
        each=("iban_masked", "wallet_address_masked"),
    ),
    "Destinations of some kind are not among those of their beneficiary.": seam(
        "destinations",
        lambda self, ctx, record: [
            shown
            for shown, kept in zip(
                self.usual(), ctx.store.select("payout_destination", record["id"]), strict=True
            )
            if not self.value(kept)
        ],
        each=ELEMENTS["listPayoutDestinations"],
    ),
}


def fields_of_beneficiary(operation: str = "") -> list[str]:
    """Returns the fields that a PATCH may contain."""
    return [field.name for field in FIELDS["createBeneficiary"]]


@fault("beneficiary.disable", seam="disable_beneficiary", each=("active", "inactive"))
def _(self: Any, ctx: Context) -> None:
    """Disabling a second time leads to another status."""
    second = (ctx.beneficiary or {})["status"] == "disabled"
    self.usual()
    if second:
        ctx.record = {**(ctx.record or {}), "status": self.value}
        ctx.store.update(ctx.record)


@fault("beneficiary.disable", seam="disable_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """Disabling answers disabled, but a later read shows the old status."""
    self.usual()
    ctx.store.update({**(ctx.record or {}), "status": "active"})


@fault("beneficiary.disable", seam="disable_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """Disabling answers the old status, and a later read shows disabled."""
    self.usual()
    ctx.record = {**(ctx.record or {}), "status": "active"}


@fault("beneficiary.disable", seam="disabled", each=[*fields_of_beneficiary(), "verified", "created"])
def _(self: Any, ctx: Context, record: Record) -> Any:
    """Disabling changes another member, too."""
    made = self.usual()
    if self.value == "created":
        return {**made, "created": ctx.now}
    return {**made, self.value: other(self.value, record.get(self.value))}


@fault("beneficiary.disable", seam="disable_beneficiary", each=("note", "title", "phone", "status"))
def _(self: Any, ctx: Context) -> None:
    """Disabling changes another member, which only a later read shows."""
    self.usual()
    record = ctx.record or {}
    ctx.store.update({**record, self.value: other(self.value, record.get(self.value))})


faults["beneficiary.disable-moves-updated"] |= {
    "Disabling leaves updated as it was.": seam(
        "disabled", lambda self, ctx, record: {**self.usual(), "updated": record["updated"]}
    )
}


@fault("beneficiary.disable", seam="disable_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """Disabling answers a new updated, but a later read shows the old one."""
    old = (ctx.beneficiary or {})["updated"]
    self.usual()
    ctx.store.update({**(ctx.record or {}), "updated": old})


@fault("beneficiary.disable", seam="disable_beneficiary")
def _(self: Any, ctx: Context) -> None:
    """Disabling a beneficiary disables all of the account."""
    self.usual()
    for record in ctx.store.select("beneficiary", str(ctx.params["account_id"])):
        ctx.store.update({**record, "status": "disabled"})


def paid(ctx: Context, record: Record) -> bool:
    """Returns True if a beneficiary has a payout."""
    payouts = ctx.store.select("payout", record["parent"])
    return any(payout.get("beneficiary_id") == record["id"] for payout in payouts)


def _destinations(ctx: Context) -> list[Record]:
    return ctx.store.select("payout_destination", (ctx.beneficiary or {})["id"])


@fault("beneficiary.disable")
class HidesDisabled(Faulty):
    """A disabled beneficiary can no longer be read."""

    everywhere = True

    def show_beneficiary(self, ctx: Context) -> None:
        if (ctx.beneficiary or {}).get("status") == "disabled":
            raise Refusal("missing_child")
        super().show_beneficiary(ctx)


@fault("beneficiary.disable", seam="disabled", each={"made afterwards": 1, "in another account": 0})
def _(self: Any, ctx: Context, record: Record) -> Any:
    """Disabling a beneficiary disables another one, too."""
    everybody = ctx.store.select("beneficiary", None)
    here = [each for each in everybody if each["parent"] == record["parent"]]
    others = here[-1:] if self.value else [each for each in everybody if each not in here]
    for each in others:
        ctx.store.update({**each, "status": "disabled"})
    return self.usual()


class KeptByEach(Faulty):
    """Several processes that answer in turn, each with a cached beneficiary."""

    everywhere = True
    processes = 2

    def find(self, ctx: Context, kind: str, identifier: str) -> Record | None:
        if kind != "beneficiary" or ctx.operation != "getBeneficiary":
            return super().find(ctx, kind, identifier)
        number = self.state["reads"] = self.state.get("reads", 0) + 1
        kept: dict[tuple[int, str], Record | None] = self.state.setdefault("kept", {})
        record: Record | None = super().find(ctx, kind, identifier)
        return kept.setdefault((number % self.processes, identifier), record)


@fault("beneficiary.disable")
class KeptByWorkers(KeptByEach):
    """Each of two processes keeps the beneficiary that it has read first."""


@fault("beneficiary.destinations", operations=("getBeneficiary", "updateBeneficiary"))
class EmbedsOldDefaults(Faulty):
    """Destinations of a beneficiary show is_default as it was when they were created."""

    everywhere = True

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        made: dict[str, Any] = self.state.setdefault("made", {})
        return [
            {**shown, "is_default": made.get(shown["id"])} if self.here(ctx) else shown
            for shown in super().destinations(ctx, record)
        ]

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        record = ctx.record or {}
        self.state.setdefault("made", {})[record["id"]] = record.get("is_default")


def _again(self: Any, ctx: Context, record: Record) -> Record:
    note = None if record["status"] == "disabled" else record.get("note")
    return {**self.usual(), "note": note}


faults["beneficiary.disable"] |= {
    "Disabling leads to another status.": seam(
        "disabled", lambda self, *_: {**self.usual(), "status": self.value}, each=("active", "inactive")
    ),
    "A beneficiary of some kind cannot be disabled.": seam(
        "disabled",
        lambda self, ctx, record: (
            refuse(Refusal("invalid_field")) if self.value(ctx, record) else self.usual()
        ),
        each={
            "with a destination": lambda ctx, record: bool(_destinations(ctx)),
            "a business": lambda ctx, record: record["beneficiary_type"] == "business",
            "changed before": lambda ctx, record: record["updated"] != record["created"],
            "paid before": lambda ctx, record: paid(ctx, record),
        },
    ),
    "A beneficiary without title and tax id cannot be disabled.": seam(
        "disabled",
        lambda self, ctx, record: (
            self.usual() if record.get("title") or record.get("tax_id") else refuse(Refusal("invalid_field"))
        ),
    ),
    "Disabling a second time empties the note.": seam("disabled", _again),
}


@fault("beneficiary.destinations", seam="write_beneficiary", operations=("updateBeneficiary",))
def _(self: Any, ctx: Context, record: Record) -> None:
    """A beneficiary's new country becomes that of its destinations."""
    self.usual()
    for each in ctx.store.select("payout_destination", record["id"]):
        ctx.store.update({**each, "country": record["country_code"]})
