"""Servers whose answers have another form: section 2 of the specification.

The tables here are written from the specification's own, not from spec/schemas, so that a gap in a schema shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.context import Context, Record
from conformance.reference.lists import ITEM_FIELDS
from conformance.reference.resources import KINDS
from conformance.rules import OPERATION_SETS

from .catalogue import Faulty, fault
from .resources import MEMBERS as SHOWN

#: Kind of resource -> all documented members.
MEMBERS = {kind: ("id", "object", *names) for kind, names in SHOWN.items()}
MEMBERS["account_balances"] = ("id", "object", "balances")

#: Members of a payout destination that may be null or absent where they do not apply, or always ("may also carry").
INAPPLICABLE = ("account_number_last4", "routing_number", "account_type", "clabe_last4", "iban_masked", "swift_code",
                "wallet_address_masked", "network", "label")

NULLABLE: dict[str, tuple[str, ...]] = {
    "beneficiary": ("title", "middle_name", "company_name", "tax_id", "note"),
    "payout_destination": ("label",),
    "payout": ("provider", "provider_reference_id", "submitted_at", "completed_at", "failed_at", "failed_reason", "note"),
}

TIMESTAMPS = {
    "account": ("created", "updated"), "beneficiary": ("created", "updated"),
    "payout_destination": ("created", "updated"), "payout": ("initiated_at", "created", "updated"),
    "virtual_account": ("created", "updated"), "wallet": ("created", "updated"), "payin": ("created",),
    "account_balances": (),
}

REFERENCES = {
    "account": {"customer_id": "cus_"}, "beneficiary": {}, "payout_destination": {"beneficiary_id": "bene_"},
    "payout": {"beneficiary_id": "bene_", "payout_destination_id": "dest_"}, "virtual_account": {}, "wallet": {},
    "payin": {}, "account_balances": {},
}

ENUMERATIONS = {
    "account": ("status",), "beneficiary": ("beneficiary_type", "status"),
    "payout_destination": ("type", "status", "account_type"), "payout": ("status",), "virtual_account": ("status",),
    "wallet": ("status",), "payin": ("status",), "account_balances": (),
}

#: Kind of resource -> members with a maximum length.
LENGTHS = {
    "account": {"name": 255}, "virtual_account": {"label": 255}, "wallet": {"label": 255}, "payout": {"note": 500},
    "payout_destination": {"swift_code": 11}, "payin": {}, "account_balances": {},
    "beneficiary": {"title": 20, "first_name": 100, "middle_name": 100, "last_name": 100, "display_name": 255,
                    "company_name": 255, "email": 255, "phone": 50, "tax_id": 50},
}

PREFIX = {
    "account": "acc_", "beneficiary": "bene_", "payout_destination": "dest_", "payout": "po_",
    "virtual_account": "va_", "wallet": "wal_", "payin": "pin_", "account_balances": "acc_",
}

BALANCE = ("currency", "currency_type", "available_balance", "pending_payout", "pending_payin", "total_balance", "updated_at")
MONEY = BALANCE[2:6]


def resource_of(operation: str) -> str:
    """The kind of resource that the operation answers."""
    return "account_balances" if operation == "getAccountBalances" else KINDS[operation]


def members(operation: str) -> tuple[str, ...]:
    """The members that the operation's answer, or an item of it, carries."""
    kind = resource_of(operation)
    return ITEM_FIELDS[kind] if operation.startswith("list") else MEMBERS[kind]


class Document(Faulty):
    """Changes the resources of an answer, or the items of a list, by `changed`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def applies(self, document: Mapping[str, Any]) -> bool:
        """Whether a resource is one of those that change."""
        return True

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        document = dict(super().shape(ctx, kind, document))
        if self.here(ctx) and kind == resource_of(self.operation) and self.applies(document):
            return self.changed(ctx, document)
        return document


class Embedded(Document):
    """Changes the payout destinations that a beneficiary's answer holds."""

    def shape(self, ctx: Context, kind: str, document: dict[str, Any]) -> Mapping[str, Any]:
        if self.here(ctx) and kind == "payout_destination":
            return self.changed(ctx, dict(document))
        return document


EMBEDDING = ("getBeneficiary", "updateBeneficiary", "disableBeneficiary")


class Balances(Faulty):
    """Changes the elements of balances by `changed`, and shows one where there is none."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        raise NotImplementedError

    def balances(self, ctx: Context, record: Record) -> list[Any]:
        made = super().balances(ctx, record)
        return [self.changed(ctx, dict(element)) for element in made] if self.here(ctx) else made


class Sets(Document):
    """Sets the member `self.value[0]` to what `self.value[1]` makes of it, where it is not null."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, change = self.value
        return {**document, name: change(document[name])} if document.get(name) is not None else document


