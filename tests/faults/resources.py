"""Servers that break a rule of resources created, read and changed: sections 2, 3 and 4 of the specification."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.fields import BENEFICIARY, FIELDS
from conformance.reference.messages import Response
from conformance.reference.refusals import Refusal
from conformance.reference.resources import KINDS
from conformance.reference.store import Answer, Balance
from conformance.rules import OPERATION_SETS

from .catalogue import Faulty, fault

#: Kind of resource -> its documented members (sections 2.1 to 2.8), its id and constant left out.
MEMBERS: dict[str, tuple[str, ...]] = {
    "account": ("customer_id", "name", "status", "balances", "created", "updated"),
    "beneficiary": (
        "account_id", "beneficiary_type", "title", "first_name", "middle_name", "last_name", "display_name",
        "company_name", "email", "phone", "address", "tax_id", "country_code", "note", "status", "verified",
        "payout_destinations", "created", "updated"),
    "payout_destination": (
        "beneficiary_id", "country", "payout_method", "type", "label", "currency", "network", "status",
        "account_number_last4", "routing_number", "account_type", "clabe_last4", "iban_masked", "swift_code",
        "wallet_address_masked", "is_default", "created", "updated"),
    "payout": (
        "account_id", "beneficiary_id", "payout_destination_id", "amount", "currency", "amount_in_usd", "status",
        "provider", "provider_reference_id", "initiated_at", "submitted_at", "completed_at", "failed_at",
        "failed_reason", "note", "created", "updated"),
    "virtual_account": (
        "account_id", "currency", "bank_details", "reference", "provider_reference_id", "label", "status",
        "created", "updated"),
    "wallet": ("account_id", "currency", "network", "addresses", "label", "status", "created", "updated"),
    "payin": ("account_id", "amount", "currency", "status", "created"),
}

STATUSES = {
    "account": ("active", "suspended", "inactive"), "beneficiary": ("active", "disabled", "inactive"),
    "payout_destination": ("active", "disabled", "inactive"),
    "payout": ("pending_approval", "pending", "processing", "completed", "failed"),
    "virtual_account": ("active", "suspended", "inactive"), "wallet": ("active", "suspended", "inactive"),
    "payin": ("pending",),
}

PARENTS = {
    "account": ("customer_id",), "beneficiary": ("account_id",), "payout_destination": ("beneficiary_id",),
    "payout": ("account_id", "beneficiary_id", "payout_destination_id"), "virtual_account": ("account_id",),
    "wallet": ("account_id",), "payin": ("account_id",),
}


def echoed(operation: str) -> list[str]:
    """The fields of a body that the resource shows."""
    return [field.name for field in FIELDS[operation] if field.name in MEMBERS[KINDS[operation]]]


def other(name: str, value: Any) -> Any:
    """Another value of a member, as sound as the first."""
    known = {
        "beneficiary_type": ("individual", "business"), "type": ("bank_account", "wallet"),
        "account_type": ("checking", "savings"), "country": ("US", "DE"), "country_code": ("US", "DE"),
        "currency": ("USD", "EUR"), "status": ("active", "inactive"), "payout_method": ("ach", "wire"),
    }
    if name in known:
        return next(one for one in known[name] if one != value)
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
            return {key: other("", one) if isinstance(one, str) else one for key, one in value.items()}
        case list():
            return value[:-1] if value else value
        case str() if value.replace(".", "").isdigit():
            return value[:-1] + ("1" if value[-1] != "1" else "2")
    return f"{value}x"


class Shows(Faulty):
    """Shows resources of the operation by `shown` instead of as they are."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        document = dict(super().shape(ctx, kind, document))
        return self.shown(ctx, document) if self.here(ctx) and kind == KINDS[self.operation] else document


