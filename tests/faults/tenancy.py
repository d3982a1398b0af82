"""Servers that break a rule of tenancy: section 5.5 of the specification."""

from __future__ import annotations

from typing import Any

from conformance.contract.operations import OPERATIONS
from conformance.contract.rules import RULES
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from tests.specification import ADDRESS

from .catalogue import Faulty, fault, faults, refusal, refuse, seam

FORBIDDEN = (403, "permission_error", "forbidden")
MISSING = (404, "not_found_error", "resource_not_found")
BAD = (400, "validation_error", "invalid_id")
UNPROCESSABLE = (422, "validation_error", "invalid_id")
UNAUTHORIZED = (401, "authentication_error", "invalid_signature")
GONE = (410, "not_found_error", "gone")


def made_up(ctx: Context, kind: str, identifier: str, parent: Record | None = None) -> Record:
    """A record of the caller's organization that is stored nowhere."""
    assert ctx.organization is not None
    return {
        "id": identifier,
        "organization": ctx.organization.id,
        "parent": (parent or {}).get("id", "cus_made_up"),
        "created": ctx.now,
        "updated": ctx.now,
        "status": "active",
        "name": "Made up",
        "verified": False,
        "beneficiary_type": "individual",
        "first_name": "A",
        "last_name": "B",
        "display_name": "A B",
        "email": "a@example.com",
        "phone": "+12025550123",
        "country_code": "US",
        "currency": "EUR",
        "label": "Made up",
        "address": dict.fromkeys(ADDRESS, "x"),
        "bank_details": {"iban": "DE89370400440532013000"},
        "reference": "R",
        "provider_reference_id": "P",
    }


# --------------------------------------------------------------------------- the top level


def caller_is(ctx: Context, which: str) -> bool:
    """Whether the caller is the first or the second organization that the server knows."""
    rows = [
        row[0] for row in ctx.store.query("SELECT parent FROM resources WHERE kind = 'customer' ORDER BY seq")
    ]
    return ctx.organization is not None and (ctx.organization.id == rows[0]) == (which == "first")


faults["tenancy.foreign-parent"] |= {
    "Another organization's customer or account is served.": seam(
        "on_foreign_parent", lambda self, ctx, kind, record: record
    ),
    "One of two organizations may use the other's customers and accounts.": seam(
        "on_foreign_parent",
        lambda self, ctx, kind, record: record if caller_is(ctx, self.value) else self.usual(),
        each=("first", "second"),
    ),
    "Another organization's customer or account is refused with another status than 403.": seam(
        "on_foreign_parent",
        lambda self, *_: refuse(refusal(*self.value)),
        each={"404": MISSING, "401": UNAUTHORIZED, "400": BAD, "422": UNPROCESSABLE, "410": GONE},
    ),
}


@fault("tenancy.foreign-parent")
class ForeignAsEmpty(Faulty):
    """Another organization's customer or account is served as if it were the caller's and empty."""

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        return made_up(ctx, kind, "made_up")

    def child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        if parent["id"] == "made_up":
            return made_up(ctx, kind, identifier, parent)
        return super().child(ctx, kind, identifier, parent)


faults["tenancy.unknown-parent"] |= {
    "An unknown customer or account is refused with another status than 404.": seam(
        "on_unknown_parent",
        lambda self, *_: refuse(refusal(*self.value)),
        each={"403": FORBIDDEN, "401": UNAUTHORIZED, "400": BAD, "422": UNPROCESSABLE, "410": GONE},
    ),
}


@fault(
    "tenancy.unknown-parent",
    operations=[operation for operation in OPERATIONS if operation != "createPayout"],
)  # Its references are nowhere either.
class ServesUnknown(Faulty):
    """An unknown customer or account is served as if it were the caller's and had nothing in it."""

    def on_unknown_parent(self, ctx: Context, kind: str, identifier: str) -> Record:
        return made_up(ctx, kind, identifier)

    def on_missing_child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        if parent.get("name") == "Made up":
            return made_up(ctx, kind, identifier, parent)
        return super().on_missing_child(ctx, kind, identifier, parent)


# --------------------------------------------------------------------------- children

CHILD_ANSWERS = {"403": FORBIDDEN, "400": BAD, "422": UNPROCESSABLE, "401": UNAUTHORIZED, "410": GONE}


faults["tenancy.missing-child"] |= {
    "A child that does not exist is refused with another status than 404.": seam(
        "on_missing_child", lambda self, *_: refuse(refusal(*self.value)), each=CHILD_ANSWERS
    ),
    "A child that does not exist is served as if it did.": seam(
        "on_missing_child", lambda self, ctx, kind, identifier, parent: made_up(ctx, kind, identifier, parent)
    ),
}


#: Kind -> whether an identifier is taken for a known one.
RESEMBLING = {
    "prefix": lambda sent, known: known.startswith(sent),
    "longer": lambda sent, known: sent.startswith(known),
}


@fault("tenancy.unknown-parent", each=RESEMBLING)
class ServesResemblingParent(Faulty):
    """A customer or account is served under an identifier that resembles its own."""

    def on_unknown_parent(self, ctx: Context, kind: str, identifier: str) -> Record:
        for (known,) in ctx.store.query("SELECT id FROM resources WHERE kind = ?", kind):
            if len(identifier) > 5 and self.value(identifier, known):
                return self.top_level(ctx, kind, known)
        return super().on_unknown_parent(ctx, kind, identifier)


