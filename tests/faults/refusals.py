"""Servers on which a refused request has an effect."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import KINDS
from conformance.reference.store import Answer, Balance
from tests.variants.resources import FundsDemanded

from .again import do_again, perform, seen
from .catalogue import Faulty, fault, faults, seam
from .payees import WHERE

#: Kind -> refusals after which the request is performed anyway.
REFUSALS = {
    "missing header": ("missing_headers",),
    "timestamp": ("timestamp_too_old",),
    "nonce": ("nonce_replay",),
    "signature": ("invalid_signature",),
    "unknown key": ("unknown_key",),
    "idempotency key": ("invalid_idempotency_key",),
    "no idempotency key": ("missing_idempotency_key",),
    "conflict": ("idempotency_key_conflict",),
    "foreign parent": ("foreign_parent",),
    "field": ("invalid_field",),
}


def _refusals(operation: str) -> dict[str, tuple[str, ...]]:
    kinds: dict[str, tuple[str, ...]] = dict(REFUSALS)
    if operation == "updateBeneficiary":
        kinds = {name: kinds[name] for name in kinds if "key" not in name.split() or name == "unknown key"}
        kinds.pop("conflict")
    if operation == "disableBeneficiary":
        del kinds["field"], kinds["conflict"]
    if operation in OPERATION_SETS["child"]:
        kinds["child elsewhere"] = ("missing_child",)
    if operation in ("createBeneficiary", "createPayin"):
        # Beneficiaries and payins have no list that would show the effect.
        return {}
    return kinds


@fault(
    "refusal.changes-nothing",
    seam="refused",
    operations=[
        operation
        for operation in OPERATION_SETS["write"]
        if operation not in ("createBeneficiary", "createPayin")
    ],
    each=_refusals,
)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A refused request is performed all the same."""
    if refusal.kind in self.value:
        with contextlib.suppress(Refusal):
            perform(self, ctx)


@fault(
    "refusal.changes-nothing",
    seam="refused",
    operations=("updateBeneficiary", "disableBeneficiary", "createPayoutDestination"),
)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A request for a missing beneficiary is refused, and performed on one that is there."""
    if refusal.kind == "missing_child" and ctx.account is not None:
        for beneficiary in ctx.store.select("beneficiary", ctx.account["id"])[-1:]:
            ctx.params["beneficiary_id"] = beneficiary["id"]
            with contextlib.suppress(Refusal):
                perform(self, ctx)


@fault("refusal.changes-nothing", seam="on_other_body", operations=("createBeneficiary",))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A used key with another body is refused, and the beneficiary gets what the body says."""
    self.validate(ctx)
    record = ctx.store.get("beneficiary", json.loads(answer.body)["id"])
    ctx.store.update({**(record or {}), **ctx.values})
    return self.usual()


@fault("refusal.changes-nothing", operations=("createBeneficiary",), each=REFUSALS)
class ActsAndNames(Faulty):
    """A refused request is performed all the same, and its answer names what was created."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind in self.value:
            with contextlib.suppress(Refusal):
                perform(self, ctx)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {**document, "id": ctx.record["id"]} if ctx.record is not None else document


@fault(
    "refusal.changes-nothing",
    seam="refused",
    operations=("createPayin",),
    each={name: kinds for name, kinds in REFUSALS.items() if name != "foreign parent"},
)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A refused payin shows in the balances of the account."""
    if refusal.kind in self.value:
        account = ctx.params["account_id"]
        known = {balance.currency: balance for balance in ctx.store.balances(account)}
        balance = known.get("USD", Balance("USD", "fiat", "0.00", "0.00", "0.00", ctx.now))
        more = Decimal(balance.pending_payin) + asked(ctx)
        ctx.store.set_balance(account, balance._replace(pending_payin=format(more, "f")))


def asked(ctx: Context) -> Decimal:
    """Returns the amount of a request, or 10 if it has none."""
    with contextlib.suppress(ValueError, TypeError, LookupError, ArithmeticError):
        amount = Decimal(str(json.loads(ctx.request.body)["amount"]))
        return abs(amount) if amount.is_finite() else Decimal(10)
    return Decimal(10)