class Keeps(Faulty):
    """Keeps the fields that were sent by `kept` instead of as they are."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def kept_fields(self, ctx: Context) -> dict[str, Any]:
        fields = super().kept_fields(ctx)
        return self.kept(fields) if self.here(ctx) else fields


# --------------------------------------------------------------------------- create.echo


@fault("create.echo", each=lambda operation: [
    name for name in echoed(operation) if name not in ("beneficiary_id", "payout_destination_id", "amount")])
class ShowsAnother(Shows):
    """This member of the answer is not what was sent."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        if self.value not in ctx.body:
            return document
        return {**document, self.value: other(self.value, document[self.value])}


@fault("create.echo", each=lambda operation: PARENTS[KINDS[operation]])
class ShowsAnotherParent(Shows):
    """This parent's id in the answer is another one."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: document[self.value][:-1] + ("0" if document[self.value][-1] != "0" else "1")}


def _droppable(operation: str) -> list[str]:
    nullable = {"title", "middle_name", "company_name", "tax_id", "note", "label", "network"}
    kind = KINDS[operation]
    return [name for name in echoed(operation) if name in nullable and not (
        name == "label" and kind != "payout_destination" or name == "network" and kind == "wallet")]


@fault("create.echo", operations=("createBeneficiary", "createPayoutDestination", "createPayout"), each=_droppable)
class ForgetsField(Keeps):
    """This optional field is not kept."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name != self.value}


@fault("create.echo", operations=("createBeneficiary",), each=("address_line", "city", "region", "postal_code", "country"))
class ShowsAnotherAddress(Shows):
    """This member of the address is not what was sent."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        address = dict(document["address"])
        address[self.value] = other("country" if self.value == "country" else "", address.get(self.value, ""))
        return {**document, "address": address}


@fault("create.echo", operations=("createBeneficiary",), each=("address_line", "city", "region", "postal_code", "country"))
class ForgetsAddressMember(Shows):
    """This member of the address is empty."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "address": {**document["address"], self.value: ""}}


#: Kind -> what is made of each text that is sent.
TEXTS: dict[str, Callable[[str], str]] = {
    "question marks": lambda text: text.encode("ascii", "replace").decode(),
    "mojibake": lambda text: text.encode("utf-8").decode("latin-1"),
    "cut at 50": lambda text: text[:50],
    "capitals": lambda text: text.upper(),
    "small letters": lambda text: text.lower(),
    "markup escaped": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;"),
}


def _free(operation: str) -> list[str]:
    """Free texts that are echoed."""
    texts = {"name", "first_name", "middle_name", "last_name", "display_name", "note", "label"}
    return [name for name in echoed(operation) if name in texts]


@fault("create.echo", operations=[one for one in OPERATION_SETS["create"] if _free(one)], each=[
    "question marks", "mojibake", "capitals", "small letters"])
class ChangesTexts(Keeps):
    """Free texts are kept in another form."""

    def kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        free = _free(self.operation)
        return {name: TEXTS[self.value](value) if name in free else value for name, value in fields.items()}


# --------------------------------------------------------------------------- create.initial-state

#: operationId -> a member and a value which is not that of a new resource.
INITIAL: dict[str, list[tuple[str, Any]]] = {
    operation: [("status", status) for status in STATUSES[KINDS[operation]][1:]]
    for operation in OPERATION_SETS["create"]
}
INITIAL["createPayin"] = []
INITIAL["createAccount"] += [("balances", [{
    "currency": "USD", "currency_type": "fiat", "available_balance": "0.00", "pending_payout": "0.00",
    "pending_payin": "0.00", "total_balance": "0.00", "updated_at": "2026-01-01T00:00:00Z"}])]
INITIAL["createBeneficiary"] += [("verified", True), ("beneficiary_type", "business")]
INITIAL["createPayoutDestination"] += [("is_default", True)]
INITIAL["createPayout"] += [
    ("provider", "acme"), ("provider_reference_id", "r1"), ("submitted_at", "2026-01-01T00:00:00Z"),
    ("completed_at", "2026-01-01T00:00:00Z"), ("failed_at", "2026-01-01T00:00:00Z"), ("failed_reason", "none")]