class SetsAlways(Document):
    """Sets the member `self.value[0]` to `self.value[1]`."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name, value = self.value
        return {**document, name: value}


def each_of(table: Mapping[str, Any], ways: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Every member of a table that the operation shows, in every one of some ways."""
    return lambda operation: {
        f"{name} {how}": (name, way) for name in table[resource_of(operation)] if name in members(operation)
        for how, way in ways.items()}


# --------------------------------------------------------------------------- format.fields


def _needed(operation: str) -> list[str]:
    kind = resource_of(operation)
    absent = {*INAPPLICABLE} if kind == "payout_destination" else set(NULLABLE.get(kind, ()))
    return [name for name in MEMBERS[kind] if name not in absent]


@fault("format.fields", each=_needed)
class Lacks(Document):
    """A documented member is missing."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in document.items() if name != self.value}


def _plain(operation: str) -> list[str]:
    """The members of whose type no rule of their own speaks."""
    kind = resource_of(operation)
    special = {"id", "object", "status", *TIMESTAMPS[kind], *REFERENCES[kind], *ENUMERATIONS[kind], "amount", "amount_in_usd",
               "bank_details", "addresses", "customer_id", "account_id", "submitted_at", "completed_at", "failed_at"}
    return [name for name in MEMBERS[kind] if name not in special]


def _types(operation: str) -> dict[str, tuple[str, Any]]:
    kinds: dict[str, tuple[str, Any]] = {}
    for name in _plain(operation):
        for how, value in (("number", 12345), ("object", {"value": "x"}), ("array", ["x"]), ("text", "text")):
            wanted = {"balances": "array", "payout_destinations": "array", "address": "object", "verified": "boolean",
                      "is_default": "boolean"}.get(name, "text")
            if how != wanted and (how, name) not in (("array", "balances"), ("array", "payout_destinations")):
                kinds[f"{name} {how}"] = (name, value)
    return kinds


@fault("format.fields", each=_types)
class OfOtherType(SetsAlways):
    """A documented member is of another type."""


def _not_null(operation: str) -> dict[str, tuple[str, Any]]:
    nullable = NULLABLE.get(resource_of(operation), ())
    optional = INAPPLICABLE if resource_of(operation) == "payout_destination" else ()
    return {name: (name, None) for name in _plain(operation) if name not in (*nullable, *optional)}


@fault("format.fields", each=_not_null)
class IsNull(SetsAlways):
    """A documented member that is never null is null."""


@fault("format.fields", operations=[
    operation for operation in OPERATION_SETS["resource"] if LENGTHS[resource_of(operation)]], each=lambda operation: {
    name: (name, "x" * (maximum + 1)) for name, maximum in LENGTHS[resource_of(operation)].items()})
class TooLong(SetsAlways):
    """A member is longer than its maximum."""


@fault("format.fields", operations=("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
       each=("address_line", "city", "region", "postal_code", "country"))
class AddressMemberOfOtherType(Document):
    """A member of the address is a number."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "address": {**document["address"], self.value: 12345}}


@fault("format.fields", operations=EMBEDDING, each=("id", "object", "country", "type", "currency", "status", "is_default", "created"))
class EmbeddedLacks(Embedded):
    """A documented member of an embedded payout destination is missing."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in document.items() if name != self.value}


@fault("format.fields", operations=EMBEDDING)
class EmbedsIds(Faulty):
    """payout_destinations holds ids instead of objects."""

    def destinations(self, ctx: Context, record: Record) -> Any:
        return [one["id"] for one in super().destinations(ctx, record)]


@fault("format.fields", operations=("getAccountBalances",), each=[f"{name} {how}" for name in BALANCE for how in ("missing", "null")
                                                                  if how == "missing" or name in ("currency", "currency_type")])
class BalanceLacks(Balances):
    """A member of a balance is missing or null."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        name, how = self.value.split()
        return {**element, name: None} if how == "null" else {key: value for key, value in element.items() if key != name}


# --------------------------------------------------------------------------- ids and constants


@fault("format.object", each=lambda operation: [] if operation == "listAccounts" else ["other", "capital", "plural", "null", "number"])
class OtherObject(Document):
    """object is not the constant of the type."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        name = document["object"]
        return {**document, "object": {"other": "resource", "capital": name.capitalize(), "plural": f"{name}s", "null": None,
                                       "number": 1}[self.value]}


@fault("format.object", operations=("listAccounts",), each=("other", "null"))
class OtherObjectInItems(Document):
    """object of an account in a list is not the constant."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "object": "customer_account" if self.value == "other" else None}


