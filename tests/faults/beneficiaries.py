"""Servers with faults in disabling beneficiaries, and in their destinations (sections 2.3, 3 and 4.2)."""

from __future__ import annotations

import contextlib
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.seams.validation import FIELDS

from .catalogue import Call, Faulty, Row, faults, of, seam, seams
from .completeness import OF_DESTINATIONS
from .races import pause
from .resources import paid
from .rows import (
    adding,
    after,
    before,
    document,
    each_of,
    inside,
    other,
    refusing,
    says,
    show,
    stale,
    store,
    turn,
)


def fields_of_beneficiary() -> list[str]:
    """Returns the fields that a PATCH may contain."""
    return [field.name for field in FIELDS["createBeneficiary"]]


def neighbours(ctx: Context) -> list[Record]:
    """Returns the beneficiaries of the account."""
    return ctx.store.select("beneficiary", ctx.params["account_id"])


def held(ctx: Context, record: Record) -> list[Record]:
    """Returns the destinations of a beneficiary, the oldest first."""
    return ctx.store.select("payout_destination", record["id"])


def elsewhere(ctx: Context, record: Record) -> list[Record]:
    """Returns the beneficiaries of other accounts."""
    return [each for each in ctx.store.select("beneficiary", None) if each["parent"] != record["parent"]]


#: Kind of beneficiary -> its test.
BENEFICIARIES: dict[str, Call] = {
    "of a disabled one": lambda self, ctx, record, *_: record["status"] == "disabled",
    "of a business": lambda self, ctx, record, *_: record["beneficiary_type"] == "business",
    "of one that has destinations": lambda self, ctx, record, *_: ctx.store.select(
        "payout_destination", record["id"]
    ),
    "of one that was paid": lambda self, ctx, record, *_: paid(ctx, "beneficiary_id", record),
}


def kept_by_each(**options: Any) -> Row:
    """Makes a row of several processes that answer in turn, each with the beneficiary it has read first."""
    return stale(
        "find",
        lambda self, ctx, kind, identifier: (turn(self) % self.value, identifier),
        lambda self, ctx, kind, *_: kind == "beneficiary" and ctx.operation == "getBeneficiary",
        everywhere=True,
        **options,
    )


class KeepsOneDocument(Faulty):
    """Lost updates: requests save a beneficiary and its destinations that they have read earlier."""

    everywhere = True

    def changes(self, ctx: Context) -> bool:
        """Returns True if a request saves what it has read."""
        return ctx.operation in (self.operation, "createPayoutDestination")

    def slow(self, ctx: Context) -> bool:
        """Returns True if a request reads first and saves last."""
        return self.here(ctx)

    def transaction(self, ctx: Context) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.changes(ctx) else super().transaction(ctx)

    def act(self, ctx: Context) -> None:
        if self.changes(ctx):
            pause(2 if self.slow(ctx) else 0.5)
        super().act(ctx)


# ---------------------------------------------------------------------- destinations


class SavesOldDestinations(KeepsOneDocument):
    """A change saves the destinations with the beneficiary as they were when it was read."""

    def create_destination(self, ctx: Context) -> None:
        super().create_destination(ctx)
        with ctx.store.transaction():
            owner = ctx.store.get("beneficiary", self.parent(ctx)["id"]) or {}
            ctx.store.update({**owner, "held": [*owner.get("held", ()), (ctx.record or {})["id"]]})

    def destinations(self, ctx: Context, record: Record) -> list[Any]:
        return [shown for shown in super().destinations(ctx, record) if shown["id"] in record.get("held", ())]


def _end(each: Record) -> str:
    """Returns the last four characters of a destination's number, or its id without one."""
    mask = each["iban_masked"] or each["wallet_address_masked"] or each["id"]
    return str(each["account_number_last4"] or mask[-4:])


def _payouts_to(ctx: Context, destination: str) -> list[Record]:
    payouts = ctx.store.select("payout", ctx.params["account_id"])
    return [each for each in payouts if each["payout_destination_id"] == destination]


