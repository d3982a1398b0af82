"""Servers that pay outside the account, or whose answers leak what is another's (section 5.5)."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault, faults, refusal, seam
from .lookups import RESEMBLING, unaccented
from .tenancy import foreign

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


def _of(ctx: Context, record: Record, what: str) -> Any:
    """Returns something that only the owner knows, from the resource or from its children."""
    if what == "name":
        own = next((record[name] for name in ("name", "display_name", "label") if record.get(name)), None)
        return (
            own
            or [
                row[0]
                for row in ctx.store.query(
                    "SELECT json_extract(document, '$.name') FROM resources WHERE parent = ?", record["id"]
                )
            ][:20]
        )
    return {**record}


class Leaks(Faulty):
    """Reveals data of another organization's resource in its refusal."""

    def leak(self, ctx: Context, found: Refusal, record: Record) -> Refusal:
        """Returns the refusal with data of the record."""
        ctx.notes["leaked"] = _of(ctx, record, self.value)
        return found

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        if self.here(ctx):
            raise self.leak(ctx, Refusal("foreign_parent"), record)
        return super().on_foreign_parent(ctx, kind, record)

    def on_child_elsewhere(self, ctx: Context, kind: str, record: Record, parent: Record) -> Record:
        if self.here(ctx) and foreign(ctx, record):
            raise self.leak(ctx, Refusal("missing_child"), record)
        return super().on_child_elsewhere(ctx, kind, record, parent)


def _shown(operation: str) -> list[str]:
    # For a customer nothing is documented except its accounts.
    return ["name", "everything"] if OPERATIONS[operation].path_parameters != ("customer_id",) else ["name"]


@fault("tenancy.no-leak", seam="error_message", base=Leaks, each=_shown)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """The message of a refusal shows something of another organization's resource."""
    message = self.usual()
    return f"{message} {ctx.notes['leaked']}" if "leaked" in ctx.notes else message


@fault("tenancy.no-leak", seam="error_document", base=Leaks, each=_shown)
def _(self: Any, ctx: Context, refusal: Refusal) -> Any:
    """A member beside the error holds another organization's resource."""
    document = self.usual()
    return {**document, "resource": ctx.notes["leaked"]} if "leaked" in ctx.notes else document


@fault(
    "tenancy.no-leak",
    operations=[
        operation
        for operation in RULES["tenancy.no-leak"].operations
        if len(OPERATIONS[operation].path_parameters) > 1
    ],
    each=("name", "everything"),
)
class LeaksChildren(Leaks):
    """The refusal of another organization's child, under the caller's own parent, shows something of it."""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        raise Refusal("foreign_parent")

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} {ctx.notes['leaked']}" if "leaked" in ctx.notes else message


@fault("tenancy.no-leak", operations=("createPayout",), each=("beneficiary", "destination"))
class LeaksPayee(Faulty):
    """The refusal of a payout to another organization's beneficiary or destination shows something of it."""

    def _leak(self, ctx: Context, record: Record | None) -> None:
        if record is not None and foreign(ctx, record):
            raise refusal(404, "not_found_error", "resource_not_found", f"Not yours: {record}")

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        if self.value == "beneficiary":
            self._leak(ctx, beneficiary)
        super().on_payout_beneficiary(ctx, beneficiary)

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        if self.value == "destination":
            self._leak(ctx, destination)
        super().on_payout_destination(ctx, destination)


@fault("tenancy.no-leak", operations=("createPayout",))
class LeaksCountry(Faulty):
    """The refusal of a payout to another organization's beneficiary shows the beneficiary's country."""

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        if beneficiary is not None and foreign(ctx, beneficiary):
            ctx.notes["country"] = beneficiary.get("country_code")
        super().on_payout_beneficiary(ctx, beneficiary)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {**document, "country_code": ctx.notes["country"]} if "country" in ctx.notes else document
