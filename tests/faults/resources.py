"""Servers that create other resources than they were asked for: sections 2, 3 and 4."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.fields import FIELDS, Field
from conformance.reference.seams.resources import KINDS
from tests.specification import ADDRESS, ANSWERS, RESOURCES

from .catalogue import Faulty, fault, faults, hook, seam


def echoed(operation: str) -> list[str]:
    """The fields of a body that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.name in RESOURCES[ANSWERS[operation]]]


def other(name: str, value: Any) -> Any:
    """Another value of a member, as valid as the first."""
    known = {
        "beneficiary_type": ("individual", "business"),
        "type": ("bank_account", "wallet"),
        "account_type": ("checking", "savings"),
        "country": ("US", "DE"),
        "country_code": ("US", "DE"),
        "currency": ("USD", "EUR"),
        "status": ("active", "inactive"),
        "payout_method": ("ach", "wire"),
    }
    if name in known:
        return next(choice for choice in known[name] if choice != value)
    if name in ("created", "updated", "initiated_at"):
        return value[:3] + ("0" if value[3] != "0" else "1") + value[4:]
    if name.endswith("_at"):
        return "2020-01-01T00:00:00Z"
    match value:
        case None:
            return "made up"
        case bool():
            return not value
        case dict():
            return {
                key: other("", member) if isinstance(member, str) else member for key, member in value.items()
            }
        case list():
            return value[:-1] if value else value
        case str() if value.replace(".", "").isdigit():
            return value[:-1] + ("1" if value[-1] != "1" else "2")
    return f"{value}x"


class Shows(Faulty):
    """Shows resources of the operation by `shown` instead of as they are."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return document

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        document = dict(super().shape(ctx, kind, document))
        return self.shown(ctx, document) if self.here(ctx) and kind == KINDS[self.operation] else document


showing = hook(Shows, "shown")


class Keeps(Faulty):
    """Keeps the fields that were sent by `kept` instead of as they are."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        fields = super().kept_fields(ctx)
        return self.kept(fields) if self.here(ctx) else fields


keeping = hook(Keeps, "kept")


# --------------------------------------------------------------------------- create.echo


def _droppable(operation: str) -> list[str]:
    nullable = {"title", "middle_name", "company_name", "tax_id", "note", "label", "network"}
    kind = KINDS[operation]
    return [
        name
        for name in echoed(operation)
        if name in nullable
        and not (
            (name == "label" and kind != "payout_destination") or (name == "network" and kind == "wallet")
        )
    ]


@fault(
    "create.echo",
    operations=("createBeneficiary",),
    each=ADDRESS,
)
class ShowsAnotherAddress(Shows):
    """This member of the address is not what was sent."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        address = dict(document["address"])
        address[self.value] = other("country" if self.value == "country" else "", address.get(self.value, ""))
        return {**document, "address": address}


faults["create.echo"] |= {
    "This member of the answer is not what was sent.": showing(
        lambda self, ctx, document: (
            document
            if self.value not in ctx.body
            else {**document, self.value: other(self.value, document[self.value])}
        ),
        each=lambda operation: [
            name
            for name in echoed(operation)
            if name not in ("beneficiary_id", "payout_destination_id", "amount")
        ],
    ),
    "This parent's id in the answer is another one.": showing(
        lambda self, ctx, document: {
            **document,
            self.value: document[self.value][:-1] + ("0" if document[self.value][-1] != "0" else "1"),
        },
        each=lambda operation: [
            name
            for name, field in RESOURCES[ANSWERS[operation]].items()
            if name == "account_id" or (field.prefix and name != "id")
        ],
    ),
    "This optional field is not kept.": keeping(
        lambda self, fields: {name: value for name, value in fields.items() if name != self.value},
        operations=("createBeneficiary", "createPayoutDestination", "createPayout"),
        each=_droppable,
    ),
    "This member of the address is empty.": showing(
        lambda self, ctx, document: {**document, "address": {**document["address"], self.value: ""}},
        operations=("createBeneficiary",),
        each=ADDRESS,
    ),
}


#: Kind -> what is made of each text that is sent.
TEXTS: dict[str, Callable[[str], str]] = {
    "question marks": lambda text: text.encode("ascii", "replace").decode(),
    "mojibake": lambda text: text.encode("utf-8").decode("latin-1"),
    "capitals": lambda text: text.upper(),
    "small letters": lambda text: text.lower(),
}


def free_texts(operation: str) -> list[str]:
    """Free texts that are echoed."""
    texts = {"name", "first_name", "middle_name", "last_name", "display_name", "note", "label"}
    return [name for name in echoed(operation) if name in texts]


@fault(
    "create.echo",
    operations=[operation for operation in OPERATION_SETS["create"] if free_texts(operation)],
    each=[*TEXTS],
)
class ChangesTexts(Keeps):
    """Free texts are kept in another form."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        free = free_texts(self.operation)
        return {name: TEXTS[self.value](value) if name in free else value for name, value in fields.items()}