@fault("create.initial-state", each=lambda operation: {
    f"{name} {value if isinstance(value, str) else type(value).__name__}": (name, value) for name, value in INITIAL[operation]})
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
        made = found[:1] or [{
            "id": "dest_0001", "object": "payout_destination", "beneficiary_id": document["id"], "country": "US",
            "payout_method": "ach", "type": "bank_account", "label": None, "currency": "USD", "network": None,
            "status": "active", "is_default": False, **stamp}]
        return {**document, "payout_destinations": made}


# --------------------------------------------------------------------------- create.server-owned

#: Kind of resource -> members that are not for the client to say, as servers of a careless kind take them.
OWNED: dict[str, tuple[str, ...]] = {
    "account": ("status", "balances"), "beneficiary": ("status", "verified", "payout_destinations"),
    "payout_destination": ("status",),
    "payout": ("status", "provider", "provider_reference_id", "submitted_at", "completed_at", "failed_at", "failed_reason"),
    "virtual_account": ("status",), "wallet": ("status",), "payin": ("status",),
}


@fault("create.server-owned", operations=[one for one in OPERATION_SETS["create"] if one != "createPayin"],
       each=lambda operation: OWNED[KINDS[operation]])
class TakesOwned(Shows):
    """A member that only the server may set is taken from the body."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: ctx.body.get(self.value, document[self.value])}


@fault("create.initial-state", operations=("createPayin",), also=("format.enum",))
class BeginsUnlisted(Shows):
    """A new payin is not pending, which is the only status listed."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "status": "completed"}


@fault("create.server-owned", operations=("createPayin",), also=("format.enum",))
class TakesUnlisted(Shows):
    """A new payin has the status that the body says."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "status": ctx.body.get("status", "pending")}


@fault("create.server-owned", operations=(
    "createAccount", "createBeneficiary", "createPayoutDestination", "createVirtualAccount", "createWallet"))
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
    "two decimals": lambda text: format(Decimal(text).quantize(Decimal("0.01")), "f") if len(text) < 25 else text,
    "eight decimals cut": lambda text: text[:text.index(".") + 9] if "." in text else text,
    "whole": lambda text: text.partition(".")[0],
    "cents": lambda text: format(Decimal(text) * 100, "f"),
    "28 digits": lambda text: format(+Decimal(text), "f"),
    "15 digits": lambda text: format(Decimal(f"{float(text):.15g}"), "f"),
    "a cent less": lambda text: format(Decimal(text) - Decimal("0.01"), "f"),
}


@fault("create.amount-exact", each=[name for name in AMOUNTS if name != "28 digits"])
class ChangesAmounts(Faulty):
    """The amount is not the one that was sent."""

    def amount_text(self, ctx: Context, record: Record) -> Any:
        return AMOUNTS[self.value](record["amount"])


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


# --------------------------------------------------------------------------- destinations

#: Kind -> what is shown of an account number.
LAST4: dict[str, Callable[[str], str | None]] = {
    "first four": lambda number: number[:4], "last three": lambda number: number[-3:],
    "last five": lambda number: number[-5:], "masked": lambda number: f"****{number[-4:]}",
    "none": lambda number: None, "constant": lambda number: "0000", "last four but one": lambda number: number[-5:-1],
    "empty": lambda number: "",
}


@fault("destination.last4", each=LAST4)
class OtherDigits(Faulty):
    """account_number_last4 is not the last four characters of the number."""

    def account_number_last4(self, ctx: Context, record: Record) -> str | None:
        number = record.get("account_number")
        return None if number is None else self.value(str(number))


#: Kind -> what is shown of an IBAN or a wallet address.
MASKS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None, "full": lambda text: text,
    "grouped": lambda text: " ".join(text[at:at + 4] for at in range(0, len(text), 4)),
    "number": lambda text: int(text[-1] if text[-1].isdigit() else 7), "object": lambda text: {"last4": text[-4:]},
    "full and more": lambda text: f"{text} (masked)", "small letters": lambda text: text.lower(),
}


@fault("destination.masked", each=[f"{name} {how}" for name in ("iban", "wallet_address") for how in MASKS],
       also=("secrets.hidden", "format.fields"))
class OtherMasks(Faulty):
    """A masked member is no string, or shows the full value."""

    def masked_as(self, record: Record, name: str, sound: Any) -> Any:
        """What is shown of one of the two."""
        which, _, how = self.value.partition(" ")
        return MASKS[how](str(record[name])) if which == name and record.get(name) is not None else sound

    def iban_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "iban", super().iban_masked(ctx, record))

    def wallet_address_masked(self, ctx: Context, record: Record) -> Any:
        return self.masked_as(record, "wallet_address", super().wallet_address_masked(ctx, record))


# --------------------------------------------------------------------------- wallets

#: Kind -> addresses that a wallet may not have.
ADDRESSES: dict[str, Any] = {
    "none": [], "texts": ["0x00"], "address a number": [{"address": 12345, "tag": None}],
    "address null": [{"address": None, "tag": None}], "address missing": [{"tag": None}],
    "tag a number": [{"address": "0x00", "tag": 12}], "tag missing": [{"address": "0x00"}],
    "an object": {"address": "0x00", "tag": None}, "null": None,
    "second one broken": [{"address": "0x00", "tag": None}, {"address": "0x01"}],
}


@fault("wallet.addresses", each=ADDRESSES)
class OtherAddresses(Faulty):
    """The addresses of a new wallet are missing, or of another form."""

    def addresses(self, ctx: Context) -> Any:
        return copy.deepcopy(self.value)


@fault("wallet.duplicate")
class TakesDuplicates(Faulty):
    """A second wallet of the same pair is created."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        pass