@fault("tenancy.missing-child", each=RESEMBLING)
class ServesResembling(Faulty):
    """A child is served under an identifier that resembles its own."""

    def on_missing_child(self, ctx: Context, kind: str, identifier: str, parent: Record) -> Record:
        for one in ctx.store.select(kind, parent["id"]):
            if len(identifier) > 5 and self.value(identifier, one["id"]):
                return one
        return super().on_missing_child(ctx, kind, identifier, parent)


def _foreign(ctx: Context, record: Record) -> bool:
    return ctx.organization is None or record["organization"] != ctx.organization.id


faults["tenancy.sibling-child"] |= {
    "A child of another account of the organization is served.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: self.usual() if _foreign(ctx, record) else record,
        also=("beneficiary.destinations",),
    ),
    "A child of another account of the organization is refused with another status than 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if _foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}


faults["tenancy.foreign-child"] |= {
    "A child of another organization is served under the caller's own account.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: record if _foreign(ctx, record) else self.usual(),
    ),
    "A child of another organization is refused with another status than 404, 403 included.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if not _foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}


faults["tenancy.other-customer-account"] |= {
    "An account of another customer of the organization is served.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: self.usual() if _foreign(ctx, record) else record,
    ),
    "An account of another customer of the organization is refused with another status than 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if _foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each=CHILD_ANSWERS,
    ),
}


faults["tenancy.foreign-account"] |= {
    "Another organization's account is served under the caller's own customer.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: record if _foreign(ctx, record) else self.usual(),
    ),
    "Another organization's account is refused with another status than 403 or 404.": seam(
        "on_child_elsewhere",
        lambda self, ctx, kind, record, *_: (
            self.usual() if not _foreign(ctx, record) else refuse(refusal(*self.value))
        ),
        each={"400": BAD, "422": UNPROCESSABLE, "401": UNAUTHORIZED},
    ),
}


# --------------------------------------------------------------------------- leaks


def _of(ctx: Context, record: Record, what: str) -> Any:
    """Something that only the owner of a resource can know, from the resource or from what is under it."""
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
    """Shows something of another organization's resource in its refusal."""

    def leak(self, ctx: Context, found: Refusal, record: Record) -> Refusal:
        """The refusal with something of the record in it."""
        ctx.notes["leaked"] = _of(ctx, record, self.value)
        return found

    def on_foreign_parent(self, ctx: Context, kind: str, record: Record) -> Record:
        if self.here(ctx):
            raise self.leak(ctx, Refusal("foreign_parent"), record)
        return super().on_foreign_parent(ctx, kind, record)

    def on_child_elsewhere(self, ctx: Context, kind: str, record: Record, parent: Record) -> Record:
        if self.here(ctx) and _foreign(ctx, record):
            raise self.leak(ctx, Refusal("missing_child"), record)
        return super().on_child_elsewhere(ctx, kind, record, parent)


def _shown(operation: str) -> list[str]:
    # Of a customer nothing is documented but its accounts.
    return ["name", "everything"] if OPERATIONS[operation].path_parameters != ("customer_id",) else ["name"]


@fault("tenancy.no-leak", each=_shown)
class LeaksInMessages(Leaks):
    """The message of a refusal shows something of another organization's resource."""

    def error_message(self, ctx: Context, refusal: Refusal) -> str:
        message = super().error_message(ctx, refusal)
        return f"{message} {ctx.notes['leaked']}" if "leaked" in ctx.notes else message


@fault("tenancy.no-leak", each=_shown)
class LeaksBeside(Leaks):
    """A member beside the error holds another organization's resource."""

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
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
        if record is not None and _foreign(ctx, record):
            raise refusal(404, "not_found_error", "resource_not_found", f"Not yours: {record}")

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        if self.value == "beneficiary":
            self._leak(ctx, beneficiary)
        super().on_payout_beneficiary(ctx, beneficiary)

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        if self.value == "destination":
            self._leak(ctx, destination)
        super().on_payout_destination(ctx, destination)


# --------------------------------------------------------------------------- payouts

WHERE = ("unknown", "sibling", "foreign")


def _where(ctx: Context, record: Record | None) -> str:
    return "unknown" if record is None else "foreign" if _foreign(ctx, record) else "sibling"


@fault("tenancy.payout-references", each=WHERE)
class PaysElsewhere(Faulty):
    """A beneficiary that is not under the account is paid."""

    def on_payout_beneficiary(self, ctx: Context, beneficiary: Record | None) -> None:
        if _where(ctx, beneficiary) != self.value:
            super().on_payout_beneficiary(ctx, beneficiary)

    def on_payout_destination(self, ctx: Context, destination: Record | None) -> None:
        # The destination of a foreign beneficiary goes with it.
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
}


faults["refusal.changes-nothing"] |= {
    "A payout to what is not under the account is refused, but the money is set aside.": seam(
        "refused",
        lambda self, ctx, refusal: (
            self.reserve_funds(ctx) if refusal.kind in ("payout_beneficiary", "payout_destination") else None
        ),
        operations=("createPayout",),
        each=WHERE,
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
}
