"""Servers that pay to beneficiaries or destinations that are not those of the account."""

from __future__ import annotations

from typing import Any

from conformance.reference.context import Context, Record

from .catalogue import faults, refusal, refuse, seams
from .other_ids import FORMS, IN_TURN
from .rows import says, skipping, where
from .tenancy import foreign

WHERE = ("unknown", "sibling", "foreign")


def _where(ctx: Context, record: Record | None) -> str:
    return "unknown" if record is None else "foreign" if foreign(ctx, record) else "sibling"


def _at_the_place(self: Any, ctx: Context, destination: Record | None) -> bool:
    return bool(_where(ctx, destination) == self.value)


#: Forms in which the references of a payout are looked up.
_FORMS = (
    *("its beginning", "its end", "more behind it", "without its prefix", "in any letter case"),
    *("by a collation", "a soft hyphen behind it", "zero-width spaces", "format characters"),
    *("accents", "compatible characters"),
)


def _payee(self: Any, ctx: Context) -> Record | None:
    return self.find(ctx, "beneficiary", str(ctx.values.get("beneficiary_id")))


def _own_destinations(ctx: Context) -> list[Record]:
    return ctx.store.select("payout_destination", str(ctx.values["beneficiary_id"]))


faults["tenancy.payout-references"] |= {
    "A beneficiary that is not under the account is paid.": seams(
        {
            "on_payout_beneficiary": lambda self, usual, ctx, beneficiary: (
                _where(ctx, beneficiary) == self.value or usual()
            ),
            # The destination is accepted together with its foreign beneficiary.
            "on_payout_destination": lambda self, usual, ctx, *_: (
                _where(ctx, _payee(self, ctx)) == self.value or usual()
            ),
            "on_payout_destination_owner": lambda self, usual, ctx, *_: (
                (_payee(self, ctx) or {}).get("parent") != ctx.account["id"] or usual()
            ),
        },
        each=WHERE,
    ),
    "A destination elsewhere is paid to.": skipping("on_payout_destination", _at_the_place, each=WHERE),
    "A destination elsewhere is paid to where it is a default.": skipping(
        "on_payout_destination",
        lambda self, ctx, destination: (
            _at_the_place(self, ctx, destination) and destination and destination.get("is_default")
        ),
        each=("sibling", "foreign"),
    ),
    "A destination that is not the beneficiary's stands for one that is.": seams(
        dict.fromkeys(
            ("on_payout_destination", "on_payout_destination_owner"),
            lambda self, usual, ctx, *_: self.value(_own_destinations(ctx)) or usual(),
        ),
        each={
            "its default": lambda own: any(each["is_default"] for each in own),
            "its only one": lambda own: len(own) == 1,
        },
    ),
    "A destination elsewhere is paid to without a note.": skipping(
        "on_payout_destination",
        lambda self, ctx, destination: destination is not None and "note" not in ctx.values,
    ),
    "A payout's beneficiary and destination are found by ids that are not theirs.": where(
        "find",
        lambda self, ctx, kind, *_: kind in ("beneficiary", "payout_destination"),
        lambda self, usual, ctx, kind, identifier: usual(ctx, kind, self.value(self, ctx, kind, identifier)),
        each={
            **{kind: FORMS[kind] for kind in _FORMS},
            **{kind: IN_TURN[kind] for kind in ("144 zeros behind it", "spaces in it")},
        },
    ),
}

for what in ("beneficiary", "destination"):
    faults["tenancy.payout-references-status"] |= {
        f"A payout to a {what} that is not under the account is refused with another status than 404.": where(
            f"on_payout_{what}",
            lambda self, ctx, *named: _where(ctx, named[0]) == self.value[1],
            lambda self, *_: refuse(f"{self.value[0]} validation_error invalid_reference"),
            each={
                f"{status} {place} {what}": (status, place) for status in (403, 422, 400) for place in WHERE
            },
        )
    }
    faults["tenancy.no-leak"] |= {
        f"The refusal of a payout to a {what} of another organization shows something of it.": where(
            f"on_payout_{what}",
            lambda self, ctx, *named: named[0] is not None and foreign(ctx, named[0]),
            lambda self, usual, *given: refuse(
                refusal("404 not_found_error resource_not_found", f"Not yours: {given[1]}")
            ),
            operations=("createPayout",),
            each=(what,),
        )
    }

faults["tenancy.payout-destination-owner"] |= {
    "A destination of another beneficiary of the account is paid to.": skipping(
        "on_payout_destination_owner",
        lambda self, ctx, destination: says(destination, self.value),
        each={"any": "id", "the default": "is_default=True", "a wallet": "type=wallet"},
    )
}