@fault("wallet.duplicate")
class ListsDuplicates(Faulty):
    """A second wallet of the same pair is refused, but it is there."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        self.create(ctx)
        super().on_duplicate_wallet(ctx)


@fault("wallet.duplicate")
class AnswersTheFirst(Faulty):
    """A second create of the same pair is answered with the first wallet."""

    def create_wallet(self, ctx: Context) -> None:
        if not self.claim_wallet_pair(ctx):
            same = {name: ctx.values[name] for name in ("currency", "network")}
            ctx.record = next(one for one in ctx.store.select("wallet", self.parent(ctx)["id"]) if same.items() <= one.items())
        else:
            self.create(ctx)


@fault("wallet.duplicate")
class ReplacesTheFirst(Faulty):
    """A second wallet of the same pair is refused, and the first one becomes inactive."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        for one in ctx.store.select("wallet", self.parent(ctx)["id"]):
            ctx.store.change("DELETE FROM resources WHERE id = ?", one["id"])
        self.create(ctx)
        super().on_duplicate_wallet(ctx)


@fault("wallet.duplicate")
class TellsApartByLabel(Faulty):
    """A second wallet of the same pair is refused under the same label only."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        return ctx.store.claim_wallet_pair(
            self.parent(ctx)["id"], str(ctx.values["currency"]), f"{ctx.values['network']} {ctx.values['label']}")


@fault("wallet.duplicate")
class OnlyTheLastPair(Faulty):
    """A second wallet of a pair is refused only until a wallet of another pair is created."""

    def claim_wallet_pair(self, ctx: Context) -> bool:
        ctx.store.change("DELETE FROM wallet_pairs WHERE account = ? AND (currency, network) <> (?, ?)",
                         self.parent(ctx)["id"], ctx.values["currency"], ctx.values["network"])
        return super().claim_wallet_pair(ctx)


@fault("wallet.duplicate")
class ForgetsTheKey(Faulty):
    """After a refused duplicate, the first wallet's key does not bring the first answer again."""

    def on_duplicate_wallet(self, ctx: Context) -> None:
        ctx.store.change("DELETE FROM answers")
        super().on_duplicate_wallet(ctx)


