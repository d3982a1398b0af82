"""Servers whose mistake shows in what comes afterwards: effects of refusals, lists that grow, members that a
client may not set."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context, Listing, Record
from conformance.reference.refusals import Refusal

from .catalogue import Faulty, fault, faults, refusal, refuse, seam
from .formats import document
from .refusals import perform

# --------------------------------------------------------------------------- refused, and done


class ActsOnSome(Faulty):
    """Performs some refused requests all the same, and names in the refusal what came of it."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        """Whether a refused request is one of those."""
        return refusal.kind in ("invalid_field", "malformed_body")

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if self.does(ctx, refusal):
            with contextlib.suppress(Refusal):
                perform(self, ctx)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {**document, "id": ctx.record["id"]} if ctx.record is not None else document


@fault("refusal.changes-nothing", operations=("createPayoutDestination",))
class ActsOnWallets(ActsOnSome):
    """The create of a wallet destination is refused for a field, and performed."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        return super().does(ctx, refusal) and ctx.body.get("type") == "wallet"


@fault("refusal.changes-nothing", operations=("createBeneficiary",))
class ActsOnBusinesses(ActsOnSome):
    """The create of a business is refused for a field, and performed."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        return super().does(ctx, refusal) and ctx.body.get("beneficiary_type") == "business"


@fault("refusal.changes-nothing", operations=("createVirtualAccount", "createWallet"))
class ActsOnTheOtherKind(ActsOnSome):
    """A virtual account in a cryptocurrency, or a wallet in a fiat one, is refused, and made."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        crypto = ctx.body.get("currency") in WALLET_NETWORKS
        return super().does(ctx, refusal) and crypto is (ctx.operation == "createVirtualAccount")