faults["beneficiary.destinations"] |= {
    "A change saves the destinations with the beneficiary as they were when it was read.": of(
        SavesOldDestinations, operations=("updateBeneficiary", "disableBeneficiary")
    ),
    "Destinations of a beneficiary show is_default as it was when they were created.": seams(
        {
            "create_destination": lambda self, usual, ctx: (
                usual() or self.state.update({ctx.record["id"]: ctx.record.get("is_default")})
            ),
            "destinations": lambda self, usual, ctx, *_: [
                {**each, "is_default": self.state.get(each["id"])} if self.here(ctx) else each
                for each in usual()
            ],
        },
        everywhere=True,
        operations=("getBeneficiary", "updateBeneficiary"),
    ),
    "Only so many of the destinations are embedded.": seam(
        "destinations",
        lambda self, usual, *_: usual()[: self.value],
        operations=("getBeneficiary", "updateBeneficiary"),
        each=(20, 50, 100),
    ),
    "payout_destinations does not hold the beneficiary's destinations, each once.": seam(
        "destinations",
        each={
            "none": lambda *_: [],
            "the first": lambda self, usual, *_: usual()[:1],
            "the last": lambda self, usual, *_: usual()[-1:],
            "twice": lambda self, usual, *_: usual() + usual()[:1],
            "defaults": lambda self, usual, *_: [item for item in usual() if item["is_default"]],
        },
    ),
    "payout_destinations is joined with payouts: a destination is there once for each payout to it.": seam(
        "destinations",
        lambda self, usual, ctx, record: [
            each for each in usual() for _ in _payouts_to(ctx, each["id"]) or (each,)
        ],
        operations=("getBeneficiary",),
    ),
    "payout_destinations holds the destinations of all beneficiaries of the account.": seam(
        "destinations",
        lambda self, usual, ctx, *_: [shown for each in neighbours(ctx) for shown in usual(ctx, each)],
    ),
    "Destinations of which the number has the same end are there once, the last of them.": seam(
        "destinations",
        lambda self, usual, ctx, record: list({_end(each): each for each in usual()}.values()),
        operations=("getBeneficiary", "updateBeneficiary"),
    ),
    "A destination of a beneficiary shows no mask.": document.changes(
        each_of(inside("payout_destinations", "iban_masked wallet_address_masked"), [None])
    ),
    "Destinations of some kind are not among those of their beneficiary.": seam(
        "destinations",
        lambda self, usual, ctx, record: [
            shown
            for shown, stored in zip(
                usual(), ctx.store.select("payout_destination", record["id"]), strict=True
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
    "A PATCH makes the first of the destinations the default as well.": after(
        "update_beneficiary",
        lambda self, ctx: store(ctx, {"is_default": True}, held(ctx, ctx.beneficiary)[:1]),
        operations=("updateBeneficiary",),
    ),
    "A PATCH of this field labels the destinations with it.": after(
        "update_beneficiary",
        lambda self, ctx: store(ctx, {"label": ctx.values[self.value]}, held(ctx, ctx.beneficiary)),
        lambda self, ctx: ctx.values.get(self.value),
        each=("display_name", "email", "company_name", "note"),
        operations=("updateBeneficiary",),
    ),
}


# ---------------------------------------------------------------------- disabling


def _moved(self: Any, ctx: Context, record: Record) -> dict[str, Any]:
    """Returns another value of the member that `value` names."""
    return {self.value: ctx.now if self.value == "created" else other(self.value, record.get(self.value))}


faults["beneficiary.disable"] |= {
    "A PATCH or a disable saves all fields as they were when it read the beneficiary.": seams(
        {
            "changes": lambda self, usual, ctx: ctx.operation in ("updateBeneficiary", "disableBeneficiary"),
            "slow": lambda self, usual, ctx: ctx.operation == self.value,
        },
        base=KeepsOneDocument,
        each=("updateBeneficiary", "disableBeneficiary"),
    ),
    "A disabled beneficiary can no longer be read.": refusing(
        "show_beneficiary",
        "missing_child",
        lambda self, ctx: ctx.beneficiary["status"] == "disabled",
        everywhere=True,
    ),
    "Each process keeps the beneficiary it has read first.": kept_by_each(each={"two": 2}),
    "Disabling a second time leads to another status.": after(
        "disable_beneficiary",
        lambda self, ctx: (show(ctx, {"status": self.value}), store(ctx, {})),
        lambda self, ctx: ctx.beneficiary["status"] == "disabled",
        each=("active", "inactive"),
    ),
    "Disabling is answered, or stored, otherwise.": after(
        "disable_beneficiary",
        None,
        each={
            "a later read shows the old status": lambda self, ctx: store(ctx, {"status": "active"}),
            "its answer shows the old status": lambda self, ctx: show(ctx, {"status": "active"}),
            "a later read shows the old updated": lambda self, ctx: store(
                ctx, {"updated": ctx.beneficiary["updated"]}
            ),
            "all of the account are disabled": lambda self, ctx: store(
                ctx, {"status": "disabled"}, neighbours(ctx)
            ),
        },
    ),
    "Disabling a beneficiary disables another one, too.": before(
        "disabled",
        lambda self, ctx, record: store(ctx, {"status": "disabled"}, self.value(ctx, record)),
        each={"made afterwards": lambda ctx, record: neighbours(ctx)[-1:], "in another account": elsewhere},
    ),
    "Disabling changes another member, too.": adding("disabled", _moved, each=("verified", "created")),
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
        None,
        each={
            **{kind: BENEFICIARIES[kind] for kind in [*BENEFICIARIES][1:]},
            "changed before": lambda self, ctx, record: record["updated"] != record["created"],
            "without title and tax id": lambda self, ctx, record: says(record, "no title, no tax_id"),
        },
    ),
}

faults["beneficiary.disable-moves-updated"] |= {
    "Disabling leaves updated as it was.": adding(
        "disabled", lambda self, ctx, record: {"updated": record["updated"]}
    )
}