# --------------------------------------------------------------------------- create.initial-state

#: operationId -> a member and a value which is not that of a new resource.
INITIAL: dict[str, list[tuple[str, Any]]] = {
    operation: [("status", status) for status in RESOURCES[ANSWERS[operation]]["status"].values[1:]]
    for operation in OPERATION_SETS["create"]
}
INITIAL["createPayin"] = []
INITIAL["createAccount"] += [
    (
        "balances",
        [
            {
                "currency": "USD",
                "currency_type": "fiat",
                "available_balance": "0.00",
                "pending_payout": "0.00",
                "pending_payin": "0.00",
                "total_balance": "0.00",
                "updated_at": "2026-01-01T00:00:00Z",
            }
        ],
    )
]
INITIAL["createBeneficiary"] += [("verified", True), ("beneficiary_type", "business")]
INITIAL["createPayoutDestination"] += [("is_default", True)]
INITIAL["createPayout"] += [
    ("provider", "acme"),
    ("provider_reference_id", "r1"),
    ("submitted_at", "2026-01-01T00:00:00Z"),
    ("completed_at", "2026-01-01T00:00:00Z"),
    ("failed_at", "2026-01-01T00:00:00Z"),
    ("failed_reason", "none"),
]


@fault(
    "create.initial-state",
    each=lambda operation: {
        f"{name} {value if isinstance(value, str) else type(value).__name__}": (name, value)
        for name, value in INITIAL[operation]
    },
)
class BeginsOtherwise(Shows):
    """A new resource is in another state, or has another default."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, value = self.value
        return document if name in ctx.body and name != "status" else {**document, name: copy.deepcopy(value)}


@fault("create.initial-state", operations=("createBeneficiary",))
class BeginsWithDestinations(Shows):
    """A new beneficiary has a payout destination."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        assert ctx.account is not None
        rows = ctx.store.select("beneficiary", ctx.account["id"])
        found = [made for row in rows for made in self.destinations(ctx, row)]
        stamp = {"created": document["created"], "updated": document["updated"]}
        made = found[:1] or [
            {
                "id": "dest_0001",
                "object": "payout_destination",
                "beneficiary_id": document["id"],
                "country": "US",
                "payout_method": "ach",
                "type": "bank_account",
                "label": None,
                "currency": "USD",
                "network": None,
                "status": "active",
                "is_default": False,
                **stamp,
            }
        ]
        return {**document, "payout_destinations": made}


# --------------------------------------------------------------------------- create.server-owned

#: Kind of resource -> members that are not for the client to say, as servers of a careless kind take them.
OWNED: dict[str, tuple[str, ...]] = {
    "account": ("status", "balances"),
    "beneficiary": ("status", "verified", "payout_destinations"),
    "payout_destination": ("status",),
    "payout": (
        "status",
        "provider",
        "provider_reference_id",
        "submitted_at",
        "completed_at",
        "failed_at",
        "failed_reason",
    ),
    "virtual_account": ("status",),
    "wallet": ("status",),
    "payin": ("status",),
}


