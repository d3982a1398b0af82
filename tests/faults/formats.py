"""Servers whose answers lack members, or have members of wrong types and formats (section 2).

The tables are transcribed from the specification, not read from spec/schemas, so a gap in a schema shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from conformance.contract import fields as contract
from conformance.contract.operation_sets import OPERATION_SETS
from conformance.reference.context import Context
from conformance.reference.seams.lists import ITEM_FIELDS
from conformance.reference.seams.validation import FIELDS
from conformance.world.bodies import CURRENCIES
from tests.specification import ANSWERS, BALANCE_MONEY, RESOURCES, Field, limits

from .catalogue import Faulty, faults, of, refuse, seams
from .rows import EMBEDDING, MISSING, adding, document, each_of, inside, on_pages, says, skipping

BALANCES, PAYMENTS = ("getAccountBalances",), ("createPayout", "createPayin")


#: A change of a member's value.
Change = Callable[[Any], Any]


def members(test: Callable[[Field], Any]) -> Callable[[str], list[str]]:
    """Returns the members that an operation shows, in its items if it is a list, of which a test holds."""
    return lambda operation: [
        name
        for name, field in RESOURCES[ANSWERS[operation]].items()
        if test(field) and not (operation.startswith("list") and name not in ITEM_FIELDS[ANSWERS[operation]])
    ]


def _forms(operation: str) -> dict[str, Any]:
    kind = ANSWERS[operation]
    names = [name for name in FORMS if name in RESOURCES[kind] and (name, kind) != ("currency", "wallet")]
    return {kind: form for name in names for kind, form in each_of(name, FORMS[name])(operation).items()}


def _fiat(form: str) -> Change:
    """Returns the change of a currency that is none of a wallet."""
    return lambda code: form if len(code) == 3 else code


#: Member -> texts in a wrong format.
FORMS: dict[str, Any] = {
    "country_code": ("USA", "U", "840", "United States"),
    "country": ("USA", "U", "840", "United States"),
    "currency": {form: _fiat(form) for form in ("DOLLAR", "US", "U5D", "840")},
    "account_number_last4": ("12345", "****6789"),
    "clabe_last4": ("12345", "****6789"),
}


class EndsBeforeLineFeed(Faulty):
    """A pattern for this field ends at a dollar sign: it matches before a line feed as well."""

    def check_value(self, ctx: Context, field: contract.Field, value: Any) -> None:
        super().check_value(ctx, field, value.removesuffix("\n") if field.name == self.value else value)


faults["format.fields"] |= {
    "A code, or the last digits of a number, is of another form, or a member too long.": document.changes(
        _forms,
        each_of("payout_destinations.country", ["USA"], EMBEDDING),
        each_of("payout_destinations.account_number_last4", ["12345"], EMBEDDING),
        each_of("payout_destinations.currency", {"DOLLAR": _fiat("DOLLAR")}, EMBEDDING),
        each_of("balances.currency", FORMS["currency"].keys(), BALANCES),
        lambda operation: {
            f"{name} too long": (name, "x" * (maximum + 1))
            for name, maximum in limits(ANSWERS[operation]).items()
        },
    ),
    "A code may have a line feed behind it, which is shown.": of(
        EndsBeforeLineFeed,
        each=lambda operation: [
            field.name for field in FIELDS.get(operation, ()) if field.code and operation != "createWallet"
        ],
    ),
    "A PATCH of null in a field that is never null is kept.": skipping(
        "check_null",
        lambda self, ctx, field: field.name == self.value,
        operations=("updateBeneficiary",),
        each=[field.name for field in FIELDS["createBeneficiary"] if field.required],
    ),
}


# ---------------------------------------------------------------------- object and ids

faults["format.object"] |= {
    "object is not the constant of the type.": document.changes(
        each_of(
            "object",
            {
                "other": lambda name: "resource",
                "capital": str.capitalize,
                "plural": lambda name: f"{name}s",
            },
            {*OPERATION_SETS["all"]} - {"listAccounts"},
        ),
        each_of("object", ("customer_account", None), ["listAccounts"]),
        each_of("payout_destinations.object", ["destination"], EMBEDDING),
    )
}

#: Kind -> change of an id.
IDS: dict[str, Change] = {"number": lambda identifier: 12345, "empty": lambda identifier: ""}

PREFIXED: dict[str, Change] = {
    "without prefix": lambda identifier: identifier.partition("_")[2],
    "other prefix": lambda identifier: f"res_{identifier}",
    "capital": lambda identifier: identifier.upper(),
    "hyphen": lambda identifier: identifier.replace("_", "-"),
    "prefix only": lambda identifier: identifier.partition("_")[0] + "_",
}


def _ids_again(self: Any, ctx: Context, shown: dict[str, Any]) -> dict[str, Any]:
    """Returns an id that was shown before; `value` says how often one comes."""
    known = self.state.setdefault("ids", [])
    known.append(shown["id"])
    return {"id": known[(len(known) - 1) // self.value * self.value if self.value else 0]}


faults["format.id"] |= {
    "An identifier is no string with the prefix of its type.": document.changes(
        each_of(members(lambda field: field.prefix == "acc_" or field.name == "account_id"), IDS),
        each_of(members(lambda field: field.prefix not in ("", "acc_")), IDS | PREFIXED),
        each_of(
            "payout_destinations.id",
            {"number": IDS["number"], "without prefix": PREFIXED["without prefix"]},
            EMBEDDING,
        ),
        by_field=True,
    )
}

faults["format.account-id"] |= {
    "An account id does not start with acc_ or acct_.": document.changes(
        each_of("id", {kind: PREFIXED[kind] for kind in PREFIXED if kind != "prefix only"})
    )
}

faults["format.id-unique"] |= {
    "Two resources have one id.": document.sets(
        _ids_again, each={"always one": 0, "by second request": 2, "by third request": 3}
    )
}


# ---------------------------------------------------------------------- timestamps

#: Kind -> change of a timestamp.
TIMES: dict[str, Change] = {
    "no zone": lambda text: text.rstrip("Z"),
    "offset": lambda text: text.replace("Z", "+00:00"),
    "other offset": lambda text: text.replace("Z", "+02:00"),
    "space": lambda text: text.replace("T", " "),
    "small letters": lambda text: text.lower(),
    "date": lambda text: text[:10],
    "epoch": lambda text: 1_800_000_000,
    "epoch text": lambda text: "1800000000",
    "empty": lambda text: "",
    "no seconds": lambda text: text[:16] + "Z",
    "basic": lambda text: re.sub("[-:]", "", text),
    "month 13": lambda text: f"{text[:5]}13{text[7:]}",
    "hour 25": lambda text: f"{text[:11]}25{text[13:]}",
    "year 0": lambda text: f"0000{text[4:]}",
    "year 1": lambda text: "0001-01-01T00:00:00Z",
    "mail": lambda text: "Fri, 15 Jan 2027 08:00:00 GMT",
}


faults["format.timestamp"] |= {
    "A timestamp is not ISO 8601 in UTC with Z.": document.changes(
        each_of(members(lambda field: field.type == "time" and not field.nullable), TIMES),
        each_of("balances.updated_at", TIMES, BALANCES),
        each_of("submitted_at completed_at failed_at", ["soon"], ["createPayout"]),
        each_of(inside("payout_destinations", "created updated"), {"offset": TIMES["offset"]}, EMBEDDING),
        by_field=True,
    ),
    "The elements of some pages show created with an offset.": on_pages.sets(
        lambda self, ctx, shown: {"created": shown["created"][:-1] + "+00:00"},
        operations=OPERATION_SETS["list"],
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
    "A new resource, or a balance, shows another time than that of its change.": document.changes(
        each_of("created", LOCAL, OPERATION_SETS["create"]),
        each_of("initiated_at", LOCAL, ["createPayout"]),
        each_of(
            "balances.updated_at",
            {
                "the beginning of the epoch": lambda text: "1970-01-01T00:00:00Z",
                "local time, hours ahead": LOCAL["local time, 2 hours ahead"],
            },
            BALANCES,
        ),
    ),
    "updated lies some time before created, or ahead.": document.sets(
        lambda self, ctx, shown: {"updated": shifted(shown["created"], **self.value)},
        operations=[name for name in OPERATION_SETS["all"] if name not in ("createPayin", *BALANCES)],
        each={"years": {"days": -800}, "two seconds": {"seconds": -2}, "hours ahead": {"hours": 2}},
    ),
}


# ---------------------------------------------------------------------- amounts, nulls, enumerations

#: Kind -> change of an amount.
AMOUNTS: dict[str, Change] = {
    "integer": lambda text: int(float(text)),
    "empty": lambda text: "",
    "exponent": lambda text: f"{float(text):e}",
    "comma": lambda text: text.replace(".", ",") + ",0" * ("." not in text),
    "currency": lambda text: f"{text} USD",
    "sign": lambda text: f"+{text}",
    "grouped": lambda text: f"1,000{text}",
    "space": lambda text: f" {text}",
    "no digit": lambda text: ".5",
}


def _of_nothing(way: Any) -> Change:
    return lambda text: text if float(text) else way


faults["format.money"] |= {
    "An amount is no string that holds a plain decimal.": document.changes(
        each_of("amount", AMOUNTS, PAYMENTS),
        each_of("amount_in_usd", AMOUNTS, ["createPayout"]),
        each_of(inside("balances", BALANCE_MONEY), AMOUNTS, BALANCES),
        by_field=True,
    ),
    "A small amount_in_usd has an exponent, as a double's text, and amounts have few decimals.": seams(
        {
            "check_amount": lambda self, usual, ctx, field, value: (
                usual()
                if len(value.partition(".")[2]) <= self.value[0]
                else refuse("422 validation_error too_precise")
            ),
            "amount_in_usd": lambda self, usual, *_: (
                usual() if Decimal(usual()) >= self.value[1] else f"{Decimal(usual()):E}"
            ),
        },
        operations=["createPayout"],
        each={"below a thousandth": (4, Decimal("0.001")), "five decimals": (6, Decimal("0.0001"))},
    ),
    "An amount of a balance is no string that holds a plain decimal where it is zero.": document.changes(
        each_of(
            inside("balances", "available_balance total_balance"),
            {kind: _of_nothing(way) for kind, way in {"null": None, "exponent": "0E-8", "number": 0}.items()},
        ),
        operations=BALANCES,
        also=("format.fields",),
    ),
    "An amount may have a line feed behind it, which is shown.": of(
        EndsBeforeLineFeed, operations=PAYMENTS, each=("amount",)
    ),
}


_ABSENT = {"missing": lambda member: MISSING if member is None else member}

faults["format.nullable"] |= {
    "What a business has no value of is missing.": document.changes(
        each_of("title middle_name tax_id note", _ABSENT, ("createBeneficiary", "getBeneficiary")),
        test=lambda self, ctx, shown: shown["beneficiary_type"] == "business",
        nulls=True,
    ),
    "A business has a note that says its name, where none was sent.": adding(
        "kept_fields",
        lambda self, ctx: {"note": ctx.body["company_name"]},
        lambda self, ctx: says(ctx.body, "beneficiary_type=business, company_name, no note"),
        operations=("createBeneficiary",),
    ),
}


faults["format.enum"] |= {
    "An enumerated member holds a value that is not listed.": document.changes(
        each_of(
            members(lambda field: field.values),
            {"unlisted": "archived", "capitals": str.upper, "empty": ""},
        ),
        each_of("status", ("disabled by", "suspended"), ["createPayoutDestination"]),
        each_of(inside("payout_destinations", "status type"), ["archived"], EMBEDDING),
    )
}


# ---------------------------------------------------------------------- bank details

faults["format.bank-details"] |= {
    "bank_details, or a member of it, is of another type.": document.changes(
        each_of("bank_details", {"null": None, "text": "DE89", "array": lambda details: [details]}),
        each_of(inside("bank_details", "iban bic bank_name account_number routing_number"), (12345, {})),
        each_of(
            "bank_details.ibans",
            {
                "text": "DE89370400440532013000",
                "of numbers": [1],
                "of objects": [{"iban": "DE89370400440532013000"}],
            },
        ),
    ),
    "bank_details is an empty array in this currency.": document.sets(
        {"bank_details": []}, lambda self, ctx, shown: shown["currency"] == self.value, each=CURRENCIES
    ),
}

faults["format.iban"] |= {
    "An IBAN in bank_details has another form.": document.sets(
        lambda self, ctx, shown: {
            "bank_details": {**shown["bank_details"], "iban": self.value, "ibans": [self.value]}
        },
        each={
            "words": "not available",
            "empty": "",
            "an account number": "37040044053201",
            "no check digits": "DEXX370400440532013000",
            "too long": "DE89" + "3" * 31,
            "masked": "DE89**************3000",
        },
    ),
    "One of the ibans has another form.": document.changes(
        each_of("bank_details.ibans", {"none": lambda ibans: [*(ibans or ()), "none"]}), nulls=True
    ),
}