@fault(
    "refusal.changes-nothing",
    seam="refused",
    operations=("createPayoutDestination",),
    each=("country", "iban", "network"),
)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """The create of a default destination is refused for a field, after the old default was cleared."""
    self.usual()
    if ctx.beneficiary is not None and ctx.body.get("is_default") is True and refusal.field == self.value:
        self.clear_default(ctx)


@fault(
    "refusal.changes-nothing",
    seam="refused",
    operations=("createPayoutDestination",),
    each=("foreign_parent", "missing_child"),
)
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """The default of a beneficiary is cleared, and then its account looked for."""
    self.usual()
    if refusal.kind == self.value:
        ctx.beneficiary = ctx.store.get("beneficiary", ctx.params["beneficiary_id"])
        if ctx.beneficiary is not None:
            self.clear_default(ctx)


@fault("refusal.changes-nothing", operations=("createPayoutDestination",))
class StoresWithTheNext(Faulty):
    """A create is refused for a field, and stored along with the next one that is accepted."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        known = self.state.get("known")
        if refusal.kind == "invalid_field" and known:
            record = {**known, **ctx.values, "id": self.new_id(ctx, KINDS[ctx.operation])}
            self.state.setdefault("waiting", []).append({**record, "parent": self.parent(ctx)["id"]})

    def create(self, ctx: Context) -> None:
        for record in self.state.pop("waiting", []):
            if record.get("is_default"):
                self.clear_default(ctx)
            ctx.store.insert(KINDS[ctx.operation], record)
        super().create(ctx)
        self.state["known"] = ctx.record


@fault("refusal.changes-nothing", seam="refused", operations=("updateBeneficiary",))
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A PATCH of an address is refused for one member, and its others are stored."""
    address = ctx.body.get("address")
    if ctx.beneficiary is not None and isinstance(address, dict) and refusal.kind == "invalid_field":
        texts = {name: value for name, value in address.items() if isinstance(value, str)}
        ctx.store.update({**ctx.beneficiary, "address": {**ctx.beneficiary["address"], **texts}})


@fault("refusal.changes-nothing", operations=("updateBeneficiary",))
class KeepsForTheNext(Faulty):
    """A PATCH with an invalid field is refused, and the next one stores its valid fields as well."""

    def pending(self, ctx: Context) -> dict[str, Any]:
        """Fields that wait for the next PATCH of the beneficiary."""
        waiting = self.state.setdefault("waiting", {})
        return waiting.setdefault(ctx.params["beneficiary_id"], {})  # type: ignore[no-any-return]

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field":
            self.pending(ctx).update({name: ctx.values[name] for name in ctx.values if name != refusal.field})

    def patched(self, ctx: Context, record: Record) -> Record:
        return super().patched(ctx, {**record, **self.pending(ctx)})


@fault("refusal.changes-nothing", seam="refused", operations=("updateBeneficiary", "disableBeneficiary"))
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A refused request moves updated of the beneficiary that its path names."""
    record = ctx.store.get("beneficiary", ctx.params.get("beneficiary_id", ""))
    if record is not None:
        ctx.store.update({**record, "updated": self.touched(ctx, record)})


@fault("refusal.changes-nothing", seam="on_other_body", operations=seen(OPERATION_SETS["create"]))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A used key with another body is refused, and performed."""
    do_again(self, ctx)
    return self.usual()


