"""Servers on which a refused request has an effect."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.codes import WALLET_NETWORKS
from conformance.reference.context import Context, Record
from conformance.reference.refusals import Refusal
from conformance.reference.seams.resources import RECORD_KINDS
from conformance.reference.seams.validation import FIELDS
from conformance.reference.store import Balance
from tests.specification import HIDDEN
from tests.support.balances import change_balances

from .authentication import first_organization
from .bodies import instead, valid
from .catalogue import Call, Faulty, Only, Row, faults, of, refuse, seam, seams
from .replays import do_again, seen
from .rows import after, always, before, says, store
from .tenancy import AsksForFunds

RULE = "refusal.changes-nothing"

#: Kind -> refusal after which the request is performed anyway.
REFUSALS: dict[str, str | Only] = {
    "missing header": "missing_headers",
    "timestamp": "timestamp_too_old",
    "nonce": "nonce_replay",
    "signature": "invalid_signature",
    "unknown key": "unknown_key",
    "idempotency key": Only("invalid_idempotency_key", OPERATION_SETS["post"]),
    "no idempotency key": Only("missing_idempotency_key", OPERATION_SETS["post"]),
    "conflict": Only("idempotency_key_conflict", OPERATION_SETS["create"]),
    "foreign parent": "foreign_parent",
    "field": Only("invalid_field", OPERATION_SETS["body"]),
    "child elsewhere": Only("missing_child", OPERATION_SETS["child"]),
}

#: Kinds of the resources of a path, by parameter.
_PARENTS = {"customer_id": "customer", "account_id": "account", "beneficiary_id": "beneficiary"}


def _perform(self: Any, ctx: Context, *_: Any) -> None:
    """Performs a refused request as far as possible."""
    ctx.organization = ctx.organization or first_organization(ctx)
    ctx.params, ctx.values, ctx.body = dict(ctx.params), {}, {}
    for name, kind in _PARENTS.items():
        record = ctx.store.get(kind, ctx.params[name]) if name in ctx.params else None
        setattr(ctx, kind, record)
        if record is None and name in ctx.params and kind != "customer":
            return
    with contextlib.suppress(Refusal):
        ctx.body = self.parse_body(ctx) if ctx.operation in FIELDS else {}
        for field in FIELDS.get(ctx.operation, ()):
            try:
                self.check_field(ctx, field)
            except Refusal:
                if ctx.operation != "updateBeneficiary":
                    ctx.values[field.name] = ctx.body.get(field.name) or instead(self, ctx, field.name)
        self.act(ctx)


def asked(ctx: Context) -> Decimal:
    """Returns the amount of a request, or 10 if it has none."""
    with contextlib.suppress(ValueError, TypeError, LookupError, ArithmeticError):
        amount = Decimal(str(json.loads(ctx.request.body)["amount"]))
        return abs(amount) if amount.is_finite() else Decimal(10)
    return Decimal(10)


class ActsOnSome(Faulty):
    """Performs the refused requests for which `does` is true, and names the result in the refusal."""

    def does(self, ctx: Context, refusal: Refusal) -> bool:
        return bool(refusal.kind == self.value)

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if self.does(ctx, refusal):
            _perform(self, ctx)

    def error_document(self, ctx: Context, refusal: Refusal) -> Any:
        document = super().error_document(ctx, refusal)
        return {**document, "id": ctx.record["id"]} if ctx.record is not None else document


def creating(test: Call, **options: Any) -> Row:
    """Makes a row that creates, and names, what a refused body of some kind asks for."""
    kinds = ("invalid_field", "malformed_body")
    return seam(
        "does",
        lambda self, usual, ctx, refusal: refusal.kind in kinds and test(self, ctx, refusal),
        base=ActsOnSome,
        **options,
    )


def when(kinds: str, do: Call, *operations: str, test: Call = always, **options: Any) -> Row:
    """Makes a row that does something after refusals of these kinds, or of the row's, where a test holds."""

    def refused(self: Any, ctx: Context, refusal: Refusal) -> bool:
        return refusal.kind in (kinds or self.value).split() and bool(test(self, ctx, refusal))

    return after("refused", do, refused, operations=operations, **options)


def _credit(self: Any, ctx: Context, *_: Any) -> None:
    """Adds the amount of a payin to the balances."""
    account = ctx.params["account_id"]
    known = {balance.currency: balance for balance in ctx.store.balances(account)}
    balance = known.get("USD", Balance("USD", "fiat", "0.00", "0.00", "0.00", ctx.now))
    more = Decimal(balance.pending_payin) + asked(ctx)
    ctx.store.set_balance(account, balance._replace(pending_payin=format(more, "f")))


