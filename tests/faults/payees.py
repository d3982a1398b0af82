"""Servers that pay outside the account, or whose answers leak what is another's (section 5.5)."""

from __future__ import annotations

from typing import Any, NoReturn

from conformance.contract.operations import OPERATIONS
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault, faults, refusal, refuse
from .lookups import FORMS, IN_TURN
from .rows import adding, skipping, where
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


def _at_the_place(self: Any, ctx: Context, record: Record | None) -> bool:
    return bool(_where(ctx, record) == self.value)


#: Forms in which the references of a payout are looked up.
_FORMS = ("its beginning", "its end", "more behind it", "without its prefix", "in any letter case")


def _looked_up(self: Any, ctx: Context, kind: str, identifier: str) -> Any:
    return self.usual(ctx, kind, self.value(self, ctx, kind, identifier))


faults["tenancy.payout-references"] |= {
    "A destination that is not under the account is paid to.": skipping(
        "on_payout_destination", _at_the_place, each=WHERE
    ),
    "A destination that is not under the account is paid to where it is a default.": skipping(
        "on_payout_destination",
        lambda self, ctx, found: _at_the_place(self, ctx, found) and found and found.get("is_default"),
        each=("sibling", "foreign"),
    ),
    "A destination that is not under the account is paid to without a note.": skipping(
        "on_payout_destination", lambda self, ctx, found: found is not None and "note" not in ctx.values
    ),
    "A payout's beneficiary and destination are found by ids that are not theirs.": where(
        "find",
        lambda self, ctx, kind, identifier: kind in ("beneficiary", "payout_destination"),
        _looked_up,
        each={
            **{kind: FORMS[kind] for kind in _FORMS},
            **{kind: IN_TURN[kind] for kind in ("accents", "compatible characters")},
        },
    ),
}

for what in ("beneficiary", "destination"):
    faults["tenancy.payout-references-status"] |= {
        "A payout to what is not under the account is refused with another status than 404.": where(
            f"on_payout_{what}",
            lambda self, ctx, record: _where(ctx, record) == self.value[1],
            lambda self, *_: refuse((self.value[0], "validation_error", "invalid_reference")),
            each={
                f"{status} {place} {what}": (status, place) for status in (403, 422, 400) for place in WHERE
            },
        )
    }
    faults["tenancy.no-leak"] |= {
        "The refusal of a payout to what is another organization's shows something of it.": where(
            f"on_payout_{what}",
            lambda self, ctx, record: record is not None and foreign(ctx, record),
            lambda self, ctx, record: refuse(
                refusal(404, "not_found_error", "resource_not_found", f"Not yours: {record}")
            ),
            operations=("createPayout",),
            each=(what,),
        )
    }

faults["tenancy.payout-destination-owner"] |= {
    "A destination of another beneficiary of the account is paid to.": skipping(
        "on_payout_destination_owner"
    ),
    "The default destination of another beneficiary of the account is paid to.": skipping(
        "on_payout_destination_owner", lambda self, ctx, destination: destination.get("is_default")
    ),
    "The wallet of another beneficiary of the account is paid to.": skipping(
        "on_payout_destination_owner", lambda self, ctx, destination: destination.get("type") == "wallet"
    ),
}


# ---------------------------------------------------------------------- leaks


def _of(ctx: Context, record: Record, what: str) -> Any:
    """Returns something that only the owner knows, from the resource or from its children."""
    if what != "name":
        return {**record}
    own = next((record[name] for name in ("name", "display_name", "label") if record.get(name)), None)
    if own:
        return own
    sql = "SELECT json_extract(document, '$.name') FROM resources WHERE parent = ?"
    return [row[0] for row in ctx.store.query(sql, record["id"])][:20]


class Leaks(Faulty):
    """Reveals data of another organization's resource in its refusal."""

    def leak(self, ctx: Context, kind: str, record: Record) -> NoReturn:
        """Raises the refusal, with data of the record in the context."""
        ctx.notes["leaked"] = _of(ctx, record, self.value)
        raise Refusal(kind)

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return (
            self.leak(ctx, "foreign_parent", record)
            if self.here(ctx)
            else super().on_foreign_parent(ctx, kind, record)
        )

    def on_child_elsewhere(self, ctx: Context, kind: str, record: Record, parent: Record) -> Record:
        if self.here(ctx) and foreign(ctx, record):
            self.leak(ctx, "missing_child", record)
        return super().on_child_elsewhere(ctx, kind, record, parent)


class LeaksChildren(Leaks):
    """Reveals data of another organization's child under the caller's own parent only."""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        raise Refusal("foreign_parent")


def _shown(operation: str) -> list[str]:
    # For a customer nothing is documented except its accounts.
    return ["name", "everything"] if OPERATIONS[operation].path_parameters != ("customer_id",) else ["name"]


def _in_the_message(self: Any, ctx: Context, *_: Any) -> str:
    return f"{self.usual()} {ctx.notes['leaked']}"


def _leaks(self: Any, ctx: Context, *_: Any) -> bool:
    return "leaked" in ctx.notes


faults["tenancy.no-leak"] |= {
    "The message of a refusal shows something of another organization's resource.": where(
        "error_message", _leaks, _in_the_message, base=Leaks, each=_shown
    ),
    "A member beside the error holds another organization's resource.": adding(
        "error_document",
        lambda self, ctx, *_: {"resource": ctx.notes["leaked"]},
        _leaks,
        base=Leaks,
        each=_shown,
    ),
    "The refusal of another organization's child, under one's own parent, shows something of it.": where(
        "error_message",
        _leaks,
        _in_the_message,
        base=LeaksChildren,
        operations=[name for name, operation in OPERATIONS.items() if len(operation.path_parameters) > 1],
        each=("name", "everything"),
    ),
}


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
