"""Servers that accept a payee outside the account, or refuse one wrongly (section 5.5)."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from conformance.reference.context import Context, Record

from .catalogue import Faulty, fault, faults, refusal, seam
from .tenancy import RESEMBLING, foreign, unaccented

WHERE = ("unknown", "sibling", "foreign")


def _where(ctx: Context, record: Record | None) -> str:
    return "unknown" if record is None else "foreign" if foreign(ctx, record) else "sibling"


@fault("tenancy.payout-references", each=WHERE)
class PaysElsewhere(Faulty):
    """A beneficiary that is not under the account is paid."""

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        if _where(ctx, beneficiary) != self.value:
            super().on_payout_beneficiary(ctx, beneficiary)

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        # Accepts the destination together with its foreign beneficiary.
        if _where(ctx, self.find(ctx, "beneficiary", str(ctx.values.get("beneficiary_id")))) != self.value:
            super().on_payout_destination(ctx, destination)

    def on_payout_destination_owner(self, ctx: Context, destination: Record | None) -> None:
        beneficiary = self.find(ctx, "beneficiary", str(ctx.values.get("beneficiary_id")))
        if beneficiary is not None and ctx.account is not None and beneficiary["parent"] == ctx.account["id"]:
            super().on_payout_destination_owner(ctx, destination)


faults["tenancy.payout-references"] |= {
    "A destination that is not under the account is paid to.": seam(
        "on_payout_destination",
        lambda self, ctx, destination: self.usual() if _where(ctx, destination) != self.value else None,
        each=WHERE,
    ),
    "A destination that is not under the account is paid to where it is a default.": seam(
        "on_payout_destination",
        lambda self, ctx, destination: (
            None
            if _where(ctx, destination) == self.value and destination and destination.get("is_default")
            else self.usual()
        ),
        each=("sibling", "foreign"),
    ),
    "A destination that is not under the account is paid to without a note.": seam(
        "on_payout_destination",
        lambda self, ctx, destination: (
            None if destination is not None and "note" not in ctx.values else self.usual()
        ),
    ),
}


@fault(
    "tenancy.payout-references-status",
    each=[
        f"{status} {where} {what}"
        for status in (403, 422, 400)
        for where in WHERE
        for what in ("beneficiary", "destination")
    ],
)
class ReferenceStatus(Faulty):
    """A payout to what is not under the account is refused with another status than 404."""

    def _refuse(self, ctx: Context, what: str, record: Record | None) -> None:
        status, where, which = self.value.split()
        if (where, which) == (_where(ctx, record), what):
            raise refusal(int(status), "validation_error", "invalid_reference")

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        self._refuse(ctx, "beneficiary", beneficiary)
        super().on_payout_beneficiary(ctx, beneficiary)

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        self._refuse(ctx, "destination", destination)
        super().on_payout_destination(ctx, destination)


faults["tenancy.payout-destination-owner"] |= {
    "A destination of another beneficiary of the account is paid to.": seam(
        "on_payout_destination_owner", lambda *_: None
    ),
    "The default destination of another beneficiary of the account is paid to.": seam(
        "on_payout_destination_owner",
        lambda self, ctx, destination: None if destination.get("is_default") else self.usual(),
    ),
    "The wallet of another beneficiary of the account is paid to.": seam(
        "on_payout_destination_owner",
        lambda self, ctx, destination: None if destination.get("type") == "wallet" else self.usual(),
    ),
}


@fault(
    "tenancy.payout-references",
    seam="find",
    each={
        "in another letter case": lambda sent, known: sent.lower() == known.lower(),
        "with accents": lambda sent, known: unaccented(sent) == known,
        "in full width": lambda sent, known: normalize("NFKC", sent) == known,
        **RESEMBLING,
    },
)
def _(self: Any, ctx: Context, kind: str, identifier: str) -> Any:
    """A payout's beneficiary and destination are found by ids that resemble theirs."""
    found = self.usual()
    if found is not None or kind not in ("beneficiary", "payout_destination") or len(identifier) < 6:
        return found
    names = [row[0] for row in ctx.store.query("SELECT id FROM resources WHERE kind = ?", kind)]
    same = [name for name in names if self.value(identifier, name)]
    return self.usual(ctx, kind, same[0]) if same else None