# --------------------------------------------------------------------------- reads


@fault("read.equals-create", each=lambda operation: [
    name for name in MEMBERS[KINDS[operation]] if name != "payout_destinations"])
class ReadsAnother(Shows):
    """This member is read as another than the create answered."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: other(self.value, document[self.value])}


@fault("read.equals-create", operations=("getBeneficiary",), each=("address_line", "city", "region", "postal_code", "country"))
class ReadsAnotherAddress(Shows):
    """This member of the address is read as another than the create answered."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "address": {**document["address"], self.value: "Elsewhere"}}


@fault("read.equals-create", operations=("getVirtualAccount",), each=("iban", "bic", "bank_name"))
class ReadsOtherDetails(Shows):
    """A member of bank_details is read as another than the create answered, or not at all."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "bank_details": {
            name: value for name, value in document["bank_details"].items() if name != self.value}}


@fault("read.equals-create")
class ReadsAnotherOne(Faulty):
    """The read answers another resource of the same account."""

    def success_document(self, ctx: Context) -> Any:
        kind = KINDS[ctx.operation]
        assert ctx.account is not None
        return self.resource(ctx, kind, ctx.store.select(kind, ctx.account["id"])[0])


@fault("read.equals-create")
class ReadsNullForOptional(Shows):
    """Optional texts are read as null."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        if ctx.operation == "getVirtualAccount":
            return {**document, "label": document["label"].strip()[:8]}
        return {**document, **dict.fromkeys(("title", "middle_name", "tax_id", "note"))}


@fault("balances.of-account", each=("customer's id", "another id"))
class BalancesOfAnother(Faulty):
    """The balances carry another id than the account's."""

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        document = super().account_balances(ctx, record)
        another = record["parent"].replace("cus_", "acc_") if self.value == "customer's id" else document["id"][::-1].replace("_cca", "")
        return {**document, "id": another if another.startswith("acc_") else f"acc_{another}"}


@fault("balances.of-account")
class CurrencyTwice(Faulty):
    """A currency has two balances."""

    def account_balances(self, ctx: Context, record: Record) -> dict[str, Any]:
        document = super().account_balances(ctx, record)
        made = document["balances"][:1] or [{
            "currency": "USD", "currency_type": "fiat", "available_balance": "0.00", "pending_payout": "0.00",
            "pending_payin": "0.00", "total_balance": "0.00", "updated_at": self.timestamp_text(ctx, ctx.now)}]
        return {**document, "balances": [*made, *made, *document["balances"][1:]]}


# --------------------------------------------------------------------------- beneficiaries

#: Kind -> which of a beneficiary's destinations are shown.
DESTINATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "none": lambda items: [], "the first": lambda items: items[:1], "the last": lambda items: items[-1:],
    "twice": lambda items: items + items[:1], "defaults": lambda items: [one for one in items if one["is_default"]],
}


@fault("beneficiary.destinations", each=DESTINATIONS)
class OtherDestinations(Faulty):
    """payout_destinations does not hold the beneficiary's destinations, each once."""

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        return self.value(super().destinations(ctx, record))  # type: ignore[no-any-return]


@fault("beneficiary.destinations")
class DestinationsOfAll(Faulty):
    """payout_destinations holds the destinations of all beneficiaries of the account."""

    def destinations(self, ctx: Context, record: Record) -> list[Mapping[str, Any]]:
        return [one for each in ctx.store.select("beneficiary", record["parent"])
                for one in super(DestinationsOfAll, self).destinations(ctx, each)]


def fields_of_beneficiary(operation: str = "") -> list[str]:
    """The fields that a PATCH may name."""
    return [field.name for field in BENEFICIARY]