@fault("refusal.changes-nothing", operations=("createPayout",))
class KeepsTheReservation(FundsDemanded, Faulty):
    """A payout beyond the funds is refused, and its money stays set aside."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "insufficient_funds":
            self.reserve_funds(ctx)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


@fault(
    "refusal.changes-nothing",
    operations=("createWallet",),
    each={"another field": "invalid_field", "a used key": "idempotency_key_conflict"},
)
class TakesThePairFirst(Faulty):
    """The pair of a wallet is taken first, and left so when the request is refused: for its value."""

    value = ""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        # A used key is refused before the body is read.
        account, body = ctx.account or ctx.params, ctx.body
        if refusal.kind == "idempotency_key_conflict":
            account, body = {"id": ctx.params["account_id"]}, json.loads(ctx.request.body or b"{}")
        pair = [body.get(name) for name in ("currency", "network")]
        if refusal.kind == self.value and "id" in account and all(map(_is_text, pair)):
            ctx.store.claim_wallet_pair(account["id"], *map(str, pair))


class ActsOnSome(Faulty):
    """Performs some refused requests, and names the result in the refusal."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        """Returns True for a refused request that is performed."""
        return refusal.kind in ("invalid_field", "malformed_body")

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if self.does(ctx, refusal):
            with contextlib.suppress(Refusal):
                perform(self, ctx)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {**document, "id": ctx.record["id"]} if ctx.record is not None else document


faults["refusal.changes-nothing"] |= {
    "A PATCH with an invalid field changes the fields before it.": seam(
        "refused",
        lambda self, ctx, refusal: (
            ctx.store.update({**ctx.beneficiary, **ctx.values})
            if refusal.kind == "invalid_field" and ctx.beneficiary is not None
            else None
        ),
        operations=("updateBeneficiary",),
    ),
    "A payout to what is not under the account is refused, but the money is set aside.": seam(
        "refused",
        lambda self, ctx, refusal: (
            self.reserve_funds(ctx) if refusal.kind in ("payout_beneficiary", "payout_destination") else None
        ),
        operations=("createPayout",),
        each=WHERE,
    ),
    "The create of a wallet destination is refused for a field, and performed.": seam(
        "does",
        lambda self, ctx, *_: self.usual() and ctx.body.get("type") == "wallet",
        base=ActsOnSome,
        operations=("createPayoutDestination",),
    ),
    "The create of a business is refused for a field, and performed.": seam(
        "does",
        lambda self, ctx, *_: self.usual() and ctx.body.get("beneficiary_type") == "business",
        base=ActsOnSome,
        operations=("createBeneficiary",),
    ),
    "A virtual account in a cryptocurrency, or a wallet in a fiat one, is refused, and made.": seam(
        "does",
        lambda self, ctx, *_: (
            self.usual()
            and (ctx.body.get("currency") in WALLET_NETWORKS) is (ctx.operation == "createVirtualAccount")
        ),
        base=ActsOnSome,
        operations=("createVirtualAccount", "createWallet"),
    ),
}


@fault("refusal.changes-nothing", operations=("createPayoutDestination", "createVirtualAccount"))
class ActsOnMalformed(ActsOnSome):
    """What stands in a body of malformed JSON is refused, and done as far as it can be read."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        return refusal.kind == "malformed_body"

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if self.does(ctx, refusal):
            ctx.values = self.valid(ctx)
            self.create(ctx)

    def valid(self, ctx: Context) -> dict[str, Any]:
        """Returns valid values for all required fields of a body that cannot be read."""
        made = {"country": "US", "currency": "USD"}
        return {field.name: made.get(field.kind, "Made up") for field in self.fields(ctx) if field.required}


@fault("refusal.changes-nothing", seam="check_state", operations=("updateBeneficiary",))
def _(self: Any, ctx: Context) -> None:
    """A PATCH that leaves a business without company_name is refused, and done."""
    try:
        self.usual()
    except Refusal:
        assert ctx.beneficiary is not None
        ctx.store.update(self.patched(ctx, ctx.beneficiary))
        raise


@fault("refusal.changes-nothing", seam="on_other_body", operations=("createPayoutDestination",))
def _(self: Any, ctx: Context, answer: Answer) -> Any:
    """A used key with another body is refused, and the beneficiary has no default any more."""
    self.clear_default(ctx)
    return self.usual()


@fault("refusal.changes-nothing", seam="on_payout_destination_owner", operations=("createPayout",))
def _(self: Any, ctx: Context, destination: Record | None) -> None:
    """A payout to a destination of another beneficiary is refused, but the money is set aside."""
    self.reserve_funds(ctx)
    self.usual()


@fault("refusal.changes-nothing", seam="refused", operations=("createPayout",), each=(True, False))
def _(self: Any, ctx: Context, refusal: Refusal) -> None:
    """A payout to a destination elsewhere is refused, but that becomes a default, or is none any more."""
    self.usual()
    named = ctx.store.get("payout_destination", str(ctx.values.get("payout_destination_id")))
    if (
        named
        and refusal.kind.startswith("payout_destination")
        and bool(named.get("is_default")) is self.value
    ):
        ctx.store.update({**named, "is_default": not self.value})