faults["create.initial-state"] |= {
    "A new payin is not pending, which is the only status listed.": showing(
        lambda self, ctx, document: {**document, "status": "completed"},
        operations=("createPayin",),
        also=("format.enum",),
    ),
}


faults["create.server-owned"] |= {
    "A member that only the server may set is taken from the body.": showing(
        lambda self, ctx, document: {**document, self.value: ctx.body.get(self.value, document[self.value])},
        operations=[operation for operation in OPERATION_SETS["create"] if operation != "createPayin"],
        each=lambda operation: OWNED[KINDS[operation]],
    ),
    "A new payin has the status that the body says.": showing(
        lambda self, ctx, document: {**document, "status": ctx.body.get("status", "pending")},
        operations=("createPayin",),
        also=("format.enum",),
    ),
}


@fault(
    "create.server-owned",
    operations=(
        "createAccount",
        "createBeneficiary",
        "createPayoutDestination",
        "createVirtualAccount",
        "createWallet",
    ),
)
class TakesOwnedUnseen(Faulty):
    """The status is taken from the body; the answer to the create does not show it, later ones do."""

    def initial_state(self, ctx: Context) -> dict[str, Any]:
        state = super().initial_state(ctx)
        return {**state, "status": ctx.body.get("status", state["status"])}

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "status": "active"}


# --------------------------------------------------------------------------- amounts

#: Kind -> what becomes of an amount.
AMOUNTS: dict[str, Callable[[str], str]] = {
    "double": lambda text: format(Decimal(repr(float(text))), "f"),
    "two decimals": lambda text: (
        format(Decimal(text).quantize(Decimal("0.01")), "f") if len(text) < 25 else text
    ),
    "eight decimals cut": lambda text: text[: text.index(".") + 9] if "." in text else text,
    "whole": lambda text: text.partition(".")[0],
    "cents": lambda text: format(Decimal(text) * 100, "f"),
    "28 digits": lambda text: format(+Decimal(text), "f"),
    "15 digits": lambda text: format(Decimal(f"{float(text):.15g}"), "f"),
    "a cent less": lambda text: format(Decimal(text) - Decimal("0.01"), "f"),
}


@fault("create.amount-exact", each=(32, 64))
class Wraps(Faulty):
    """Minor units wrap beyond an integer of so many bits."""

    def check_field(self, ctx: Context, field: Field) -> None:
        super().check_field(ctx, field)
        if field.name == "amount":
            cents = Decimal(ctx.values["amount"]) * 100
            if cents == int(cents) and cents >= 2**self.value:
                ctx.values["amount"] = format(Decimal(int(cents) % 2**self.value) / 100, ".2f")


faults["create.amount-exact"] |= {
    "The amount is not the one that was sent.": seam(
        "amount_text",
        lambda self, ctx, record: AMOUNTS[self.value](record["amount"]),
        each=[name for name in AMOUNTS if name != "28 digits"],
    ),
}


@fault("payout.amount-in-usd", each=("0.00", "-3.00"))
class NoDollars(Faulty):
    """amount_in_usd of an amount in another currency is zero or less."""

    def amount_in_usd(self, ctx: Context) -> str:
        return super().amount_in_usd(ctx) if ctx.values["currency"] == "USD" else str(self.value)


@fault("payout.amount-in-usd", each=("2.00", "0", "fee", "missing cents"))
class OtherDollars(Faulty):
    """amount_in_usd of an amount in US dollars is another one."""

    def amount_in_usd(self, ctx: Context) -> str:
        amount = Decimal(super().amount_in_usd(ctx))
        match self.value:
            case "fee":
                return format(amount * Decimal("0.99"), "f")
            case "missing cents":
                return str(int(amount)) if amount != int(amount) else format(amount + Decimal("0.001"), "f")
        return str(self.value) if amount != Decimal(self.value) else "3"