@fault("beneficiary.update", each=fields_of_beneficiary)
class IgnoresField(Faulty):
    """A PATCH does not change this field."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), self.value: record.get(self.value)}


@fault("beneficiary.update", each=fields_of_beneficiary)
class ShowsOnly(Faulty):
    """A PATCH answers this field changed, but a later read shows the old value."""

    def update_beneficiary(self, ctx: Context) -> None:
        assert ctx.beneficiary is not None
        old = ctx.beneficiary
        super().update_beneficiary(ctx)
        assert ctx.record is not None
        ctx.store.update({**ctx.record, self.value: old.get(self.value)})


@fault("beneficiary.update", each=fields_of_beneficiary)
class StoresOnly(Faulty):
    """A PATCH stores this field, but its answer shows the old value."""

    def update_beneficiary(self, ctx: Context) -> None:
        old = ctx.beneficiary or {}
        super().update_beneficiary(ctx)
        ctx.record = {**(ctx.record or {}), self.value: old.get(self.value)}


@fault("beneficiary.update", each=("title", "middle_name", "company_name", "tax_id", "note"))
class EmptiesUnnamed(Faulty):
    """A PATCH empties this optional field where it does not name it."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), self.value: ctx.values.get(self.value)}


@fault("beneficiary.update", each=[name for name in fields_of_beneficiary() if name not in (
    "title", "middle_name", "company_name", "tax_id", "note")])
class ResetsUnnamed(Faulty):
    """A PATCH changes this field where it does not name it."""

    def patched(self, ctx: Context, record: Record) -> Record:
        kept = ctx.values.get(self.value, other(self.value, record.get(self.value) or "individual"))
        return {**super().patched(ctx, record), self.value: kept}


@fault("beneficiary.update", each=("created", "status", "verified"))
class ChangesOwned(Faulty):
    """A PATCH changes a member that only the server may set."""

    def patched(self, ctx: Context, record: Record) -> Record:
        changes = {"created": ctx.now, "status": "inactive", "verified": True}
        return {**super().patched(ctx, record), self.value: changes[self.value]}


@fault("beneficiary.update")
class OneFieldOnly(Faulty):
    """Of the fields that a PATCH names only the first one changes."""

    def patched(self, ctx: Context, record: Record) -> Record:
        first = dict(list(ctx.values.items())[:1])
        return {**record, **first, "updated": self.touched(ctx, record)}


@fault("beneficiary.update-moves-updated")
class LeavesUpdated(Faulty):
    """A PATCH leaves updated as it was."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "updated": record["updated"]}


@fault("beneficiary.update-moves-updated")
class MovesUpdatedBack(Faulty):
    """A PATCH moves updated back to before the create."""

    def patched(self, ctx: Context, record: Record) -> Record:
        return {**super().patched(ctx, record), "updated": record["created"] - 60_000_000}


@fault("beneficiary.update-empty")
class RefusesEmpty(Faulty):
    """A PATCH with an empty object is refused."""

    def update_beneficiary(self, ctx: Context) -> None:
        if not ctx.values:
            raise Refusal("invalid_field")
        super().update_beneficiary(ctx)


@fault("beneficiary.update-empty", each=("title", "note", "status", "address", "first_name"))
class EmptyResets(Faulty):
    """A PATCH with an empty object changes this member."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if not ctx.values:
            record = ctx.record or {}
            changed = None if self.value in ("title", "note") else other(self.value, record[self.value])
            ctx.record = {**record, self.value: changed}
            ctx.store.update(ctx.record)