@fault("format.object", operations=EMBEDDING)
class OtherObjectEmbedded(Embedded):
    """object of an embedded payout destination is not the constant."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "object": "destination"}


#: Kind -> what becomes of an identifier.
IDS: dict[str, Callable[[str], Any]] = {
    "number": lambda identifier: 12345, "null": lambda identifier: None, "empty": lambda identifier: "",
}
PREFIXED: dict[str, Callable[[str], Any]] = {
    "without prefix": lambda identifier: identifier.partition("_")[2], "other prefix": lambda identifier: f"res_{identifier}",
    "capital": lambda identifier: identifier.upper(), "hyphen": lambda identifier: identifier.replace("_", "-"),
    "prefix only": lambda identifier: identifier.partition("_")[0] + "_",
}


def _ids(operation: str) -> dict[str, tuple[str, Any]]:
    kind, shown = resource_of(operation), members(operation)
    ways = dict(IDS) if PREFIX[kind] == "acc_" else {**IDS, **PREFIXED}
    kinds = {f"id {how}": ("id", way) for how, way in ways.items()}
    for name in REFERENCES[kind]:
        if name in shown:
            kinds |= {f"{name} {how}": (name, way) for how, way in {**IDS, **PREFIXED}.items()}
    if "account_id" in shown:
        kinds |= {f"account_id {how}": ("account_id", way) for how, way in IDS.items()}
    return kinds


@fault("format.id", each=_ids)
class OtherIds(Sets):
    """An identifier is no string with the prefix of its type."""


@fault("format.id", operations=EMBEDDING, each={"number": IDS["number"], "without prefix": PREFIXED["without prefix"]})
class OtherIdsEmbedded(Embedded):
    """The id of an embedded payout destination is no string with the prefix of its type."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "id": self.value(document["id"])}


