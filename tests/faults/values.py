"""Servers with wrong formats of timestamps, amounts, nulls and enumerations (section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from conformance.contract.rules import OPERATION_SETS
from conformance.reference.context import Context
from conformance.world.bodies import CURRENCIES
from tests.specification import ANSWERS, BALANCE_MONEY, RESOURCES

from .catalogue import faults, of, seam
from .formats import Change, EndsBeforeLineFeed, changing, each_of, enumerations, members, setting
from .rows import EMBEDDING, balance, document, embedded, on_pages

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


def timestamps(operation: str) -> list[str]:
    """Returns the timestamps that are never null."""
    return [
        name
        for name, field in RESOURCES[ANSWERS[operation]].items()
        if field.type == "time" and not field.nullable and name in members(operation)
    ]


BALANCES = ("getAccountBalances",)

faults["format.timestamp"] |= {
    "A timestamp is not ISO 8601 in UTC with Z.": changing(each_of(timestamps, TIMES)),
    "updated_at of a balance is not ISO 8601 in UTC with Z.": changing(
        {how: ("updated_at", change) for how, change in TIMES.items()}, balance, operations=BALANCES
    ),
    "An optional timestamp is a text that is none.": setting(
        {name: (name, "soon") for name in ("submitted_at", "completed_at", "failed_at")},
        operations=("createPayout",),
    ),
    "A timestamp of an embedded payout destination has an offset.": changing(
        {name: (name, TIMES["offset"]) for name in ("created", "updated")}, embedded, operations=EMBEDDING
    ),
    "The elements of some pages show created with an offset.": on_pages.sets(
        lambda self, ctx, shown: {"created": shown["created"][:-1] + "+00:00"},
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


PAYMENTS = ("createPayout", "createPayin")

faults["format.money"] |= {
    "An amount of a balance is no string that holds a plain decimal.": changing(
        each_of(BALANCE_MONEY, AMOUNTS), balance, operations=BALANCES
    ),
    "An amount of a balance is no string that holds a plain decimal where it is zero.": balance.sets(
        lambda self, *_: {self.value[0]: self.value[1]},
        lambda self, ctx, shown: not float(shown[self.value[0]]),
        operations=BALANCES,
        each=each_of(
            ("available_balance", "total_balance"), {"null": None, "with an exponent": "0E-8", "a number": 0}
        ),
        also=("format.fields",),
    ),
    "An amount may have a line feed behind it, which is shown.": of(
        EndsBeforeLineFeed, operations=PAYMENTS, each=("amount",)
    ),
    "An amount is no string that holds a plain decimal.": changing(
        each_of(
            lambda operation: ("amount", "amount_in_usd") if operation == "createPayout" else ("amount",),
            AMOUNTS,
        ),
        operations=PAYMENTS,
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


def _without_null(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Drops the member that `value` names where it is null."""
    return {name: value for name, value in shown.items() if name != self.value or value is not None}


def _enumerated(operation: str) -> dict[str, tuple[str, Change]]:
    ways: dict[str, Change] = {
        "unlisted": lambda text: "archived",
        "capitals": str.upper,
        "empty": lambda text: "",
        "number": lambda text: 1,
        "null": lambda text: None,
    }
    names = [name for name in enumerations(operation) if name in members(operation)]
    kinds = each_of(names, ways)(operation)
    kinds.pop("account_type null", None)
    return kinds


faults["format.nullable"] |= {
    "A member that has no value is missing.": document(
        _without_null,
        operations=(
            *("createBeneficiary", "getBeneficiary", "updateBeneficiary", "disableBeneficiary"),
            *("createPayoutDestination", "createPayout"),
        ),
        each=nullable,
    ),
    "What a business has no value of is missing.": document(
        lambda self, ctx, shown: (
            _without_null(self, ctx, shown) if shown["beneficiary_type"] == "business" else shown
        ),
        operations=("createBeneficiary", "getBeneficiary"),
        each=("title", "middle_name"),
    ),
    "A tag that has no value is missing.": seam(
        "addresses",
        lambda self, *_: [{"address": wallet["address"]} for wallet in self.usual()],
        operations=("createWallet",),
    ),
}

faults["format.enum"] |= {
    "An enumerated member holds a value that is not listed.": changing(
        _enumerated, operations=[name for name in OPERATION_SETS["all"] if name not in BALANCES]
    ),
    "The status is one of another type of resource.": setting(
        {status: ("status", status) for status in ("disabled by", "suspended")},
        operations=("createPayoutDestination",),
    ),
    "An enumerated member of an embedded payout destination holds a value that is not listed.": setting(
        {name: (name, "archived") for name in ("status", "type")}, embedded, operations=EMBEDDING
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
    "bank_details, or a member of it, is of another type.": changing(
        {how: ("bank_details", change) for how, change in DETAILS.items()}
    ),
    "bank_details is an empty array in this currency.": document.sets(
        {"bank_details": []}, lambda self, ctx, shown: shown["currency"] == self.value, each=CURRENCIES
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
    "An IBAN in bank_details has another form.": document.sets(
        lambda self, ctx, shown: {
            "bank_details": {**shown["bank_details"], "iban": self.value, "ibans": [self.value]}
        },
        each=NO_IBANS,
    ),
    "One of the ibans has another form.": document.sets(
        lambda self, ctx, shown: {
            "bank_details": {
                **shown["bank_details"],
                "ibans": [*shown["bank_details"].get("ibans", ()), "none"],
            }
        }
    ),
}

#: Evaluated once, like a default in a class body.
STARTED = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def shifted(text: str, **by: float) -> str:
    """Returns a timestamp shifted by a time, with its fraction unchanged."""
    moved = datetime.fromisoformat(text[:19]) + timedelta(**by)
    return moved.isoformat() + text[19:]


#: Kind -> timestamp in place of the right one.
LOCAL: dict[str, Change] = {
    "the start of the process": lambda text: STARTED,
    "local time, 2 hours ahead": lambda text: shifted(text, hours=2),
    "local time, 5 hours behind": lambda text: shifted(text, hours=-5),
}

faults["format.timestamp-current"] |= {
    "A new resource shows another time than that of the create.": changing(
        lambda operation: {
            f"{name}, {how}": (name, change)
            for name in ("created", "initiated_at")
            if operation.startswith("create") and (name == "created" or operation == "createPayout")
            for how, change in LOCAL.items()
        }
    ),
    "updated lies some time before created, or ahead.": document.sets(
        lambda self, ctx, shown: {"updated": shifted(shown["created"], **self.value)},
        operations=[name for name in OPERATION_SETS["all"] if name not in ("createPayin", *BALANCES)],
        each={"years": {"days": -800}, "two seconds": {"seconds": -2}, "hours ahead": {"hours": 2}},
    ),
    "updated_at of a balance is another time.": changing(
        {
            "the beginning of the epoch": ("updated_at", lambda text: "1970-01-01T00:00:00Z"),
            "local time, hours ahead": ("updated_at", LOCAL["local time, 2 hours ahead"]),
        },
        balance,
        operations=BALANCES,
    ),
}