@fault("beneficiary.update-empty")
class EmptyDisables(Faulty):
    """A PATCH with an empty object is answered as it should, and stored with another note."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if not ctx.values:
            ctx.store.update({**(ctx.record or {}), "note": "emptied"})


@fault("beneficiary.update-server-owned", each=("status", "verified", "id", "created", "account_id", "payout_destinations"))
class PatchesOwned(Shows):
    """A PATCH takes a member that only the server may set."""

    def shown(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: ctx.body.get(self.value, document[self.value])}


@fault("beneficiary.update-server-owned", each=("status", "verified"))
class PatchesOwnedUnseen(Faulty):
    """A PATCH takes a member that only the server may set, which only a later read shows."""

    def update_beneficiary(self, ctx: Context) -> None:
        super().update_beneficiary(ctx)
        if self.value in ctx.body:
            ctx.store.update({**(ctx.record or {}), self.value: ctx.body[self.value]})


@fault("beneficiary.disable", each=("active", "inactive"))
class DisabledAsOther(Faulty):
    """Disabling leads to another status."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "status": self.value}


@fault("beneficiary.disable")
class DisablesOnPaper(Faulty):
    """Disabling answers disabled, but a later read shows the old status."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        ctx.store.update({**(ctx.record or {}), "status": "active"})


@fault("beneficiary.disable")
class DisablesUnseen(Faulty):
    """Disabling answers the old status, and a later read shows disabled."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        ctx.record = {**(ctx.record or {}), "status": "active"}


@fault("beneficiary.disable", each=[*fields_of_beneficiary(), "verified", "created"])
class DisablesMore(Faulty):
    """Disabling changes another member, too."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        made = super().disabled(ctx, record)
        if self.value == "created":
            return {**made, "created": ctx.now}
        return {**made, self.value: other(self.value, record.get(self.value))}


@fault("beneficiary.disable", each=("note", "title", "phone", "status"))
class DisablesMoreUnseen(Faulty):
    """Disabling changes another member, which only a later read shows."""

    def disable_beneficiary(self, ctx: Context) -> None:
        super().disable_beneficiary(ctx)
        record = ctx.record or {}
        ctx.store.update({**record, self.value: other(self.value, record.get(self.value))})


@fault("beneficiary.disable-moves-updated")
class DisableLeavesUpdated(Faulty):
    """Disabling leaves updated as it was."""

    def disabled(self, ctx: Context, record: Record) -> Record:
        return {**super().disabled(ctx, record), "updated": record["updated"]}


@fault("beneficiary.disable")
class DisableMovesUpdatedOnPaper(Faulty):
    """Disabling answers a new updated, but a later read shows the old one."""

    def disable_beneficiary(self, ctx: Context) -> None:
        old = (ctx.beneficiary or {})["updated"]
        super().disable_beneficiary(ctx)
        ctx.store.update({**(ctx.record or {}), "updated": old})


# --------------------------------------------------------------------------- refusal.changes-nothing


def perform(behaviour: Faulty, ctx: Context) -> None:
    """Does what a refused request asked for, as well as that can be done."""
    from .authentication import first_organization

    ctx.organization = ctx.organization or first_organization(ctx)
    ctx.params, ctx.values, ctx.body = dict(ctx.params), {}, {}
    for kind, name in (("customer", "customer_id"), ("account", "account_id"), ("beneficiary", "beneficiary_id")):
        if name in ctx.params:
            setattr(ctx, kind, ctx.store.get(kind, ctx.params[name]))
    if any(name in ctx.params and getattr(ctx, name.removesuffix("_id")) is None for name in ("account_id", "beneficiary_id")):
        return
    if ctx.operation != "disableBeneficiary":
        try:
            ctx.body = behaviour.parse_body(ctx)
        except Refusal:
            return
        for field in FIELDS[ctx.operation]:
            try:
                behaviour.check_field(ctx, field)
            except Refusal:
                if ctx.operation == "updateBeneficiary":
                    continue
                ctx.values[field.name] = ctx.body.get(field.name) or _stopgap(field)
    behaviour.act(ctx)


def _stopgap(field: Any) -> Any:
    return {"amount": "1.00", "country": "US", "currency": "USD", "destination_currency": "USD", "boolean": False,
            "address": {}}.get(field.kind, "Made up")


#: Kind -> the refusals after which the request is performed all the same.
REFUSALS = {
    "missing header": ("missing_headers",), "timestamp": ("timestamp_too_old",), "nonce": ("nonce_replay",),
    "signature": ("invalid_signature",), "unknown key": ("unknown_key",),
    "idempotency key": ("invalid_idempotency_key",), "no idempotency key": ("missing_idempotency_key",),
    "conflict": ("idempotency_key_conflict",), "foreign parent": ("foreign_parent",), "field": ("invalid_field",),
}


def _refusals(operation: str) -> dict[str, tuple[str, ...]]:
    kinds = dict(REFUSALS)
    if operation == "updateBeneficiary":
        kinds = {name: kinds[name] for name in kinds if "key" not in name.split() or name == "unknown key"}
        kinds.pop("conflict")
    if operation == "disableBeneficiary":
        del kinds["field"], kinds["conflict"]
    if operation in OPERATION_SETS["child"]:
        kinds["child elsewhere"] = ("missing_child",)
    if operation in ("createBeneficiary", "createPayin"):
        # Nothing shows afterwards what was created: beneficiaries and payins have no list.
        return {}
    return kinds


@fault("refusal.changes-nothing", operations=[
    one for one in OPERATION_SETS["write"] if one not in ("createBeneficiary", "createPayin")], each=_refusals)
class ActsAndRefuses(Faulty):
    """A refused request is performed all the same."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind in self.value:
            with contextlib.suppress(Refusal):
                perform(self, ctx)


