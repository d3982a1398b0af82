"""Servers with wrong formats of timestamps, amounts, nulls and enumerations (section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from conformance.contract.rules import OPERATION_SETS, RULES
from conformance.reference.context import Context
from conformance.world.bodies import CURRENCIES
from tests.specification import ANSWERS, BALANCE_MONEY, RESOURCES

from .catalogue import fault, faults, of, seam
from .formats import EndsBeforeLineFeed, Sets, enumerations, members
from .places import EMBEDDING, Balances, balance, document, embedded, on_pages

#: Kind -> change of a timestamp.
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


def each_of(names: Callable[[str], list[str]], ways: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Combines the named members that the operation shows with each of the ways."""
    return lambda operation: {
        f"{name} {how}": (name, way)
        for name in names(operation)
        if name in members(operation)
        for how, way in ways.items()
    }


def timestamps(operation: str) -> list[str]:
    """Returns the timestamps that are never null."""
    return [
        name
        for name, field in RESOURCES[ANSWERS[operation]].items()
        if field.type == "time" and not field.nullable
    ]


faults["format.timestamp"] |= {
    "A timestamp is not ISO 8601 in UTC with Z.": of(Sets, each=each_of(timestamps, TIMES)),
    "updated_at of a balance is not ISO 8601 in UTC with Z.": balance(
        lambda self, ctx, element: {**element, "updated_at": self.value(element["updated_at"])},
        operations=("getAccountBalances",),
        each=TIMES,
    ),
    "An optional timestamp is a text that is none.": document(
        lambda self, ctx, document: {**document, self.value: "soon"},
        operations=("createPayout",),
        each=("submitted_at", "completed_at", "failed_at"),
    ),
    "A timestamp of an embedded payout destination has an offset.": embedded(
        lambda self, ctx, document: {**document, self.value: document[self.value].replace("Z", "+00:00")},
        operations=EMBEDDING,
        each=("created", "updated"),
    ),
    "The elements of some pages show created with an offset.": on_pages(
        lambda self, ctx, item: {**item, "created": item["created"][:-1] + "+00:00"},
        operations=OPERATION_SETS["list"],
    ),
}

#: Kind -> change of an amount.
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
    seam="changed",
    base=Balances,
    operations=("getAccountBalances",),
    each=lambda operation: {
        f"{name} {how}": (name, way) for name in BALANCE_MONEY for how, way in AMOUNTS.items()
    },
)
def _(self: Any, ctx: Context, element: dict[str, Any]) -> Any:
    """An amount of a balance is no string that holds a plain decimal."""
    name, change = self.value
    return {**element, name: change(element[name])}


@fault(
    "format.money",
    seam="changed",
    base=Balances,
    operations=("getAccountBalances",),
    each=lambda operation: {
        f"{name} {how}": (name, way)
        for name in ("available_balance", "total_balance")
        for how, way in {"null": None, "with an exponent": "0E-8", "a number": 0}.items()
    },
    also=("format.fields",),
)
def _(self: Any, ctx: Context, element: dict[str, Any]) -> Any:
    """An amount of a balance is no string that holds a plain decimal where it is zero."""
    name, zero = self.value
    return element if float(element[name]) else {**element, name: zero}


faults["format.money"] |= {
    "An amount may have a line feed behind it, which is shown.": of(
        EndsBeforeLineFeed, operations=("createPayout", "createPayin"), each=("amount",)
    ),
    "An amount is no string that holds a plain decimal.": of(
        Sets,
        operations=("createPayout", "createPayin"),
        each=lambda operation: {
            f"{name} {how}": (name, way)
            for name in (("amount", "amount_in_usd") if operation == "createPayout" else ("amount",))
            for how, way in AMOUNTS.items()
        },
    ),
}


def nullable(operation: str) -> list[str]:
    """Returns the members that are null without a value."""
    # The network of a payout destination may be absent, since it does not always apply.
    return [
        name
        for name, field in RESOURCES[ANSWERS[operation]].items()
        if field.nullable and (ANSWERS[operation], name) != ("payout_destination", "network")
    ]


faults["format.nullable"] |= {
    "A member that has no value is missing.": document(
        lambda self, ctx, document: {
            name: value for name, value in document.items() if name != self.value or value is not None
        },
        operations=(
            "createBeneficiary",
            "getBeneficiary",
            "updateBeneficiary",
            "disableBeneficiary",
            "createPayoutDestination",
            "createPayout",
        ),
        each=nullable,
    ),
    "A tag that has no value is missing.": seam(
        "addresses",
        lambda self, *_: [{"address": wallet["address"]} for wallet in self.usual()],
        operations=("createWallet",),
    ),
    "What a business has no value of is missing.": document(
        lambda self, ctx, shown: (
            {name: value for name, value in shown.items() if name != self.value or value is not None}
            if shown["beneficiary_type"] == "business"
            else shown
        ),
        operations=("createBeneficiary", "getBeneficiary"),
        each=("title", "middle_name"),
    ),
}

