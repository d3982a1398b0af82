"""Servers whose answers hold timestamps, money, nulls and listed values of another form: section 2."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context, Record

from .catalogue import Faulty, fault
from .formats import (
    EMBEDDING,
    ENUMERATIONS,
    MONEY,
    NULLABLE,
    TIMESTAMPS,
    Balances,
    Document,
    Embedded,
    Sets,
    each_of,
    members,
    resource_of,
)

# --------------------------------------------------------------------------- timestamps

#: Kind -> what becomes of a timestamp.
TIMES: dict[str, Callable[[str], Any]] = {
    "no zone": lambda text: text.rstrip("Z"),
    "offset": lambda text: text.replace("Z", "+00:00"),
    "other offset": lambda text: text.replace("Z", "+02:00"),
    "space": lambda text: text.replace("T", " "),
    "small letters": lambda text: text.lower(),
    "date": lambda text: text[:10],
    "epoch": lambda text: 1_800_000_000,
    "epoch text": lambda text: "1800000000",
    "milliseconds": lambda text: 1_800_000_000_000,
    "null": lambda text: None,
    "empty": lambda text: "",
    "no seconds": lambda text: text[:16] + "Z",
    "basic": lambda text: re.sub("[-:]", "", text),
    "month 13": lambda text: f"{text[:5]}13{text[7:]}",
    "hour 25": lambda text: f"{text[:11]}25{text[13:]}",
    "year 0": lambda text: f"0000{text[4:]}",
    "year 1": lambda text: "0001-01-01T00:00:00Z",
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
    "number": float,
    "integer": lambda text: int(float(text)),
    "null": lambda text: None,
    "empty": lambda text: "",
    "exponent": lambda text: f"{float(text):e}",
    "comma": lambda text: text.replace(".", ",") + ",0" * ("." not in text),
    "currency": lambda text: f"{text} USD",
    "sign": lambda text: f"+{text}",
    "grouped": lambda text: f"1,000{text}",
    "space": lambda text: f" {text}",
    "no digit": lambda text: ".5",
    "object": lambda text: {"amount": text},
}


@fault(
    "format.money",
    operations=("createPayout", "createPayin"),
    each=lambda operation: {
        f"{name} {how}": (name, way)
        for name in (("amount", "amount_in_usd") if operation == "createPayout" else ("amount",))
        for how, way in AMOUNTS.items()
    },
)
class OtherMoney(Sets):
    """An amount is no string that holds a plain decimal."""


@fault(
    "format.money",
    operations=("getAccountBalances",),
    each=lambda operation: {f"{name} {how}": (name, way) for name in MONEY for how, way in AMOUNTS.items()},
)
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
            "currency": "USD",
            "currency_type": "fiat",
            "updated_at": self.timestamp_text(ctx, ctx.now),
        }
        return [{**element, self.value: 0}]


# --------------------------------------------------------------------------- nulls, listed values, details


def _nullable(operation: str) -> tuple[str, ...]:
    return NULLABLE.get(resource_of(operation), ())


@fault(
    "format.nullable",
    operations=(
        "createBeneficiary",
        "getBeneficiary",
        "updateBeneficiary",
        "disableBeneficiary",
        "createPayoutDestination",
        "createPayout",
    ),
    each=_nullable,
)
class LeavesNullOut(Document):
    """A member that has no value is missing."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {name: value for name, value in document.items() if name != self.value or value is not None}


@fault("format.nullable", operations=("createWallet",))
class LeavesTagOut(Faulty):
    """A tag that has no value is missing."""

    def addresses(self, ctx: Context) -> list[dict[str, Any]]:
        return [{"address": one["address"]} for one in super().addresses(ctx)]


@fault(
    "format.enum",
    operations=[one for one in OPERATION_SETS["all"] if one != "getAccountBalances"],
    each=lambda operation: {
        f"{name} {how}": (name, way)
        for name in ENUMERATIONS[resource_of(operation)]
        if name in members(operation)
        for how, way in {
            "unlisted": lambda text: "archived",
            "capitals": str.upper,
            "empty": lambda text: "",
            "number": lambda text: 1,
            "null": lambda text: None,
        }.items()
        if (name, how) != ("account_type", "null")
    },
)
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
    "null": lambda details: None,
    "text": lambda details: "DE89",
    "array": lambda details: [details],
    **{
        f"{name} {how}": lambda details, name=name, value=value: {**details, name: value}
        for name in ("iban", "bic", "bank_name", "account_number", "routing_number")
        for how, value in (("number", 12345), ("object", {}))
    },
    "ibans text": lambda details: {**details, "ibans": "DE89370400440532013000"},
    "ibans of numbers": lambda details: {**details, "ibans": [1]},
    "ibans of objects": lambda details: {**details, "ibans": [{"iban": "DE89370400440532013000"}]},
}


@fault("format.bank-details", each=DETAILS)
class OtherDetails(Document):
    """bank_details, or a member of it, is of another type."""

    def changed(self, ctx: Context, document: dict[str, Any]) -> Mapping[str, Any]:
        return {**document, "bank_details": self.value(document["bank_details"])}