@fault(
    "refusal.changes-nothing",
    operations=("createPayoutDestination", "createVirtualAccount"),
)
class ActsOnMalformed(ActsOnSome):
    """What stands in a body of malformed JSON is refused, and done as far as it can be read."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        return refusal.kind == "malformed_body"

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if self.does(ctx, refusal):
            ctx.values = self.valid(ctx)
            self.create(ctx)

    def valid(self, ctx: Context) -> dict[str, Any]:
        """Values for all required fields, as none can be read."""
        made = {"country": "US", "currency": "USD", "destination_currency": "USD"}
        return {field.name: made.get(field.kind, "Made up") for field in self.fields(ctx) if field.required}


# --------------------------------------------------------------------------- lists


@fault("list.complete", operations=("listAccounts",))
class KeepsSoMany(Faulty):
    """A new account takes the place of the oldest one in the list, which stays as long as it was."""

    def first(self, ctx: Context, listing: Listing) -> int:
        """How many of the oldest are left out."""
        total = super().count(ctx, listing)
        return total - int(self.__dict__.setdefault("longest", total))

    def count(self, ctx: Context, listing: Listing) -> int:
        return super().count(ctx, listing) - self.first(ctx, listing)

    def offset(self, ctx: Context, listing: Listing) -> int:
        return super().offset(ctx, listing) + self.first(ctx, listing)

    def page_of(self, ctx: Context, listing: Listing) -> list[Record]:
        if super().offset(ctx, listing) >= listing.total:
            return []
        return self.fetch(ctx, listing, limit=listing.size, offset=self.offset(ctx, listing))


class Growing(Faulty):
    """A server on which others add an account whenever the list is read for the n-th time."""

    def list_records(self, ctx: Context) -> None:
        if self.here(ctx):
            self.reads = self.__dict__.get("reads", 0) + 1
            if self.reads % 3 == 0:
                parent = self.parent(ctx)
                made = {"name": f"Another {self.reads}", "status": "active"}
                stamps = dict.fromkeys(("created", "updated"), ctx.now)
                owned = {"organization": parent["organization"], "parent": parent["id"]}
                ctx.store.insert("account", {**made, **stamps, **owned, "id": self.new_id(ctx, "account")})
        super().list_records(ctx)


faults["list.walk"] |= {
    "In a list that others make longer, pages of one size leave an element out.": seam(
        "items",
        lambda self, ctx, listing: self.usual()[listing.size < 100 and listing.page == 1 :],
        base=Growing,
        operations=("listAccounts",),
    ),
}

faults["list.empty"] |= {
    "A list without matches has null in place of its elements.": seam(
        "list_document",
        lambda self, ctx: self.usual() if ctx.listing.records else {**self.usual(), "items": None},
        also=("list.envelope",),
    ),
}

faults["list.page-beyond"] |= {
    "A page past the last is answered with a redirection.": seam(
        "page_of",
        lambda self, ctx, listing: (
            refuse(refusal(302, "moved", "moved")) if self.usual() == [] and listing.total else self.usual()
        ),
    ),
}

# --------------------------------------------------------------------------- what a client may not set

#: Operation -> members of its resource that only the server sets, beside its state.
OWNED = {
    "createAccount": ("created", "updated"),
    "createBeneficiary": ("created", "updated"),
    "createPayoutDestination": ("created", "account_number_last4"),
    "createPayout": ("created", "initiated_at", "amount_in_usd"),
    "createVirtualAccount": ("created", "reference", "provider_reference_id", "bank_details"),
    "createWallet": ("created", "addresses"),
    "createPayin": ("created",),
}

faults["create.server-owned"] |= {
    "A member that the server assigns is taken from the body.": document(
        lambda self, ctx, shown: {**shown, self.value: ctx.body.get(self.value, shown[self.value])},
        each=OWNED.__getitem__,
        also=("format.timestamp-current",),
    ),
    "A create that names members of the server is answered with a redirection.": seam(
        "check_together",
        lambda self, ctx: (
            refuse(refusal(303, "moved", "moved")) if {"id", "created"} & ctx.body.keys() else self.usual()
        ),
    ),
}


@fault("create.server-owned", operations=("createBeneficiary", "createVirtualAccount"))
class ParentOfTheBody(Faulty):
    """A new resource is put under the account that the body names."""

    def new_record(self, ctx: Context) -> Record:
        record = super().new_record(ctx)
        return {**record, "parent": ctx.body.get("account_id", record["parent"])}

    def resource(self, ctx: Context, kind: str, record: Record) -> Mapping[str, Any]:
        shown = super().resource(ctx, kind, record)
        named = self.here(ctx) and ctx.account is not None
        return {**shown, "account_id": ctx.account["id"]} if named and ctx.account else shown


@fault("create.server-owned", operations=("createAccount",))
class BalancesOfTheBody(Faulty):
    """The balances that the body names are the account's, which later reads show."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if self.here(ctx) and ctx.record is not None and ctx.body.get("balances"):
            self.__dict__.setdefault("named", {})[ctx.record["id"]] = ctx.body["balances"]

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        shown = super().account_balances(ctx, record)
        return {**shown, "balances": self.__dict__.get("named", {}).get(record["id"], shown["balances"])}


@fault("create.server-owned", operations=("createBeneficiary",))
class DestinationsOfTheBody(Faulty):
    """The destinations that the body names are the beneficiary's, which later reads show."""

    everywhere = True

    def create(self, ctx: Context) -> None:
        super().create(ctx)
        if self.here(ctx) and ctx.record is not None and ctx.body.get("payout_destinations"):
            self.__dict__.setdefault("named", {})[ctx.record["id"]] = ctx.body["payout_destinations"]

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        shown = super().shape(ctx, kind, document)
        named = self.__dict__.get("named", {}).get(document.get("id"))
        return (
            {**shown, "payout_destinations": named} if named and ctx.operation == "getBeneficiary" else shown
        )


faults["beneficiary.update-server-owned"] |= {
    "A PATCH that names members of the server is answered with a redirection.": seam(
        "check_state",
        lambda self, ctx: (
            refuse(refusal(303, "moved", "moved")) if {"id", "created"} & ctx.body.keys() else self.usual()
        ),
    ),
    "updated is what a PATCH names.": document(
        lambda self, ctx, shown: {**shown, "updated": ctx.body.get("updated", shown["updated"])}
    ),
}