@fault("refusal.changes-nothing", operations=("updateBeneficiary", "disableBeneficiary", "createPayoutDestination"))
class ActsOnAnother(Faulty):
    """A request for a missing beneficiary is refused, and performed on one that is there."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "missing_child" and ctx.account is not None:
            for one in ctx.store.select("beneficiary", ctx.account["id"])[-1:]:
                ctx.params["beneficiary_id"] = one["id"]
                with contextlib.suppress(Refusal):
                    perform(self, ctx)


@fault("refusal.changes-nothing", operations=("createBeneficiary",))
class ConflictOverwrites(Faulty):
    """A used key with another body is refused, and the beneficiary gets what the body says."""

    def on_other_body(self, ctx: Context, answer: Answer) -> Response | None:
        self.validate(ctx)
        record = ctx.store.get("beneficiary", json.loads(answer.body)["id"])
        ctx.store.update({**(record or {}), **ctx.values})
        return super().on_other_body(ctx, answer)


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


@fault("refusal.changes-nothing", operations=("createPayin",), each={
    name: kinds for name, kinds in REFUSALS.items() if name != "foreign parent"})
class BooksRefusedPayins(Faulty):
    """A refused payin shows in the balances of the account."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind in self.value:
            account = ctx.params["account_id"]
            known = {balance.currency: balance for balance in ctx.store.balances(account)}
            balance = known.get("USD", Balance("USD", "fiat", "0.00", "0.00", "0.00", ctx.now))
            more = Decimal(balance.pending_payin) + 10
            ctx.store.set_balance(account, balance._replace(pending_payin=format(more, "f")))


@fault("refusal.changes-nothing", operations=("updateBeneficiary",))
class PatchesTheFirst(Faulty):
    """A PATCH with an invalid field changes the fields before it."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        if refusal.kind == "invalid_field" and ctx.beneficiary is not None:
            ctx.store.update({**ctx.beneficiary, **ctx.values})


@fault("refusal.changes-nothing", operations=("updateBeneficiary", "disableBeneficiary"))
class TouchesAndRefuses(Faulty):
    """A refused request moves updated of the beneficiary that its path names."""

    def refused(self, ctx: Context, refusal: Refusal) -> None:
        record = ctx.store.get("beneficiary", ctx.params.get("beneficiary_id", ""))
        if record is not None:
            ctx.store.update({**record, "updated": self.touched(ctx, record)})