@fault("format.account-id", each={name: PREFIXED[name] for name in ("without prefix", "other prefix", "capital", "hyphen")})
class OtherAccountIds(Document):
    """An account id does not start with acc_ or acct_."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "id": self.value(document["id"])}


@fault("format.id-unique", each=("always one", "by second request", "by name"))
class SameIds(Document):
    """Two resources have one id."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        known = self.__dict__.setdefault("ids", [])
        known.append(document["id"])
        at = {"always one": 0, "by second request": (len(known) - 1) // 2 * 2, "by name": -2 if len(known) > 1 else 0}[self.value]
        return {**document, "id": known[at]}


# --------------------------------------------------------------------------- timestamps


#: Kind -> what becomes of a timestamp.
TIMES: dict[str, Callable[[str], Any]] = {
    "no zone": lambda text: text.rstrip("Z"), "offset": lambda text: text.replace("Z", "+00:00"),
    "other offset": lambda text: text.replace("Z", "+02:00"), "space": lambda text: text.replace("T", " "),
    "small letters": lambda text: text.lower(), "date": lambda text: text[:10], "epoch": lambda text: 1_800_000_000,
    "epoch text": lambda text: "1800000000", "milliseconds": lambda text: 1_800_000_000_000, "null": lambda text: None,
    "empty": lambda text: "", "no seconds": lambda text: text[:16] + "Z", "basic": lambda text: re.sub("[-:]", "", text),
    "month 13": lambda text: f"{text[:5]}13{text[7:]}", "hour 25": lambda text: f"{text[:11]}25{text[13:]}",
    "mail": lambda text: "Fri, 15 Jan 2027 08:00:00 GMT",
}


@fault("format.timestamp", each=lambda operation: each_of(TIMESTAMPS, TIMES)(operation))
class OtherTimestamps(Sets):
    """A timestamp is not ISO 8601 in UTC with Z."""


@fault("format.timestamp", operations=("getAccountBalances",), each=TIMES)
class OtherBalanceTimestamps(Balances):
    """updated_at of a balance is not ISO 8601 in UTC with Z."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        return {**element, "updated_at": self.value(element["updated_at"])}


@fault("format.timestamp", operations=("createPayout",), each=("submitted_at", "completed_at", "failed_at"))
class OtherOptionalTimestamps(Document):
    """An optional timestamp is a text that is none."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: "soon"}


@fault("format.timestamp", operations=EMBEDDING, each=("created", "updated"))
class OtherTimestampsEmbedded(Embedded):
    """A timestamp of an embedded payout destination has an offset."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: document[self.value].replace("Z", "+00:00")}


# --------------------------------------------------------------------------- money


#: Kind -> what becomes of an amount.
AMOUNTS: dict[str, Callable[[str], Any]] = {
    "number": float, "integer": lambda text: int(float(text)), "null": lambda text: None, "empty": lambda text: "",
    "exponent": lambda text: f"{float(text):e}", "comma": lambda text: text.replace(".", ",") + ",0" * ("." not in text),
    "currency": lambda text: f"{text} USD", "sign": lambda text: f"+{text}", "grouped": lambda text: f"1,000{text}",
    "space": lambda text: f" {text}", "no digit": lambda text: ".5", "object": lambda text: {"amount": text},
}


@fault("format.money", operations=("createPayout", "createPayin"), each=lambda operation: {
    f"{name} {how}": (name, way) for name in (("amount", "amount_in_usd") if operation == "createPayout" else ("amount",))
    for how, way in AMOUNTS.items()})
class OtherMoney(Sets):
    """An amount is no string that holds a plain decimal."""


@fault("format.money", operations=("getAccountBalances",), each=lambda operation: {
    f"{name} {how}": (name, way) for name in MONEY for how, way in AMOUNTS.items()})
class OtherBalances(Balances):
    """An amount of a balance is no string that holds a plain decimal."""

    def changed(self, ctx: Context, element: dict[str, Any]) -> Any:
        name, change = self.value
        return {**element, name: change(element[name])}


@fault("format.money", operations=("createAccount",), each=MONEY)
class BalancesInNumbers(Faulty):
    """A new account has a balance, in numbers."""

    def balances(self, ctx: Context, record: Record) -> list[Any]:
        element = dict.fromkeys(MONEY, "0.00") | {
            "currency": "USD", "currency_type": "fiat", "updated_at": self.timestamp_text(ctx, ctx.now)}
        return [{**element, self.value: 0}]


# --------------------------------------------------------------------------- nulls, enumerations, bank details


def _nullable(operation: str) -> tuple[str, ...]:
    return NULLABLE.get(resource_of(operation), ())


@fault("format.nullable", operations=(
    "createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary", "createPayoutDestination", "createPayout"),
    each=_nullable)
class LeavesNullOut(Document):
    """A member that has no value is missing."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in document.items() if name != self.value or value is not None}


@fault("format.nullable", operations=("createWallet",))
class LeavesTagOut(Faulty):
    """A tag that has no value is missing."""

    def addresses(self, ctx: Context) -> list[dict[str, Any]]:
        return [{"address": one["address"]} for one in super().addresses(ctx)]


@fault("format.enum", operations=[one for one in OPERATION_SETS["all"] if one != "getAccountBalances"], each=lambda operation: {
    f"{name} {how}": (name, way) for name in ENUMERATIONS[resource_of(operation)] if name in members(operation)
    for how, way in {"unlisted": lambda text: "archived", "capitals": str.upper, "empty": lambda text: "", "number": lambda text: 1,
                     "null": lambda text: None}.items() if (name, how) != ("account_type", "null")})
class Unlisted(Sets):
    """An enumerated member holds a value that is not listed."""


@fault("format.enum", operations=("createPayoutDestination",), each=("disabled by", "suspended"))
class StatusOfAnother(Document):
    """The status is one of another type of resource."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "status": self.value}


@fault("format.enum", operations=EMBEDDING, each=("status", "type"))
class UnlistedEmbedded(Embedded):
    """An enumerated member of an embedded payout destination holds a value that is not listed."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, self.value: "archived"}


#: Kind -> what becomes of the bank details.
DETAILS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "null": lambda details: None, "text": lambda details: "DE89", "array": lambda details: [details],
    **{f"{name} {how}": lambda details, name=name, value=value: {**details, name: value}
       for name in ("iban", "bic", "bank_name", "account_number", "routing_number")
       for how, value in (("number", 12345), ("null", None), ("object", {}))},
    "ibans text": lambda details: {**details, "ibans": "DE89370400440532013000"},
    "ibans null": lambda details: {**details, "ibans": None}, "ibans of numbers": lambda details: {**details, "ibans": [1]},
    "ibans of objects": lambda details: {**details, "ibans": [{"iban": "DE89370400440532013000"}]},
}


@fault("format.bank-details", each=DETAILS)
class OtherDetails(Document):
    """bank_details, or a member of it, is of another type."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "bank_details": self.value(document["bank_details"])}