#: What a refused payout costs.
_CHARGE = Decimal("9.37")


def _store_address(self: Any, ctx: Context, *_: Any) -> None:
    """Stores the members of an address that are texts."""
    address = ctx.body.get("address")
    if ctx.beneficiary is not None and isinstance(address, dict):
        texts = {name: value for name, value in address.items() if isinstance(value, str)}
        store(ctx, {"address": {**ctx.beneficiary["address"], **texts}}, [ctx.beneficiary])


def _named_destination(ctx: Context) -> Record:
    return ctx.store.get("payout_destination", str(ctx.values.get("payout_destination_id"))) or {}


def _patch_refused(self: Any, usual: Any, ctx: Context) -> None:
    try:
        usual()
    except Refusal:
        ctx.store.update(self.patched(ctx, ctx.beneficiary))
        raise


class StoresWithTheNext(Faulty):
    """Stores creates that were refused for a field along with the next one that is accepted."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        known = self.state.get("known")
        if refusal.kind == "invalid_field" and known:
            record = {**known, **ctx.values, "id": self.new_id(ctx, RECORD_KINDS[ctx.operation])}
            self.state.setdefault("waiting", []).append({**record, "parent": self.parent(ctx)["id"]})

    def create(self, ctx: Context) -> None:
        for record in self.state.pop("waiting", []):
            if record.get("is_default"):
                self.clear_default(ctx)
            ctx.store.insert(RECORD_KINDS[ctx.operation], record)
        super().create(ctx)
        self.state["known"] = ctx.record


def _take_the_pair(self: Any, ctx: Context, *_: Any) -> None:
    """Takes the pair of a wallet, whose body may not have been read."""
    body = json.loads(ctx.request.body or b"{}")
    pair = [body.get(name) for name in ("currency", "network")] if isinstance(body, dict) else [None]
    if all(isinstance(name, str) for name in pair):
        ctx.store.claim_wallet_pair(ctx.params["account_id"], *map(str, pair))


faults[RULE] |= {
    "A create is refused for a field, and stored along with the next one that is accepted.": of(
        StoresWithTheNext, operations=("createPayoutDestination",)
    ),
    "A PATCH with an invalid field is refused, and the next one stores its valid fields as well.": seams(
        {
            "refused": lambda self, usual, ctx, refusal: self.state.setdefault(
                ctx.params["beneficiary_id"], {}
            ).update(
                {name: ctx.values[name] for name in ctx.values if name != refusal.field}
                if refusal.kind == "invalid_field"
                else {}
            ),
            "patched": lambda self, usual, ctx, record: usual(
                ctx, {**record, **self.state.get(record["id"], {})}
            ),
        },
        operations=("updateBeneficiary",),
    ),
    "The pair of a wallet is taken first, and left so when the request is refused: for its value.": when(
        "",
        _take_the_pair,
        "createWallet",
        each={"another field": "invalid_field", "a used key": "idempotency_key_conflict"},
    ),
    "A refused request is performed all the same.": when(
        # Beneficiaries and payins have no list that would show the effect.
        "",
        _perform,
        *seen(OPERATION_SETS["write"]),
        each=REFUSALS,
    ),
    "A refused request is performed all the same, and its answer names what was created.": of(
        ActsOnSome, operations=("createBeneficiary",), each=REFUSALS
    ),
    "A request for a missing beneficiary is refused, and performed on one that is there.": when(
        "missing_child",
        lambda self, ctx, *_: (
            ctx.params.update(beneficiary_id=ctx.store.select("beneficiary", ctx.account["id"])[-1]["id"]),
            _perform(self, ctx),
        ),
        *("updateBeneficiary", "disableBeneficiary", "createPayoutDestination"),
    ),
    "A used key with another body is refused, and performed.": before(
        "on_other_body", lambda self, ctx, *_: do_again(self, ctx), operations=seen(OPERATION_SETS["create"])
    ),
    "A used key with another body is refused, and the beneficiary gets what the body says.": before(
        "on_other_body",
        lambda self, ctx, answer: (
            self.validate(ctx),
            store(ctx, ctx.values, [ctx.store.get("beneficiary", json.loads(answer.body)["id"])]),
        ),
        operations=("createBeneficiary",),
    ),
    "A used key with another body is refused, and the beneficiary has no default any more.": before(
        "on_other_body",
        lambda self, ctx, *_: self.clear_default(ctx),
        operations=("createPayoutDestination",),
    ),
    "A refused payin shows in the balances of the account.": when(
        "",
        _credit,
        "createPayin",
        each={name: kinds for name, kinds in REFUSALS.items() if name != "foreign parent"},
    ),
    "The create of a default destination is refused for a field, after the old default was cleared.": when(
        "invalid_field",
        lambda self, ctx, *_: self.clear_default(ctx),
        "createPayoutDestination",
        test=lambda self, ctx, refusal: (
            ctx.beneficiary is not None and ctx.body.get("is_default") is True and refusal.field == self.value
        ),
        each=("country", "iban", "network"),
    ),
    "The default of a beneficiary is cleared, and then its account looked for.": when(
        "",
        lambda self, ctx, *_: (
            setattr(ctx, "beneficiary", ctx.store.get("beneficiary", ctx.params["beneficiary_id"])),
            ctx.beneficiary and self.clear_default(ctx),
        ),
        "createPayoutDestination",
        each=("foreign_parent", "missing_child"),
    ),
    "A PATCH of an address is refused for one member, and its others are stored.": when(
        "invalid_field", _store_address, "updateBeneficiary"
    ),
    "A PATCH with an invalid field changes the fields before it.": when(
        "invalid_field",
        lambda self, ctx, *_: store(ctx, ctx.values, [ctx.beneficiary] if ctx.beneficiary else []),
        "updateBeneficiary",
    ),
    "A PATCH that leaves a business without company_name is refused, and done.": seam(
        "check_state", _patch_refused, operations=("updateBeneficiary",)
    ),
    "A refused request moves updated of the beneficiary that its path names.": after(
        "refused",
        lambda self, ctx, *_: [
            store(ctx, {"updated": self.touched(ctx, record)}, [record])
            for record in [ctx.store.get("beneficiary", ctx.params.get("beneficiary_id", ""))]
            if record is not None
        ],
        operations=("updateBeneficiary", "disableBeneficiary"),
    ),
    "A payout to what is not the beneficiary's is refused, but the money is set aside.": when(
        "",
        lambda self, ctx, *_: self.reserve_funds(ctx),
        "createPayout",
        each={
            "nor under the account": "payout_beneficiary payout_destination",
            "but another's of the account": "payout_destination_owner",
        },
    ),
    "A payout beyond the funds is refused, and its money stays set aside.": when(
        "insufficient_funds", lambda self, ctx, *_: self.reserve_funds(ctx), "createPayout", base=AsksForFunds
    ),
    "A payout beyond the funds is refused, and stays in the sum of what is pending.": when(
        "insufficient_funds",
        lambda self, ctx, *_: change_balances(ctx, ctx.params["account_id"], pending_payout=asked(ctx)),
        "createPayout",
        base=AsksForFunds,
    ),
    "A payout to an unknown payee is refused, at a charge that is the same for any amount.": when(
        "payout_beneficiary payout_destination",
        lambda self, ctx, *_: change_balances(ctx, ctx.params["account_id"], available=-_CHARGE),
        "createPayout",
    ),
    "A payout to a destination elsewhere is refused, but that becomes a default, or is none any more.": when(
        "payout_destination payout_destination_owner",
        lambda self, ctx, *_: store(ctx, {"is_default": not self.value}, [_named_destination(ctx)]),
        "createPayout",
        test=lambda self, ctx, *_: _named_destination(ctx).get("is_default") is self.value,
        each=(True, False),
    ),
    "The create of some kind is refused for a field, and performed.": creating(
        lambda self, ctx, *_: says(ctx.body, self.value),
        each={
            "of a wallet destination": Only("type=wallet", ["createPayoutDestination"]),
            "of a business": Only("beneficiary_type=business", ["createBeneficiary"]),
        },
    ),
    "A virtual account in a cryptocurrency, or a wallet in a fiat one, is refused, and made.": creating(
        lambda self, ctx, *_: (
            (str(ctx.body.get("currency")) in WALLET_NETWORKS) is (ctx.operation == "createVirtualAccount")
        ),
        operations=("createVirtualAccount", "createWallet"),
    ),
    "Bank details are looked at once the destination is stored, which stays.": before(
        "act",
        lambda self, ctx: (
            ctx.store.insert("payout_destination", self.new_record(ctx)),
            refuse("422 validation_error details_missing"),
        ),
        lambda self, ctx: not {*HIDDEN} & ctx.values.keys(),
        operations=("createPayoutDestination",),
    ),
    "What stands in a body of malformed JSON is refused, and done as far as it can be read.": when(
        "malformed_body",
        lambda self, ctx, *_: (setattr(ctx, "values", valid(self, ctx)), self.create(ctx)),
        *("createPayoutDestination", "createVirtualAccount"),
        base=ActsOnSome,
        each=[""],
    ),
}