faults["format.enum"] |= {
    "An enumerated member holds a value that is not listed.": of(
        Sets,
        operations=[operation for operation in OPERATION_SETS["all"] if operation != "getAccountBalances"],
        each=lambda operation: {
            f"{name} {how}": (name, way)
            for name in enumerations(operation)
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
    ),
    "The status is one of another type of resource.": document(
        lambda self, ctx, document: {**document, "status": self.value},
        operations=("createPayoutDestination",),
        each=("disabled by", "suspended"),
    ),
    "An enumerated member of an embedded payout destination holds a value that is not listed.": embedded(
        lambda self, ctx, document: {**document, self.value: "archived"},
        operations=EMBEDDING,
        each=("status", "type"),
    ),
}


def _with(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """Returns a function that replaces a member."""
    return lambda details: {**details, name: value}


#: Kind -> change of the bank details.
DETAILS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "null": lambda details: None,
    "text": lambda details: "DE89",
    "array": lambda details: [details],
    **{
        f"{name} {how}": _with(name, value)
        for name in ("iban", "bic", "bank_name", "account_number", "routing_number")
        for how, value in (("number", 12345), ("object", {}))
    },
    "ibans text": lambda details: {**details, "ibans": "DE89370400440532013000"},
    "ibans of numbers": lambda details: {**details, "ibans": [1]},
    "ibans of objects": lambda details: {**details, "ibans": [{"iban": "DE89370400440532013000"}]},
}

faults["format.bank-details"] |= {
    "bank_details, or a member of it, is of another type.": document(
        lambda self, ctx, document: {**document, "bank_details": self.value(document["bank_details"])},
        each=DETAILS,
    ),
    "bank_details is an empty array in this currency.": document(
        lambda self, ctx, document: (
            {**document, "bank_details": []} if document["currency"] == self.value else document
        ),
        each=CURRENCIES,
    ),
}

#: Kind -> value in place of an IBAN.
NO_IBANS = {
    "words": "not available",
    "empty": "",
    "an account number": "37040044053201",
    "no check digits": "DEXX370400440532013000",
    "too long": "DE89" + "3" * 31,
    "masked": "DE89**************3000",
}

faults["format.iban"] |= {
    "An IBAN in bank_details has another form.": document(
        lambda self, ctx, document: {
            **document,
            "bank_details": {**document["bank_details"], "iban": self.value, "ibans": [self.value]},
        },
        each=NO_IBANS,
    ),
    "One of the ibans has another form.": document(
        lambda self, ctx, document: {
            **document,
            "bank_details": {
                **document["bank_details"],
                "ibans": [*document["bank_details"].get("ibans", ()), "none"],
            },
        }
    ),
}

#: Evaluated once, like a default in a class body.
STARTED = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

UPDATED = [
    name
    for name in RULES["format.timestamp-current"].operations
    if name not in ("createPayin", "getAccountBalances")
]

CREATES = [name for name in RULES["format.timestamp-current"].operations if name.startswith("create")]


def shifted(text: str, **by: float) -> str:
    """Returns a timestamp shifted by a time, with its fraction unchanged."""
    moved = datetime.fromisoformat(text[:19]) + timedelta(**by)
    return moved.isoformat() + text[19:]


faults["format.timestamp-current"] |= {
    "created is the time at which the process started.": document(
        lambda self, ctx, document: {**document, "created": STARTED}, operations=CREATES
    ),
    "created is local time that calls itself UTC.": document(
        lambda self, ctx, document: {**document, "created": shifted(document["created"], hours=self.value)},
        operations=CREATES,
        each=(2, -5),
    ),
    "updated lies some time before created.": document(
        lambda self, ctx, document: {**document, "updated": shifted(document["created"], **self.value)},
        operations=UPDATED,
        each={"years": {"days": -800}, "two seconds": {"seconds": -2}},
    ),
    "updated is local time, hours ahead, that calls itself UTC.": document(
        lambda self, ctx, document: {**document, "updated": shifted(document["updated"], hours=2)},
        operations=UPDATED,
    ),
    "initiated_at is local time that calls itself UTC.": document(
        lambda self, ctx, document: {
            **document,
            "initiated_at": shifted(document["initiated_at"], hours=self.value),
        },
        operations=("createPayout",),
        each=(2, -5),
    ),
    "initiated_at is the time at which the process started.": document(
        lambda self, ctx, document: {**document, "initiated_at": STARTED}, operations=("createPayout",)
    ),
    "updated_at of a balance is the beginning of the epoch.": balance(
        lambda self, ctx, element: {**element, "updated_at": "1970-01-01T00:00:00Z"},
        operations=("getAccountBalances",),
    ),
    "updated_at of a balance is local time, hours ahead, that calls itself UTC.": balance(
        lambda self, ctx, element: {**element, "updated_at": shifted(element["updated_at"], hours=2)},
        operations=("getAccountBalances",),
    ),
}
